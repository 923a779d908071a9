package rewrite

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// maxQuoted is the number of bytes of a name that a message shows.
const maxQuoted = 80

func compareOrigins(a, b Origin) int {
	return cmp.Or(strings.Compare(a.Input, b.Input), strings.Compare(a.Key, b.Key))
}

// union returns all origins, sorted and without duplicates.
func union(all ...[]Origin) []Origin {
	out := slices.Concat(all...)
	slices.SortFunc(out, compareOrigins)
	return slices.Compact(out)
}

// String describes the origin.
func (o Origin) String() string {
	if o.Input == "" {
		return quote(o.Key)
	}
	return quote(o.Key) + " of " + quote(o.Input)
}

// name describes a key by its origins, never by its name.
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

// describe lists the descriptions of the keys, sorted. Keys that are members of the same original key
// have equal descriptions, and are counted.
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

// several joins names, and counts the names that exceed the limit of a message.
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

// wrong returns a diagnostic about a field.
func wrong(path, format string, args ...any) *diagnostic.Diagnostic {
	return &diagnostic.Diagnostic{Path: path, Rule: diagnostic.Input, Message: fmt.Sprintf(format, args...)}
}

// wrongAt returns a diagnostic at a byte in the text of a field.
func wrongAt(path, text string, offset int, format string, args ...any) *diagnostic.Diagnostic {
	d := wrong(path, format, args...)
	d.Line, d.Column = position(text, offset)
	d.Rule = diagnostic.Expression
	return d
}

// position returns the line and the column of a byte in a text.
func position(text string, offset int) (line, column int) {
	before := text[:min(max(offset, 0), len(text))]
	last := before[strings.LastIndexByte(before, '\n')+1:]
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(last)
}
