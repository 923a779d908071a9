package plan

import (
	"slices"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// The check of types uses the declarations of this file.

// A Compiled is an expression with the environment that it was compiled in.
type Compiled struct {
	*expression.Expression

	Own Kind // of the generation that resource and secret stand for, or zero

	ForEach *ForEach // whose item it sees, or nil

	required bool // something waits for it
}

// PathOf returns the path that is the whole value of a variable, or nil.
func (p *Plan) PathOf(variable string) *expression.Reference {
	for _, v := range p.Variables {
		if v.Name == variable {
			whole, _ := v.Value.Reading(v.Value.Tree().Expr())
			return whole
		}
	}
	return nil
}

// needed returns the expressions that something waits for that is not optional, directly or through variables. Each
// variable is compiled before the expressions that use it.
func (c *compiler) needed() (out []*expression.Expression) {
	variables := map[string]bool{}
	for _, x := range slices.Backward(c.compiled) {
		if !x.required && !variables[x.Source().Path] {
			continue
		}
		out = append(out, x.Expression)
		for _, r := range x.Reads() {
			i := slices.Index(c.variables, StepName(r.Reference, 0))
			if r.Variable == expression.Variables && !r.Branched && i >= 0 {
				variables[variablesPath(i).Child("value").String()] = true
			}
		}
	}
	slices.Reverse(out)
	return out
}
