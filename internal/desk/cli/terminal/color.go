package terminal

import (
	"io"
	"os"
	"runtime"

	"golang.org/x/term"
)

// IsTerminal reports whether a writer is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// MovesCursor reports whether a writer is a terminal that can overwrite a line.
func MovesCursor(w io.Writer) bool { return IsTerminal(w) && os.Getenv("TERM") != "dumb" }

// Colors colors texts for a terminal. The zero value leaves them as they are.
type Colors bool

// A Color says when texts are in color: always, never, or otherwise for a terminal that can show colors, unless
// NO_COLOR is set (see no-color.org).
type Color string

// For returns the colors for a writer.
func (c Color) For(w io.Writer) Colors {
	return Colors(c == "always" || c != "never" && IsTerminal(w) && showsColors(os.Getenv, runtime.GOOS))
}

// showsColors reports whether the environment permits colors. On Windows, only Windows Terminal shows them without
// a system call.
func showsColors(env func(string) string, system string) bool {
	return env("NO_COLOR") == "" && env("TERM") != "dumb" && (system != "windows" || env("WT_SESSION") != "")
}

// Place returns the text of a position in a file.
func (c Colors) Place(text string) string { return c.paint("1", text) }

// Error returns a text about an error.
func (c Colors) Error(text string) string { return c.paint("1;31", text) }

// Warning returns a text about a warning.
func (c Colors) Warning(text string) string { return c.paint("1;33", text) }

// Faint returns a text that matters less.
func (c Colors) Faint(text string) string { return c.paint("2", text) }

// paint selects a color with an ANSI sequence (Select Graphic Rendition), and resets it after the text.
func (c Colors) paint(code, text string) string {
	if !c || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
