package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// checkText runs check over a text on stdin, and returns what it found, what it
// printed, and the exit code.
func checkText(t testing.TB, c checkCmd, text string) (result *checked, printed string, code int) {
	t.Helper()
	c.Paths = []string{stdinName}
	result, err := c.check(t.Context(), strings.NewReader(text), func(int, int) {})
	if err != nil {
		result = &checked{}
	}
	var stdout, stderr bytes.Buffer
	if err := c.run(t.Context(), strings.NewReader(text), &stdout, &stderr); err != nil {
		var e *exitError
		if !errors.As(err, &e) {
			t.Fatalf("check: %v: want an exit code", err)
		}
		code = e.code
	}
	return result, stdout.String() + stderr.String(), code
}

// indented puts blanks in front of each line but the first.
func indented(text string, by int) string {
	return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", by))
}
