// Package misspelt tells a misspelt field from a missing value: while an expression waits for a field of an object that
// exists, it looks for the field in the schema of the object. Crossplane 2.2 and later sends schemas on request.
//
// Schemas are large. So the package requests none while nothing waits, and otherwise only those of the kinds whose
// objects lack a field. It follows the paths that are missing now, and nothing else of an expression. The check of
// files, in package typecheck of the desk, finds all mistakes that types show.
package misspelt

import (
	"slices"

	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/schema"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Request is what one request knows about the objects and their schemas.
type Request struct {
	Plan     *plan.Plan
	Session  *evaluate.Session
	Schemas  map[plan.Kind]wire.Struct
	Provided bool // Crossplane can read schemas
}

// secret is the kind whose data expressions never read from an object.
var secret = plan.Kind{APIVersion: "v1", Kind: "Secret"}

// A field is a path of an object that lacks it.
type field struct {
	object wire.Struct
	path   []any
	place  expression.Place // of the path
}

// Check reports fields that can never exist: of those that expressions wait for, and of the status fields in lacking,
// by their paths, which the observed composite does not have, so that Crossplane cannot write them. The schemas are
// known at the first call, unless a source must be read first: it is unread.
func (r Request) Check(lacking map[string]bool, unread bool) (out outcome.Reply) {
	something := r.Session.Budget.Waiting > 0 || unread || len(lacking) > 0
	if !something || !r.Provided {
		return out
	}
	waiting, written := r.waiting(), r.written(lacking)
	for _, f := range slices.Concat(waiting, written) {
		if k := kindOf(f.object); !slices.Contains(out.Schemas, k) && len(out.Schemas) < limits.Schemas {
			out.Schemas = append(out.Schemas, k)
		}
	}
	for _, k := range out.Schemas {
		_, ok := r.Schemas[k]
		out.Unread = out.Unread || !ok
	}
	if out.Unread {
		return out
	}
	for _, text := range r.messages(waiting) {
		out.Report(outcome.Outcome{State: outcome.Waiting, Warn: true, Wrong: true, Message: text})
	}
	for _, text := range r.messages(written) {
		out.Report(outcome.Outcome{State: outcome.Held, Warn: true, Wrong: true, Message: text})
	}
	return out
}

// waiting returns the missing fields of existing objects that expressions wait for. A reference to a whole object reads
// no field.
func (r Request) waiting() (out []field) {
	for _, x := range r.Plan.Needed {
		for _, ref := range x.Absent(r.Session.Scope(x.Source().From)) {
			f := field{place: x.Place(ref)}
			f.object, f.path = r.path(ref.Variable, ref.Path, x.Source().From)
			if k := kindOf(f.object); k.Kind == "" || k == secret || len(f.path) == 0 {
				continue
			}
			out = append(out, f)
		}
	}
	return out
}

// path returns the observed object that a path begins with, and the path below it. A variable whose whole value is a
// path stands for that path.
func (r Request) path(variable string, path []expression.Step, from string) (o wire.Struct, below []any) {
	sees, name := r.Session.Sees, ""
	if len(path) > 0 {
		name, _ = path[0].Key.(string)
	}
	switch variable {
	case expression.Variables:
		if whole := r.Plan.PathOf(name); whole != nil {
			return r.path(whole.Variable, slices.Concat(whole.Path, path[1:]), "")
		}
	case expression.Resources:
		o, path = sees.Resources[name].Object, path[min(1, len(path)):]
	case expression.Resource, expression.Self, expression.Composite:
		o = sees.Composite.Object
		if from != "" && variable != expression.Composite {
			o = sees.Resources[from].Object
		}
	}
	for _, s := range path {
		below = append(below, s.Key)
	}
	return o, below
}

func (r Request) written(lacking map[string]bool) (out []field) {
	for _, s := range r.Plan.Status {
		at := s.At.Child("fieldPath").String()
		if !lacking[at] {
			continue
		}
		path := append(make([]any, 0, 1+len(s.Segments)), "status")
		for _, name := range s.Segments {
			path = append(path, name)
		}
		place := expression.Place{Path: at}
		out = append(out, field{object: r.Session.Sees.Composite.Object, path: path, place: place})
	}
	return out
}

// messages returns a message for each field that the schema of its object does not have.
func (r Request) messages(fields []field) (out []string) {
	composite := kindOf(r.Session.Sees.Composite.Object)
	for _, f := range fields {
		k := kindOf(f.object)
		root := schema.Root{Name: k.String(), Node: schema.Node{Struct: r.Schemas[k]}, IsComposite: k == composite}
		message, _ := root.Lacks(f.path...)
		if message == "" {
			continue
		}
		text := f.place.Wrong(message).Error()
		switch {
		case slices.Contains(out, text):
			continue
		case len(out) == limits.MessageItems || r.Session.Budget.Spend(suggest.Fuel) != nil:
			return append(out, "more fields can never exist: check the input with function-export check")
		}
		out = append(out, text)
	}
	return out
}

func kindOf(o wire.Struct) plan.Kind {
	apiVersion, kind, _, _ := object.Identity(o)
	return plan.Kind{APIVersion: apiVersion, Kind: kind}
}
