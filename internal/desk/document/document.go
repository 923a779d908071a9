// Package document reads YAML: it returns the documents of a file, each with its value and with the
// positions of the parts of the value in the file.
//
// The values are the same that kubectl and Crossplane read, in YAML 1.1. The positions, and the places of
// mistakes, come from another parser, which knows columns. The package opens no file, does not know the
// meaning of a document, and its messages quote no value.
package document

import (
	"fmt"
	"sync"

	"sigs.k8s.io/yaml"
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
