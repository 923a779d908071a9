package observation

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// Making is what the expressions of one generation see beside everything else:
// which one it is, and, once it is observed, its resource and what that gives.
type Making struct {
	// Generation is its number and its ID. There is no such variable if it does not exist.
	Generation wire.Struct

	// Resource is its composed resource, or none.
	Resource wire.Struct

	// Details are its connection details, or the data of a Secret.
	Details Details
}

// MakingScope returns the variables of the expressions of a generation.
func (o *Observation) MakingScope(m *Making, variables ref.Val) Scope {
	return Scope{observation: o, variables: variables, generation: m}
}

func (m *Making) resolve(name string) (any, bool) {
	switch {
	case m == nil:
	case name == expression.Generation && m.Generation.Exists():
		return object(m.Generation), true
	case !m.Resource.Exists():
	case name == expression.Resource || name == expression.Self:
		return object(m.Resource), true
	case name == expression.Secret:
		return details(m.Details), true
	}
	return nil, false
}

func (o *Observation) findGenerated(name string) (ref.Val, bool) {
	return find(o.Generated, expression.Generated, name)
}

func (o *Observation) findPrevious(name string) (ref.Val, bool) {
	return find(o.Previous, expression.Previous, name)
}

func find(all map[string]Generated, variable, name string) (ref.Val, bool) {
	g, ok := all[name]
	switch {
	case !ok:
		return nil, false
	case g.Failed != nil:
		return types.WrapErr(g.Failed), false
	case g.Outputs == nil:
		what := expression.PathText(variable, name)
		if g.Waits != "" {
			what += " (" + g.Waits + ")"
		}
		return types.WrapErr(expression.NewWaiting(what)), false
	}
	return details(g.Outputs), true
}
