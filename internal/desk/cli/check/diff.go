package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/rules"
)

// This file prints what fixes change as a unified diff.

// around is the number of unchanged lines before and after a change.
const around = 3

// A diffLine is a line of the former text, the new one, or both.
type diffLine struct {
	kind byte // - for the former one, + for the new one, a blank for both
	text string
}

// compare returns the lines of two texts. Fixes change few lines, so the next line that both texts have is near.
func compare(former, next []string) (out []diffLine) {
	for len(former)+len(next) > 0 {
		x, y := apart(former, next)
		for _, line := range former[:x] {
			out = append(out, diffLine{'-', line})
		}
		for _, line := range next[:y] {
			out = append(out, diffLine{'+', line})
		}
		if x < len(former) {
			out = append(out, diffLine{' ', former[x]})
			x, y = x+1, y+1
		}
		former, next = former[x:], next[y:]
	}
	return out
}

// apart returns how many lines of two texts are before the next line that both have.
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

// unified returns the difference between two texts of a file. Only lines that are shown are in it, because others may
// contain secrets. A change of such a line is counted.
func unified(file, former, next string, shown func(line int) bool) string {
	lines := compare(strings.SplitAfter(former, "\n"), strings.SplitAfter(next, "\n"))
	var hunks strings.Builder
	hidden, old, added := 0, 1, 1
	for i := 0; i < len(lines); {
		size := 0
		for i+size < len(lines) && near(lines, i+size) {
			at := old + counted(lines[i:i+size], '+')
			if !shown(at) && (lines[i+size].kind != '+' || !shown(at-1)) {
				break
			}
			size++
		}
		if size > 0 {
			writeHunk(&hunks, lines[i:i+size], old, added)
		} else if size = 1; lines[i].kind != ' ' {
			hidden++
		}
		old, added = old+counted(lines[i:i+size], '+'), added+counted(lines[i:i+size], '-')
		i += size
	}
	out := fmt.Sprintf("--- %s\n+++ %s\n%s", file, file, hunks.String())
	if hidden > 0 {
		out += fmt.Sprintf("# %d changed lines are not shown, because they may contain secrets\n", hidden)
	}
	return out
}

// near reports whether a line is changed, or close to one.
func near(lines []diffLine, i int) bool {
	return slices.ContainsFunc(lines[max(0, i-around):min(len(lines), i+around+1)], isChange)
}

func isChange(l diffLine) bool { return l.kind != ' ' }

// counted counts the lines of one text, those that are not of the other one.
func counted(lines []diffLine, other byte) (n int) {
	for _, l := range lines {
		if l.kind != other && l.text != "" {
			n++
		}
	}
	return n
}

func writeHunk(w *strings.Builder, lines []diffLine, old, added int) {
	if !slices.ContainsFunc(lines, isChange) {
		return
	}
	fmt.Fprintf(w, "@@ -%d,%d +%d,%d @@\n", old, counted(lines, '+'), added, counted(lines, '-'))
	for _, l := range lines {
		if l.text == "" { // after the last line break
			continue
		}
		fmt.Fprintf(w, "%c%s", l.kind, l.text)
		if !strings.HasSuffix(l.text, "\n") {
			w.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// shownLines returns whether a line of a file may be shown: it belongs to an input and to nothing else, and has no
// literal credential.
func shownLines(file string, steps []files.Step, diagnostics []files.Diagnostic) func(line int) bool {
	shown := map[int]bool{}
	for _, s := range steps {
		if s.File == file {
			first, last := s.Lines()
			for n := first; n <= last; n++ {
				shown[n] = true
			}
		}
	}
	for _, d := range diagnostics {
		for n := d.Line; n <= d.End.Line && d.File == file; n++ {
			shown[n] = d.Rule != rules.LiteralCredential && (shown[n] || d.Source != "")
		}
	}
	return func(line int) bool { return shown[line] }
}
