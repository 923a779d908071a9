// Package document reads YAML: it returns the documents of a file, each with its value and with the
// positions of the parts of the value in the file.
//
// The values are the same that kubectl and Crossplane read, in YAML 1.1. The positions, and the places of
// mistakes, come from another parser, which knows columns. The package opens no file, does not know the
// meaning of a document, and its messages quote no value.
package document

import (
	"encoding/binary"
	"fmt"
	"sort"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A Document is a document of a file. Several goroutines may use it.
type Document struct {
	part
	value any

	// Most documents have no diagnostics, and need no tree.
	once   sync.Once
	parsed *tree
}

// A Position is a line and a column in a file, counted from 1. A column is a Unicode code point. A
// byte order mark at the start of the file does not count.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// A Diagnostic says why a document cannot be read, at which position, and what to write instead. It never quotes
// the file, because a value in it may be a secret.
type Diagnostic struct {
	Position
	Message string
}

// Error returns the position and the message.
func (d *Diagnostic) Error() string { return fmt.Sprintf("%d:%d: %s", d.Line, d.Column, d.Message) }

// Parse returns the documents of a file in their order, without empty and null documents, and one
// diagnostic for each document that cannot be read.
func Parse(text string) ([]*Document, []*Diagnostic) {
	var out []*Document
	var diagnostics []*Diagnostic
	for _, p := range newFile(text).parts() {
		switch d, diagnostic := p.read(); {
		case diagnostic != nil:
			diagnostics = append(diagnostics, diagnostic)
		case d.value != nil:
			out = append(out, d)
		}
	}
	return out, diagnostics
}

func (p part) read() (*Document, *Diagnostic) {
	d := &Document{part: p}
	if p.repeatsTooMuch() {
		return nil, &Diagnostic{p.file.position(p.start), tooLarge}
	}
	if err := yaml.UnmarshalStrict([]byte(p.text()), &d.value); err != nil {
		return nil, p.diagnose(err)
	}
	// The parser of the value ignores text after the value. A block mapping or a block list has none after it.
	if at := d.content(d.start); at < d.end && !blockStart().MatchString(p.text()) {
		if err := d.tree().err; err != nil {
			return nil, p.diagnose(err)
		}
	}
	return d, nil
}

// Value returns the value of the document in the types of encoding/json: map[string]any, []any,
// string, float64 or bool. It must not be changed, because Within compares with it.
func (d *Document) Value() any { return d.value }

// Start returns the start of the value, after --- and comments.
func (d *Document) Start() Position { return d.file.position(d.content(d.start)) }

// Line returns a line of the file, without its line break; empty if the file has no such line.
func (d *Document) Line(n int) string { return d.file.line(n) }

func (d *Document) tree() *tree {
	d.once.Do(func() { d.parsed = d.parse() })
	return d.parsed
}

const byteOrderMark = "\ufeff"

// A file is its text, without a byte order mark at its start.
type file struct {
	text  string
	lines []int // the start of each
}

// lineBreak matches the line breaks that editors and the parsers of YAML know.
var lineBreak = lazy.MustCompile(`\r\n|\n|\r`)

func newFile(text string) *file {
	f := &file{text: strings.TrimLeft(Text(text), byteOrderMark), lines: []int{0}}
	for _, at := range lineBreak().FindAllStringIndex(f.text, -1) {
		f.lines = append(f.lines, at[1])
	}
	return f
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

// position returns the position of an offset in the text.
func (f *file) position(offset int) Position {
	n := sort.SearchInts(f.lines, offset+1)
	return Position{Line: n, Column: 1 + utf8.RuneCountInString(f.text[f.lines[n-1]:offset])}
}

func (f *file) line(n int) string {
	if n < 1 || n > len(f.lines) {
		return ""
	}
	end := len(f.text)
	if n < len(f.lines) {
		end = f.lines[n]
	}
	return strings.TrimRight(f.text[f.lines[n-1]:end], "\r\n")
}

// A part is the text of one document, with its --- and directives, and with the comments around it.
type part struct {
	file       *file
	start, end int
}

func (p part) text() string { return p.file.text[p.start:p.end] }

var (
	// marker matches a line that begins with --- or ..., which is never part of a value, because the lines of a
	// block scalar are indented.
	marker = lazy.MustCompile(`(?m)^(?:---(?:[ \t\r]|$)|\.\.\.(?:[ \t\r].*)?$\n?` + byteOrderMark + `*)`)

	// noContent matches comments and directives. Directives are above the --- of their document.
	noContent = lazy.MustCompile(`^(?:\s+|[#%].*)*$`)
)

// parts returns the parts of the file. A part begins at each ---, and after each line of dots.
func (f *file) parts() []part {
	var out []part
	start := 0
	for _, at := range marker().FindAllStringIndex(f.text, -1) {
		switch isStart := f.text[at[0]] == '-'; {
		case !isStart:
			out = append(out, part{f, start, at[0]})
			start = at[1]
		case !noContent().MatchString(f.text[start:at[0]]):
			out = append(out, part{f, start, at[0]})
			start = at[0]
		}
	}
	return append(out, part{f, start, len(f.text)})
}

var (
	// prelude matches blanks, comments, ---, directives, anchors and tags, which can be before a value.
	prelude = lazy.MustCompile(`^(?:\s+|#.*|%.*|---\s|---$|[&!][^\s,\[\]{}]*)*`)

	// blockStart matches a document whose value is a block that begins in the first column.
	blockStart = lazy.MustCompile(`(?m)\A(?:\s|#.*$|---\s)*^(?:- |[\w.]+:\s)`)
)

// content returns the start of a value, at i or later.
func (p part) content(i int) int {
	return i + len(prelude().FindString(p.file.text[i:p.end]))
}

// isYAML reports whether YAML can contain a character.
func isYAML(r rune) bool {
	isControl := r < 0x20 || r >= 0x7f && r < 0xa0
	return !isControl && r != 0xfffe && r != 0xffff || strings.ContainsRune("\t\n\r\u0085", r)
}
