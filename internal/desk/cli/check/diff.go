package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/rules"
)

// This file prints what fixes change as a unified diff of the changed lines alone. The lines around them can belong to
// a Secret.

// unified returns the difference between two texts of a file. A change of a line that is not shown, because it may
// contain a secret, is counted.
func unified(file, former, next string, shown func(line int) bool) string {
	a, b := strings.SplitAfter(former, "\n"), strings.SplitAfter(next, "\n")
	out, hidden := fmt.Sprintf("--- %s\n+++ %s\n", file, file), 0
	for at, added := 1, 1; len(a)+len(b) > 0; at, added = at+1, added+1 {
		x, y := apart(a, b)
		if changed := out; x+y > 0 {
			out += fmt.Sprintf("@@ -%d,%d +%d,%d @@\n", at-isNone(x), x, added-isNone(y), y)
			out += marked("-", a[:x]) + marked("+", b[:y])
			for n := at - isNone(x); n < at+x; n++ {
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

// isNone is 1 for no lines, whose place in a unified diff is the line before.
func isNone(lines int) int {
	if lines == 0 {
		return 1
	}
	return 0
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
