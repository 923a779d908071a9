package rewrite

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"path"
	"reflect"
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

var errTooLong = callError{reason: fmt.Sprintf("the result has more than %d bytes", maxName)}

// builtins of text/template that a template may use. The others call functions, escape text, print with
// any width, or cut bytes.
var builtins = map[string]any{
	"and": true, "or": true, "not": true, "eq": true, "ne": true, "lt": true, "le": true, "gt": true, "ge": true,
	"len": true,
}

// A meter spends the budget for the texts that the functions of a template read.
type meter struct{ budget *budget.Budget }

// functions returns the functions of a template, except the builtins. They have sprig's names, and
// sprig's order of arguments. Sprig itself is not used. It would add 14 packages and 1 MB, and its
// functions do not spend the budget before they work. Some of them also produce wrong keys: trunc cuts
// a character in two, substr and repeat fail on some arguments, and b64dec returns the text of its
// error as the key. Here all functions count characters, and their results are never longer than a
// name. printf supports %s, %d and %v without flags.
func (m *meter) functions() template.FuncMap {
	all := template.FuncMap{
		"upper":     strings.ToUpper,
		"lower":     strings.ToLower,
		"trim":      strings.TrimSpace,
		"nospace":   func(s string) string { return strings.Join(strings.Fields(s), "") },
		"b64enc":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"b64dec":    b64dec,
		"sha256sum": func(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) },
		"snakecase": func(s string) string { return strings.ToLower(strings.Join(words(s), "_")) },
		"kebabcase": func(s string) string { return strings.ToLower(strings.Join(words(s), "-")) },
		"camelcase": camelcase,

		// Keys may be paths, as in a store of secrets. The functions do not depend on the operating system.
		"base":  path.Base,
		"dir":   path.Dir,
		"clean": path.Clean,
		"ext":   path.Ext,
		"isAbs": path.IsAbs,

		"trimAll":    func(cut, s string) string { return strings.Trim(s, cut) },
		"trimPrefix": func(prefix, s string) string { return strings.TrimPrefix(s, prefix) },
		"trimSuffix": func(suffix, s string) string { return strings.TrimSuffix(s, suffix) },
		"default":    func(other, s string) string { return cmp.Or(s, other) },
		"hasPrefix":  func(prefix, s string) bool { return strings.HasPrefix(s, prefix) },
		"hasSuffix":  func(suffix, s string) bool { return strings.HasSuffix(s, suffix) },
		"contains":   func(part, s string) bool { return strings.Contains(s, part) },
		"ternary": func(yes, no string, condition bool) string {
			if condition {
				return yes
			}
			return no
		},
		"replace": replace,
		"repeat":  repeat,
		"trunc":   trunc,
		"substr":  substr,
		"printf":  printf,
		"regexMatch": func(pattern, s string) (bool, error) {
			p, err := m.pattern(pattern)
			if err != nil {
				return false, err
			}
			return p.Match(m.budget, s)
		},
		"regexReplaceAll": func(pattern, s, by string) (string, error) {
			p, err := m.pattern(pattern)
			if err != nil {
				return "", err
			}
			if why := p.checkReferences(by); why != "" {
				return "", callError{why, true}
			}
			return p.replaceAll(m.budget, s, by)
		},
	}
	for name, f := range all {
		all[name] = m.bounded(reflect.ValueOf(f))
	}
	return all
}

// bounded returns a function that spends the budget for its arguments before it calls f, and fails if f returns a text
// that is too long for a name. Otherwise, a line of variables could double a text a hundred times.
func (m *meter) bounded(f reflect.Value) any {
	of := f.Type()
	in := make([]reflect.Type, of.NumIn())
	for i := range in {
		in[i] = of.In(i)
	}
	failure := reflect.TypeFor[error]()
	out := []reflect.Type{of.Out(0), failure}
	call := func(args []reflect.Value) []reflect.Value {
		size := 0
		for _, arg := range args {
			if arg.Kind() == reflect.String {
				size += arg.Len()
			}
		}
		err := m.budget.Spend(budget.Counted(1, wordsWeigh*size))
		if err != nil {
			return []reflect.Value{reflect.Zero(out[0]), reflect.ValueOf(&err).Elem()}
		}
		var results []reflect.Value
		if of.IsVariadic() {
			results = f.CallSlice(args)
		} else {
			results = f.Call(args)
		}
		if len(results) == 1 {
			results = append(results, reflect.Zero(failure))
		}
		if results[0].Kind() == reflect.String && results[0].Len() > maxName {
			err = errTooLong
			results[1] = reflect.ValueOf(&err).Elem()
		}
		return results
	}
	return reflect.MakeFunc(reflect.FuncOf(in, out, of.IsVariadic()), call).Interface()
}

// wordsWeigh is the cost of a character in copied bytes if a text is split into words of one character, which no other
// function exceeds.
const wordsWeigh = 8

// pattern compiles a pattern in each call, because a pattern may be computed from a key.
func (m *meter) pattern(source string) (*Pattern, error) {
	const compileUnits = 4 // for each character of a pattern
	if err := m.budget.Spend(compileUnits * int64(len(source))); err != nil {
		return nil, err
	}
	p, wrong := CompilePattern("", source)
	if wrong != nil {
		return nil, callError{"a regular expression " + wrong[0].Message, true}
	}
	return p, nil
}

// short refuses a text that is too long for a name.
func short(s string) (string, error) {
	if len(s) > maxName {
		return "", errTooLong
	}
	return s, nil
}

func replace(from, to, s string) (string, error) {
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
func b64dec(s string) (string, error) {
	out, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return "", callError{reason: "the argument of b64dec is not base64"}
	}
	return string(out), nil
}

// verb matches a verb of printf, or a text that looks like one.
var verb = lazy.MustCompile(`(?s)%.?`)

var errPrintf = callError{"printf must have one argument for each verb, " +
	"and knows %s for a text, %d for a whole number and %v for both, without flags", true}

// printf replaces %s, %d and %v by its arguments, and %% by a percent sign.
func printf(format string, args ...any) (string, error) {
	used := 0
	for _, v := range verb().FindAllString(format, -1) {
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
	return fmt.Sprintf(format, args...), nil
}

func fits(verb string, arg any) bool {
	switch arg.(type) {
	case string:
		return verb == "%s" || verb == "%v"
	case int:
		return verb == "%d" || verb == "%v"
	}
	return false
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
	between := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for _, run := range strings.FieldsFunc(s, between) {
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
