package files

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/cli/terminal"
)

// lineShown is how much of a long line is shown around an error.
const lineShown = 120

// PrintText prints diagnostics for people: the position, the message, and the line with a caret
// below it.
func PrintText(w io.Writer, diagnostics []Diagnostic) error {
	var b bytes.Buffer
	for _, f := range diagnostics {
		where := ""
		if f.Field != "" {
			where = terminal.OneLine(f.Field) + ": "
		}
		fmt.Fprintf(&b, "%s:%d:%d: %s%s\n", terminal.OneLine(f.File), f.Line, f.Column, where, terminal.OneLine(f.Message))
		if strings.TrimSpace(f.source) != "" {
			text, caret := shownLine(f.source, f.Column)
			fmt.Fprintf(&b, "%5d | %s\n      | %s^\n", f.Line, text, caret)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// shownLine returns the part of a line around a column, and the blanks before the caret below it.
// Control characters become blanks.
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
