package reconcile

import (
	"errors"
	"maps"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/environment"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// An environmentRead is the environment, merged from the EnvironmentConfigs that were read.
type environmentRead struct {
	reply

	session *session         // of the next phase
	value   *structpb.Struct // nil if the input does not create one, or if it waits
	waits   []string         // what must be read first
}

// readEnvironment merges the environment, once all of its parts were read.
func readEnvironment(s *session, p *plan.Plan, req *request) (environmentRead, error) {
	if p.Lookup == nil {
		return environmentRead{session: s}, nil
	}
	before := s.observed.Environment
	selectors, errs := p.Lookup.Selectors(s.object, before)
	if len(errs) > 0 {
		return environmentRead{}, errs.Error()
	}
	var out environmentRead
	found := make([][]wire.Struct, len(selectors))
	for i, sel := range selectors {
		if sel == nil {
			continue
		}
		required := Requirement{
			APIVersion: plan.EnvironmentConfigAPIVersion, Kind: plan.EnvironmentConfigKind, Name: sel.Name, Labels: sel.Labels,
		}
		out.require(required)
		a := req.answer(required)
		if !a.read {
			out.waits = append(out.waits, required.String())
		}
		found[i] = a.objects
	}
	if len(out.waits) > 0 {
		out.report(Outcome{State: Waiting, Message: "environment waits for the lookup of " + plan.Shorten(out.waits, ", ")})
		out.session = s.next(nil, func(o *observation.Observation) { o.EnvironmentWaits = out.waits })
		return out, nil
	}
	if err := s.budget.Decode(before.Size()); err != nil {
		why := &diagnostic.Diagnostic{Path: plan.EnvironmentPath().String(), Message: "was stopped: " + err.Error()}
		return environmentRead{}, why
	}
	out.value, errs = p.Lookup.Merge(s.budget, before.Proto(), selectors, found)
	out.session = s.withEnvironment(out.value, nil)
	return out, errs.Error()
}

// withEnvironment returns a session with another environment. Variables that read it are evaluated again.
func (s *session) withEnvironment(env *structpb.Struct, missing map[string]string) *session {
	before := *s
	before.variables = s.variables.withoutEnvironment()
	return before.next(missing, func(o *observation.Observation) { o.Environment = wire.Of(env) })
}

func (v variables) withoutEnvironment() variables {
	v.values = maps.Clone(v.values)
	for _, x := range v.list {
		if x.Environment {
			delete(v.values, x.Name)
		}
	}
	return v
}

// setEnvironment writes the fields in their order. A field without a value is removed, so that
// expressions that read it wait and do not use a default.
func setEnvironment(s *session, p *plan.Plan, read environmentRead) environmentRead {
	if len(read.waits) > 0 {
		return environmentRead{session: s}
	}
	out := environmentRead{session: s, value: read.value}
	for _, f := range p.Set {
		env, why := out.session.environmentField(f)
		var missing map[string]string
		if !why.empty() {
			spelled := expression.Env + "." + f.At.String()
			missing = map[string]string{spelled: f.Value.Source().Path}
			out.report(why.outcome(spelled, "is not set", false))
		}
		out.value, out.session = env, out.session.withEnvironment(env, missing)
	}
	return out
}

// fieldsPerUnit is the number of fields that are copied for one unit of the budget.
const fieldsPerUnit = 4

// environmentField returns the environment after one field was set, and why the field could not be set. The field is
// removed then.
func (s *session) environmentField(f plan.EnvironmentField) (*structpb.Struct, reasons) {
	before := s.observed.Environment.Proto()
	value, err := s.environmentValue(f, len(before.GetFields()))
	var waiting *expression.Waiting
	switch {
	case err == nil && value == nil, f.Optional && errors.As(err, &waiting): // the field keeps its earlier value
		return before, reasons{}
	case err != nil:
		return environment.Remove(before, f.At), because("", err)
	}
	after, err := environment.Set(before, f.At, value)
	if err != nil {
		return environment.Remove(before, f.At), because("", failed(f.Path+".fieldPath", "%s", err.Error()))
	}
	return after, reasons{}
}

// environmentValue returns the value of a field, or nil for optional.none(). It pays for the fields that are copied
// to set it.
func (s *session) environmentValue(f plan.EnvironmentField, copied int) (*structpb.Value, error) {
	if err := s.budget.Spend(int64(copied / fieldsPerUnit)); err != nil {
		return nil, failed(f.Path, "was stopped: %s", err.Error())
	}
	return s.json(f.Value, s.scope(""))
}
