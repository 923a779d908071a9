package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// A Request is what one call of the function observes. Nothing of it is written
// to.
type Request struct {
	// Observation, without sources: Run fills them from Found.
	Observation observation.Observation

	// Found is what Crossplane read for requirements, by their key. A key that is
	// not there was not read yet; one without objects was, and nothing was there.
	// Keys that are not ours are the Composition's own required resources.
	Found map[string][]*structpb.Struct

	// Desired are the resources that earlier steps of the pipeline compose.
	Desired map[string]*structpb.Struct

	// DesiredStatus is the status that earlier steps write.
	DesiredStatus *structpb.Struct
}

// A State is how an export, or a status field, came out.
type State int

// The states, each worse than the one before.
const (
	// Available: it is as the input wants it.
	Available State = iota
	// Waiting: it is not there, and waits for an input.
	Waiting
	// Held: it failed, or is kept as it was observed.
	Held
	// Conflict: it is somebody else's, and not touched.
	Conflict
)

// String is the state as a condition's reason.
func (s State) String() string {
	return [...]string{"Available", "Waiting", "Held", "Conflict"}[s]
}

// An Outcome is what became of one export or status field.
type Outcome struct {
	State State

	// Message says why the state is not Available. It holds no data.
	Message string

	// Warn is set for what does not mend itself by waiting.
	Warn bool
}

// An Object is what became of one export.
type Object struct {
	Outcome

	// Name of the export: its composition resource name.
	Name string
	Kind object.Kind

	// Desired object, or nil if there shall be none.
	Desired *structpb.Struct

	// ConnectionDetails to publish for the composite.
	ConnectionDetails map[string]sensitive.Bytes
}

// A Status is what became of one status field.
type Status struct {
	Outcome

	// Segments of the field's path below status.
	Segments []string

	// Value to write, or nil for none.
	Value *structpb.Value
}

// A Result is the answer to one request.
type Result struct {
	// Requirements are the same on every call of one reconcile.
	Requirements []Requirement

	// Objects in the order of the input.
	Objects []Object

	// Status fields in the order of the input.
	Status []Status

	// Evaluations by how they ended.
	OK, Waiting, Failed int
}

// A Fault is a fault of the input that only shows with a composite at hand.
type Fault struct {
	Path, Message string
}

// Error is the path and what is wrong there.
func (f *Fault) Error() string { return f.Path + ": " + f.Message }

// A run is one call.
type run struct {
	*Request

	budget    *expression.Budget
	namespace string // the composite's own
	cluster   bool   // the composite is cluster scoped
	variables ref.Val
	writers   map[string]string // of target objects: kind/namespace/name -> who composes it
}

