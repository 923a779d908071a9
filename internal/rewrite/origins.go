package rewrite

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/crossplane-contrib/function-export/internal/limits"
)

// maxQuoted is how many bytes of a name a text shows.
const maxQuoted = 80

func compareOrigins(a, b Origin) int {
	return cmp.Or(strings.Compare(a.Input, b.Input), strings.Compare(a.Key, b.Key))
}

// union is the origins of both, sorted, each once.
func union(a, b []Origin) []Origin {
	out := slices.Concat(a, b)
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
	if len(k.Origins) == 0 {
		return "a key"
	}
	if len(k.Origins) == 1 {
		return k.Origins[0].String()
	}
	names := make([]string, 0, limits.MessageItems+1)
	for i, o := range k.Origins {
		if i == limits.MessageItems {
			names = append(names, fmt.Sprintf("%d more", len(k.Origins)-i))
			break
		}
		names = append(names, o.String())
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

// oneOf refuses a word that is none of those known. The empty one stands for the
// first of them.
func oneOf(path, got string, known ...string) []Fault {
	if got == "" || slices.Contains(known, got) {
		return nil
	}
	last := len(known) - 1
	return []Fault{{path, fmt.Sprintf("must be %s or %s, not %s", strings.Join(known[:last], ", "), known[last], quote(got))}}
}

// position of a byte in a text, as :line:column.
func position(text string, offset int) string {
	before := text[:min(max(offset, 0), len(text))]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return fmt.Sprintf(":%d:%d", 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(line))
}
