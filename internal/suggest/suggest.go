// Package suggest finds the name that a wrong one was meant to be.
//
// A wrong name and the known ones come in; the nearest known one, or nothing,
// comes out. Nothing is remembered here.
package suggest

import (
	"fmt"
	"strings"
)

// mostCompared is how many pairs of letters are compared for one suggestion: those of
// a hundred names or more, which is what an author may have meant.
const mostCompared = 1 << 16

// Fuel is what a suggestion takes, in units of a request's budget.
const Fuel = 1_000

// Nearest of the known names to a wrong one, if one is near: at most a third of
// its letters away, or one of two. Of several that are equally near it is the first.
// Of very many, or very long ones, only the first are looked at.
func Nearest(wrong string, known []string) string {
	best, least := "", len(wrong)/3+1
	if len(wrong) == 2 {
		least = 2
	}
	lower, compared := strings.ToLower(wrong), 0
	for _, k := range known {
		if compared++; len(k)-len(wrong) >= least || len(wrong)-len(k) >= least { // so many are to be inserted, or removed
			continue
		}
		if compared += len(wrong) * len(k); compared > mostCompared {
			break
		}
		if d := distance(lower, strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// DidYouMean is the end of a message that suggests a name. It is empty for none.
func DidYouMean(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", name)
}

// namesListed are so many that a reader finds the one that was meant.
const namesListed = 12

// ThereAre is the end of a message about a name that does not exist: the one that was
// meant, or those that do.
func ThereAre(wrong string, known []string) string {
	switch meant := Nearest(wrong, known); {
	case meant != "":
		return DidYouMean(meant)
	case len(known) == 0:
		return ": there is none"
	case len(known) == 1:
		return ": there is only " + known[0]
	}
	return ": there are " + List(known)
}

// List joins names, and counts those that are too many to read.
func List(names []string) string {
	if more := len(names) - namesListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:namesListed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// distance is the number of letters to insert, remove, replace or swap with the
// next one (optimal string alignment).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
