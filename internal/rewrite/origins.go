package rewrite

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/crossplane-contrib/function-export/internal/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/limits"
)

// maxQuoted is how many bytes of a name a text shows.
const maxQuoted = 80

func compareOrigins(a, b Origin) int {
	return cmp.Or(strings.Compare(a.Input, b.Input), strings.Compare(a.Key, b.Key))
}

// union is all origins, sorted, each once.
func union(all ...[]Origin) []Origin {
	out := slices.Concat(all...)
	slices.SortFunc(out, compareOrigins)
	return slices.Compact(out)
}

// String is the origin in words.
func (o Origin) String() string {
	if o.Input == "" {
		return quote(o.Key)
	}
	return quote(o.Key) + " of " + quote(o.Input)
}

// name is a key in words: its origins, never its name.
func (k Key) name() string {
	switch len(k.Origins) {
	case 0:
		return "a key"
	case 1:
		return k.Origins[0].String()
	}
	names := make([]string, 0, limits.MessageItems+1)
	for _, o := range k.Origins[:min(len(k.Origins), limits.MessageItems)] {
		names = append(names, o.String())
	}
	if more := len(k.Origins) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return "(" + strings.Join(names, " + ") + ")"
}

// describe names the keys, sorted. Those that one original key was opened up
// into look alike, and are counted.
func describe(keys []Key) string {
	counts := map[string]int{}
	for _, k := range keys {
		counts[k.name()]++
	}
	names := make([]string, 0, len(counts))
	for name, n := range counts {
		if n > 1 {
			name = fmt.Sprintf("%d members of %s", n, name)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return several(names, " and ")
}

// several joins names, and counts those that are over the limit of a message.
func several(names []string, sep string) string {
	if more := len(names) - limits.MessageItems; more > 0 {
		names = append(slices.Clone(names[:limits.MessageItems]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, sep)
}

func quote(name string) string {
	if len(name) <= maxQuoted {
		return fmt.Sprintf("%q", name)
	}
	n := maxQuoted
	for n > 0 && !utf8.RuneStart(name[n]) {
		n--
	}
	return fmt.Sprintf("%q…", name[:n])
}

// oneOf refuses a word that is not known. An empty one means the first of them.
func oneOf(path, got string, known ...string) diagnostic.List {
	if got == "" || slices.Contains(known, got) {
		return nil
	}
	last := len(known) - 1
	others := strings.Join(known[:last], ", ")
	return diagnostic.List{wrong(path, "must be %s or %s, not %s", others, known[last], quote(got))}
}

// wrong is a diagnostic about a field.
func wrong(path, format string, args ...any) *diagnostic.Diagnostic {
	return &diagnostic.Diagnostic{Path: path, Rule: diagnostic.Input, Message: fmt.Sprintf(format, args...)}
}

// wrongAt is a diagnostic at a byte in the text of a field.
func wrongAt(path, text string, offset int, format string, args ...any) *diagnostic.Diagnostic {
	d := wrong(path, format, args...)
	d.Line, d.Column = position(text, offset)
	d.Rule = diagnostic.Expression
	return d
}

// position of a byte in a text.
func position(text string, offset int) (line, column int) {
	before := text[:min(max(offset, 0), len(text))]
	last := before[strings.LastIndexByte(before, '\n')+1:]
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(last)
}
