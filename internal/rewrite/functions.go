package rewrite

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"text/template"
	"unicode"
)

// A callError is why a function of a template fails. It holds no argument.
type callError struct {
	reason string
	always bool // whatever the key is
}

func (e callError) Error() string { return e.reason }

var errTooLong = callError{reason: fmt.Sprintf("it gives a text over the limit of %d bytes", maxName)}

var errCostly = callError{reason: fmt.Sprintf("it matches or cuts into words a text over the limit of %d bytes", costlyText)}

// builtins of text/template that a template may use. The others call, escape,
// print in any width, or cut bytes.
var builtins = []string{"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "len"}

// functions of a template beside the builtins. They are sprig's, with its names
// and its order of arguments, and the same on any machine at any time. Where
// sprig counts bytes they count characters, so that none is cut in two; and what
// they return is never longer than a name may be. printf knows %s, %d and %v
// without flags.
var functions = template.FuncMap{
	"upper":     text(strings.ToUpper),
	"lower":     text(strings.ToLower),
	"trim":      text(strings.TrimSpace),
	"nospace":   text(func(s string) string { return strings.Join(strings.Fields(s), "") }),
	"b64enc":    text(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
	"sha256sum": text(func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }),
	"snakecase": inWords(func(w []string) string { return strings.ToLower(strings.Join(w, "_")) }),
	"kebabcase": inWords(func(w []string) string { return strings.ToLower(strings.Join(w, "-")) }),
	"camelcase": inWords(camelcase),

	"trimAll":    func(cut, s string) string { return strings.Trim(s, cut) },
	"trimPrefix": func(prefix, s string) string { return strings.TrimPrefix(s, prefix) },
	"trimSuffix": func(suffix, s string) string { return strings.TrimSuffix(s, suffix) },
	"hasPrefix":  func(prefix, s string) bool { return strings.HasPrefix(s, prefix) },
	"hasSuffix":  func(suffix, s string) bool { return strings.HasSuffix(s, suffix) },
	"contains":   func(part, s string) bool { return strings.Contains(s, part) },
	"ternary": func(yes, no string, condition bool) string {
		if condition {
			return yes
		}
		return no
	},
	"default": func(other, s string) string {
		if s == "" {
			return other
		}
		return s
	},

	"replace": replace,
	"repeat":  repeat,
	"trunc":   trunc,
	"substr":  substr,
	"b64dec":  b64dec,
	"printf":  printf,
}

// patternNames are the functions that patternFunctions makes.
var patternNames = []string{"regexMatch", "regexReplaceAll"}

// patternFunctions are those of a template that has these regular expressions.
func patternFunctions(patterns map[string]*regexp.Regexp) template.FuncMap {
	return template.FuncMap{
		"regexMatch": func(pattern, s string) (bool, error) {
			if len(s) > costlyText {
				return false, errCostly
			}
			return patterns[pattern].MatchString(s), nil
		},
		"regexReplaceAll": func(pattern, s, by string) (string, error) {
			if len(s) > costlyText {
				return "", errCostly
			}
			if (len(s)+1)*(len(by)+1) > 16*maxName { // more than all matches, or all references, can give
				return "", errTooLong
			}
			return short(patterns[pattern].ReplaceAllString(s, by))
		},
	}
}

// text makes a function of one that can give a longer text than it gets.
func text(f func(string) string) func(string) (string, error) {
	return func(s string) (string, error) { return short(f(s)) }
}

// inWords is [text] for one that looks at the words of what it gets.
func inWords(f func([]string) string) func(string) (string, error) {
	return func(s string) (string, error) {
		if len(s) > costlyText {
			return "", errCostly
		}
		return short(f(words(s)))
	}
}

// short refuses a text that no name can have: without it, a line of variables
// could double one a hundred times.
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
	switch {
	case n <= 0 || s == "":
		return "", nil
	case n > maxName/len(s):
		return "", errTooLong
	}
	return strings.Repeat(s, n), nil
}

// trunc keeps the first n characters, or the last ones if n is negative.
func trunc(n int, s string) string {
	r := []rune(s)
	if n < 0 {
		return string(r[max(0, len(r)+n):])
	}
	return string(r[:min(n, len(r))])
}

// substr is the characters from start to before end. A negative start is the
// beginning, and a negative end the end.
func substr(start, end int, s string) string {
	r := []rune(s)
	if end < 0 || end > len(r) {
		end = len(r)
	}
	start = min(max(start, 0), end)
	return string(r[start:end])
}

// b64dec fails where sprig returns the text of its error.
func b64dec(s string) (string, error) {
	out, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return "", callError{reason: "b64dec gets what is not base64"}
	}
	return string(out), nil
}

// printf writes its arguments where %s, %d and %v stand, and a percent sign for
// %%.
func printf(format string, args ...any) (string, error) {
	var out strings.Builder
	used := 0
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			out.WriteByte(format[i])
			continue
		}
		i++
		verb := format[min(i, len(format)):min(i+1, len(format))]
		if verb == "%" {
			out.WriteByte('%')
			continue
		}
		if used == len(args) || !fits(verb, args[used]) {
			return "", errPrintf
		}
		fmt.Fprint(&out, args[used])
		used++
	}
	if used < len(args) {
		return "", errPrintf
	}
	return short(out.String())
}

var errPrintf = callError{"printf must have one argument for each verb, and knows %s for a text, %d for a whole number and %v for both, without flags", true}

func fits(verb string, arg any) bool {
	switch arg.(type) {
	case string:
		return verb == "s" || verb == "v"
	case int:
		return verb == "d" || verb == "v"
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

// words of a name: runs of letters and digits, cut before a capital that follows
// a small letter or a digit, and before the last capital of several that a small
// letter follows: dbURLPath is db, URL, Path. Digits belong to the word before
// them; sprig's have rules of their own.
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
