package lsp

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A text is the text of a file with the starts of its lines, so that positions of editors, in UTF-16 units from 0, and
// those of documents, in code points from 1, can be converted.
type text struct {
	string

	lines []int
	marks int // byte order marks at the start, which documents do not count
}

var lineBreak = lazy.MustCompile(`\r\n|\n|\r`)

func newText(s string) text {
	t := text{s, []int{0}, utf8.RuneCountInString(s) - utf8.RuneCountInString(strings.TrimLeft(s, "\ufeff"))}
	for _, at := range lineBreak().FindAllStringIndex(s, -1) {
		t.lines = append(t.lines, at[1])
	}
	return t
}

// line returns a line, counted from 0, without its line break.
func (t text) line(n int) string {
	if n < 0 || n >= len(t.lines) {
		return ""
	}
	end := len(t.string)
	if n+1 < len(t.lines) {
		end = t.lines[n+1]
	}
	return strings.TrimRight(t.string[t.lines[n]:end], "\r\n")
}

// offset returns the offset of a position. A position after the end of its line is that end.
func (t text) offset(p Position) int {
	switch {
	case p.Line < 0:
		return 0
	case p.Line >= len(t.lines):
		return len(t.string)
	}
	line, units := t.line(p.Line), 0
	for i, r := range line {
		if units >= p.Character {
			return t.lines[p.Line] + i
		}
		units += unitsOf(r)
	}
	return t.lines[p.Line] + len(line)
}

// at returns the position of an offset.
func (t text) at(offset int) Position {
	n := sort.SearchInts(t.lines, offset+1) - 1
	p := Position{Line: n}
	for _, r := range t.string[t.lines[n]:offset] {
		p.Character += unitsOf(r)
	}
	return p
}

func unitsOf(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}

// marksIn returns the number of byte order marks at the start of a line.
func (t text) marksIn(line int) int {
	if line == 0 {
		return t.marks
	}
	return 0
}

// editor returns the position of an editor.
func (t text) editor(p document.Position) Position {
	line := t.line(p.Line - 1)
	return Position{max(p.Line-1, 0), document.UTF16(line, p.Column+t.marksIn(p.Line-1))}
}

// document returns the position of a document.
func (t text) document(p Position) document.Position {
	if p.Line >= len(t.lines) {
		p = t.at(len(t.string))
	}
	before := t.string[t.lines[max(p.Line, 0)]:t.offset(p)]
	return document.Position{Line: p.Line + 1, Column: 1 + utf8.RuneCountInString(before) - t.marksIn(p.Line)}
}

// editorRange returns the range of an editor.
func (t text) editorRange(r document.Range) Range {
	return Range{t.editor(r.Position), t.editor(r.End)}
}

// replace returns the text with another one in a range.
func (t text) replace(r Range, with string) text {
	start, end := t.offset(r.Start), t.offset(r.End)
	return newText(t.string[:start] + with + t.string[max(start, end):])
}
