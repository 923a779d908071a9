package document

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Within returns the position in the file of a line and a column of the string at the path. Both count
// from 1, columns in code points. A fold is at the end of its line, and the end of the text is after its
// last letter.
//
// If there is no string at the path, or no such place in it, the result is the start of the value, and
// exact is false.
func (d *Document) Within(line, column int, path ...any) (p Position, exact bool) {
	_, n, found := d.find(path)
	if n == nil {
		return d.Start(), false
	}
	t := d.tree()
	start := t.offset(n)
	text, isText := d.At(path...).(string)
	i := indexOf(text, line, column)
	if !found || !isText || i < 0 {
		return d.file.position(start), false
	}
	w := walker{text: d.file.text[:d.end], at: start, want: text}
	if !w.walk(n.Style) {
		return d.file.position(start), false
	}
	return d.file.position(w.places[i]), true
}

// indexOf returns the index of a line and a column, in code points, or -1 if the text has no such
// place. The place after each line exists.
func indexOf(text string, line, column int) int {
	before := 0
	for ; line > 1; line-- {
		l, rest, ok := strings.Cut(text, "\n")
		if !ok {
			return -1
		}
		before += utf8.RuneCountInString(l) + 1
		text = rest
	}
	text, _, _ = strings.Cut(text, "\n")
	if line < 1 || column < 1 || column > utf8.RuneCountInString(text)+1 {
		return -1
	}
	return before + column - 1
}

// A walker reads the source of a scalar again, and notes the position of each code point of its text.
// Because it knows the text, it does not need the end of the scalar or its indentation.
type walker struct {
	text   string // of the document, up to its end
	at     int    // in text
	want   string // the rest of the text
	places []int  // of the code points so far
	lost   bool   // the source means another text
}

// walk reports whether the source means the text. Then each code point and the end have a place.
func (w *walker) walk(style yaml.Style) bool {
	switch start := w.at; {
	case style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		w.block(style&yaml.FoldedStyle != 0)
		w.places = append(w.places, w.endOfBlock(start))
		return !w.lost && w.want == ""
	case style&yaml.SingleQuotedStyle != 0:
		w.at++
		w.flow(w.quoteOnce)
	case style&yaml.DoubleQuotedStyle != 0:
		w.at++
		w.flow(w.escape)
	default:
		w.flow(func() bool { return false })
	}
	w.places = append(w.places, w.at)
	return !w.lost && w.want == ""
}

func (w *walker) done() bool { return w.lost || w.want == "" || w.at >= len(w.text) }

// mean notes the meaning of the source at a place.
func (w *walker) mean(s string, at int) {
	rest, ok := strings.CutPrefix(w.want, s)
	if !ok {
		w.lost = true
		return
	}
	w.want = rest
	for range s {
		w.places = append(w.places, at)
	}
}

// copy reads a character that means itself.
func (w *walker) copy() {
	_, size := utf8.DecodeRuneInString(w.text[w.at:])
	w.mean(w.text[w.at:w.at+size], w.at)
	w.at += size
}

// flow reads a scalar that is not a block; special reads characters that are special in its quotes.
func (w *walker) flow(special func() bool) {
	for !w.done() {
		switch {
		case isBlank(w.text[w.at]), breakAt(w.text, w.at) > 0:
			w.blanks()
		case !special():
			w.copy()
		}
	}
}

// blanks reads blanks, which count unless there is a line break among them.
func (w *walker) blanks() {
	from := w.at
	w.at = pastBlanks(w.text, from)
	if breaks := w.breaks(); len(breaks) > 0 {
		w.lines(breaks, true)
		return
	}
	for i := from; i < w.at; i++ {
		w.mean(w.text[i:i+1], i)
	}
}

// breaks reads empty lines and the blanks before the next line.
func (w *walker) breaks() []int {
	var out []int
	for breakAt(w.text, w.at) > 0 {
		out = append(out, w.at)
		w.at = pastBlanks(w.text, w.at+breakAt(w.text, w.at))
	}
	return out
}

// lines notes line breaks. In a fold, the first line break is dropped if there are more, and is a
// space otherwise.
func (w *walker) lines(breaks []int, fold bool) {
	if fold && len(breaks) > 0 && w.lineBreak(breaks[0]) == "\n" {
		if len(breaks) == 1 {
			w.mean(" ", breaks[0])
			return
		}
		breaks = breaks[1:]
	}
	for _, at := range breaks {
		// After the last line there may be more breaks than the text keeps.
		if w.want == "" {
			return
		}
		w.mean(w.lineBreak(at), at)
	}
}

// lineBreak returns the meaning of a line break: all but two are the same.
func (w *walker) lineBreak(at int) string {
	if size := breakAt(w.text, at); size == 3 {
		return w.text[at : at+size]
	}
	return "\n"
}

// quoteOnce reads two quotes that mean one.
func (w *walker) quoteOnce() bool {
	if !strings.HasPrefix(w.text[w.at:], "''") {
		return false
	}
	w.mean("'", w.at)
	w.at += 2
	return true
}

// The meaning of a letter after a backslash.
var escapes = map[byte]string{
	'0': "\x00", 'a': "\a", 'b': "\b", 't': "\t", '\t': "\t", 'n': "\n", 'v': "\v", 'f': "\f", 'r': "\r", 'e': "\x1b",
	' ': " ", '"': `"`, '\'': "'", '/': "/", '\\': `\`, 'N': "\u0085", '_': "\u00a0", 'L': "\u2028", 'P': "\u2029",
}

// The number of digits after a letter.
var digits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

func (w *walker) escape() bool {
	rest := w.text[w.at:]
	if len(rest) < 2 || rest[0] != '\\' {
		return false
	}
	if size := breakAt(rest, 1); size > 0 {
		w.at = pastBlanks(w.text, w.at+1+size)
		w.lines(w.breaks(), false)
		return true
	}
	means, size := escapes[rest[1]], 2
	if n := digits[rest[1]]; n > 0 && len(rest) >= 2+n {
		code, err := strconv.ParseInt(rest[2:2+n], 16, 32)
		w.lost = w.lost || err != nil
		means, size = string(rune(code)), 2+n
	}
	w.lost = w.lost || means == ""
	w.mean(means, w.at)
	w.at += size
	return true
}
