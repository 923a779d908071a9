package observation

import (
	"maps"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Scope holds the variables of the expressions of one export.
type Scope struct {
	observation *Observation
	from        string
	variables   ref.Val
	author      *Author     // may be nil
	generation  *Generation // may be nil
	item        *Item       // may be nil
}

var _ cel.Activation = &Scope{}

// Scope returns the variables whose resource, self and secret come from the composed resource from, or from the
// composite if from is empty.
func (o *Observation) Scope(from string, variables ref.Val) *Scope {
	return &Scope{observation: o, from: from, variables: variables}
}

// AuthorScope returns the variables of the expressions of a composite author.
func (o *Observation) AuthorScope(t *Author) *Scope { return &Scope{observation: o, author: t} }

// GenerationScope returns the variables of the expressions of a generation.
func (o *Observation) GenerationScope(m *Generation, variables ref.Val) *Scope {
	return &Scope{observation: o, variables: variables, generation: m}
}

// Item returns the scope with the variables of an item, which may be nil.
func (s *Scope) Item(i *Item) *Scope {
	s.item = i
	return s
}

// Parent is nil: there are no other variables.
func (s *Scope) Parent() cel.Activation { return nil }

// ResolveName returns the variable with that name. A variable that does not exist yet is an error value that wraps
// *expression.Waiting.
func (s *Scope) ResolveName(name string) (any, bool) {
	o := s.observation
	if s.author != nil {
		return s.author.resolve(o, name)
	}
	if v, ok := s.generation.resolve(name); ok {
		return v, true
	}
	switch name {
	case expression.Composite:
		return o.Composite.object(), true
	case expression.Resource, expression.Self:
		return s.ofFrom(Resource.object), true
	case expression.Secret:
		return s.ofFrom(Resource.details), true
	case expression.Resources:
		return mapOf(o.Resources, func(_ string, r Resource) (ref.Val, bool) { return r.object(), true }), true
	case expression.Secrets:
		return members{o.findDetails, o.secretNames}.of(), true
	case expression.Sources:
		return members{o.findSource, o.sourceNames}.of(), true
	case expression.Env:
		return o.environment(), true
	case expression.Context:
		return object(o.Context), true
	case expression.Generated, expression.Previous, expression.Candidate:
		outputs := map[string]map[string]Generated{
			expression.Generated: o.Generated, expression.Previous: o.Previous, expression.Candidate: o.Candidate,
		}
		return generated(outputs[name], nil, name), true
	case expression.Revisions:
		return revisions(o.Revisions), true
	case expression.Variables:
		if s.variables == nil {
			return object(wire.Struct{}), true
		}
		return s.variables, true
	}
	return s.item.resolve(name)
}

// ofFrom returns a value of the resource of the scope.
func (s *Scope) ofFrom(value func(Resource) ref.Val) ref.Val {
	if s.from == "" {
		return value(s.observation.Composite)
	}
	if r, ok := s.observation.Resources[s.from]; ok {
		return value(r)
	}
	return waiting(expression.PathText(expression.Resources, s.from))
}

func (i *Item) resolve(name string) (any, bool) {
	switch {
	case i == nil:
	case name == expression.Item && i.Value == nil: // only the key is known
		return waiting(expression.Item), true
	case name == expression.Item:
		return i.Value, true
	case name == expression.Index:
		return types.Int(i.Index), true
	case name == expression.Key:
		return types.String(i.Key), true
	}
	return nil, false
}

func (m *Generation) resolve(name string) (any, bool) {
	switch {
	case m == nil:
	case name == expression.Generation && m.Generation.Exists():
		return object(m.Generation), true
	case name == expression.Candidate && m.Candidate != nil:
		return generated(m.Candidate, nil, name), true
	case !m.Resource.Exists():
	case name == expression.Resource || name == expression.Self:
		return object(m.Resource), true
	case name == expression.Secret:
		return details(m.Details), true
	}
	return nil, false
}

// resolve knows only these names: names that are not listed cannot be read, even by a computed name.
func (t *Author) resolve(o *Observation, name string) (any, bool) {
	switch name {
	case expression.Composite, expression.Resource, expression.Self:
		return o.Composite.object(), true
	case expression.Secret:
		if t.Secret == "" {
			return nil, false
		}
		if r, ok := o.Resources[t.Secret]; ok {
			return r.details(), true
		}
		return waiting(expression.Secret + " (" + expression.PathText(expression.Secrets, t.Secret) + ")"), true
	case expression.Secrets:
		return o.some(t.Secrets, Resource.details), true
	case expression.Resources:
		return o.some(t.Resources, Resource.object), true
	case expression.Env:
		if t.Environment {
			return o.environment(), true
		}
	}
	return nil, false
}

// some returns the composed resources with one of the names.
func (o *Observation) some(names []string, value func(Resource) ref.Val) ref.Val {
	listed := map[string]Resource{}
	for _, name := range names {
		if r, ok := o.Resources[name]; ok {
			listed[name] = r
		}
	}
	return mapOf(listed, func(_ string, r Resource) (ref.Val, bool) {
		v := value(r)
		return v, !types.IsError(v)
	})
}

func (o *Observation) environment() ref.Val {
	if len(o.EnvironmentWaits) > 0 {
		return waiting(o.EnvironmentWaits...)
	}
	return object(o.Environment)
}

// revisions returns the variable with the revision of each export.
func revisions(all map[string]Revision) ref.Val {
	return mapOf(all, func(_ string, r Revision) (ref.Val, bool) {
		if r.Items == nil {
			return types.Int(r.Number), true
		}
		return mapOf(r.Items, func(_ string, n int64) (ref.Val, bool) { return types.Int(n), true }), true
	})
}

// findDetails searches the Secret sources first, because no source of a plan has the name of a composed resource
// whose connection details the plan uses.
func (o *Observation) findDetails(name string) (ref.Val, bool) {
	if s := o.Sources[name]; s.Secret {
		if v, there := s.missing(expression.Secrets, name); !there {
			return v, false
		}
		return details(s.Details), true
	}
	r, ok := o.Resources[name]
	if !ok {
		return nil, false
	}
	return r.details(), r.Withheld == nil
}

func (o *Observation) secretNames() []string {
	names := slices.Collect(maps.Keys(o.Resources))
	for n, s := range o.Sources {
		_, resource := o.Resources[n]
		if s.Secret && !resource && (!s.Optional || s.Details != nil || s.Withheld != nil) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

func (o *Observation) findSource(name string) (ref.Val, bool) {
	s, ok := o.Sources[name]
	if !ok || s.Secret {
		return nil, false
	}
	if v, there := s.missing(expression.Sources, name); !there {
		return v, false
	}
	if !s.Many {
		return object(s.Objects[0]), true
	}
	all := make([]ref.Val, len(s.Objects))
	for i, o := range s.Objects {
		all[i] = object(o)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, all), true
}

func (o *Observation) sourceNames() []string {
	var names []string
	for n, s := range o.Sources {
		if !s.Secret && (!s.Optional || len(s.Objects) > 0 || s.Withheld != nil) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

// Generated holds the outputs of a generator.
type Generated struct {
	Outputs Details // nil if there are no outputs yet
	Waits   string  // what the outputs wait for

	// Keeps is set if the generator has outputs that must not be used now. Then an optional key also waits.
	Keeps bool

	// Failed is the reason why expected outputs are missing, or nil. If it is set, an optional key also fails.
	Failed *expression.Failed

	// Items are set for a generator with a list: the outputs for each item. If not all items are known, Waits says why,
	// and none is read: otherwise, an export that reads all items would lose some of them.
	Items map[string]Generated
}

// generated returns a variable with the outputs of generators, or a part of it, which has the keys path below the
// variable.
func generated(all map[string]Generated, path []string, variable string) ref.Val {
	return mapOf(all, func(name string, g Generated) (ref.Val, bool) {
		return g.value(append(slices.Clip(path), name), variable)
	})
}

// value returns the outputs, which have the keys path below the variable.
func (g Generated) value(path []string, variable string) (ref.Val, bool) {
	switch {
	case g.Items != nil && g.Waits == "":
		return generated(g.Items, path, variable), true
	case g.Failed != nil:
		return types.WrapErr(g.Failed), false
	case g.Outputs != nil:
		return details(g.Outputs), true
	}
	input := expression.PathText(variable, path...)
	if g.Waits != "" {
		input += " (" + g.Waits + ")"
	}
	w := expression.NewWaiting(input)
	w.Required = g.Keeps
	return types.WrapErr(w), false
}
