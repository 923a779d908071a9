// Package typecheck finds expressions of an input that can never work, given what is known about the objects that the
// input reads: a field that a schema does not have, a value that a field cannot hold, or a key that a composed resource
// never writes. The commands know the objects from files.
package typecheck

import (
	"maps"

	"cel.dev/cel-go/common/types"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// Known describes the objects that an input reads. All fields are optional: the check does not refuse
// anything about unknown objects.
type Known struct {
	// Composite is its kind. ClusterScoped says that it has no namespace, and no claim.
	Composite     plan.Kind
	ClusterScoped bool

	// Resources are the kinds of the composed resources of the other steps of the pipeline, by
	// composition resource name. A zero kind is unknown. Closed says that there are no others.
	Resources map[string]plan.Kind
	Closed    bool

	// Required are the names of the Composition's own required resources for the step. It is nil if
	// they are not known.
	Required []string

	// ConnectionKeys are the keys of connection details, by composition resource name, or by the name
	// composite for those of the composite.
	ConnectionKeys map[string][]string

	// Schema returns the OpenAPI v3 schema of a kind, or nil if it is unknown. The function may be nil.
	Schema func(plan.Kind) *structpb.Struct

	// Scope returns the scope of the objects of a kind. The function may be nil.
	Scope func(plan.Kind) catalog.Scope
}

// Inspect finds expressions that can never work, given what is known about the objects that the
// input reads, and returns the types of the input. Examples are a field that does not exist, a string instead of a
// number, a comparison that is never true, and an unknown key of connection details.
func Inspect(p *plan.Plan, known *Known) (*Inspection, diagnostic.List) {
	c := &typeCheck{
		Known: known, plan: p, types: NewTypes(), composed: maps.Clone(known.Resources),
		variables: map[string]*types.Type{}, results: map[*expression.Expression]*types.Type{},
	}
	c.types.Composite = known.Composite.String()
	c.composite = c.kind(known.Composite)
	c.names()
	c.scopes()
	c.containers()
	for _, e := range p.Exports {
		if e.From != "" {
			c.isComposed(expression.Place{Path: e.At("from").String()}, e.From)
		}
	}
	for _, x := range p.Expressions {
		c.expression(x)
	}
	for _, s := range p.Status {
		c.status(s)
	}
	for _, m := range p.Generators {
		c.manifest(m)
	}
	c.compositePaths(p.Input)
	return &Inspection{c.types, c}, c.diagnostics
}
