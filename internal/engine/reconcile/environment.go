package reconcile

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/environment"
	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// An environmentRead is the environment, merged from the EnvironmentConfigs that were read.
type environmentRead struct {
	outcome.Reply

	session *evaluate.Session // of the next phase
	value   *structpb.Struct  // nil if the input does not create one, or if it waits
	waits   []string          // what must be read first
}

// An environmentReader reads the EnvironmentConfigs that the input selects.
type environmentReader struct {
	session *evaluate.Session
	lookup  *environment.Lookup // nil if the input selects none
	answers *lookup.Answers
}

// run merges the environment, once all of its parts were read.
func (x environmentReader) run() (environmentRead, error) {
	s := x.session
	if x.lookup == nil {
		return environmentRead{session: s}, nil
	}
	before := s.Sees.Environment
	selectors, errs := x.lookup.Selectors(s.Sees.Composite.Object, before)
	if len(errs) > 0 {
		return environmentRead{}, errs.Error()
	}
	var out environmentRead
	found := make([][]wire.Struct, len(selectors))
	for i, sel := range selectors {
		if sel == nil {
			continue
		}
		required := lookup.Requirement{
			APIVersion: plan.EnvironmentConfigAPIVersion, Kind: plan.EnvironmentConfigKind, Name: sel.Name,
			Labels: sel.Labels,
		}
		out.Require(required)
		a := x.answers.To(required)
		if !a.Read {
			out.waits = append(out.waits, required.String())
		}
		found[i] = a.Objects
	}
	if len(out.waits) > 0 {
		out.Report(Outcome{State: Waiting, Message: "environment waits for the lookup of " +
			plan.Shorten(out.waits, ", ")})
		out.session = s.Next(nil, func(o *observation.Observation) { o.EnvironmentWaits = out.waits })
		return out, nil
	}
	if err := s.Budget.Decode(before.Size()); err != nil {
		why := &diagnostic.Diagnostic{Path: plan.EnvironmentPath().String(), Message: "was stopped: " + err.Error()}
		return environmentRead{}, why
	}
	out.value, errs = x.lookup.Merge(s.Budget, before.Proto(), selectors, found)
	out.session = s.WithEnvironment(out.value, nil)
	return out, errs.Error()
}

// An environmentWriter sets fields of the environment that was read.
type environmentWriter struct {
	session *evaluate.Session
	fields  []plan.Field
	read    environmentRead
}

// run writes the fields in their order. A field without a value is removed, so that
// expressions that read it wait and do not use a default.
func (x environmentWriter) run() environmentRead {
	out := environmentRead{session: x.session}
	if len(x.read.waits) > 0 {
		return out
	}
	out.value = x.read.value
	for _, f := range x.fields {
		env, why := environmentField(out.session, f)
		var missing map[string]string
		if !why.Empty() {
			spelled := expression.Env + "." + f.At.String()
			missing = map[string]string{spelled: f.Value.Source().Path}
			out.Report(outcome.Of(why, spelled, "is not set", false))
		}
		out.value, out.session = env, out.session.WithEnvironment(env, missing)
	}
	return out
}

// environmentField returns the environment after one field was set, and why the field could not be set. The field is
// removed then.
func environmentField(s *evaluate.Session, f plan.Field) (*structpb.Struct, evaluate.Reasons) {
	before := s.Sees.Environment.Proto()
	value, err := s.JSON(f.Value, s.Scope(""))
	var waiting *expression.Waiting
	switch {
	case err == nil && value == nil, f.Optional && errors.As(err, &waiting): // the field keeps its earlier value
		return before, evaluate.Reasons{}
	case err != nil:
		return environment.Remove(before, f.At), evaluate.Because("", err)
	}
	after, err := environment.Set(before, f.At, value)
	if err != nil {
		why := evaluate.Failed(f.Path+".fieldPath", "%s", err.Error())
		return environment.Remove(before, f.At), evaluate.Because("", why)
	}
	return after, evaluate.Reasons{}
}

// A statusWriter evaluates the status fields of the input.
type statusWriter struct {
	session *evaluate.Session
	desired wire.Struct // the status of earlier steps
	fields  []plan.StatusField
}

// run returns the fields. lacking are the paths of those that are written and that the observed composite does not have
// yet: one that does not exist in its schema is never observed.
func (x statusWriter) run() (out []Status, lacking map[string]bool) {
	out = make([]Status, 0, len(x.fields))
	for _, f := range x.fields {
		one := x.field(f)
		observed, _ := f.Below.Find(x.session.Sees.Composite.Object.Get("status").Struct())
		if one.Value != nil && !observed.Exists() {
			lacking = plan.With(lacking, f.At.Child("fieldPath").String(), true)
		}
		out = append(out, one)
	}
	return out, lacking
}

// field evaluates one status field. While the field has no value, its observed value is
// desired, because Crossplane prunes a field that is not desired.
func (x statusWriter) field(f plan.StatusField) Status {
	out := Status{Segments: f.Segments}
	if before, free := f.Below.Find(x.desired); before.Exists() || !free {
		out.Outcome = Outcome{State: Conflict, Warn: true, Wrong: true, Message: fmt.Sprintf(
			"status.%s: an earlier step of the pipeline also writes it: keep one of them", f.Path)}
		return out
	}
	var err error
	out.Value, err = x.session.JSON(f.Value, x.session.Scope(""))
	why := evaluate.Because("", err)
	if err == nil || len(why.Failed) == 0 && f.Optional && !why.Required {
		return out
	}
	observed, _ := f.Below.Find(x.session.Sees.Composite.Object.Get("status").Struct())
	out.Value = observed.Proto()
	out.Outcome = outcome.Of(why, "status."+f.Path, "is not written", out.Value != nil)
	return out
}
