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

// compare returns the lines of two texts. It compares what is between their first and their last difference.
func compare(former, next []string) []diffLine {
	var out []diffLine
	start, end := 0, 0
	for start < min(len(former), len(next)) && former[start] == next[start] {
		out = append(out, diffLine{' ', former[start]})
		start++
	}
	for end < min(len(former), len(next))-start && former[len(former)-1-end] == next[len(next)-1-end] {
		end++
	}
	a, b := former[start:len(former)-end], next[start:len(next)-end]
	out = append(out, aligned(a, b)...)
	for _, line := range former[len(former)-end:] {
		out = append(out, diffLine{' ', line})
	}
	return out
}

// aligned returns the lines of two texts with the most lines in common, unless the texts are very long.
func aligned(a, b []string) (out []diffLine) {
	const mostCompared = 1 << 22
	common := make([][]int, len(a)+1)
	if len(a)*len(b) > mostCompared {
		common = nil
	}
	for i := len(common) - 1; i >= 0; i-- {
		common[i] = make([]int, len(b)+1)
		for j := len(b) - 1; j >= 0 && i < len(a); j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, diffLine{' ', a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common == nil || common[i+1][j] >= common[i][j+1]):
			out = append(out, diffLine{'-', a[i]})
			i++
		default:
			out = append(out, diffLine{'+', b[j]})
			j++
		}
	}
	return out
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

// shownLines returns whether a line of a file may be shown: it belongs to an input and to nothing else, and has no literal
// credential.
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
