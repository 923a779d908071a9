package check

import (
	"bytes"
	"io"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
)

// printJSON prints diagnostics, and the number of inputs and files, as one object.
func (r *checked) printJSON(w io.Writer) error {
	return terminal.WriteJSON(w, struct {
		Diagnostics []files.Diagnostic `json:"diagnostics"`
		Inputs      int                `json:"inputs"`
		Files       int                `json:"files"`
	}{r.Diagnostics, len(r.Steps), len(r.Files)})
}

// printJUnit prints one test for each file.
func (r *checked) printJUnit(w io.Writer) error {
	var cases []terminal.JUnitCase
	tests := map[string]int{}
	test := func(file string) *terminal.JUnitCase {
		if _, known := tests[file]; !known {
			tests[file] = len(cases)
			cases = append(cases, terminal.JUnitCase{Name: "check", Class: file, File: file, Time: terminal.Seconds(0)})
		}
		return &cases[tests[file]]
	}
	for _, s := range r.Steps {
		test(s.File)
	}
	for _, d := range r.Diagnostics {
		var text strings.Builder
		_ = terminal.PrintText(&text, []files.Diagnostic{d}) // a builder does not fail
		one, said := test(d.File), &terminal.JUnitText{Message: d.Message, Text: text.String()}
		switch {
		case isUnreadable(d) && one.Error == nil:
			one.Error, one.Line = said, d.Line
		case !d.Warning && one.Failure == nil:
			one.Failure, one.Line = said, d.Line
		case one.Failure != nil:
			one.Failure.Text += said.Text
		default:
			one.Out += said.Text
		}
	}
	return terminal.WriteJUnit(w, cases, 0)
}

// printGitHub prints diagnostics as workflow commands.
func (r *checked) printGitHub(w io.Writer) error {
	var b bytes.Buffer
	for _, f := range r.Diagnostics {
		title := f.Field
		if title == "" {
			title = string(f.Rule)
		}
		b.WriteString(terminal.GitHub(f.Level(), f.File, f.Line, f.Column, title, f.Message))
	}
	_, err := w.Write(b.Bytes())
	return err
}