// Run the plan. A *Fault, joined with others by errors.Join, is the only error;
// there is no result then.
func (p *Plan) Run(ctx context.Context, req *Request) (*Result, error) {
	own := *req // the sources are ours to add
	r := &run{Request: &own, budget: expression.NewBudget()}
	r.namespace, r.cluster = ownNamespace(req.Observation.Composite.Object)
	r.variables = newVariables(ctx, p.variables, r)

	out := &Result{}
	sources, faults := r.readSources(ctx, p.sources, out)
	faults = append(faults, r.ambiguous(p)...)
	own.Observation.Sources = sources

	placements := make([]placement, len(p.exports))
	for i, e := range p.exports {
		at, err := r.place(ctx, e)
		var fault *Fault
		if errors.As(err, &fault) {
			faults = append(faults, fault)
		}
		placements[i] = at
		if at.lookUp != nil {
			out.Requirements = append(out.Requirements, *at.lookUp)
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	r.findWriters(p.exports, placements)
	for i, e := range p.exports {
		out.Objects = append(out.Objects, r.export(ctx, e, placements[i]))
	}
	for _, s := range p.status {
		out.Status = append(out.Status, r.statusField(ctx, s))
	}
	out.OK, out.Waiting, out.Failed = r.budget.OK, r.budget.Waiting, r.budget.Failed
	return out, nil
}

// ownNamespace is the composite's own namespace, which for a legacy composite is
// that of its claim, and whether the composite is cluster scoped.
func ownNamespace(xr *structpb.Struct) (namespace string, cluster bool) {
	if _, _, ns, _ := object.Identity(xr); ns != "" {
		return ns, false
	}
	claim := xr.GetFields()["spec"].GetStructValue().GetFields()["claimRef"].GetStructValue()
	return claim.GetFields()["namespace"].GetStringValue(), true
}

// readSources finds what was read, and notes what to require. The Composition's
// own required resources are sources, too: lists, since Crossplane does not say
// how they were asked for.
func (r *run) readSources(ctx context.Context, sources []source, out *Result) (map[string]observation.Source, []error) {
	all := map[string]observation.Source{}
	for name, objects := range r.Found {
		if !strings.HasPrefix(name, RequirementPrefix) {
			all[name] = observation.Source{Read: true, Optional: true, Many: true, Objects: objects}
		}
	}
	var faults []error
	for _, s := range sources {
		req, err := r.requirement(ctx, s)
		var fault *Fault
		switch {
		case errors.As(err, &fault):
			faults = append(faults, fault)
		case err != nil:
			all[s.Name] = observation.Source{Optional: false, Secret: isSecret(s.Source), Failed: failedReason(err)}
		default:
			out.Requirements = append(out.Requirements, req)
			all[s.Name] = s.observe(req, r.Found)
		}
	}
	return all, faults
}

// failedReason is why a source has no name; empty if one has to wait for it.
func failedReason(err error) string {
	var w *expression.Waiting
	if errors.As(err, &w) {
		return ""
	}
	return err.Error()
}

// ambiguous refuses names that mean two things in this pipeline.
func (r *run) ambiguous(p *Plan) []error {
	var faults []error
	for _, e := range p.exports {
		if _, ok := r.Desired[e.name]; ok {
			faults = append(faults, &Fault{e.path.Child("name").String(), fmt.Sprintf("an earlier step of the pipeline composes a resource named %q, too: rename one of them", e.name)})
		}
	}
	for _, s := range p.sources {
		_, observed := r.Observation.Resources[s.Name]
		_, desired := r.Desired[s.Name]
		if isSecret(s.Source) && (observed || desired) {
			faults = append(faults, &Fault{s.path.Child("name").String(), fmt.Sprintf("%q is the name of a composed resource, too, so that %s would mean two things: rename the source", s.Name, expression.PathText(expression.Secrets, s.Name))})
		}
	}
	return faults
}

func (r *run) evaluate(ctx context.Context, x *expression.Expression, from string) (ref.Val, error) {
	return x.Evaluate(ctx, r.Observation.Scope(from, r.variables), r.budget)
}

// name evaluates an expression that gives a name. It is empty for
// optional.none().
func (r *run) name(ctx context.Context, x *expression.Expression, from string) (string, error) {
	v, err := r.evaluate(ctx, x, from)
	if err != nil {
		return "", err
	}
	name, _, err := x.Name(v)
	return name, err
}

// newVariables are the named expressions as a CEL map. Each is evaluated on
// first use, and once.
func newVariables(ctx context.Context, list []variable, r *run) ref.Val {
	values := make(map[string]ref.Val, len(list))
	find := func(name string) (ref.Val, bool) {
		i := slices.IndexFunc(list, func(x variable) bool { return x.name == name })
		if i < 0 {
			return nil, false
		}
		if _, ok := values[name]; !ok {
			v, err := r.evaluate(ctx, list[i].value, "")
			if err != nil {
				v = types.WrapErr(err)
			}
			values[name] = v
		}
		return relabel(values[name]), true
	}
	names := func() []string {
		out := make([]string, 0, len(list))
		for _, x := range list {
			out = append(out, x.name)
		}
		slices.Sort(out)
		return out
	}
	return observation.Map(find, names)
}

// relabel returns an error as a value of its own: cel-go writes the place where
// it met an error into it.
func relabel(v ref.Val) ref.Val {
	if e, ok := v.(*types.Err); ok {
		return types.WrapErr(e.Unwrap())
	}
	return v
}

// shorten lists the first of many, and counts the rest.
func shorten(items []string) string { return shortenBy(items, ", ") }

func shortenBy(items []string, separator string) string {
	if n := len(items) - limits.MessageItems; n > 0 {
		return fmt.Sprintf("%s%sand %d more", strings.Join(items[:limits.MessageItems], separator), separator, n)
	}
	return strings.Join(items, separator)
}
