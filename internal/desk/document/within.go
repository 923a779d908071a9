package document

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// Within returns the position in the file of a line and a column of the string at the path. Both count
// from 1, columns in code points. The end of the text is after its last letter.
//
// If there is no string at the path, or no such place in it, the result is the start of the value, and
// exact is false.
func (d *Document) Within(line, column int, path ...any) (p Position, exact bool) {
	_, n, found := d.find(path)
	if n == nil {
		return d.Start(), false
	}
	start := d.tree().offset(n)
	text, isText := d.At(path...).(string)
	i := Index(text, line, column)
	if !found || !isText || i < 0 {
		return d.file.position(start), false
	}
	places := placesOf(text, d.file.text[:d.end], start, n.Style)
	if places == nil {
		return d.file.position(start), false
	}
	return d.file.position(places[i]), true
}

// Index returns the index of a line and a column of a text, in bytes, or -1 if the text has no such place. The place
// after each line exists.
func Index(text string, line, column int) int {
	lines := strings.SplitAfter(text, "\n")
	if line < 1 || line > len(lines) || column < 1 {
		return -1
	}
	before := len(strings.Join(lines[:line-1], ""))
	for i := range strings.TrimSuffix(lines[line-1], "\n") + " " {
		if column--; column == 0 {
			return before + i
		}
	}
	return -1
}

// placesOf returns the offset in the source of each byte of the text of a scalar that begins at start, and of its end.
// It returns nil if the source means another text.
//
// It follows the letters, which are in the same order in every style: only blanks and line breaks are folded, indented
// or dropped, and only double quotes have escapes. Because the text is known, neither the end of the scalar nor its
// indentation matters.
func placesOf(text, source string, start int, style yaml.Style) []int {
	at, end := start, start
	switch {
	case style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		at, end = start+1, start+1
	case style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		at += len(header().FindString(source[start:]))
	}
	blanks := otherBlanks
	if style&yaml.DoubleQuotedStyle != 0 {
		blanks = doubleQuotedBlanks
	}
	var places []int
	lettersEnd := 0
	for i, r := range text {
		next := at + len(blanks().FindString(source[at:]))
		if strings.ContainsRune(" \t\n", r) {
			places = append(places, blankPlace(text[i:], min(end+i-lettersEnd, next), next))
			continue
		}
		length := lengthOf(r, source[next:], style)
		if length == 0 {
			return nil
		}
		for range utf8.RuneLen(r) {
			places = append(places, next)
		}
		at, end, lettersEnd = next+length, next+length, i+utf8.RuneLen(r)
	}
	return append(places, end)
}

var (
	header             = lazy.MustCompile(`^.*\n?`) // the line that begins a block scalar
	otherBlanks        = lazy.MustCompile(`^[ \t\r\n]*`)
	doubleQuotedBlanks = lazy.MustCompile(`^(?:[ \t\r\n]|\\[ \tnt\r\n])*`)
)

// blankPlace returns the place of a blank with which the rest of a text begins. Spaces are directly before the next
// letter, because an indentation can be before them. Otherwise its place among the blanks does not matter.
func blankPlace(text string, at, next int) int {
	letters := strings.TrimLeft(text, " \t")
	if spaces := len(text) - len(letters); spaces > 0 && letters != "" && letters[0] != '\n' {
		return max(at, next-spaces)
	}
	return at
}

// lengthOf returns the length of a letter that begins the source, or 0 if another one is there.
func lengthOf(r rune, source string, style yaml.Style) int {
	switch {
	case style&yaml.DoubleQuotedStyle != 0 && strings.HasPrefix(source, `\`) && len(source) > 1:
		return min(len(source), 2+map[byte]int{'x': 2, 'u': 4, 'U': 8}[source[1]])
	case style&yaml.SingleQuotedStyle != 0 && r == '\'' && strings.HasPrefix(source, "''"):
		return 2
	case strings.HasPrefix(source, string(r)):
		return utf8.RuneLen(r)
	}
	return 0
}
