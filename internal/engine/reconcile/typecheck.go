package reconcile

import (
	"slices"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/typecheck"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// This file checks the types of expressions against the schemas of the objects that they read: of all objects with
// typeChecking Strict, and otherwise only of those that lack what an expression waits for.

const noSchemas = "typeChecking: is Strict, but this version of Crossplane passes no schemas (v2.2 and later do): " +
	"nothing is checked; check the input with function-export check, and set it to Warn"

// checkStrictly checks the types of an input with typeChecking Strict, once all schemas were read.
func checkStrictly(s *session, p *plan.Plan, req *request) (reply, error) {
	var out reply
	switch {
	case !p.Strict:
		return out, nil
	case !req.HasSchemas:
		out.report(Outcome{Warn: true, Message: noSchemas})
		return out, nil
	}
	known := s.known(p, req)
	kinds := typecheck.KindsRead(p)
	for _, name := range plan.SortedKeys(known.Resources) {
		kinds = append(kinds, known.Resources[name])
	}
	if !out.readSchemas(req, append(kinds, known.Composite)) {
		return out, nil
	}
	diagnostics, err := typecheck.CheckTypesWithin(s.budget, p, known)
	if err != nil {
		why := "was stopped: " + err.Error() + ": check the input with function-export check, and set it to Warn"
		diagnostics = diagnostic.List{{Path: "typeChecking", Message: why}}
	}
	return out, diagnostics.Error()
}

// known returns the kinds of the composite and of each composed resource that an expression names and
// that is observed, or desired by an earlier step.
func (s *session) known(p *plan.Plan, req *request) *typecheck.Known {
	out := &typecheck.Known{Composite: kindOfObject(s.object), Resources: map[string]plan.Kind{}}
	out.Decode(req.Schemas, s.budget)
	for _, name := range p.Inputs {
		if p.ExportNamed(name) {
			continue
		}
		res, observed := s.observed.Resources[name]
		desired, composed := req.Desired[name]
		switch is, shall := kindOfObject(res.Object), kindOfObject(desired); {
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

func kindOfObject(s wire.Struct) plan.Kind {
	apiVersion, kind, _, _ := object.Identity(s)
	return plan.Kind{APIVersion: apiVersion, Kind: kind}
}

// readSchemas requires schemas, and reports whether all were read.
func (r *reply) readSchemas(req *request, kinds []plan.Kind) bool {
	all := true
	for _, k := range kinds {
		if k.Kind == "" || k == (plan.Kind{APIVersion: "v1", Kind: "Secret"}) || slices.Contains(r.schemas, k) {
			continue
		}
		r.schemas = append(r.schemas, k)
		if _, ok := req.Schemas[k]; !ok {
			all, r.unread = false, true
		}
	}
	return all
}

// explainWaiting warns where an expression waits for a field that does not exist in the schema. Schemas
// are large, so only those of existing objects that lack such a field are required. They are known at
// the first call, unless a source must be read first.
func (r *Result) explainWaiting(s *session, p *plan.Plan, req *request) {
	unread := func(required Requirement) bool { return !req.answer(required).read }
	r.Unread = r.Unread || slices.ContainsFunc(r.Requirements, unread)
	lacking := s.lackingStatus(p, r.Status)
	nothingWaits := s.budget.Waiting == 0 && !r.Unread && len(lacking) == 0
	if p.Strict || !req.HasSchemas || nothingWaits {
		return
	}
	kinds, waiting := s.unfinished(p)
	if len(lacking) > 0 {
		kinds = withKind(kinds, s.object)
	}
	if len(kinds) == 0 {
		return
	}
	var out reply
	defer func() { r.merge(out) }()
	if !out.readSchemas(req, kinds) {
		r.Unchecked = !r.Unread
		return
	}
	diagnostics, err := typecheck.CheckTypesWithin(s.budget, p, s.known(p, req))
	out.warnOf(diagnostics, waiting, lacking)
	if err != nil {
		out.warn(Waiting, "typeChecking: was stopped: "+err.Error()+": check the input with function-export check")
	}
}

// warnOf warns of the diagnostics of expressions that wait, and of status fields that the composite lacks.
func (r *reply) warnOf(diagnostics diagnostic.List, waiting, lacking map[string]bool) {
	warned := 0
	for _, d := range diagnostics {
		if !lacking[d.Path] && (d.Line == 0 || !waiting[d.Path]) {
			continue
		}
		if warned++; warned > limits.MessageItems {
			r.warn(Waiting, "typeChecking: finds more fields that can never exist: check the input with function-export check")
			return
		}
		state := Waiting
		if lacking[d.Path] { // Crossplane cannot write the status
			state = Held
		}
		r.warn(state, d.Error())
	}
}

func (r *reply) warn(state State, text string) {
	r.report(Outcome{State: state, Warn: true, Wrong: true, Message: text})
}

// lackingStatus returns the paths of the status fields that are written and that the observed composite does not have
// yet: those that do not exist in its schema are never observed.
func (s *session) lackingStatus(p *plan.Plan, written []Status) (out map[string]bool) {
	for i, f := range p.Status {
		observed, _ := lookUp(s.object.Get("status").Struct(), f.Segments)
		if written[i].Value != nil && !observed.Exists() {
			out = with(out, f.At.Child("fieldPath").String(), true)
		}
	}
	return out
}

// unfinished returns the kinds of existing objects that lack a field that an expression waits for, as
// many as may be required, and the paths of these expressions.
func (s *session) unfinished(p *plan.Plan) (kinds []plan.Kind, waiting map[string]bool) {
	waiting = map[string]bool{}
	for _, x := range p.Needed {
		for _, ref := range x.Absent(s.scope(x.Source().From)) {
			for _, name := range p.ResourcesRead(x, ref) {
				o := s.observed.Resources[name].Object
				if name == "" {
					o = s.object
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
	if k := kindOfObject(o); !slices.Contains(kinds, k) && len(kinds) < limits.Schemas {
		return append(kinds, k)
	}
	return kinds
}
