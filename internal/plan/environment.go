package plan

import (
	"context"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/environment"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// What is asked for, of the versions of EnvironmentConfig the one that each
// Crossplane since 1.18 serves.
const (
	environmentConfigAPIVersion = "apiextensions.crossplane.io/v1beta1"
	environmentConfigKind       = "EnvironmentConfig"
)

// environmentPath is where the input has its environment.
func environmentPath() *field.Path { return field.NewPath(expression.Env) }

// An environmentField is a field of the environment to write.
type environmentField struct {
	at       environment.Path
	path     string // of the entry
	optional bool
	value    *expression.Expression
}

func (v *validator) environment(in *v1beta1.Environment) {
	if in == nil {
		return
	}
	_, faults := environment.Compile(environmentPath(), in)
	v.faults = append(v.faults, faults...)
	set := make([]writtenField, 0, len(in.Set))
	for _, f := range in.Set {
		set = append(set, writtenField{f.FieldPath, f.Value})
	}
	v.set(environmentPath().Child("set"), set, func(*field.Path, environment.Path) {})
}

// A writtenField is an entry of a set.
type writtenField struct{ fieldPath, value string }

// set refuses fields that cannot be written, and those that replace what was written
// before. What else there is to say about a path is up to judge.
func (v *validator) set(list *field.Path, set []writtenField, judge func(at *field.Path, p environment.Path)) {
	before := map[int]environment.Path{}
	for i, f := range set[:v.length(list, len(set), limits.ListItems)] {
		at := list.Index(i)
		if f.value == "" {
			v.missing(at.Child("value"), "must be set")
		}
		if f.fieldPath == "" {
			v.missing(at.Child("fieldPath"), "must be set")
			continue
		}
		p, err := environment.ParsePath(f.fieldPath)
		if err != nil {
			v.err(at.Child("fieldPath"), err)
			continue
		}
		for j := range i {
			if b, ok := before[j]; ok && p.Covers(b) {
				v.fault(at.Child("fieldPath"), "replaces what %s wrote: remove one of them, or write this one first", list.Index(j))
				break
			}
		}
		before[i] = p
		judge(at.Child("fieldPath"), p)
	}
}

// environment compiles what becomes of the environment. Its faults but those of
// expressions were found by validate.
func (c *compiler) environment(p *Plan, in *v1beta1.Environment) {
	if in == nil {
		return
	}
	p.lookup, _ = environment.Compile(environmentPath(), in)
	for i, s := range in.Set {
		at := environmentPath().Child("set").Index(i)
		out := environmentField{path: at.String(), optional: s.Optional}
		out.at, _ = environment.ParsePath(s.FieldPath)
		out.value = c.output(expression.Source{Text: s.Value, Path: at.Child("value").String(), Want: expression.WantJSON})
		c.refuseGenerated(out.value, "generators may use the environment, which comes first")
		c.refuseUses(notGenerated(c.usesOf(out.value)), s.NonSensitive)
		p.set = append(p.set, out)
	}
}

// findEnvironment merges the environment, once all that it takes was read.
func (r *run) findEnvironment(p *Plan, out *Result) field.ErrorList {
	if p.lookup == nil {
		return nil
	}
	o := &r.Observation
	selectors, faults := p.lookup.Selectors(o.Composite.Object, o.Environment)
	if len(faults) > 0 {
		return faults
	}
	found := make([][]wire.Struct, len(selectors))
	for i, s := range selectors {
		if s == nil {
			continue
		}
		req := Requirement{APIVersion: environmentConfigAPIVersion, Kind: environmentConfigKind, Name: s.Name, Labels: s.Labels}
		out.Requirements = append(out.Requirements, req)
		objects, read := r.answer(req)
		if !read {
			o.EnvironmentWaits = append(o.EnvironmentWaits, req.String())
		}
		found[i] = objects
	}
	if len(o.EnvironmentWaits) > 0 {
		out.Others = append(out.Others, Outcome{State: Waiting, Message: "environment waits for the look-up of " + shorten(o.EnvironmentWaits, ", ")})
		return nil
	}
	if err := r.budget.Decode(o.Environment.Size()); err != nil {
		return field.ErrorList{field.Invalid(environmentPath(), field.OmitValueType{}, "was stopped: "+err.Error())}
	}
	out.Environment, faults = p.lookup.Merge(r.budget, o.Environment.Proto(), selectors, found)
	o.Environment = wire.Of(out.Environment)
	return faults
}

// setEnvironment writes the fields, in their order. A field whose value is not
// there is not in the environment either: who reads it waits, and does not get
// what stood there by default.
func (r *run) setEnvironment(ctx context.Context, p *Plan, out *Result) {
	if len(r.Observation.EnvironmentWaits) > 0 {
		return
	}
	for _, f := range p.set {
		env, why := r.environmentField(ctx, f)
		r.Observation.Environment, out.Environment = wire.Of(env), env
		if !why.empty() {
			spelled := expression.Env + "." + f.at.String()
			r.missing[spelled] = f.value.Source().Path
			out.Others = append(out.Others, why.outcome(spelled, "is not set", false))
		}
		r.variables.forget() // what the field is part of
	}
}

// fieldsPerThing are copied in the time that a thing of the budget takes.
const fieldsPerThing = 4

func (r *run) environmentField(ctx context.Context, f environmentField) (*structpb.Struct, reasons) {
	before := r.Observation.Environment.Proto()
	if err := r.budget.Spend(budget.Counted(len(before.GetFields())/fieldsPerThing, 0)); err != nil { // which are copied
		return before, reasons{failed: []string{f.path + ": was stopped: " + err.Error()}}
	}
	v, err := r.evaluate(ctx, f.value, "")
	var value *structpb.Value
	if err == nil {
		value, _, err = f.value.JSON(v, r.budget) // nil for optional.none()
	}
	if err == nil && value != nil {
		var env *structpb.Struct
		if env, err = environment.Set(before, f.at, value); err == nil {
			return env, reasons{}
		}
		err = &expression.Failed{Path: f.path + ".fieldPath", Reason: err.Error()}
	}
	var why reasons
	why.add("", err)
	if why.empty() || len(why.failed) == 0 && f.optional {
		return before, reasons{}
	}
	return environment.Remove(before, f.at), why
}

// faultErrors are faults that only show in a request.
func faultErrors(faults field.ErrorList) []error {
	out := make([]error, 0, len(faults))
	for _, f := range faults {
		out = append(out, &Fault{f.Field, f.Detail})
	}
	return out
}
