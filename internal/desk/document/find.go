package document

import (
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A Place is the place of a value in a document.
type Place struct {
	// Key is the range of its key. An item of a list and the document itself have no key: then it is like Value.
	Key Range

	// Value is the range of the value, after its anchor and tag. An alias is where the value of its anchor is. A
	// missing value is where it would be. The range of an object or a list ends after its first scalar.
	Value Range
}

// Find returns the place of the value at a path of keys (string) and indices (int). A key of a
// merged mapping is found where it is written. If there is no such value, the result is the place
// of the deepest existing value on the path, and exact is false.
func (d *Document) Find(path ...any) (p Place, exact bool) {
	key, value, exact := d.find(path)
	if value == nil {
		start := Range{d.Start(), d.Start()}
		return Place{Key: start, Value: start}, exact
	}
	t := d.tree()
	return Place{Key: t.rangeOf(key), Value: t.rangeOf(value)}, exact
}

// find returns the nodes of a value and of its key. They are nil without a tree.
func (d *Document) find(path []any) (key, value *yaml.Node, exact bool) {
	root := d.tree().root
	if root == nil {
		return nil, nil, len(path) == 0
	}
	key, value = root, root
	for _, step := range path {
		k, v := child(value, step)
		if v == nil {
			return key, value, false
		}
		key, value = k, aliased(v)
	}
	return key, value, true
}

func child(n *yaml.Node, step any) (key, value *yaml.Node) {
	switch step := step.(type) {
	case string:
		if n.Kind == yaml.MappingNode {
			return lookUp(n, step)
		}
	case int:
		if n.Kind == yaml.SequenceNode && step >= 0 && step < len(n.Content) {
			return n.Content[step], n.Content[step]
		}
	}
	return nil, nil
}

// lookUp looks up a key in a mapping, and then in the mappings that it merges. A readable document
// has no mapping that merges itself.
func lookUp(n *yaml.Node, name string) (key, value *yaml.Node) {
	for k, v := range pairs(n) {
		if isMerge(k) {
			continue
		}
		if aliased(k).Value == name {
			return k, v
		}
	}
	for k, v := range pairs(n) {
		if !isMerge(k) {
			continue
		}
		for _, from := range merged(v) {
			if key, value := lookUp(from, name); value != nil {
				return key, value
			}
		}
	}
	return nil, nil
}

// At returns the value at a path, or nil.
func (d *Document) At(path ...any) any {
	v := d.value
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			items, _ := v.([]any)
			if step < 0 || step >= len(items) {
				return nil
			}
			v = items[step]
		default:
			return nil
		}
	}
	return v
}

// An Entry is a value of a document, with its path and its place.
type Entry struct {
	Place

	Path []any
	End  Position // after the whole value
}

// Entries returns all values of a document in their order, each object or list before the values in it. Values of
// aliases and of merged mappings are only where they are written.
func (d *Document) Entries() []Entry {
	var out []Entry
	t := d.tree()
	if t.root != nil {
		t.entries(t.root, t.root, nil, &out)
	}
	return out
}

func (t *tree) entries(key, value *yaml.Node, path []any, out *[]Entry) {
	place := Place{Key: t.rangeOf(key), Value: t.rangeOf(value)}
	*out = append(*out, Entry{place, path, t.file.position(max(t.offset(value), t.end(value)))})
	switch value.Kind { //nolint:exhaustive // the others have nothing in them
	case yaml.MappingNode:
		for k, v := range pairs(value) {
			if !isMerge(k) {
				t.entries(k, v, append(slices.Clip(path), aliased(k).Value), out)
			}
		}
	case yaml.SequenceNode:
		for i, v := range value.Content {
			t.entries(v, v, append(slices.Clip(path), i), out)
		}
	}
}

// Letters returns the position in the file of each byte of the string at a path, and of its end. It returns nil if
// there is no such string, or if the file has it in another form.
func (d *Document) Letters(path ...any) []Position {
	_, places := d.letters(path)
	out := make([]Position, 0, len(places))
	for _, at := range places {
		out = append(out, d.file.position(at))
	}
	return out
}

// letters returns the string at a path, and the offset in the file of each of its bytes and of its end, if it is known.
func (d *Document) letters(path []any) (text string, places []int) {
	_, n, found := d.find(path)
	text, isText := d.At(path...).(string)
	if n == nil || !found || !isText {
		return text, nil
	}
	return text, placesOf(text, d.file.text[:d.end], d.tree().offset(n), n.Style)
}

// Within returns the position in the file of a line and a column of the string at the path. Both count
// from 1, columns in code points. The end of the text is after its last letter.
//
// If there is no string at the path, or no such place in it, the result is the start of the value, and
// exact is false.
func (d *Document) Within(line, column int, path ...any) (p Position, exact bool) {
	text, places := d.letters(path)
	if i := Index(text, line, column); i >= 0 && places != nil {
		return d.file.position(places[i]), true
	}
	place, _ := d.Find(path...)
	return place.Value.Position, false
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
