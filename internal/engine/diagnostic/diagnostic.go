// Package diagnostic defines the type that says what is wrong with an input, and where. The compiler
// returns diagnostics, a result of the function lists them, and the commands print them with the line
// of the file.
package diagnostic

import (
	"errors"
	"fmt"
)

// A Rule is a class of rules. Each diagnostic belongs to one class.
type Rule string

// The classes of rules.
const (
	Input      Rule = "input"      // the fields and values that an input can have
	Expression Rule = "expression" // CEL, and where secret data may go
	Type       Rule = "type"       // what the schemas of the objects say that expressions read
)

// A Diagnostic says what is wrong with one field of an input. It holds no value of an observed
// object.
type Diagnostic struct {
	// Path of the field in the input, for example secrets[0].data[1].value.
	Path string

	// Line and Column are the position in the text of the field. Both count from 1, and columns count
	// characters. Both are 0 if the diagnostic is about the whole field. Column is 0 if it is about
	// the whole line.
	Line, Column int

	// Key is set if the diagnostic is about the key of the field and not about its value.
	Key bool

	// Rule is the class of the rule that the input breaks.
	Rule Rule

	// Message says what is wrong, and what to write instead.
	Message string

	// Warning is set if the input can be used as it is, but probably does not do what is meant.
	Warning bool

	// Edits are the changes of the input without which the diagnostic is not there, if it is certain what is meant.
	Edits []Edit
}

// An Edit is a change of one field of an input.
type Edit struct {
	// Path of the field. A field that does not exist is added to the object or the list that contains it.
	Path string

	// Action is what happens to the field.
	Action Action

	// Text is the new text or the new name of the field. The value of a field that is added, or whose value is
	// replaced, is YAML.
	Text string
}

// An Action is what an edit does with a field.
type Action int

// The actions.
const (
	SetText  Action = iota // the field is a text, and has another one
	SetValue               // the field has another value
	Quote                  // the value is written in quotes
	Rename                 // the field has another name
	Remove                 // the field is left out
)

// Same reports whether two diagnostics say the same about the same place.
func (d *Diagnostic) Same(o *Diagnostic) bool {
	return d.Place() == o.Place() && d.Message == o.Message && d.Rule == o.Rule && d.Warning == o.Warning
}

// Place returns the path, followed by :line:column if they are known.
func (d *Diagnostic) Place() string {
	switch {
	case d.Line == 0:
		return d.Path
	case d.Column == 0:
		return fmt.Sprintf("%s:%d", d.Path, d.Line)
	}
	return fmt.Sprintf("%s:%d:%d", d.Path, d.Line, d.Column)
}

// Error returns the place and the message.
func (d *Diagnostic) Error() string { return d.Place() + ": " + d.Message }

// A List is the diagnostics of an input, in the order of its fields.
type List []*Diagnostic

// Error joins the diagnostics of the list, or returns nil if it is empty.
func (l List) Error() error {
	errs := make([]error, len(l))
	for i, d := range l {
		errs[i] = d
	}
	return errors.Join(errs...)
}
