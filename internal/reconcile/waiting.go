package reconcile

import (
	"slices"

	"github.com/crossplane-contrib/function-export/internal/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/inspect"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan"
)

// explainWaiting warns where an expression waits for a field that does not exist in the schema. Schemas
// are large, so only those of existing objects that lack such a field are required. They are known at
// the first call, unless a source must be read first.
func (r *Result) explainWaiting(s *session, p *plan.Plan, req *request) {
	unread := func(required Requirement) bool { return !req.answer(required).read }
	r.Unread = r.Unread || slices.ContainsFunc(r.Requirements, unread)
	lacking := s.lackingStatus(p, r.Status)
	if p.Strict || !req.HasSchemas || s.budget.Waiting == 0 && !r.Unread && len(lacking) == 0 {
		return
	}
	var out reply
	defer func() { r.merge(out) }()
	kinds, waiting := s.unfinished(p)
	if own := kindOfObject(s.object); len(lacking) > 0 && !slices.Contains(kinds, own) && len(kinds) < limits.Schemas {
		kinds = append(kinds, own)
	}
	if len(kinds) == 0 {
		return
	}
	if !out.readSchemas(req, kinds) {
		r.Unchecked = !r.Unread
		return
	}
	diagnostics, err := inspect.CheckTypesWithin(s.budget, p, s.known(p, req))
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
func (s *session) lackingStatus(p *plan.Plan, written []Status) map[string]bool {
	out := map[string]bool{}
	for i, f := range p.Status {
		observed, _ := lookUp(s.object.Get("status").Struct(), f.Segments)
		if written[i].Value != nil && !observed.Exists() {
			out[f.At.Child("fieldPath").String()] = true
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
			for _, res := range s.objectsOf(p, x, ref) {
				if k := kindOfObject(res.Object); !slices.Contains(kinds, k) && len(kinds) < limits.Schemas {
					kinds = append(kinds, k)
				}
				waiting[x.Source().Path] = true
			}
		}
	}
	return kinds, waiting
}

// objectsOf returns the existing objects that a reference reads, directly or through a variable.
func (s *session) objectsOf(p *plan.Plan, x *expression.Expression, ref expression.Reference) []observation.Resource {
	name, steps := x.Source().From, 1
	switch ref.Variable {
	case expression.Composite:
		name = ""
	case expression.Resource, expression.Self:
	case expression.Resources:
		name, steps = plan.StepName(ref, 0), 2
	case expression.Variables:
		return s.objectsOfVariable(p, ref)
	default:
		return nil
	}
	if len(ref.Path) < steps {
		return nil
	}
	if name == "" {
		return []observation.Resource{s.observed.Composite}
	}
	if res, ok := s.observed.Resources[name]; ok {
		return []observation.Resource{res}
	}
	return nil
}

// objectsOfVariable returns the objects that a variable reads, if the reference reads a field of it.
func (s *session) objectsOfVariable(p *plan.Plan, ref expression.Reference) []observation.Resource {
	i := slices.IndexFunc(p.Variables, func(v plan.Variable) bool { return v.Name == plan.StepName(ref, 0) })
	if i < 0 || len(ref.Path) < 2 {
		return nil
	}
	var out []observation.Resource
	for _, inner := range p.Variables[i].Value.References() {
		out = append(out, s.objectsOf(p, p.Variables[i].Value, inner)...)
	}
	return out
}
