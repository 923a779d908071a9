// Package document reads YAML: the text of a file in, its documents out, each with
// its value, and with the places in the file where the parts of the value stand.
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

	// Most documents have no fault to point at, and need no tree.
	once   sync.Once
	parsed *tree
}

// A Position in a file: a line and a column from 1. A column is a Unicode code
// point; a byte order mark at the start of the file is none.
type Position struct{ Line, Column int }

// Parse returns the documents of a file in their order, without those that are
// empty or null. An error is the first *Fault.
func Parse(text string) ([]*Document, error) {
	var out []*Document
	for _, p := range newFile(text).parts() {
		d, fault := p.read()
		if fault != nil {
			return nil, fault
		}
		if d.value != nil {
			out = append(out, d)
		}
	}
	return out, nil
}

// ParseAll is Parse that goes on behind a document that cannot be read. It returns
// one fault for each of these.
func ParseAll(text string) ([]*Document, []*Fault) {
	var out []*Document
	var faults []*Fault
	for _, p := range newFile(text).parts() {
		switch d, fault := p.read(); {
		case fault != nil:
			faults = append(faults, fault)
		case d.value != nil:
			out = append(out, d)
		}
	}
	return out, faults
}

func (p part) read() (*Document, *Fault) {
	d := &Document{part: p}
	if f := p.bomb(); f != nil {
		return nil, f
	}
	if err := yaml.UnmarshalStrict([]byte(p.text()), &d.value); err != nil {
		return nil, p.fault(err)
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

// Start is where the value begins, behind --- and comments.
func (d *Document) Start() Position { return d.file.position(d.content(d.start)) }

// Line of the file, without its end; empty if the file has no such line.
func (d *Document) Line(n int) string { return d.file.line(n) }

func (d *Document) tree() *tree {
	d.once.Do(func() { d.parsed = d.parse() })
	return d.parsed
}
