package typecheck

import (
	"slices"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// This file checks the types of expressions against the schemas that Crossplane reads for a request: of all objects with
// typeChecking Strict, and otherwise only of those that lack what an expression waits for.

// A Request is what one request knows about types.
type Request struct {
	Plan     *plan.Plan
	Session  *evaluate.Session
	Desired  map[string]wire.Struct // by earlier steps
	Schemas  map[plan.Kind]wire.Struct
	Provided bool // Crossplane can read schemas
}

// A Result is what a check requires, and what it found.
type Result struct {
	Schemas  []plan.Kind // that Crossplane must read
	Unread   bool        // it has not read all of them
	Warnings []Warning
}

// A Warning is about a field that can never exist, or about the check itself.
type Warning struct {
	Text  string
	About Subject
}

// A Subject is what a warning is about.
type Subject int

// The subjects. Crossplane cannot write a status field that does not exist.
const (
	WaitingExpression Subject = iota
	WrittenStatus
	WholeInput
)

const (
	noSchemas = "typeChecking: is Strict, but this version of Crossplane passes no schemas (v2.2 and later do): " +
		"nothing is checked; check the input with function-export check, and set it to Warn"
	checkInput = ": check the input with function-export check"
)

// Strict checks the types of an input with typeChecking Strict, once all schemas were read.
func (r Request) Strict() (out Result, err error) {
	switch {
	case !r.Plan.Strict:
		return out, nil
	case !r.Provided:
		return Result{Warnings: []Warning{{noSchemas, WholeInput}}}, nil
	}
	known := r.known()
	kinds := KindsRead(r.Plan)
	for _, name := range plan.SortedKeys(known.Resources) {
		kinds = append(kinds, known.Resources[name])
	}
	if out.require(r.Schemas, append(kinds, known.Composite)); out.Unread {
		return out, nil
	}
	diagnostics, err := CheckTypesWithin(r.Session.Budget, r.Plan, known)
	if err != nil {
		why := "was stopped: " + err.Error() + checkInput + ", and set it to Warn"
		diagnostics = diagnostic.List{{Path: "typeChecking", Message: why}}
	}
	return out, diagnostics.Error()
}

// canWait reports whether the check follows the evaluation, and Crossplane reads schemas.
func (r Request) canWait() bool { return !r.Plan.Strict && r.Provided }

// Waiting warns where an expression waits for a field that does not exist in the schema, and of the status fields in
// lacking, by their paths, which the observed composite does not have. Schemas are large, so only those of existing objects
// that lack such a field are required. They are known at the first call, unless a source must be read first: it is unread.
func (r Request) Waiting(lacking map[string]bool, unread bool) (out Result) {
	something := r.Session.Budget.Waiting > 0 || unread || len(lacking) > 0
	if !something || !r.canWait() {
		return out
	}
	kinds, waiting := r.unfinished()
	if len(lacking) > 0 {
		kinds = withKind(kinds, r.Session.Sees.Composite.Object)
	}
	if out.require(r.Schemas, kinds); out.Unread || len(kinds) == 0 {
		return out
	}
	diagnostics, err := CheckTypesWithin(r.Session.Budget, r.Plan, r.known())
	for _, d := range diagnostics {
		if !lacking[d.Path] && (d.Line == 0 || !waiting[d.Path]) {
			continue
		}
		if len(out.Warnings) == limits.MessageItems {
			out.Warnings = append(out.Warnings, Warning{Text: "typeChecking: finds more fields that can never exist" + checkInput})
			break
		}
		about := WaitingExpression
		if lacking[d.Path] {
			about = WrittenStatus
		}
		out.Warnings = append(out.Warnings, Warning{d.Error(), about})
	}
	if err != nil {
		out.Warnings = append(out.Warnings, Warning{Text: "typeChecking: was stopped: " + err.Error() + checkInput})
	}
	return out
}

// known returns the kinds of the composite and of each composed resource that an expression names and
// that is observed, or desired by an earlier step.
func (r Request) known() *Known {
	out := &Known{Composite: kindOf(r.Session.Sees.Composite.Object), Resources: map[string]plan.Kind{}}
	out.Decode(r.Schemas, r.Session.Budget)
	for _, name := range r.Plan.Inputs {
		if r.Plan.ExportNamed(name) {
			continue
		}
		res, observed := r.Session.Sees.Resources[name]
		desired, composed := r.Desired[name]
		switch is, shall := kindOf(res.Object), kindOf(desired); {
		case observed && composed && is != shall: // it will change
			out.Resources[name] = plan.Kind{}
		case observed:
			out.Resources[name] = is
		case composed:
			out.Resources[name] = shall
		}
	}
	return out
}

func kindOf(o wire.Struct) plan.Kind {
	apiVersion, kind, _, _ := object.Identity(o)
	return plan.Kind{APIVersion: apiVersion, Kind: kind}
}

// require requires the schemas of kinds.
func (out *Result) require(read map[plan.Kind]wire.Struct, kinds []plan.Kind) {
	for _, k := range kinds {
		if k.Kind == "" || k == (plan.Kind{APIVersion: "v1", Kind: "Secret"}) || slices.Contains(out.Schemas, k) {
			continue
		}
		out.Schemas = append(out.Schemas, k)
		if _, ok := read[k]; !ok {
			out.Unread = true
		}
	}
}

// unfinished returns the kinds of existing objects that lack a field that an expression waits for, as
// many as may be required, and the paths of these expressions.
func (r Request) unfinished() (kinds []plan.Kind, waiting map[string]bool) {
	waiting = map[string]bool{}
	for _, x := range r.Plan.Needed {
		for _, ref := range x.Absent(r.Session.Scope(x.Source().From)) {
			for _, name := range r.Plan.ResourcesRead(x, ref) {
				o := r.Session.Sees.Resources[name].Object
				if name == "" {
					o = r.Session.Sees.Composite.Object
				}
				if o.Exists() {
					kinds, waiting[x.Source().Path] = withKind(kinds, o), true
				}
			}
		}
	}
	return kinds, waiting
}

// withKind adds the kind of an object, unless there are as many kinds as may be required.
func withKind(kinds []plan.Kind, o wire.Struct) []plan.Kind {
	if k := kindOf(o); !slices.Contains(kinds, k) && len(kinds) < limits.Schemas {
		return append(kinds, k)
	}
	return kinds
}
