// Package lazy has regular expressions that are compiled when they are first used. A command needs few of them, and
// to compile all of them takes most of the time in which the program starts.
package lazy

import (
	"regexp"
	"sync"
)

// A Pattern returns a regular expression.
type Pattern func() *regexp.Regexp

// MustCompile returns a pattern. Its first use panics if the expression is invalid.
func MustCompile(expression string) Pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
