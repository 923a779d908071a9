package schema

import (
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

var (
	// escapedWord matches a letter, a digit or a dash that is escaped by its number, or that continues a line.
	escapedWord = lazy.MustCompile(
		`\\(?:(?:x|u00|U000000)(?:2[dD]|3[0-9]|[46][1-9a-fA-F]|[57][0-9aA])|[\r\n]\s*[-0-9A-Za-z])`)

	// anchor matches the target of an alias.
	anchor = lazy.MustCompile(`&[^\s&]`)

	// hiding matches other ways to hide a word: other encodings, tags that decode, and line breaks that only
	// YAML knows.
	hiding = []string{"\x00", "\xff\xfe", "\xfe\xff", "!!", "!<", "%TAG", "\u0085", "\u2028", "\u2029"}
)

// Declares reports whether a YAML or JSON document may be a definition of a wanted kind for
// [Catalog.Add]. False is certain, true is not. It only scans the text, which is much faster than
// decoding.
func Declares(document string, wanted func(kind string) bool) bool {
	for _, s := range hiding {
		if strings.Contains(document, s) {
			return true
		}
	}
	if escapedWord.MatchString(document) {
		return true
	}
	if !strings.Contains(document, crd.Kind) && !strings.Contains(document, xrd.Kind) {
		return false
	}
	if anchor.MatchString(document) {
		return true
	}
	inWord := false
	for before, after, ok := strings.Cut(document, "kind"); ok; before, after, ok = strings.Cut(after, "kind") {
		if before != "" {
			inWord = isWord(before[len(before)-1])
		}
		if value, isKey := valueAfter(after); isKey && !inWord && maybe(value, wanted) {
			return true
		}
		inWord = true
	}
	return false
}

// valueAfter returns what follows a key, its quote and its colon.
func valueAfter(key string) (string, bool) {
	value, ok := strings.CutPrefix(skip(unquoted(key)), ":")
	return skip(value), ok
}

// maybe reports whether a value may be a wanted kind. The start of an object or a list cannot be a kind.
func maybe(value string, wanted func(string) bool) bool {
	value = unquoted(value)
	n := 0
	for n < len(value) && (isWord(value[n]) || value[n] == '-') {
		n++
	}
	if n > 0 {
		return wanted(value[:n])
	}
	return value == "" || !strings.ContainsRune("{}[],", rune(value[0]))
}

func unquoted(s string) string {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		return s[1:]
	}
	return s
}

// skip skips spaces, line breaks and comments.
func skip(s string) string {
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		if !strings.HasPrefix(s, "#") {
			return s
		}
		n := strings.IndexAny(s, "\r\n")
		if n < 0 {
			return ""
		}
		s = s[n:]
	}
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
