package expression

import "github.com/google/cel-go/cel"

// CEL is the environment below e.
func (e *Environment) CEL() *cel.Env { return e.env }
