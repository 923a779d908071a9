package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// lineShown is how much of a long line is shown around a fault.
const lineShown = 120

// printText prints findings for people: the place, the message, and the line with a
// caret below it.
func printText(w io.Writer, findings []finding) error {
	var b bytes.Buffer
	for _, f := range findings {
		where := f.Field
		if where != "" {
			where += ": "
		}
		fmt.Fprintf(&b, "%s:%d:%d: %s%s\n", oneLine(f.File), f.Line, f.Column, oneLine(where)+space(where), oneLine(f.Message))
		if strings.TrimSpace(f.source) != "" {
			text, caret := shownLine(f.source, f.Column)
			fmt.Fprintf(&b, "%5d | %s\n      | %s^\n", f.Line, text, caret)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// space behind what is not empty, which oneLine trims.
func space(s string) string {
	if s == "" {
		return ""
	}
	return " "
}

// shownLine is the part of a line around a column, and what stands before the caret
// below it. Control characters are blank.
func shownLine(line string, column int) (text, before string) {
	runes := []rune(line)
	from := 0
	if len(runes) > lineShown {
		from = min(max(0, column-1-lineShown/2), len(runes)-lineShown)
		runes = runes[from : from+lineShown]
	}
	var shown, caret strings.Builder
	for i, c := range runes {
		blank := ' '
		if c == '\t' {
			blank = '\t'
		}
		if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 {
			c = blank
		}
		shown.WriteRune(c)
		if i < column-1-from {
			caret.WriteRune(blank)
		}
	}
	return strings.TrimRight(shown.String(), " \t"), caret.String()
}
