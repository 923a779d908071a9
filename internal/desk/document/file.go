package document

import (
	"encoding/binary"
	"sort"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

const byteOrderMark = "\ufeff"

// A file is its text, without a byte order mark at its start.
type file struct {
	text  string
	once  sync.Once
	lines []int // the start of each
}

func newFile(text string) *file {
	return &file{text: strings.TrimLeft(Text(text), byteOrderMark)}
}

// Text returns the text of a file in UTF-8. UTF-16, which some shells of Windows write, is converted.
func Text(text string) string {
	var order binary.ByteOrder
	switch {
	case strings.HasPrefix(text, "\xff\xfe"):
		order = binary.LittleEndian
	case strings.HasPrefix(text, "\xfe\xff"):
		order = binary.BigEndian
	default:
		return text
	}
	units := make([]uint16, len(text)/2)
	for i := range units {
		units[i] = order.Uint16([]byte(text[2*i : 2*i+2]))
	}
	return string(utf16.Decode(units))
}

// A part is the text of one document, with its --- and directives, and with the comments around it.
type part struct {
	file       *file
	start, end int
}

func (p part) text() string { return p.file.text[p.start:p.end] }

// parts returns the parts of the file. A part begins at each ---, and after each line of dots. Both are
// never part of a value, because the lines of a block scalar are indented.
func (f *file) parts() []part {
	var out []part
	start := 0
	state := opening
	finish := func(end, next int) {
		out = append(out, part{f, start, end})
		start, state = next, opening
		for strings.HasPrefix(f.text[start:], byteOrderMark) {
			start += len(byteOrderMark)
		}
	}
	for i := 0; i < len(f.text); i = lineAfter(f.text, i) {
		switch {
		case isMarker(f.text, i, "..."):
			next := i + len("...")
			if isEmptyLine(f.text, next) {
				next = lineAfter(f.text, next)
			}
			finish(i, next)
		case isMarker(f.text, i, "---"):
			// Directives are above the --- of their document.
			if state != directed && i > start {
				finish(i, i)
			}
			state = inside
		case state == opening && f.text[i] == '%':
			state = directed
		case state == opening && !isEmptyLine(f.text, i):
			state = inside
		}
	}
	return append(out, part{f, start, len(f.text)})
}

// The content of a part up to a line.
const (
	opening  = iota // empty lines and comments
	directed        // and directives
	inside          // --- or a value
)

// isMarker reports whether the line that begins at i is --- or ... with a blank after it.
func isMarker(text string, i int, marker string) bool {
	if !strings.HasPrefix(text[i:], marker) {
		return false
	}
	i += len(marker)
	return i == len(text) || isBlank(text[i]) || breakAt(text, i) > 0
}

func isEmptyLine(text string, i int) bool {
	i = pastBlanks(text, i)
	return i == len(text) || text[i] == '#' || breakAt(text, i) > 0
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func pastBlanks(text string, i int) int { return len(text) - len(strings.TrimLeft(text[i:], " \t")) }

func pastSpaces(text string, i int) int { return len(text) - len(strings.TrimLeft(text[i:], " ")) }

// breakAt returns the length of the line break at i, or 0. YAML 1.1 has three that are rare elsewhere.
func breakAt(text string, i int) int {
	if i >= len(text) {
		return 0
	}
	switch rest := text[i:]; {
	case strings.HasPrefix(rest, "\r\n"):
		return 2
	case rest[0] == '\n', rest[0] == '\r':
		return 1
	case rest[0] < utf8.RuneSelf:
		return 0
	case strings.HasPrefix(rest, "\u0085"):
		return 2
	case strings.HasPrefix(rest, "\u2028"), strings.HasPrefix(rest, "\u2029"):
		return 3
	}
	return 0
}

// lineEnd returns the end of the line of i, and lineAfter the start of the next line.
func lineEnd(text string, i int) int {
	for i < len(text) && breakAt(text, i) == 0 {
		i++
	}
	return i
}

func lineAfter(text string, i int) int {
	i = lineEnd(text, i)
	return i + breakAt(text, i)
}

// starts returns the start of each line. As in an editor, only ASCII line breaks count.
func (f *file) starts() []int {
	f.once.Do(func() {
		f.lines = []int{0}
		for i := 0; i < len(f.text); {
			end := lineEnd(f.text, i)
			i = end + breakAt(f.text, end)
			if end < i && f.text[end] < utf8.RuneSelf {
				f.lines = append(f.lines, i)
			}
		}
	})
	return f.lines
}

// position returns the position of an offset in the text.
func (f *file) position(offset int) Position {
	lines := f.starts()
	n := sort.SearchInts(lines, offset+1)
	return Position{Line: n, Column: 1 + utf8.RuneCountInString(f.text[lines[n-1]:offset])}
}

func (f *file) line(n int) string {
	lines := f.starts()
	if n < 1 || n > len(lines) {
		return ""
	}
	if n == len(lines) {
		return f.text[lines[n-1]:]
	}
	return strings.TrimRight(f.text[lines[n-1]:lines[n]], "\r\n")
}

// isNameByte reports whether the name of an anchor can contain the byte.
func isNameByte(c byte) bool {
	return c == '-' || c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// content returns the start of a value, at i or later: after blanks, comments, ---, directives, anchors and
// tags.
func (p part) content(i int) int { //nolint:gocyclo // one case for each thing that is not a value
	text := p.file.text[:p.end]
	for i < p.end {
		newLine := i == p.start || strings.ContainsRune("\n\r", rune(text[i-1]))
		switch {
		case isBlank(text[i]):
			i++
		case breakAt(text, i) > 0:
			i += breakAt(text, i)
		case text[i] == '#', text[i] == '%' && newLine:
			i = lineEnd(text, i)
		case newLine && isMarker(text, i, "---"):
			i += len("---")
		case text[i] == '&':
			i++
			for i < p.end && isNameByte(text[i]) {
				i++
			}
		case text[i] == '!':
			for i < p.end && !isBlank(text[i]) && breakAt(text, i) == 0 {
				i++
			}
		default:
			return i
		}
	}
	return i
}
