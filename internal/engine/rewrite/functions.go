package rewrite

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"
	"unicode"
	"unicode/utf8"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A callError is the reason why a function of a template fails. It contains no argument.
type callError struct {
	reason string
	always bool // the function fails for each key
}

func (e callError) Error() string { return e.reason }

var errTooLong = callError{reason: fmt.Sprintf("it returns a text over the limit of %d bytes", maxName)}

var errCostly = callError{
	reason: fmt.Sprintf("it matches a text over the limit of %d bytes or splits it into words", costlyText),
}

// builtins of text/template that a template may use. The others call functions, escape text, print with
// any width, or cut bytes.
var builtins = []string{"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "len"}

// wordsWeigh is the cost of a character in copied bytes if a text is split into words of one character.
const wordsWeigh = 8

// A meter spends the budget for the texts that the functions of a template read.
type meter struct{ budget *budget.Budget }

func (m *meter) spend(s string) error {
	return m.budget.Spend(budget.Counted(1, charactersWeigh*len(s)))
}

// patternNames are the functions whose first argument is a regular expression.
var patternNames = []string{"regexMatch", "regexReplaceAll"}

// functionNames are all functions except the builtins.
var functionNames = slices.Sorted(maps.Keys((&meter{}).functions(nil)))

// functions returns the functions of a template, except the builtins. They have sprig's names, and
// sprig's order of arguments. Sprig itself is not used. It would add 14 packages and 1 MB, and its
// functions do not spend the budget before they work. Some of them also produce wrong keys: trunc cuts
// a character in two, substr and repeat fail on some arguments, and b64dec returns the text of its
// error as the key. Here all functions count characters, and their results are never longer than a
// name. printf supports %s, %d and %v without flags.
func (m *meter) functions(patterns map[string]*Pattern) template.FuncMap {
	return template.FuncMap{
		"upper":     m.text(strings.ToUpper),
		"lower":     m.text(strings.ToLower),
		"trim":      m.text(strings.TrimSpace),
		"nospace":   m.text(func(s string) string { return strings.Join(strings.Fields(s), "") }),
		"b64enc":    m.text(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
		"sha256sum": m.text(func(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }),
		"snakecase": m.inWords(func(w []string) string { return strings.ToLower(strings.Join(w, "_")) }),
		"kebabcase": m.inWords(func(w []string) string { return strings.ToLower(strings.Join(w, "-")) }),
		"camelcase": m.inWords(camelcase),

		// Keys may be paths, as in a store of secrets. The functions do not depend on the operating system.
		"base":  m.text(path.Base),
		"dir":   m.text(path.Dir),
		"clean": m.text(path.Clean),
		"ext":   m.text(path.Ext),
		"isAbs": func(s string) (bool, error) { return path.IsAbs(s), m.spend(s) },

		"trimAll":    m.part(func(cut, s string) string { return strings.Trim(s, cut) }),
		"trimPrefix": m.part(func(prefix, s string) string { return strings.TrimPrefix(s, prefix) }),
		"trimSuffix": m.part(func(suffix, s string) string { return strings.TrimSuffix(s, suffix) }),
		"default":    m.part(func(other, s string) string { return cmp.Or(s, other) }),
		"hasPrefix":  m.has(strings.HasPrefix),
		"hasSuffix":  m.has(strings.HasSuffix),
		"contains":   m.has(strings.Contains),
		"ternary": func(yes, no string, condition bool) string {
			if condition {
				return yes
			}
			return no
		},

		"replace": m.replace,
		"repeat":  repeat, // the function that uses its result spends the budget
		"trunc":   func(n int, s string) (string, error) { return trunc(n, s), m.spend(s) },
		"substr":  func(start, end int, s string) (string, error) { return substr(start, end, s), m.spend(s) },
		"b64dec":  m.b64dec,
		"printf":  printf,

		"regexMatch": func(pattern, s string) (bool, error) {
			if len(s) > costlyText {
				return false, errCostly
			}
			return patterns[pattern].Match(m.budget, s)
		},
		"regexReplaceAll": func(pattern, s, by string) (string, error) {
			if len(s) > costlyText {
				return "", errCostly
			}
			if (len(s)+1)*(len(by)+1) > 16*maxName { // more than all matches, or all references, can produce
				return "", errTooLong
			}
			out, err := patterns[pattern].replaceAll(m.budget, s, by)
			if err != nil {
				return "", err
			}
			return short(out)
		},
	}
}

// part wraps a function that returns one of two texts, or a part of it.
func (m *meter) part(f func(a, s string) string) func(a, s string) (string, error) {
	return func(a, s string) (string, error) { return f(a, s), m.spend(s) }
}

// has wraps a function that tests a text.
func (m *meter) has(f func(s, part string) bool) func(part, s string) (bool, error) {
	return func(part, s string) (bool, error) { return f(s, part), m.spend(s) }
}

// text wraps a function that can return a longer text than its argument.
func (m *meter) text(f func(string) string) func(string) (string, error) {
	return func(s string) (string, error) {
		if err := m.spend(s); err != nil {
			return "", err
		}
		return short(f(s))
	}
}

// inWords is like [meter.text] for a function that splits a text into words.
func (m *meter) inWords(f func([]string) string) func(string) (string, error) {
	in := m.text(func(s string) string { return f(words(s)) })
	return func(s string) (string, error) {
		if len(s) > costlyText {
			return "", errCostly
		}
		if err := m.budget.Spend(budget.Counted(0, wordsWeigh*len(s))); err != nil {
			return "", err
		}
		return in(s)
	}
}

// short refuses a text that is too long for a name. Otherwise, a line of variables could double a text a
// hundred times.
func short(s string) (string, error) {
	if len(s) > maxName {
		return "", errTooLong
	}
	return s, nil
}

func (m *meter) replace(from, to, s string) (string, error) {
	if err := m.spend(s); err != nil {
		return "", err
	}
	if len(s)+strings.Count(s, from)*(len(to)-len(from)) > maxName {
		return "", errTooLong
	}
	return strings.ReplaceAll(s, from, to), nil
}

func repeat(n int, s string) (string, error) {
	if s != "" && n > maxName/len(s) {
		return "", errTooLong
	}
	return strings.Repeat(s, max(n, 0)), nil
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

// b64dec returns an error. Sprig's b64dec returns the text of the error.
func (m *meter) b64dec(s string) (string, error) {
	if err := m.spend(s); err != nil {
		return "", err
	}
	out, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return "", callError{reason: "the argument of b64dec is not base64"}
	}
	return string(out), nil
}

// printf replaces %s, %d and %v by its arguments, and %% by a percent sign.
func printf(format string, args ...any) (string, error) {
	used := 0
	for _, v := range verb.FindAllString(format, -1) {
		if v == "%%" {
			continue
		}
		if used == len(args) || !fits(v, args[used]) {
			return "", errPrintf
		}
		used++
	}
	if used < len(args) {
		return "", errPrintf
	}
	return short(fmt.Sprintf(format, args...))
}

// verb matches a verb of printf, or a text that looks like one.
var verb = lazy.MustCompile(`(?s)%.?`)

var errPrintf = callError{"printf must have one argument for each verb, " +
	"and knows %s for a text, %d for a whole number and %v for both, without flags", true}

func fits(verb string, arg any) bool {
	switch arg.(type) {
	case string:
		return verb == "%s" || verb == "%v"
	case int:
		return verb == "%d" || verb == "%v"
	}
	return false
}

func camelcase(words []string) string {
	var out strings.Builder
	for _, w := range words {
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
