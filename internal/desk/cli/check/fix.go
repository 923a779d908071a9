package check

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// This file applies the edits of diagnostics. It changes texts in memory and checks them, until nothing changes,
// because a fix can bring another mistake to light. A file is written once, if all of it can be read.

// A fixer fixes files.
type fixer struct {
	check  func(*files.System) (*checked, error)
	system *files.System

	former, texts  map[string]string // of files with fixes, by name
	before, result *checked          // of these texts
	fixed          int               // mistakes
}

// mostPasses bounds how often all files are fixed, so that fixes that undo each other end.
const mostPasses = 20

// fix fixes the files of a system.
func (c *Command) fix(ctx context.Context, system *files.System) (*fixer, error) {
	f := &fixer{
		system: system, former: map[string]string{}, texts: map[string]string{},
		check: func(s *files.System) (*checked, error) { return c.check(ctx, s) },
	}
	if system.Stdin != nil && slices.Contains(c.Paths, files.Stdin) {
		text, err := io.ReadAll(io.LimitReader(system.Stdin, limits.FileBytes+1))
		if err != nil {
			return nil, files.CannotRead(files.Stdin, err)
		}
		f.former[files.StdinName], f.texts[files.StdinName] = string(text), string(text)
	}
	var err error
	if f.result, err = f.checked(); err != nil {
		return nil, err
	}
	f.before = f.result
	for range mostPasses {
		texts, fixed := maps.Clone(f.texts), f.fixed
		f.put()
		if f.fixed == fixed {
			break
		}
		after, err := f.checked()
		if err != nil || len(after.unread()) > len(f.result.unread()) {
			f.texts, f.fixed = texts, fixed // one of the fixes is wrong
			break
		}
		f.result = after
	}
	return f, nil
}

// checked checks the present texts.
func (f *fixer) checked() (*checked, error) {
	s := *f.system
	s.Stdin = strings.NewReader(f.texts[files.StdinName])
	s.Texts = maps.Clone(s.Texts)
	if s.Texts == nil {
		s.Texts = map[string]string{}
	}
	for file, text := range f.texts {
		s.Texts[s.Absolute(file)] = text
	}
	return f.check(&s)
}

// put puts the fixes of the present mistakes into the texts, except those of files that cannot be read.
func (f *fixer) put() {
	byFile := map[string][][]document.Edit{}
	for _, d := range f.result.Diagnostics {
		if len(d.Edits) > 0 && !slices.Contains(f.result.unread(), d.File) {
			byFile[d.File] = append(byFile[d.File], d.Edits)
		}
	}
	for _, file := range plan.SortedKeys(byFile) {
		text, applied := document.Apply(f.text(file), byFile[file])
		f.texts[file] = text
		f.fixed += applied
	}
}

// unread returns the names of the files that cannot be read.
func (r *checked) unread() (out []string) {
	for _, d := range r.Diagnostics {
		if isUnreadable(d) {
			out = append(out, d.File)
		}
	}
	return out
}

// text returns the present text of a file.
func (f *fixer) text(file string) string {
	if text, ok := f.texts[file]; ok {
		return text
	}
	data, _ := f.system.ReadFile(file) // it has been read
	f.former[file], f.texts[file] = string(data), string(data)
	return string(data)
}

// changed returns the names of the files that have another text.
func (f *fixer) changed() []string {
	return slices.DeleteFunc(plan.SortedKeys(f.texts),
		func(file string) bool { return f.texts[file] == f.former[file] })
}

// diff returns what the fixes change.
func (f *fixer) diff() string {
	var out strings.Builder
	for _, file := range f.changed() {
		former, next := document.Text(f.former[file]), document.Text(f.texts[file])
		out.WriteString(unified(file, former, next, shownLines(file, f.before.steps, f.before.Diagnostics)))
	}
	return out.String()
}

// write writes the files that the fixes change.
func (f *fixer) write() error {
	for _, file := range f.changed() {
		if file == files.StdinName {
			continue
		}
		if err := terminal.ReplaceFile(file, f.former[file], f.texts[file]); err != nil {
			return fmt.Errorf("cannot write %s: %w", file, files.WithoutPath(err))
		}
	}
	return nil
}
