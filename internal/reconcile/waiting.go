package reconcile

import (
	"slices"

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
	if p.Strict || !req.HasSchemas || s.budget.Waiting == 0 && !r.Unread {
		return
	}
	var out reply
	defer func() { r.merge(out) }()
	kinds, waiting := s.unfinished(p)
	if len(kinds) == 0 || !out.readSchemas(req, kinds) {
		return
	}
	warn := func(text string) { out.report(Outcome{State: Waiting, Warn: true, Message: text}) }
	diagnostics, err := inspect.CheckTypesWithin(s.budget, p, s.known(p, req))
	warned := 0
	for _, d := range diagnostics {
		if d.Line == 0 || !waiting[d.Path] {
			continue
		}
		if warned++; warned > limits.MessageItems {
			warn("typeChecking: finds more fields that can never exist: check the input with fn check")
			break
		}
		warn(d.Error())
	}
	if err != nil {
		warn("typeChecking: was stopped: " + err.Error() + ": check the input with fn check")
	}
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
