package schema

import "strings"

// Declares reports whether a YAML or JSON document may be a definition, as
// [Catalog.Add] takes it, of a kind that is wanted. It looks at the text only, which
// is quicker by far than to decode it: false is certain, true is not.
func Declares(document string, wanted func(kind string) bool) bool {
	if strange(document) {
		return true
	}
	if !strings.Contains(document, crd.Kind) && !strings.Contains(document, xrd.Kind) {
		return false
	}
	for at := 0; ; {
		i := strings.Index(document[at:], "kind")
		if i < 0 {
			return false
		}
		before, after := document[:at+i], document[at+i+len("kind"):]
		at += i + len("kind")
		if before != "" && isWord(before[len(before)-1]) {
			continue // the end of another word
		}
		if anchored(before) {
			return true // an alias may stand for it anywhere
		}
		if value, ok := valueAfter(after); ok && maybe(value, wanted) {
			return true
		}
	}
}

// maybe reports whether what begins a value may be a wanted kind. The start of an
// object or a list is none.
func maybe(value string, wanted func(string) bool) bool {
	if value != "" && (value[0] == '"' || value[0] == '\'') {
		value = value[1:]
	}
	n := 0
	for n < len(value) && (isWord(value[n]) || value[n] == '-') {
		n++
	}
	if n > 0 {
		return wanted(value[:n])
	}
	return value == "" || !strings.Contains("{}[],", value[:1])
}

// valueAfter is what follows a key, its quote and its colon.
func valueAfter(key string) (string, bool) {
	if key != "" && (key[0] == '"' || key[0] == '\'') {
		key = key[1:]
	}
	value, ok := strings.CutPrefix(skip(key), ":")
	return skip(value), ok
}

// skip spaces, line breaks and comments.
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

// anchored reports whether an anchor stands before a scalar, with comments between
// them or not.
func anchored(before string) bool {
	for {
		before = strings.TrimRight(before, "\"' \t\r\n")
		if strings.HasPrefix(before[strings.LastIndexAny(before, " \t\r\n,[{")+1:], "&") {
			return true
		}
		line := strings.LastIndexAny(before, "\r\n") + 1
		comment := strings.IndexByte(before[line:], '#')
		if comment < 0 {
			return false
		}
		before = before[:line+comment]
	}
}

// strange reports whether a document is written in a way that could hide a word: with
// escaped letters, tags that decode, or line breaks that others do not know.
func strange(document string) bool {
	for _, s := range []string{"\x00", "\xff\xfe", "\xfe\xff", "!!", "!<", "%TAG", "\u0085", "\u2028", "\u2029"} {
		if strings.Contains(document, s) {
			return true
		}
	}
	for at := 0; ; {
		i := strings.IndexByte(document[at:], '\\')
		if i < 0 {
			return false
		}
		at += i + 1
		if escapesWord(document[:at-1], document[at:]) {
			return true
		}
	}
}

// escapesWord reports whether what follows a backslash may be a letter, a digit or a
// dash of a word: by its number, or on the next line.
func escapesWord(before, after string) bool {
	if after == "" {
		return false
	}
	digits := 0
	switch after[0] {
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	case '\r', '\n':
		next := strings.TrimLeft(after, " \t\r\n")
		return before != "" && (isWord(before[len(before)-1]) || before[len(before)-1] == '-') && next != "" && (isWord(next[0]) || next[0] == '-')
	default:
		return false
	}
	if len(after) <= digits {
		return true
	}
	var c rune
	for i := 1; i <= digits; i++ {
		h := strings.IndexByte("0123456789abcdef", after[i]|0x20)
		if h < 0 {
			return false // no escape, as in a pattern
		}
		c = c<<4 | rune(h)
	}
	return c < 0x80 && (isWord(byte(c)) || c == '-')
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
