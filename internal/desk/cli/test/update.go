package test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

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
