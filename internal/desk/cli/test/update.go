package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// update prints the failures of folders, and writes what was rendered.
func update(outcomes []*outcome, stdout io.Writer) error {
	if os.Getenv("CI") != "" {
		return errors.New("--update in CI would make each test expect what it gets: run it on your machine")
	}
	for _, o := range outcomes {
		if o.err != nil || len(o.failures) == 0 {
			continue
		}
		if o.in != nil {
			if err := o.updateFile(stdout); err != nil {
				return err
			}
			continue
		}
		o.printFailures(stdout, true)
		var text bytes.Buffer
		for _, object := range o.rendering.Objects {
			b, err := yaml.Marshal(object)
			if err != nil {
				return fmt.Errorf("cannot write %s: %w", o.file, err)
			}
			text.WriteString("---\n")
			text.Write(b)
		}
		if err := write(filepath.Join(o.file, expectedFile), text.Bytes()); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(stdout, "wrote %s\n", filepath.Join(o.file, expectedFile)) // the file matters
		o.failures = nil
	}
	return nil
}

func write(path string, text []byte) error {
	if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // a file that is committed
		return fmt.Errorf("cannot write %s: %w", path, files.WithoutPath(err))
	}
	return nil
}

// updateFile prints the failures of a test, and replaces each expected value that differs in its file. Comments, the
// rest of the file, and other failures, such as that of a pattern, stay.
func (o *outcome) updateFile(stdout io.Writer) error {
	o.printFailures(stdout, true)
	was, err := os.ReadFile(o.file)
	if err != nil {
		return files.CannotRead(o.file, err)
	}
	text := string(was)
	o.failures = slices.DeleteFunc(o.failures, func(f failure) bool {
		mended, ok := o.mend(text, f.Edit)
		text = mended
		return ok
	})
	if text == string(was) {
		return nil
	}
	_, _ = fmt.Fprintf(stdout, "wrote %s\n", o.file) // the file matters
	return write(o.file, []byte(text))
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
