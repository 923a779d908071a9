package rewrite

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"
	"unicode"
	"unicode/utf8"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
)

// errTooLong is the only error of the functions of a template. It contains no argument.
var errTooLong = fmt.Errorf("it returns a text over the limit of %d bytes", maxName)

// builtins of text/template that a template may use. The others call functions, escape text, print with
// any width, or cut bytes.
var builtins = []string{"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "len"}

// wordsWeigh is the cost of a character in copied bytes if a text is split into words of one character.
const wordsWeigh = 12

// A meter spends the budget for the texts that the functions of a template read.
type meter struct{ budget *budget.Budget }

func (m *meter) spend(weigh int, s string) error {
	return m.budget.Spend(budget.Counted(1, weigh*len(s)))
}

// functionNames are all functions except the builtins.
var functionNames = slices.Sorted(maps.Keys((&meter{}).functions()))

// functions returns the functions of a template, except the builtins. They have sprig's names, and
// sprig's order of arguments. Sprig itself is not used. It would add 14 packages and 1 MB, its
// functions do not spend the budget before they work, and trunc and substr cut characters in two.
func (m *meter) functions() template.FuncMap {
	return template.FuncMap{
		"upper":     m.text(charactersWeigh, strings.ToUpper),
		"lower":     m.text(charactersWeigh, strings.ToLower),
		"trim":      m.text(charactersWeigh, strings.TrimSpace),
		"nospace":   m.text(charactersWeigh, func(s string) string { return strings.Join(strings.Fields(s), "") }),
		"snakecase": m.text(wordsWeigh, func(s string) string { return strings.ToLower(strings.Join(words(s), "_")) }),
		"kebabcase": m.text(wordsWeigh, func(s string) string { return strings.ToLower(strings.Join(words(s), "-")) }),
		"camelcase": m.text(wordsWeigh, camelcase),

		// Keys may be paths, as in a store of secrets. The functions do not depend on the operating system.
		"base":  m.text(charactersWeigh, path.Base),
		"dir":   m.text(charactersWeigh, path.Dir),
		"clean": m.text(charactersWeigh, path.Clean),
		"ext":   m.text(charactersWeigh, path.Ext),

		"trimAll":    m.part(func(cut, s string) string { return strings.Trim(s, cut) }),
		"trimPrefix": m.part(func(prefix, s string) string { return strings.TrimPrefix(s, prefix) }),
		"trimSuffix": m.part(func(suffix, s string) string { return strings.TrimSuffix(s, suffix) }),
		"default":    m.part(func(other, s string) string { return cmp.Or(s, other) }),
		"hasPrefix":  m.has(strings.HasPrefix),
		"hasSuffix":  m.has(strings.HasSuffix),
		"contains":   m.has(strings.Contains),

		"replace": m.replace,
		"trunc":   func(n int, s string) (string, error) { return trunc(n, s), m.spend(charactersWeigh, s) },
		"substr":  func(from, to int, s string) (string, error) { return substr(from, to, s), m.spend(charactersWeigh, s) },
	}
}

// part wraps a function that returns one of two texts, or a part of it.
func (m *meter) part(f func(a, s string) string) func(a, s string) (string, error) {
	return func(a, s string) (string, error) { return f(a, s), m.spend(charactersWeigh, s) }
}

// has wraps a function that tests a text.
func (m *meter) has(f func(s, part string) bool) func(part, s string) (bool, error) {
	return func(part, s string) (bool, error) { return f(s, part), m.spend(charactersWeigh, s) }
}

// text wraps a function that can return a longer text than its argument.
func (m *meter) text(weigh int, f func(string) string) func(string) (string, error) {
	return func(s string) (string, error) {
		if err := m.spend(weigh, s); err != nil {
			return "", err
		}
		out := f(s)
		if len(out) > maxName {
			return "", errTooLong
		}
		return out, nil
	}
}

// replace refuses a result that is too long before it works. Otherwise, a line of variables could double a text a
// hundred times.
func (m *meter) replace(from, to, s string) (string, error) {
	if err := m.spend(charactersWeigh, s); err != nil {
		return "", err
	}
	if len(s)+strings.Count(s, from)*(len(to)-len(from)) > maxName {
		return "", errTooLong
	}
	return strings.ReplaceAll(s, from, to), nil
}

// trunc keeps the first n characters, or the last ones if n is negative.
func trunc(n int, s string) string {
	if n < 0 {
		return substr(utf8.RuneCountInString(s)+n, -1, s)
	}
	return substr(0, n, s)
}

// substr returns the characters from start to before end. A negative start is the beginning, and a
// negative end is the end of the text.
func substr(start, end int, s string) string {
	r := []rune(s)
	if end < 0 || end > len(r) {
		end = len(r)
	}
	start = min(max(start, 0), end)
	return string(r[start:end])
}

func camelcase(s string) string {
	var out strings.Builder
	for _, w := range words(s) {
		r := []rune(strings.ToLower(w))
		out.WriteString(string(unicode.ToUpper(r[0])) + string(r[1:]))
	}
	return out.String()
}

// words returns the words of a name, which are runs of letters and digits. A run is split before a capital
// that follows a small letter or a digit, and before the last of several capitals if a small letter follows
// it. For example, dbURLPath becomes db, URL, Path. Digits belong to the word before them. Sprig has other
// rules for digits.
func words(s string) []string {
	var out []string
	for _, run := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		r := []rune(run)
		start := 0
		for i := 1; i < len(r); i++ {
			follows := !unicode.IsUpper(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1])
			if unicode.IsUpper(r[i]) && follows {
				out, start = append(out, string(r[start:i])), i
			}
		}
		out = append(out, string(r[start:]))
	}
	return out
}
