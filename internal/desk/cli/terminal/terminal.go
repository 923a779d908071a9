// Package terminal contains what all commands share: exit codes, usage errors, and texts that are
// safe to print.
package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"unicode"
)

// The exit codes of all commands.
const (
	ExitErrors = 1 // the input has errors, as check or the function found them
	ExitUnread = 2 // something cannot be read or written, or the command line is wrong
)

// An ExitError ends the program with an exit code. Its reason was already printed.
type ExitError struct {
	Code int
	Why  string // for logs and tests: it is not printed
}

// Error returns the reason.
func (e *ExitError) Error() string { return e.Why }

// ExitCode returns the exit code of the error.
func ExitCode(err error) (int, bool) {
	var e *ExitError
	if errors.As(err, &e) {
		return e.Code, true
	}
	return 0, false
}

// End prints an error that was not printed yet, and returns the exit code of the program.
func End(err error, stderr io.Writer) int {
	code, isPrinted := ExitCode(err)
	switch {
	case err == nil:
		return 0
	case isPrinted:
		return code
	}
	_, _ = fmt.Fprintf(stderr, "%s: error: %s\n", Name(), err)
	return ExitUnread
}

// A UsageError describes an error in a command line in one line, without any value of it.
type UsageError struct{ Text string }

// Error returns the text.
func (e *UsageError) Error() string { return e.Text }

// OneLine makes a foreign text safe to print: no second line, no control character.
func OneLine(text string) string {
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, text))
}

// Counted returns a number of things, in the singular or the plural.
func Counted(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// WriteJSON writes a value with indentation, in one write.
func WriteJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Version is set when a release is built: see internal/release.
var Version = ""

// VersionText returns the version of a release, of the module that `go install` built, or devel.
func VersionText() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(info.Main.Version, "v") {
		return info.Main.Version
	}
	return "devel"
}

// EndsSoon says that the process ends soon, and needs almost no garbage collection.
func EndsSoon() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// Name is the name of the program in help and messages, whatever the name of its file is: /function in the image, or fn
// if `go run ./fn` started it.
func Name() string { return "function-export" }
