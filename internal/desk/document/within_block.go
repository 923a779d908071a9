package document

import "strings"

// block reads a literal or a folded scalar, from its indicator.
func (w *walker) block(folded bool) {
	w.at = lineAfter(w.text, w.at)
	indent := w.indent()

	var breaks []int // since the last line with text
	fold := false    // whether the next line may fold to that one
	for !w.done() {
		line := w.at
		w.at = min(pastSpaces(w.text, line), line+indent)
		if breakAt(w.text, w.at) > 0 {
			breaks = append(breaks, w.at)
			w.at += breakAt(w.text, w.at)
			continue
		}
		if w.at < line+indent || w.at == len(w.text) {
			break // the line is not part of the scalar
		}
		// A line that begins with a blank is not folded, and the line after it is not folded to it.
		blank := isBlank(w.text[w.at])
		w.lines(breaks, folded && fold && !blank)
		for !w.done() && breakAt(w.text, w.at) == 0 {
			w.copy()
		}
		breaks, fold = nil, !blank
		if size := breakAt(w.text, w.at); size > 0 && !w.done() {
			breaks = []int{w.at}
			w.at += size
		}
	}
	w.lines(breaks, false)
}

// indent returns the number of spaces that the first line with text has in addition to the text.
// Without such a line, all spaces before a line break are indentation.
func (w *walker) indent() int {
	at, want := w.at, w.want
	for want != "" {
		spaces := pastSpaces(w.text, at)
		rest, empty := "", false
		if breakAt(w.text, spaces) > 0 {
			rest, empty = strings.CutPrefix(want, w.lineBreak(spaces))
		}
		if !empty {
			return max(0, spaces-at-pastSpaces(want, 0))
		}
		at, want = spaces+breakAt(w.text, spaces), rest
	}
	return len(w.text)
}

// endOfBlock returns the place after the last letter, which is not in the next line.
func (w *walker) endOfBlock(start int) int {
	i := len(w.places)
	if i == 0 {
		return start
	}
	for i > 0 && breakAt(w.text, w.places[i-1]) > 0 {
		i--
	}
	if i < len(w.places) {
		return w.places[i]
	}
	return w.at
}
