// Package format writes texts in which quoting is the risk: files of settings, and strings and URLs with which
// programs connect to databases. It knows nothing about CEL.
//
// A value is a string, bytes, a bool, a whole number or a float64. The law of each function is that real parsers of the
// format read exactly the values that were written. The tests in readers hold it. If a format, or one of the parsers
// that the function names, cannot represent a value, the function returns an error. An error never contains a part of a
// value, because a value may be a secret. It names a key only if the key is one of the fields of the function.
package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Errors that several formats share.
var (
	errScalar = errors.New("a value is not a string, bytes, a bool or a number: leave the key out, or use json.encode")
	errNumber = errors.New("a number is infinite or not a number")
	errUTF8   = errors.New("a text is not UTF-8: use base64.encode")
	errNUL    = errors.New("a value contains a NUL character, which no reader accepts")
)

// text returns a scalar as text. Numbers are written as in JSON.
func text(v any) (string, error) {
	switch t := v.(type) {
	case string:
		return utf8Text(t)
	case []byte:
		return utf8Text(string(t))
	case bool:
		return strconv.FormatBool(t), nil
	case int64:
		return strconv.FormatInt(t, 10), nil
	case uint64:
		return strconv.FormatUint(t, 10), nil
	case float64:
		if math.IsNaN(t) || math.IsInf(t, 0) {
			return "", errNumber
		}
		b, err := json.Marshal(t)
		return string(b), err
	}
	return "", errScalar
}

func utf8Text(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", errUTF8
	}
	return s, nil
}

// JSON returns a value as JSON: keys are sorted, whole numbers are exact, and nothing is escaped for HTML. Its error
// may contain a value.
func JSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// entries calls a function for each entry of a map, in the order of the keys, and returns the results.
func entries(m map[string]any, write func(key, value string) (string, error)) ([]string, error) {
	out := make([]string, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		value, err := text(m[key])
		if err != nil {
			return nil, err
		}
		entry, err := write(key, value)
		if err != nil {
			return nil, err
		}
		out = append(out, entry)
	}
	return out, nil
}

// lines is like entries, and returns the results as lines.
func lines(m map[string]any, write func(key, value string) (string, error)) (string, error) {
	out, err := entries(m, write)
	if len(out) == 0 {
		return "", err
	}
	return strings.Join(out, "\n") + "\n", err
}

// hasControl reports whether a text contains a control character, a line separator or a paragraph separator.
func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' })
}

// isTrimmed reports whether a text has no white space at its ends.
func isTrimmed(s string) bool { return strings.TrimSpace(s) == s }

// fields are the entries of a map whose keys are known. They collect the first error, which names the field.
type fields struct {
	entries map[string]any
	err     error
}

// newFields refuses a map that has other keys than the known ones.
func newFields(m map[string]any, known ...string) *fields {
	f := &fields{entries: m}
	for key := range m {
		if !slices.Contains(known, key) {
			f.fail("a key is unknown: the keys are " + strings.Join(known, ", "))
		}
	}
	return f
}

func (f *fields) fail(reason string) {
	if f.err == nil {
		f.err = errors.New(reason)
	}
}

func (f *fields) has(name string) bool {
	_, ok := f.entries[name]
	return ok
}

// text returns the text of a field, or an empty text if the field is absent.
func (f *fields) text(name string) string {
	v, ok := f.entries[name]
	if !ok {
		return ""
	}
	s, err := text(v)
	if err != nil {
		f.fail(fmt.Sprintf("%s: %v", name, err))
	}
	return s
}

// filled is like text, but an empty field is an error.
func (f *fields) filled(name string) string {
	s := f.text(name)
	if s == "" && f.has(name) {
		f.fail(name + " is empty: leave the key out")
	}
	return s
}

// required is like filled, but an absent field is also an error.
func (f *fields) required(name string) string {
	if !f.has(name) {
		f.fail(name + " is missing")
	}
	return f.filled(name)
}

// bool returns a field that is true or false.
func (f *fields) bool(name string) bool {
	v, ok := f.entries[name]
	b, isBool := v.(bool)
	if ok && !isBool {
		f.fail(name + " is not true or false")
	}
	return b
}

// port returns a field that is a port, as a number or a text, or an empty text if the field is absent.
func (f *fields) port(name string) string {
	s := f.text(name)
	if f.has(name) && !isPort(s) {
		f.fail(name + " is not a number from 1 to 65535")
	}
	return s
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0 && s == strconv.FormatUint(n, 10)
}

// A parameter of a URL.
type parameter struct{ key, value string }

// parameters returns the entries of a field that is a map, in the order of their keys.
func (f *fields) parameters(reserved ...string) []parameter {
	v, ok := f.entries["parameters"]
	if !ok {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		f.fail("parameters is not a map")
	}
	out := make([]parameter, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		switch {
		case !isName(key):
			f.fail("the name of a parameter " + notName)
		case slices.Contains(reserved, strings.ToLower(key)):
			f.fail("a parameter is written twice: it has a key of its own outside of parameters")
		}
		value, err := text(m[key])
		if err != nil {
			f.fail(fmt.Sprintf("parameters: %v", err))
		}
		out = append(out, parameter{key, value})
	}
	return out
}

// plainCharacters are the letters and digits of ASCII.
const plainCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// notName says what is wrong with a text that is no name.
const notName = "does not only have letters, digits, the characters . _ and -, or begins with . or -"

// isName reports whether a text consists of letters and digits of ASCII, _, - and ., and does not begin with - or a
// dot.
func isName(s string) bool {
	return s != "" && strings.Trim(s, "_-."+plainCharacters) == "" && s[0] != '-' && s[0] != '.'
}
