// Package document reads YAML: the text of a file in, its documents out, each with
// its value, and with the places of the parts of the value in the file.
//
// The values are those that kubectl and Crossplane read, with YAML 1.1 and all. It
// opens no file, knows nothing of what a document is for, and none of its messages
// quotes a value.
package document

import (
	"sync"

	"sigs.k8s.io/yaml"
)

// A Document of a file. It may be used by several goroutines.
type Document struct {
	part
	value any

	// Most documents have no diagnostic to point at, and need no tree.
	once   sync.Once
	parsed *tree
}

// A Position in a file: a line and a column from 1. A column is a Unicode code
// point; a byte order mark at the start of the file is none.
type Position struct{ Line, Column int }

// Parse returns the documents of a file in their order, without those that are
// empty or null, and one diagnostic for each document that cannot be read.
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
	if f := p.bomb(); f != nil {
		return nil, f
	}
	if err := yaml.UnmarshalStrict([]byte(p.text()), &d.value); err != nil {
		return nil, p.diagnose(err)
	}
	if f := d.unread(); f != nil {
		return nil, f
	}
	return d, nil
}

// Value of the document, as encoding/json has it: map[string]any, []any, string,
// float64 or bool. It is the document's own: whoever changes it changes what
// Within compares with.
func (d *Document) Value() any { return d.value }

// Start is where the value begins, after --- and comments.
func (d *Document) Start() Position { return d.file.position(d.content(d.start)) }

// Line of the file, without its end; empty if the file has no such line.
func (d *Document) Line(n int) string { return d.file.line(n) }

func (d *Document) tree() *tree {
	d.once.Do(func() { d.parsed = d.parse() })
	return d.parsed
}
