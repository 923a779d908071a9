package test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// updateFile prints the failures of a test, and replaces each expected text that differs in its file. Other failures stay.
func (o *outcome) updateFile(stdout io.Writer) error {
	o.printFailures(stdout, true)
	text, err := os.ReadFile(o.file)
	if err != nil {
		return files.CannotRead(o.file, err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	written := 0
	o.failures = slices.DeleteFunc(o.failures, func(f failure) bool {
		actual, ok := f.Actual()
		at := o.step.InFile(&diagnostic.Diagnostic{Path: f.Field})
		if !ok || at.Line > len(lines) {
			return false
		}
		line, replaced := replaceScalar(lines[at.Line-1], at.Column, actual)
		if replaced {
			lines[at.Line-1] = line
			written++
		}
		return replaced
	})
	if written == 0 {
		return nil
	}
	_, _ = fmt.Fprintf(stdout, "wrote %s\n", o.file) // the file matters
	return write(o.file, []byte(strings.Join(lines, "")))
}

// A scalar in one line: in double quotes, in single quotes, or plain.
var scalar = lazy.MustCompile(`^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'{}\[\],&*#|>!%@` + "`" + `][^{}\[\],#\n]*?)(\s*(?:[,}\]#\n]|$))`)

// replaceScalar replaces the scalar at a column of a line.
func replaceScalar(line string, column int, with string) (string, bool) {
	runes := []rune(line)
	if column < 1 || column > len(runes) {
		return line, false
	}
	before, rest := string(runes[:column-1]), string(runes[column-1:])
	m := scalar.FindStringSubmatchIndex(rest)
	quoted, err := json.Marshal(with)
	if m == nil || err != nil {
		return line, false
	}
	return before + string(quoted) + rest[m[2]:], true
}
