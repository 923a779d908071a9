// Package typecheck finds expressions of an input that can never work, given what is known about the objects that the
// input reads: a field that a schema does not have, a value that a field cannot hold, or a key that a composed resource
// never writes. The commands know the objects from files.
package typecheck

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
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

// An Inspection is what the check of one input knows about the types in it. It is not safe for concurrent use.
type Inspection struct {
	*Types

	known       *Known
	plan        *plan.Plan
	composed    map[string]plan.Kind // composed resources of all steps
	composite   *types.Type
	scope       catalog.Scope // of the composites; empty if it is unknown
	resources   *types.Type
	sources     *types.Type
	variables   map[string]*types.Type // variables declared above
	results     map[*expression.Expression]*types.Type
	diagnostics diagnostic.List
}

// Inspect finds expressions that can never work, given what is known about the objects that the
// input reads, and returns the types of the input. Examples are a field that does not exist, a string instead of a
// number, a comparison that is never true, and an unknown key of connection details.
func Inspect(p *plan.Plan, known *Known) (*Inspection, diagnostic.List) {
	c := &Inspection{
		Types: NewTypes(), known: known, plan: p, composed: map[string]plan.Kind{}, variables: map[string]*types.Type{},
		results: map[*expression.Expression]*types.Type{},
	}
	maps.Copy(c.composed, known.Resources)
	c.Types.Composite = known.Composite.String()
	c.composite = c.kind(known.Composite)
	c.scope = c.scopeOf(known.Composite)
	c.inputs()
	c.objects()
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
	return c, c.diagnostics
}

func (c *Inspection) report(path, format string, args ...any) *[]diagnostic.Edit {
	return c.reportAt(expression.Place{Path: path}, format, args...)
}

func (c *Inspection) reportAt(at expression.Place, format string, args ...any) *[]diagnostic.Edit {
	d := at.Wrong(fmt.Sprintf(format, args...))
	d.Rule = diagnostic.Type
	if !slices.ContainsFunc(c.diagnostics, d.Same) {
		c.diagnostics = append(c.diagnostics, d)
	}
	return &d.Edits
}

// kind returns the type of the objects of a kind.
func (c *Inspection) kind(k plan.Kind) *types.Type {
	if isSecret := k == (plan.Kind{APIVersion: "v1", Kind: "Secret"}); c.known.Schema == nil || k.Kind == "" || isSecret {
		return types.DynType
	}
	if s := catalog.OfKind(c.known.Schema(k)); s != nil {
		return c.Of(k.String(), s)
	}
	return types.DynType
}

// typingOf returns the known types of the variables of one expression.
func (c *Inspection) typingOf(x plan.Compiled) expression.Typing {
	if x.Source().Own {
		return c.Typing("", &x.Own, x.ForEach)
	}
	return c.Typing(x.Source().From, nil, x.ForEach)
}

// Typing returns the known types of the variables of an expression, which stand for a composed resource, or for the
// composite if from is empty. An expression about a generation has its kind as own, and one about the item of a list
// has the list.
func (c *Inspection) Typing(from string, own *plan.Kind, list *plan.ForEach) expression.Typing {
	about := c.composite
	switch {
	case own != nil:
		about = c.kind(*own)
	case from != "":
		about = c.kind(c.composed[from])
	}
	variables := map[string]*types.Type{
		expression.Composite: c.composite, expression.Resource: about, expression.Self: about,
		expression.Resources: c.resources, expression.Sources: c.sources,
		expression.Variables: c.Container(expression.Variables, c.variables, nil),
	}
	if list != nil {
		variables[expression.Item] = types.DynType
		if t := celast.WithoutOptional(cmp.Or(c.results[list.List], types.DynType)); t.Kind() == types.ListKind {
			variables[expression.Item] = t.Parameters()[0]
		}
	}
	return expression.Typing{Objects: c.Types, Variables: variables}
}

// Result returns the type of the result of the expression in a field, or nil if the expression does not compile.
func (c *Inspection) Result(path string) *types.Type {
	for x, t := range c.results {
		if x.Source().Path == path {
			return t
		}
	}
	return nil
}

// Tree returns the tree of a source that may have mistakes, with the types that are known. It returns nil if the text
// does not parse, or takes too long to check.
func (c *Inspection) Tree(env *expression.Environment, s expression.Source, t expression.Typing) *ast.AST {
	parsed, iss := env.CEL().ParseSource(common.NewStringSource(s.Text, s.Path))
	if len(iss.Errors()) > 0 {
		return nil
	}
	tree := parsed.NativeRep()
	size := celast.SizeOf(tree)
	if size.CheckingCost > limits.ExpressionCheckingCost || size.Nodes > limits.ExpressionNodes {
		return nil
	}
	selectKeys(tree)
	return env.CheckTree(s, tree, t).Tree
}
