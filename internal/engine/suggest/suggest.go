// Package suggest finds the known name that a misspelled name means.
//
// The package has no state.
package suggest

import (
	"fmt"
	"strings"
)

// mostCompared is the largest number of pairs of letters that are compared for one suggestion. It is
// enough for a hundred names or more.
const mostCompared = 1 << 16

// Fuel is the cost of a suggestion, in units of a request's budget.
const Fuel = 1_000

// Nearest returns the known name that is nearest to a wrong one, if at most a third of its letters
// differ, or one of two letters. If several names are equally near, it returns the first. If there are
// very many names, or very long ones, it compares only the first names.
func Nearest(wrong string, known []string) string {
	best, least := "", len(wrong)/3+1
	if len(wrong) == 2 {
		least = 2
	}
	lower, compared := strings.ToLower(wrong), 0
	for _, k := range known {
		// At least as many letters as the lengths differ by must be inserted or removed.
		if compared++; len(k)-len(wrong) >= least || len(wrong)-len(k) >= least {
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

// DidYouMean returns the end of a message that suggests a name. It is empty if there is no name.
func DidYouMean(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", name)
}

// OwnExport is the message for the use of the data of an export of the same input.
const OwnExport = "an export of this step, whose data cannot be read: " +
	"move the expression of the key to variables, and use the variable in both places"

// ComposedSecret is the message for the use of the connection details of a composed Secret.
const ComposedSecret = "no connection details, because it is a Secret itself: " +
	"read it as secrets.<name>, by a source of kind Secret with another name"

// Resource says which composed resource may be meant by a name that does not exist. The name of the object of a
// composed resource mostly ends with its composition resource name.
func Resource(wrong string, names []string) string {
	meant := Nearest(wrong, names)
	for _, n := range names {
		if strings.HasSuffix(wrong, "-"+n) {
			meant = n
		}
	}
	switch {
	case wrong == "composite":
		return ": to read the composite, leave out from, or write composite.<field>"
	case meant != "":
		return DidYouMean(meant)
	case len(names) == 0:
		return ": compose it in an earlier step"
	case len(names) == 1:
		return ": use " + names[0] + ", or compose it in an earlier step"
	}
	return ": use one of " + List(names) + ", or compose it in an earlier step"
}

// namesListed is the number of names in a list. A reader can still find the right one.
const namesListed = 12

// ThereAre returns the end of a message about a name that does not exist. It suggests the nearest
// name, or lists the names that exist. If there are none, it is the text none, or
// nothing if that text is empty.
func ThereAre(wrong string, known []string, none string) string {
	switch meant := Nearest(wrong, known); {
	case meant != "":
		return DidYouMean(meant)
	case len(known) == 0 && none == "":
		return ""
	case len(known) == 0:
		return ": " + none
	case len(known) == 1:
		return ": there is only " + known[0]
	}
	return ": there are " + List(known)
}

// List joins the first names, and counts the rest.
func List(names []string) string {
	if more := len(names) - namesListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:namesListed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// distance returns the smallest number of letters that must be inserted, removed, replaced or swapped
// with the next one (optimal string alignment).
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
