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

// This file applies the edits of diagnostics. It changes texts in memory and checks them, until nothing changes. So a fix
// that does not help is left out, and a file is written once, if all of it can be read and nothing in it is worse.

// A fixer fixes files.
type fixer struct {
	check func(*files.System) (*checked, error)

	system  *files.System
	stdin   string
	former  map[string]string // the texts of files that were changed, by name
	before  *checked          // of the former texts
	result  *checked          // of the present texts
	fixed   int               // mistakes
	refused map[string]bool   // fixes after which more is wrong
	seen    map[string]bool   // texts, so that fixes that undo each other end
}

// A fix corrects one mistake in a file.
type fix struct {
	file  string
	name  string // tells it from other fixes
	edits []document.Edit
}

// mostPasses bounds how often all files are fixed. A fix can bring another mistake to light.
const mostPasses = 100

// fix fixes the files of a system.
func (c *Command) fix(ctx context.Context, system *files.System, progress func(done, all int)) (*fixer, error) {
	own := *system
	own.Texts = maps.Clone(system.Texts)
	if own.Texts == nil {
		own.Texts = map[string]string{}
	}
	f := &fixer{system: &own, former: map[string]string{}, refused: map[string]bool{}, seen: map[string]bool{}}
	f.check = func(s *files.System) (*checked, error) { return c.check(ctx, s, progress) }
	if system.Stdin != nil && slices.Contains(c.Paths, files.Stdin) {
		text, err := io.ReadAll(io.LimitReader(system.Stdin, limits.FileBytes+1))
		if err != nil {
			return nil, files.CannotRead(files.Stdin, err)
		}
		f.stdin = string(text)
	}
	var err error
	if f.result, err = f.checked(); err != nil {
		return nil, err
	}
	f.before = f.result
	for range mostPasses {
		if fixes := f.fixes(); len(fixes) == 0 || !f.apply(fixes) {
			break
		}
	}
	return f, nil
}

// checked checks the present texts.
func (f *fixer) checked() (*checked, error) {
	s := *f.system
	s.Stdin = strings.NewReader(f.stdin)
	return f.check(&s)
}

// fixes returns the fixes of the present mistakes.
func (f *fixer) fixes() (out []fix) {
	for _, d := range f.result.Diagnostics {
		isBroken := func(o files.Diagnostic) bool { return o.File == d.File && isUnreadable(o) }
		one := fix{d.File, fmt.Sprintf("%s %s %s %s", d.File, d.Step, d.Field, d.Message), d.Edits}
		if len(d.Edits) > 0 && !f.refused[one.name] && !slices.ContainsFunc(f.result.Diagnostics, isBroken) {
			out = append(out, one)
		}
	}
	return out
}

// apply applies fixes. If more is wrong after them, it tries each half of them. It reports whether a text has changed: the
// edits of the other fixes are then for other texts.
func (f *fixer) apply(fixes []fix) bool {
	switch {
	case len(fixes) == 0:
		return false
	case f.try(fixes):
		return true
	case len(fixes) == 1:
		f.refused[fixes[0].name] = true
		return false
	}
	half := len(fixes) / 2
	return f.apply(fixes[:half]) || f.apply(fixes[half:])
}

func (f *fixer) try(fixes []fix) bool {
	byFile := map[string][][]document.Edit{}
	for _, one := range fixes {
		byFile[one.file] = append(byFile[one.file], one.edits)
	}
	before, fixed := map[string]string{}, 0
	for _, file := range plan.SortedKeys(byFile) {
		text, err := f.text(file)
		next, applied := document.Apply(text, byFile[file])
		if f.seen[text] = true; err == nil && !f.seen[next] {
			before[file] = text
			f.set(file, next)
			fixed += applied
		}
	}
	if len(before) == 0 {
		return false
	}
	after, err := f.checked()
	if err != nil || after.Unread && !f.result.Unread || after.errors() > f.result.errors() ||
		len(after.Diagnostics) > len(f.result.Diagnostics) {
		for file, text := range before {
			f.set(file, text)
		}
		return false
	}
	for file, text := range before {
		if _, known := f.former[file]; !known {
			f.former[file] = text
		}
	}
	f.result, f.fixed = after, f.fixed+fixed
	return true
}

// text returns the present text of a file.
func (f *fixer) text(file string) (string, error) {
	if file == files.StdinName {
		return f.stdin, nil
	}
	data, err := f.system.ReadFile(file)
	return string(data), err
}

func (f *fixer) set(file, text string) {
	if file == files.StdinName {
		f.stdin = text
		return
	}
	f.system.Texts[f.system.Absolute(file)] = text
}

// diff returns what the fixes change.
func (f *fixer) diff() string {
	var out strings.Builder
	for _, file := range plan.SortedKeys(f.former) {
		next, _ := f.text(file) // it is in memory
		former := document.Text(f.former[file])
		out.WriteString(unified(file, former, document.Text(next), shownLines(file, f.before.steps, f.before.Diagnostics)))
	}
	return out.String()
}

// write writes the files that the fixes change.
func (f *fixer) write() error {
	for _, file := range plan.SortedKeys(f.former) {
		next, _ := f.text(file) // it is in memory
		if file == files.StdinName {
			continue
		}
		if err := terminal.ReplaceFile(file, f.former[file], next); err != nil {
			return fmt.Errorf("cannot write %s: %w", file, files.WithoutPath(err))
		}
	}
	return nil
}
