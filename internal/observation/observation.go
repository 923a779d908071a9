// Package observation holds what one request lets expressions see: the observed
// composite and composed resources with their connection details, the sources,
// the environment and the context, as CEL variables.
//
// Structs of the request come in and are wrapped, never copied; what comes out
// are values that read them in place, in the order of their keys, whole numbers
// as ints. The data of a v1 Secret is in no variable but secret and secrets, and
// nothing here is ever written to.
package observation

import (
	"reflect"
	"slices"
	"unsafe"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// Details are connection details, or the data of a Secret: key to value.
type Details map[string][]byte

// A Resource is what is observed of a composite or composed resource.
type Resource struct {
	// Object is the observed object.
	Object wire.Struct

	// Details are its connection details.
	Details Details

	// Withheld says why its connection details cannot be used: *expression.Waiting or
	// *expression.Failed. It is nil if they can.
	Withheld error
}

// details of a resource as expressions see them.
func (r Resource) details() ref.Val {
	if r.Withheld != nil {
		return types.WrapErr(r.Withheld)
	}
	return details(r.Details)
}

// A Source is what was found of a source.
type Source struct {
	// Read is false until Crossplane has answered what the source asks for.
	Read bool

	// Optional lets an expression go on without it, where it has another way.
	Optional bool

	// Many makes the source a list of all that was found, not the one object.
	Many bool

	// Objects that were found.
	Objects []wire.Struct

	// Secret sources are in secrets. All others are in sources.
	Secret bool

	// Details are the data of a Secret source; nil if none was found.
	Details Details

	// Failed says why a source that was found cannot be used. It may be empty.
	Failed string
}

// Generated is what a generator gives.
type Generated struct {
	// Outputs, or nil if there are none yet.
	Outputs Details

	// Waits says what for.
	Waits string

	// Failed says why there are none although there should be, or is nil: an optional key
	// does not go on without them then.
	Failed *expression.Failed
}

// An Observation is what one request lets expressions see. The maps and Structs
// are read only, and not copied.
type Observation struct {
	Composite   Resource
	Resources   map[string]Resource
	Sources     map[string]Source
	Environment wire.Struct
	Context     wire.Struct

	// Generated are the outputs of each generator, and Previous those of the
	// generation before, where there is one.
	Generated map[string]Generated
	Previous  map[string]Generated

	// EnvironmentWaits lists what has to be read before there is an environment.
	EnvironmentWaits []string
}

// A Scope is the variables of the expressions of one export.
type Scope struct {
	observation *Observation
	from        string
	variables   ref.Val
	tenant      *Tenant // may be nil
	generation  *Making // may be nil
}

var _ cel.Activation = Scope{}

// Scope returns the variables where resource, self and secret are those of the
// composed resource from, or of the composite if that is empty.
func (o *Observation) Scope(from string, variables ref.Val) Scope {
	return Scope{observation: o, from: from, variables: variables}
}

// Parent is nil: there are no variables but these.
func (s Scope) Parent() cel.Activation { return nil }

// ResolveName returns the variable of that name. One that is not there yet is an
// error value that wraps *expression.Waiting.
func (s Scope) ResolveName(name string) (any, bool) {
	o := s.observation
	if s.tenant != nil {
		return s.tenant.resolve(o, name)
	}
	if v, ok := s.generation.resolve(name); ok {
		return v, true
	}
	switch name {
	case expression.Composite:
		return object(o.Composite.Object), true
	case expression.Resource, expression.Self:
		if s.from == "" {
			return object(o.Composite.Object), true
		}
		if r, ok := o.Resources[s.from]; ok {
			return object(r.Object), true
		}
		return absent(expression.Resources, s.from), true
	case expression.Secret:
		if s.from == "" {
			return o.Composite.details(), true
		}
		if r, ok := o.Resources[s.from]; ok {
			return r.details(), true
		}
		return absent(expression.Resources, s.from), true
	case expression.Resources:
		return &named{find: o.findResource, keys: o.resourceNames, size: func() int { return len(o.Resources) }}, true
	case expression.Secrets:
		return &named{find: o.findDetails, keys: o.secretNames}, true
	case expression.Sources:
		return &named{find: o.findSource, keys: o.sourceNames}, true
	case expression.Env:
		return o.environment(), true
	case expression.Context:
		return object(o.Context), true
	case expression.Generated:
		return &named{find: o.findGenerated, keys: func() []string { return sortedKeys(o.Generated) }}, true
	case expression.Previous:
		return &named{find: o.findPrevious, keys: func() []string { return sortedKeys(o.Previous) }}, true
	case expression.Variables:
		if s.variables == nil {
			return &fields{}, true
		}
		return s.variables, true
	}
	return nil, false
}

func (o *Observation) environment() ref.Val {
	if len(o.EnvironmentWaits) > 0 {
		return types.WrapErr(expression.NewWaiting(o.EnvironmentWaits...))
	}
	return object(o.Environment)
}

// absent is an input that is not there yet: whoever reads it waits.
func absent(variable, name string) ref.Val {
	return types.WrapErr(expression.NewWaiting(expression.PathText(variable, name)))
}

func (o *Observation) findResource(name string) (ref.Val, bool) {
	r, ok := o.Resources[name]
	if !ok {
		return nil, false
	}
	return object(r.Object), true
}

func (o *Observation) resourceNames() []string { return sortedKeys(o.Resources) }

// findDetails looks among the Secret sources first: a plan has no source of the
// name of a composed resource's connection details that it uses.
func (o *Observation) findDetails(name string) (ref.Val, bool) {
	if s, ok := o.Sources[name]; ok && s.Secret {
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
	names := o.resourceNames()
	for n, s := range o.Sources {
		if _, resource := o.Resources[n]; s.Secret && !resource && (!s.Optional || s.Details != nil) {
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
	return &list{wire.ComposeList(s.Objects)}, true
}

func (o *Observation) sourceNames() []string {
	var names []string
	for n, s := range o.Sources {
		if !s.Secret && (!s.Optional || len(s.Objects) > 0) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

// missing reports whether a source is there, and the error value if it is not
// and an expression must not go on without it.
func (s Source) missing(variable, name string) (v ref.Val, there bool) {
	switch {
	case s.Failed != "":
		return types.WrapErr(&expression.Failed{Reason: "reads " + expression.PathText(variable, name) + ", which cannot be used: " + s.Failed}), false
	case len(s.Objects) > 0:
		return nil, true
	case s.Optional && s.Read:
		return nil, false
	}
	return absent(variable, name), false
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// named is a map whose values are made when they are read.
type named struct {
	find func(string) (ref.Val, bool)
	keys func() []string
	size func() int // quicker than to list the keys; may be nil
}

var _ expression.KeyOrdered = (*named)(nil)

func (n *named) KeyOrdered() {}

func (n *named) Find(key ref.Val) (ref.Val, bool) {
	k, ok := key.(types.String)
	if !ok {
		return notAKey(key)
	}
	return n.find(string(k))
}

func (n *named) Get(key ref.Val) ref.Val      { return get(n, key) }
func (n *named) Contains(key ref.Val) ref.Val { return contains(n, key) }
func (n *named) Size() ref.Val                { return types.Int(n.len()) }
func (n *named) IsZeroValue() bool            { return n.len() == 0 }
func (n *named) Type() ref.Type               { return types.MapType }
func (n *named) Value() any                   { return n }
func (n *named) Equal(other ref.Val) ref.Val  { return equalMaps(n, other) }

func (n *named) len() int {
	if n.size != nil {
		return n.size()
	}
	return len(n.keys())
}

func (n *named) Iterator() traits.Iterator {
	keys := n.keys()
	return &iterator{n: len(keys), at: keyAt(keys)}
}

func (n *named) Fold(f traits.Folder) {
	for _, k := range n.keys() {
		v, ok := n.find(k)
		if !ok && v == nil {
			continue
		}
		if !f.FoldEntry(types.String(k), v) {
			return
		}
	}
}

func (n *named) ConvertToType(t ref.Type) ref.Val { return convert(n, types.MapType, t) }

func (n *named) ConvertToNative(reflect.Type) (any, error) { return nil, errNative }

// details are a map of strings, which share the memory of the values: nothing of a request is
// written to. A value that is not UTF-8 keeps its bytes.
func details(d Details) ref.Val {
	return &named{
		find: func(k string) (ref.Val, bool) {
			b, ok := d[k]
			if !ok {
				return nil, false
			}
			return types.String(unsafe.String(unsafe.SliceData(b), len(b))), true
		},
		keys: func() []string { return sortedKeys(d) },
		size: func() int { return len(d) },
	}
}

// Map is a CEL map whose values are made when they are read: find gives the
// value of a name, or false if there is none, and names lists them, sorted. A
// value may be an error, which whoever reads it gets.
func Map(find func(name string) (ref.Val, bool), names func() []string) traits.Mapper {
	return &named{find: find, keys: names}
}
