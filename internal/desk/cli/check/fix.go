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

// This file applies the edits of diagnostics. It changes texts in memory and checks them, until nothing changes. So a
// fix that does not help is left out, and a file is written once, if all of it can be read and nothing in it is worse.

// A fixer fixes files.
type fixer struct {
	check  func(*files.System) (*checked, error)
	system *files.System

	former, texts  map[string]string // of files with fixes, by name
	before, result *checked          // of these texts
	fixed          int               // mistakes
	refused        map[string]bool   // fixes after which more is wrong
	seen           map[string]bool   // texts, so that fixes that undo each other end
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
	f := &fixer{
		system: system, former: map[string]string{}, texts: map[string]string{}, refused: map[string]bool{}, seen: map[string]bool{},
		check: func(s *files.System) (*checked, error) { return c.check(ctx, s, progress) },
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
		if fixes := f.fixes(); len(fixes) == 0 || !f.apply(fixes) {
			break
		}
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

// apply applies fixes. If more is wrong after them, it tries each half of them. It reports whether a text has changed:
// the edits of the other fixes are then for other texts.
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

// mostRounds bounds how often the mistakes are fixed that a fix has brought to light.
const mostRounds = 5

// try applies fixes, and those of the mistakes that they bring to light. If then more is wrong, it takes all back.
func (f *fixer) try(fixes []fix) bool {
	former, before, fixed := maps.Clone(f.texts), f.result, f.fixed
	for range mostRounds {
		changed := f.put(fixes)
		after, err := f.checked()
		if !changed || err != nil {
			break
		}
		f.result = after
		if !(after.Unread && !before.Unread) && after.errors() <= before.errors() && len(after.Diagnostics) <= len(before.Diagnostics) {
			return true
		}
		fixes = f.fixes()
	}
	f.texts, f.result, f.fixed = former, before, fixed
	return false
}

// put puts fixes into the texts. It reports whether there is a text that was not there before.
func (f *fixer) put(fixes []fix) (changed bool) {
	byFile := map[string][][]document.Edit{}
	for _, one := range fixes {
		byFile[one.file] = append(byFile[one.file], one.edits)
	}
	for _, file := range plan.SortedKeys(byFile) {
		text, applied := document.Apply(f.text(file), byFile[file])
		if !f.seen[text] {
			f.texts[file], f.seen[text] = text, true
			f.fixed += applied
			changed = true
		}
	}
	return changed
}

// text returns the present text of a file.
func (f *fixer) text(file string) string {
	if text, ok := f.texts[file]; ok {
		return text
	}
	data, _ := f.system.ReadFile(file) // it has been read
	f.former[file], f.texts[file], f.seen[string(data)] = string(data), string(data), true
	return string(data)
}

// changed returns the names of the files that have another text.
func (f *fixer) changed() []string {
	return slices.DeleteFunc(plan.SortedKeys(f.texts), func(file string) bool { return f.texts[file] == f.former[file] })
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
