// Package advice turns what is wrong into help for people: an error of an expression into a message that says what is
// wrong, where, and what to write instead, and what is known about a missing input into what to do.
//
// The engine below knows only typed errors and facts. The function and the desk create the environment of expressions
// here. Most of the package is tables of what people write who know other languages and tools. It has no state, and
// reads no objects. Its texts contain names and parts of the input, never data.
package advice

import (
	"github.com/crossplane-contrib/function-export/internal/engine/advice/fields"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// An adviser is the expression.Adviser of the function and of the desk. It also is a strict.Adviser.
type adviser struct{ fields.Adviser }

// NewEnvironment makes the environment of expressions whose messages give advice. An error is a defect of the program.
func NewEnvironment() (*expression.Environment, error) { return expression.NewEnvironment(adviser{}) }
