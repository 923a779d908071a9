package terminal

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/rules"
)

// lineShown is how much of a long line is shown around an error.
const lineShown = 120

// PrintText prints diagnostics for people: the position, the message, and the line with a caret
// below it. A terminal shows them in color.
func PrintText(w io.Writer, diagnostics []files.Diagnostic) error {
	return PrintColored(w, diagnostics, Color("").For(w))
}

// PrintColored is like PrintText with other colors.
func PrintColored(w io.Writer, diagnostics []files.Diagnostic, colors Colors) error {
	var b bytes.Buffer
	for _, f := range diagnostics {
		text := OneLine(f.Message)
		if f.Field != "" {
			text = OneLine(f.Field) + ": " + text
		}
		if f.Warning {
			text = "warning: " + text
		}
		if rules.Named(string(f.Rule)) != nil {
			text += colors.Faint(" [" + string(f.Rule) + "]")
		}
		place := fmt.Sprintf("%s:%d:%d:", OneLine(f.File), f.Line, f.Column)
		fmt.Fprintf(&b, "%s %s\n", colors.Place(place), text)
		if strings.TrimSpace(f.Source) != "" {
			text, caret := shownLine(f.Source, f.Column)
			number := colors.Faint(fmt.Sprintf("%5d |", f.Line))
			fmt.Fprintf(&b, "%s %s\n%s %s%s\n", number, text, colors.Faint("      |"), caret, colors.Error("^"))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Exit returns the error that ends the program for diagnostics, or nil without errors. A file that cannot be read
// matters more than an error in an input.
func Exit(diagnostics []files.Diagnostic) (out error) {
	for _, d := range diagnostics {
		switch {
		case d.Rule == files.Unreadable:
			return &ExitError{Code: ExitUnread, Why: "something could not be read"}
		case !d.Warning:
			out = &ExitError{Code: ExitErrors, Why: "there are errors"}
		}
	}
	return out
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
	for i, c := range runes {
		if c != '\t' && unicode.IsControl(c) {
			runes[i] = ' '
		}
	}
	before = strings.Map(func(c rune) rune {
		if c != '\t' {
			return ' '
		}
		return c
	}, string(runes[:min(max(0, column-1-from), len(runes))]))
	return strings.TrimRight(string(runes), " \t"), before
}
