package check

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/rules"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// A fixer applies the edits of diagnostics. It changes texts in memory and checks them, until nothing changes, because
// a fix can bring another mistake to light. A file is written once, if all of it can be read.
type fixer struct {
	*files.System // Texts are the present ones

	former         map[string]string // of files with fixes, by name
	before, result *checked          // of the former and the present texts
	fixed          int               // mistakes
}

// mostPasses bounds how often all files are fixed, so that fixes that undo each other end.
const mostPasses = 20

// fix fixes the files of a system.
func (c *Command) fix(ctx context.Context, system *files.System) (f *fixer, err error) {
	own, copied := *c, *system
	f = &fixer{System: &copied, former: map[string]string{}}
	f.Texts = maps.Clone(system.Texts)
	if f.Texts == nil {
		f.Texts = map[string]string{}
	}
	if i := slices.Index(c.Paths, files.Stdin); i >= 0 && system.Stdin != nil { // it is a file that is not saved
		text, err := system.ReadFile(files.Stdin)
		if err != nil {
			return nil, files.CannotRead(files.Stdin, err)
		}
		own.Paths = slices.Replace(slices.Clone(c.Paths), i, i+1, files.StdinName)
		f.Texts[f.Absolute(files.StdinName)] = string(text)
	}
	if f.result, err = own.check(ctx, f.System); err != nil {
		return nil, err
	}
	f.before = f.result
	for range mostPasses {
		texts, fixed := maps.Clone(f.Texts), f.fixed
		if f.put(); f.fixed == fixed {
			break
		}
		after, err := own.check(ctx, f.System)
		if err != nil || len(after.unreadable()) > len(f.result.unreadable()) {
			f.Texts, f.fixed = texts, fixed // one of the fixes is wrong
			break
		}
		f.result = after
	}
	return f, nil
}

// put puts the fixes of the present mistakes into the texts, except those of files that cannot be read.
func (f *fixer) put() {
	byFile := map[string][][]document.Edit{}
	for _, d := range f.result.Diagnostics {
		if len(d.Edits) > 0 && !slices.Contains(f.result.unreadable(), d.File) {
			byFile[d.File] = append(byFile[d.File], d.Edits)
		}
	}
	for file, edits := range byFile {
		present := f.text(file)
		if _, known := f.former[file]; !known {
			f.former[file] = present
		}
		text, applied := document.Apply(present, edits)
		f.Texts[f.Absolute(file)] = text
		f.fixed += applied
	}
}

// text returns the present text of a file.
func (f *fixer) text(file string) string {
	text, _ := f.ReadFile(file) // it has been read
	return string(text)
}

// changed returns the names of the files that have another text.
func (f *fixer) changed() []string {
	return slices.DeleteFunc(plan.SortedKeys(f.former),
		func(file string) bool { return f.text(file) == f.former[file] })
}

// diff returns what the fixes change.
func (f *fixer) diff() string {
	var out strings.Builder
	for _, file := range f.changed() {
		former, next := document.Text(f.former[file]), document.Text(f.text(file))
		out.WriteString(unified(file, former, next, shownLines(file, f.before.Steps, f.before.Diagnostics)))
	}
	return out.String()
}

// write writes the files that the fixes change.
func (f *fixer) write() error {
	for _, file := range f.changed() {
		if file == files.StdinName {
			continue
		}
		if err := terminal.ReplaceFile(file, f.former[file], f.text(file)); err != nil {
			return fmt.Errorf("cannot write %s: %w", file, files.WithoutPath(err))
		}
	}
	return nil
}

// unified returns the difference between two texts of a file as a unified diff of the changed lines alone: the lines
// around them can belong to a Secret. A change of a line that is not shown, because it may contain a secret, is
// counted.
func unified(file, former, next string, shown func(line int) bool) string {
	a, b := strings.SplitAfter(former, "\n"), strings.SplitAfter(next, "\n")
	out, hidden := fmt.Sprintf("--- %s\n+++ %s\n", file, file), 0
	for at, added := 1, 1; len(a)+len(b) > 0; at, added = at+1, added+1 {
		x, y := apart(a, b)
		if changed := out; x+y > 0 {
			first := at - 1 + min(x, 1) // the place of no lines is the line before
			out += fmt.Sprintf("@@ -%d,%d +%d,%d @@\n", first, x, added-1+min(y, 1), y)
			out += marked("-", a[:x]) + marked("+", b[:y])
			for n := first; n < at+x; n++ {
				if !shown(n) {
					out, hidden = changed, hidden+max(x, y)
					break
				}
			}
		}
		at, added = at+x, added+y
		a, b = a[min(x+1, len(a)):], b[min(y+1, len(b)):]
	}
	if hidden > 0 {
		out += fmt.Sprintf("# %d changed lines are not shown, because they may contain secrets\n", hidden)
	}
	return out
}

func marked(mark string, lines []string) (out string) {
	for _, line := range lines {
		out += mark + line
		if !strings.HasSuffix(line, "\n") {
			out += "\n\\ No newline at end of file\n"
		}
	}
	return out
}

// apart returns how many lines of two texts are before the next line that both have. Fixes change few lines, so it is
// near.
func apart(a, b []string) (x, y int) {
	for sum := range len(a) + len(b) {
		for x := max(0, sum-len(b)+1); x <= min(sum, len(a)-1); x++ {
			if a[x] == b[sum-x] {
				return x, sum - x
			}
		}
	}
	return len(a), len(b)
}

// shownLines returns whether a line of a file may be shown: it belongs to an input and to nothing else, and has no
// literal credential.
func shownLines(file string, steps []files.Step, diagnostics []files.Diagnostic) func(line int) bool {
	isCredential := func(line int) bool {
		return slices.ContainsFunc(diagnostics, func(d files.Diagnostic) bool {
			return d.Rule == rules.LiteralCredential && d.File == file && d.Line <= line && line <= d.End.Line
		})
	}
	return func(line int) bool {
		return !isCredential(line) && slices.ContainsFunc(steps, func(s files.Step) bool {
			first, last := s.Lines()
			return s.File == file && first <= line && line <= last
		})
	}
}
