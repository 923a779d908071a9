package check

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
)

// checkText runs check over a text on stdin, and returns what it found, what it
// printed, and the exit code.
func checkText(t testing.TB, c Command, text string) (result *checked, printed string, code int) {
	t.Helper()
	c.Paths = []string{files.Stdin}
	result, err := c.check(t.Context(), terminal.Disk(strings.NewReader(text)))
	if err != nil {
		result = &checked{Inputs: &files.Inputs{}}
	}
	var stdout, stderr bytes.Buffer
	if err := c.RunWith(t.Context(), terminal.Disk(strings.NewReader(text)), &stdout, &stderr); err != nil {
		var e *terminal.ExitError
		if !errors.As(err, &e) {
			t.Fatalf("check: %v: want an exit code", err)
		}
		code = e.Code
	}
	return result, stdout.String() + stderr.String(), code
}
