package document

import (
	"slices"
	"unicode/utf16"
)

// A Range is a part of a file, from its position to its end, which is after its last character.
type Range struct {
	Position

	End Position `json:"end"`
}

// An Edit replaces a range of a file with a text.
type Edit struct {
	Range

	Text string `json:"text"`
}

// UTF16 returns the number of UTF-16 units before a column of a line, which is the column that editors use.
func UTF16(line string, column int) int {
	before := []rune(line)
	return len(utf16.Encode(before[:min(max(column-1, 0), len(before))]))
}

// Apply returns the text with fixes, and how many were applied. Each fix is applied as a whole, unless it touches one
// before it.
func Apply(text string, fixes [][]Edit) (out string, applied int) {
	f := newFile(text)
	var edits []Edit
	for _, fix := range fixes {
		touches := func(e Edit) bool {
			return slices.ContainsFunc(edits, func(o Edit) bool { return !e.End.before(o.Position) && !o.End.before(e.Position) })
		}
		if len(fix) > 0 && !slices.ContainsFunc(fix, touches) {
			edits, applied = append(edits, fix...), applied+1
		}
	}
	slices.SortFunc(edits, func(a, b Edit) int { return f.offset(a.Position) - f.offset(b.Position) })
	end := 0
	for _, e := range edits {
		out += f.text[end:f.offset(e.Position)] + e.Text
		end = f.offset(e.End)
	}
	return out + f.text[end:], applied
}

func (p Position) before(o Position) bool {
	return p.Line < o.Line || p.Line == o.Line && p.Column < o.Column
}

// offset returns the offset of a position in the text.
func (f *file) offset(p Position) int { return part{f, 0, len(f.text)}.offsetOf(p.Line, p.Column) }
