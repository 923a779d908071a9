package lsp

import (
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A text is the text of a file with the starts of its lines. Places in it are offsets. Editors count lines and UTF-16
// units from 0, and documents count lines and code points from 1.
type text struct {
	string

	lines []int
}

// A span is a part of a text, from an offset to the one after its end.
type span struct{ start, end int }

// has reports whether a cursor at an offset touches the span.
func (s span) has(at int) bool { return s.start <= at && at <= s.end }

var lineBreak = lazy.MustCompile(`\r\n|\n|\r`)

// newText returns a text without the byte order mark at its start, which editors do not show.
func newText(s string) text {
	t := text{strings.TrimLeft(s, "\ufeff"), []int{0}}
	for _, at := range lineBreak().FindAllStringIndex(t.string, -1) {
		t.lines = append(t.lines, at[1])
	}
	return t
}

func (t text) in(s span) string { return t.string[s.start:s.end] }

// line returns a line, counted from 0, without its line break. It is empty before the first line and after the last.
func (t text) line(n int) span {
	switch {
	case n < 0:
		return span{}
	case n >= len(t.lines):
		return span{len(t.string), len(t.string)}
	}
	end := len(t.string)
	if n+1 < len(t.lines) {
		end = t.lines[n+1]
	}
	return span{t.lines[n], t.lines[n] + len(strings.TrimRight(t.string[t.lines[n]:end], "\r\n"))}
}

// lineOf returns the line of an offset.
func (t text) lineOf(at int) int { return sort.SearchInts(t.lines, at+1) - 1 }

// before returns the part of its line before an offset.
func (t text) before(at int) string { return t.string[t.lines[t.lineOf(at)]:at] }

// offset returns the offset of a position. A position after the end of its line is that end.
func (t text) offset(p Position) int {
	line := t.line(p.Line)
	for i, r := range t.in(line) {
		if p.Character <= 0 {
			return line.start + i
		}
		p.Character -= utf16.RuneLen(r)
	}
	return line.end
}

// offsetIn returns the offset of a position of a document.
func (t text) offsetIn(p document.Position) int {
	line := t.line(p.Line - 1)
	letters, column := t.in(line), max(p.Column-1, 0)
	if utf8.RuneCountInString(letters) == len(letters) { // each column is a byte
		return min(line.start+column, line.end)
	}
	for i := range letters {
		if column--; column < 0 {
			return line.start + i
		}
	}
	return line.end
}

// position returns the position of an offset.
func (t text) position(at int) Position {
	p := Position{Line: t.lineOf(at)}
	for _, r := range t.before(at) {
		p.Character += utf16.RuneLen(r)
	}
	return p
}

func (t text) rangeOf(s span) Range { return Range{t.position(s.start), t.position(s.end)} }

// spanOf returns a range of a document.
func (t text) spanOf(r document.Range) span { return span{t.offsetIn(r.Position), t.offsetIn(r.End)} }

// replace returns the text with another one in a range.
func (t text) replace(r Range, with string) text {
	start, end := t.offset(r.Start), t.offset(r.End)
	return newText(t.string[:start] + with + t.string[max(start, end):])
}
