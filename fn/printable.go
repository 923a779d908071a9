package main

import (
	"strconv"
	"strings"
	"unicode"
)

// printable escapes what cannot be seen, as in a Go string: \n, \x1b, \u202e.
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
