// Package advice turns facts into help for people: what is known about a missing input, what to do, and a command that
// shows more.
//
// The package has no state, and reads no objects. Its texts contain names and parts of the input, never data.
package advice

import "github.com/crossplane-contrib/function-export/internal/engine/expression"

// An adviser is the expression.Adviser of the function and of the desk.
type adviser struct{}

// NewEnvironment makes the environment of expressions whose messages give advice. An error is a defect of the program.
func NewEnvironment() (*expression.Environment, error) { return expression.NewEnvironment(adviser{}) }
