package function

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// message joins as many texts as a message can hold, and counts the rest.
func message(texts []string) string {
	var b strings.Builder
	for i, t := range texts {
		if i > 0 && b.Len()+len(t) > limits.MessageBytes {
			fmt.Fprintf(&b, "; and %d more", len(texts)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(t)
	}
	return clip(b.String())
}

// withCommand adds a command that shows more. It is at the end, and complete, so that it can be copied.
func withCommand(text, see string) string {
	if see == "" {
		return text
	}
	return text + "; see: " + clip(see)
}

// clipped ends a text that was shortened.
const clipped = "…"

// clip shortens a text that is too long, between two runes. Conditions, results and saved reports all
// pass through it: they have one line of visible characters, even if a name or a field has others.
func clip(s string) string {
	s = printable(s)
	if len(s) <= limits.MessageBytes+len("; and 1000 more") {
		return s
	}
	n := limits.MessageBytes
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + clipped
}

// printable escapes invisible characters as in a Go string: \n, \x1b, \u202e.
func printable(s string) string {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
