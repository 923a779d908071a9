package test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// report prints the outcomes in the order of the tests.
func (c *Command) report(w io.Writer, outcomes []*outcome, took time.Duration) error {
	switch c.Output {
	case "json":
		return reportJSON(w, outcomes)
	case "junit":
		return reportJUnit(w, outcomes, took)
	case "github":
		for _, o := range outcomes {
			for _, s := range o.said() { // the lines of a pull request show it
				_, _ = io.WriteString(w, terminal.GitHub("error", o.file, s.line, 1, o.name, s.text))
			}
		}
	default:
		for _, o := range outcomes {
			o.printText(w)
		}
	}
	_, err := fmt.Fprintln(w, summary(outcomes, took))
	return err
}

// summary counts the outcomes, as in 107 passed, 0 failed (2.4s).
func summary(outcomes []*outcome, took time.Duration) string {
	passed, failed, skipped := 0, 0, 0
	for _, o := range outcomes {
		switch {
		case o.skipped:
			skipped++
		case o.passed():
			passed++
		default:
			failed++
		}
	}
	text := fmt.Sprintf("%d passed, %d failed", passed, failed)
	if skipped > 0 {
		text += fmt.Sprintf(", %d not run", skipped)
	}
	return fmt.Sprintf("%s (%s)", text, seconds(took))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

func (o *outcome) printText(w io.Writer) {
	switch title := terminal.OneLine(o.title()); {
	case o.skipped:
	case o.passed():
		_, _ = fmt.Fprintf(w, "ok    %s%s\n", title, o.extent()) // the exit code tells the result
	default:
		_, _ = fmt.Fprintf(w, "%s  %s%s\n", terminal.Color("").For(w).Error("FAIL"), title, o.extent())
		o.printFailures(w)
	}
}

// extent returns how many moments and how much time a test has.
func (o *outcome) extent() string {
	if o.moments == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s, %s)", terminal.Counted(o.moments, "moment", "moments"), o.span.Round(time.Second))
}

// A said is why a test has failed or cannot run, at a line of its file.
type said struct {
	line int
	text string
}

func (o *outcome) said() (out []said) {
	if o.err != nil {
		out = append(out, said{o.line, "cannot run: " + o.err.Error()})
	}
	for _, f := range o.failures {
		out = append(out, said{f.Line, o.place(f) + ": " + f.Message})
	}
	return out
}

func (o *outcome) printFailures(w io.Writer) {
	for _, s := range o.said() {
		_, _ = fmt.Fprintf(w, "    %s\n", strings.ReplaceAll(s.text, "\n", "\n        "))
	}
}

// place returns where a failure is: its line, its moment, and its field.
func (o *outcome) place(f exportstest.Failure) string {
	if o.in == nil {
		return f.Field
	}
	moment := o.in.Spec.Tests[o.index].Moments[f.Moment]
	text := fmt.Sprintf("line %d, moment %d", f.Line, f.Moment+1)
	if moment.Name != "" {
		text += " (" + terminal.OneLine(moment.Name) + ")"
	}
	if _, field, ok := strings.Cut(f.Field, fmt.Sprintf(".moments[%d].", f.Moment)); ok {
		text += ", " + field
	}
	return text
}

type jsonOutcome struct {
	File     string                `json:"file"`
	Line     int                   `json:"line"`
	Name     string                `json:"name"`
	Passed   bool                  `json:"passed"`
	Seconds  float64               `json:"seconds"`
	Error    string                `json:"error,omitempty"`
	Failures []exportstest.Failure `json:"failures,omitempty"`
}

func reportJSON(w io.Writer, outcomes []*outcome) error {
	out := make([]jsonOutcome, 0, len(outcomes))
	for _, o := range outcomes {
		if o.skipped {
			continue
		}
		one := jsonOutcome{o.file, o.line, o.name, o.passed(), o.took.Seconds(), "", o.failures}
		if o.err != nil {
			one.Error = o.err.Error()
		}
		out = append(out, one)
	}
	return terminal.WriteJSON(w, out)
}

