package files

import (
	"strings"

	"github.com/crossplane-contrib/function-export/internal/diagnostic"
)

// A Diagnostic is a diagnostic, with its position in a file.
type Diagnostic struct {
	File    string          `json:"file"`
	Line    int             `json:"line"`
	Column  int             `json:"column"`
	Step    string          `json:"step,omitempty"`  // of the pipeline
	Field   string          `json:"field,omitempty"` // of the input
	Rule    diagnostic.Rule `json:"rule"`
	Message string          `json:"message"`

	source string // the line in the file
}

// Unreadable is the rule of diagnostics about files that cannot be read.
const Unreadable diagnostic.Rule = "unreadable"

// InFile returns a diagnostic of the input with its position in the file.
func (s Step) InFile(d *diagnostic.Diagnostic) Diagnostic {
	at := s.locate(d)
	out := Diagnostic{File: s.File, Line: at.Line, Column: at.Column, Step: s.Name, Field: d.Path, Rule: d.Rule, Message: d.Message}
	if at.expression {
		out.Column = nameAfterDot(s.doc.Line(at.Line), out.Column)
	}
	if s.hasOwnLines() {
		out.source = s.doc.Line(at.Line)
	}
	return out
}

// hasOwnLines reports whether the lines of an input contain nothing else. An input in braces can
// share its lines with another object, for example a Secret, whose values must not be shown.
func (s Step) hasOwnLines() bool {
	if len(s.at) == 0 {
		return true // the input is the whole document
	}
	place, _ := s.doc.Find(s.at...)
	line := []rune(s.doc.Line(place.Value.Line))
	return place.Value.Column > len(line) || line[place.Value.Column-1] != '{'
}

// nameAfterDot returns the column of the selected name from the column of the selection, which in
// CEL is the column of its dot.
func nameAfterDot(line string, column int) int {
	runes := []rune(line)
	if column < 1 || column > len(runes) || runes[column-1] != '.' {
		return column
	}
	name := column
	for name < len(runes) && strings.ContainsRune("? ", runes[name]) {
		name++
	}
	if name == len(runes) { // it is in the next line
		return column
	}
	return name + 1
}
