// Package diagnostic holds the one type that says what is wrong with an input, and where. The
// compiler makes diagnostics, a result of the function lists them, and the commands print them
// with the line of the file below.
package diagnostic

import (
	"errors"
	"fmt"
)

// A Rule is the class of rules that a diagnostic belongs to.
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

	// Line and Column of the place in the text of the field. Both count from 1, columns in
	// characters. They are 0 if the whole field is meant, and Column is 0 if the whole line is.
	Line, Column int

	// Key says that the key of the field is meant, and not its value.
	Key bool

	// Rule is the class of the rule that is broken.
	Rule Rule

	// Message says what is wrong, and what to write instead.
	Message string
}

// Place returns the path, with :line:column as far as they are known.
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

// A List is what is wrong with an input, in the order of its fields.
type List []*Diagnostic

// Error joins the diagnostics of the list, or returns nil if it is empty.
func (l List) Error() error {
	errs := make([]error, len(l))
	for i, d := range l {
		errs[i] = d
	}
	return errors.Join(errs...)
}