func reportJUnit(w io.Writer, outcomes []*outcome, took time.Duration) error {
	cases := make([]terminal.JUnitCase, 0, len(outcomes))
	for _, o := range outcomes {
		one := terminal.JUnitCase{Name: o.name, Class: o.file, File: o.file, Line: o.line, Time: terminal.Seconds(o.took)}
		var text strings.Builder
		o.printFailures(&text)
		switch {
		case o.skipped:
			one.Skipped = &struct{}{}
		case o.err != nil:
			one.Error = &terminal.JUnitText{Message: o.err.Error(), Text: text.String()}
		case !o.passed():
			one.Failure = &terminal.JUnitText{Message: o.failures[0].Message, Text: text.String()}
		}
		cases = append(cases, one)
	}
	return terminal.WriteJUnit(w, cases, took)
}

// update prints the failures of tests, and writes what they should expect.
func update(outcomes []*outcome, stdout io.Writer) error {
	if os.Getenv("CI") != "" {
		return errors.New("--update in CI would make each test expect what it gets: run it on your machine")
	}
	for _, o := range outcomes {
		if o.err != nil || len(o.failures) == 0 {
			continue
		}
		_, _ = fmt.Fprintln(stdout, o.title()) // the file matters
		o.printFailures(stdout)
		was, err := os.ReadFile(o.file)
		if err != nil {
			return files.CannotRead(o.file, err)
		}
		text, err := o.updated(string(was))
		if err == nil && text != string(was) {
			_, _ = fmt.Fprintf(stdout, "wrote %s\n", o.file)
			err = os.WriteFile(o.file, []byte(text), 0o644) //nolint:gosec // a file that is committed
		}
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", o.file, files.WithoutPath(err))
		}
	}
	return nil
}

// updated returns the objects that were rendered, or the file of a test with other values in place of expected ones
// that differ. Comments, the rest of the file, and other failures, such as that of a pattern, stay.
func (o *outcome) updated(text string) (string, error) {
	if o.in == nil {
		text, o.failures = "", nil
		for _, object := range o.rendering.Objects {
			b, err := yaml.Marshal(object)
			if err != nil {
				return "", err //nolint:wrapcheck // by the caller
			}
			text += "---\n" + string(b)
		}
		return text, nil
	}
	o.failures = slices.DeleteFunc(o.failures, func(f exportstest.Failure) bool {
		mended, ok := o.mend(text, f.Edit)
		text = mended
		return ok
	})
	return text, nil
}

// mend applies an edit to the text of the file.
func (o *outcome) mend(text string, e *diagnostic.Edit) (string, bool) {
	disk := terminal.Disk(nil)
	disk.Texts = map[string]string{disk.Absolute(o.file): text}
	all, _ := read(disk.Read(o.file, files.AnyText))
	i := slices.IndexFunc(all, func(t *test) bool { return t.doc == o.doc && t.index == o.index })
	if e == nil || i < 0 {
		return text, false
	}
	edits := []diagnostic.Edit{*e}
	if e.Action == diagnostic.SetText { // the text may not have the style of the former one
		edits = append(edits, diagnostic.Edit{Path: e.Path, Action: diagnostic.SetValue, Text: exportstest.Inline(e.Text)})
	}
	for _, edit := range edits {
		at := all[i].step.InFile(&diagnostic.Diagnostic{Path: edit.Path, Edits: []diagnostic.Edit{edit}})
		if len(at.Edits) == 0 {
			continue
		}
		if list := []any{}; json.Unmarshal([]byte(edit.Text), &list) == nil && len(list) > 0 {
			at.Edits[0].Text = asBlock(text, at.Edits[0], list)
		}
		out, _ := document.Apply(text, [][]document.Edit{at.Edits})
		if _, wrong := document.Parse(out); len(wrong) == 0 {
			return out, true
		}
	}
	return text, false
}

// asBlock returns the new list of an edit in several lines, if the former list has an item in each line.
func asBlock(file string, e document.Edit, list []any) string {
	line := []rune(strings.Split(file, "\n")[e.Line-1])
	if e.Column > len(line) || line[e.Column-1] != '-' {
		return e.Text
	}
	items := make([]string, 0, len(list))
	for _, item := range list {
		items = append(items, "- "+exportstest.Inline(item))
	}
	return strings.Join(items, "\n"+strings.Repeat(" ", e.Column-1))
}
