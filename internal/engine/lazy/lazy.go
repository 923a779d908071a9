// Package lazy has regular expressions that are compiled when they are first used. A command needs few of them, and
// to compile all of them takes most of the time in which the program starts.
package lazy

import (
	"regexp"
	"sync"
)

// A Pattern is a regular expression. Its methods are those of [regexp.Regexp].
type Pattern struct{ compiled func() *regexp.Regexp }

// MustCompile returns a pattern. Its first use panics if the expression is invalid.
func MustCompile(expression string) Pattern {
	return Pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
}

// MatchString is [regexp.Regexp.MatchString].
func (p Pattern) MatchString(s string) bool { return p.compiled().MatchString(s) }

// FindString is [regexp.Regexp.FindString].
func (p Pattern) FindString(s string) string { return p.compiled().FindString(s) }

// FindStringIndex is [regexp.Regexp.FindStringIndex].
func (p Pattern) FindStringIndex(s string) []int { return p.compiled().FindStringIndex(s) }

// FindStringSubmatch is [regexp.Regexp.FindStringSubmatch].
func (p Pattern) FindStringSubmatch(s string) []string { return p.compiled().FindStringSubmatch(s) }

// FindStringSubmatchIndex is [regexp.Regexp.FindStringSubmatchIndex].
func (p Pattern) FindStringSubmatchIndex(s string) []int {
	return p.compiled().FindStringSubmatchIndex(s)
}

// FindAllString is [regexp.Regexp.FindAllString].
func (p Pattern) FindAllString(s string, n int) []string { return p.compiled().FindAllString(s, n) }

// FindAllStringIndex is [regexp.Regexp.FindAllStringIndex].
func (p Pattern) FindAllStringIndex(s string, n int) [][]int {
	return p.compiled().FindAllStringIndex(s, n)
}

// FindAllStringSubmatch is [regexp.Regexp.FindAllStringSubmatch].
func (p Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.compiled().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex is [regexp.Regexp.FindAllStringSubmatchIndex].
func (p Pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return p.compiled().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllString is [regexp.Regexp.ReplaceAllString].
func (p Pattern) ReplaceAllString(s, with string) string {
	return p.compiled().ReplaceAllString(s, with)
}

// ReplaceAllStringFunc is [regexp.Regexp.ReplaceAllStringFunc].
func (p Pattern) ReplaceAllStringFunc(s string, with func(string) string) string {
	return p.compiled().ReplaceAllStringFunc(s, with)
}

// Split is [regexp.Regexp.Split].
func (p Pattern) Split(s string, n int) []string { return p.compiled().Split(s, n) }

// ExpandString is [regexp.Regexp.ExpandString].
func (p Pattern) ExpandString(to []byte, template, s string, match []int) []byte {
	return p.compiled().ExpandString(to, template, s, match)
}
