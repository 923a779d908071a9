package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
	"github.com/crossplane-contrib/function-export/internal/suggest"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A Request is what one call of the function observes. Nothing of it is written
// to.
type Request struct {
	// Observation, without sources: Run fills them from Found.
	Observation observation.Observation

	// Found is what Crossplane read for requirements, by their key. A key that is
	// not there was not read yet; one without objects was, and nothing was there.
	// Keys that are not ours are the Composition's own required resources.
	Found map[string][]wire.Struct

	// Desired are the resources that earlier steps of the pipeline compose.
	Desired map[string]wire.Struct

	// DesiredStatus is the status that earlier steps write.
	DesiredStatus wire.Struct

	// Schemas are the OpenAPI v3 schemas that Crossplane read for Result.Schemas. A kind
	// that is not there was not read yet; one that does not exist was, and has none.
	Schemas map[Kind]wire.Struct

	// HasSchemas is set if Crossplane can read schemas.
	HasSchemas bool

	// Elsewhere are the generators that earlier steps have.
	Elsewhere map[string]bool

	// Now is the time, and Random what generators make credentials from.
	Now    time.Time
	Random io.Reader
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

// An Outcome is what became of one export, status field or field of the
// environment, or of a list of the composite's author.
type Outcome struct {
	State State

	// Message says why the state is not Available. It holds no data.
	Message string

	// Warn is set for what does not mend itself by waiting.
	Warn bool

	// Tenant is set for what the composite's author asks for, and can mend.
	Tenant bool

	// Aside is set for what keeps nothing that is exported from being as the input wants it:
	// the composite is ready.
	Aside bool
}

// An Object is what became of one export.
type Object struct {
	Outcome

	// Name of the object in the pipeline: that of the export, or the one that the
	// export had when the object was created.
	Name string
	Kind object.Kind

	// Desired object, or nil if there shall be none.
	Desired *structpb.Struct

	// ConnectionDetails to publish for the composite.
	ConnectionDetails map[string]sensitive.Bytes

	fit fit
}

// Composed is a resource that a generator composes.
type Composed struct {
	// Name of the resource in the pipeline.
	Name    string
	Desired *structpb.Struct
	Ready   bool

	own string // the name that it has unless somebody changed that
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

	// Schemas that Crossplane shall read.
	Schemas []Kind

	// Objects in the order of the input.
	Objects []Object

	// Status fields in the order of the input.
	Status []Status

	// Others are what became of what is neither: fields of the environment, and
	// lists of the composite's author.
	Others []Outcome

	// Drop are the names of resources that earlier steps compose and that shall not be
	// desired: a composite's author asked for them there.
	Drop []string

	// Generations that are composed, in the order of their names.
	Generations []Composed

	// GeneratorState of each generator, for later steps. It holds no value.
	GeneratorState map[string]*structpb.Value

	// Due is when the next step of a generator is, or zero. Fresh is set if something was
	// made in this request, which must not be kept but by what it is composed as.
	Due   time.Time
	Fresh bool

	// Unread is set while something that is required was not read: Crossplane calls again,
	// and drops this answer.
	Unread bool

	// Environment for later steps, or nil if the input does not make one, or what it
	// takes was not read yet.
	Environment *structpb.Struct

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

	budget    *budget.Budget
	namespace string // the composite's own
	cluster   bool   // the composite is cluster scoped
	variables *variables
	missing   map[string]string   // sources that are not there, as expressions spell them -> which object each is
	exports   map[string]bool     // their names
	writers   map[target][]writer // who composes an object
	tenant    *observation.Tenant // whose expressions are evaluated, or nil for the input's own
	dataLeft  int                 // bytes that values may still have
	keysLeft  int                 // keys that objects may still have

	records     map[string]*recorded            // what exports recorded, by generator
	generations map[string]identified           // composed resources that look like generations
	listed      map[listedAs]bool               // what the composite lists, once it was read
	proven      map[string][]*kept              // the generations of each generator
	current     map[string]*kept                // the generation in use of each generator
	theirs      map[string]observation.Resource // what the composite's author asked for, as it is observed
	created     int                             // of what the author asks for by now
	sourcesRead []Requirement
	mentions    map[target]mention   // where the Composition refers to what the author asks for
	read        map[string]*findings // by the key of the requirement
}

// Run the plan. The error is a *Fault, joined with others by errors.Join, a *Stale, or that of
// the context; there is no result then.
func (p *Plan) Run(ctx context.Context, req *Request) (*Result, error) {
	own := *req // the sources are ours to add
	r := &run{Request: &own, budget: budget.New(ctx), missing: map[string]string{}, exports: map[string]bool{}, dataLeft: math.MaxInt, read: map[string]*findings{}, keysLeft: math.MaxInt}
	for _, e := range p.exports {
		r.exports[e.name] = true
	}
	r.theirs, own.Observation.Resources = splitTheirs(req.Observation.Resources)
	r.namespace, r.cluster = ownNamespace(req.Observation.Composite.Object)
	r.splitGenerations(p)
	if faults := r.faults(p); len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	out := &Result{}
	w := p.tenants.wish(req.Observation.Composite.Object)
	r.connect(p, w, out)
	r.variables = newVariables(ctx, p.variables, r)
	r.findMisspelt(p.inputs)

	if faults := r.checkStrictly(p, out); len(faults) > 0 {
		return nil, errors.Join(faultErrors(faults)...)
	}
	if faults := r.findEnvironment(p, out); len(faults) > 0 {
		return nil, errors.Join(faultErrors(faults)...)
	}
	own.Observation.Sources = r.readSources(ctx, p.sources, out)
	placements := make([]placement, len(p.exports))
	for i, e := range p.exports {
		placements[i] = r.place(ctx, e)
		if l := placements[i].lookUp; l != nil {
			out.Requirements = append(out.Requirements, *l)
		}
	}
	out.Drop = r.findWriters(p.exports, placements)
	r.setEnvironment(ctx, p, out)
	if err := r.generate(ctx, p, placements, out); err != nil {
		return nil, err
	}
	for i, e := range p.exports {
		out.add(r.export(ctx, e, placements[i]))
	}
	for _, s := range p.status {
		out.Status = append(out.Status, r.statusField(ctx, s))
	}
	r.runTenants(ctx, p.tenants, w, out)
	out.Unread = out.Unread || slices.ContainsFunc(out.Requirements, func(req Requirement) bool { _, read := r.answer(req); return !read })
	r.explainWaiting(p, out)
	if err := ctx.Err(); err != nil { // and what was not done for that looks as if it had failed
		return nil, err
	}
	out.OK += r.budget.OK
	out.Waiting += r.budget.Waiting
	out.Failed += r.budget.Failed
	return out, nil
}

// splitTheirs splits off what the composite's author asked for. No expression but
// the author's own could mean it.
func splitTheirs(all map[string]observation.Resource) (theirs, ours map[string]observation.Resource) {
	theirs, ours = map[string]observation.Resource{}, all
	for name, res := range all {
		if isTenants(name) {
			theirs[name] = res
		}
	}
	if len(theirs) > 0 {
		ours = maps.Clone(all)
		maps.DeleteFunc(ours, func(name string, _ observation.Resource) bool { return isTenants(name) })
	}
	return theirs, ours
}

// ownNamespace is the composite's own namespace, which for a legacy composite is
// that of its claim, and whether the composite is cluster scoped. Of any other
// composite, which has spec.crossplane, a claimRef would be a field of its author.
func ownNamespace(xr wire.Struct) (namespace string, cluster bool) {
	if _, _, ns, _ := object.Identity(xr); ns != "" {
		return ns, false
	}
	if !isLegacy(xr) {
		return "", true
	}
	return xr.At("spec", "claimRef", "namespace").Text(), true
}

// faults of the input that only show with a composite and a pipeline at hand.
func (r *run) faults(p *Plan) []error {
	var faults []error
	fault := func(at *field.Path, format string, args ...any) {
		faults = append(faults, &Fault{at.String(), fmt.Sprintf(format, args...)})
	}
	for _, s := range p.sources {
		_, observed := r.Observation.Resources[s.Name]
		_, desired := r.Desired[s.Name]
		if isSecret(s.Source) && (observed || desired) {
			fault(s.path.Child("name"), "%s", twoMeanings(s.Name))
		}
		switch {
		case isSecret(s.Source) && r.cluster && s.nameExpr != nil:
			fault(s.path.Child("nameExpression"), "needs a namespaced composite, for a Secret: set matchName and namespace")
		case isSecret(s.Source) && r.cluster && s.Namespace == "":
			fault(s.path.Child("namespace"), "must be set for a Secret: the composite is cluster scoped, and a claim is of whoever writes it")
		case s.Namespace == "" && s.Scope != v1beta1.ScopeCluster && r.namespace == "":
			fault(s.path.Child("namespace"), noNamespace)
		}
	}
	r.generatorFaults(p, fault)
	for _, e := range p.exports {
		if _, ok := r.Desired[e.name]; ok {
			fault(e.path.Child("name"), "%s", composedTwice(e.name))
		}
		at := e.path.Child("metadata", "namespace")
		switch ns := e.metadata.namespace; {
		case ns == "" && e.metadata.namespaceExpr == nil && r.namespace == "":
			fault(at, noNamespace)
		case ns != "" && !r.cluster && ns != r.namespace:
			fault(at, "is %q, but a composite in namespace %q composes into its own only: leave it out", ns, r.namespace)
		}
	}
	return faults
}

// noNamespace says that nothing says where an object lies.
const noNamespace = "must be set: the composite is cluster scoped and has no claim"

// twoMeanings says that a Secret source has the name of a composed resource.
func twoMeanings(name string) string {
	return fmt.Sprintf("%q is the name of a composed resource, too, so that %s would mean two things: rename the source", name, expression.PathText(expression.Secrets, name))
}

// composedTwice says that another step composes a resource of an export's name.
func composedTwice(name string) string {
	return fmt.Sprintf("another step of the pipeline composes a resource named %q, too: rename one of them", name)
}

func (r *run) evaluate(ctx context.Context, x *expression.Expression, from string) (ref.Val, error) {
	scope := r.Observation.Scope(from, r.variables.Val)
	if r.tenant != nil {
		scope = r.Observation.TenantScope(r.tenant)
	}
	v, err := x.Evaluate(ctx, scope, r.budget)
	var w *expression.Waiting
	if errors.As(err, &w) {
		return nil, r.explain(w)
	}
	return v, err
}

// findMisspelt notes inputs that may be misspelt: no resource of that name is
// there, and none of the earlier steps, if there are any, composes one.
func (r *run) findMisspelt(inputs []string) {
	if len(r.Desired) == 0 {
		return
	}
	known := sortedKeys(r.Desired)
	for _, name := range inputs {
		_, observed := r.Observation.Resources[name]
		_, desired := r.Desired[name]
		if observed || desired {
			continue
		}
		why := "no earlier step composes it"
		if r.budget.Spend(suggest.Fuel) == nil {
			why += suggest.DidYouMean(suggest.Nearest(name, known))
		}
		r.missing[expression.PathText(expression.Resources, name)] = why
		r.missing[expression.PathText(expression.Secrets, name)] = why
	}
}

// explain adds to each source that is waited for which object it is.
func (r *run) explain(w *expression.Waiting) error {
	inputs := slices.Clone(w.Inputs)
	for i, in := range inputs {
		if what, ok := r.missing[in]; ok {
			inputs[i] = in + " (" + what + ")"
		}
	}
	return expression.NewWaiting(inputs...)
}

// name evaluates an expression that gives a name. It is empty for
// optional.none().
func (r *run) name(ctx context.Context, x *expression.Expression, from string) (string, error) {
	v, err := r.evaluate(ctx, x, from)
	if err != nil {
		return "", err
	}
	name, _, err := x.Name(v, r.budget)
	return name, err
}

// reasons are why something is not as the input wants it.
type reasons struct{ waiting, failed []string }

// add an error. who waits may be empty, for what the outcome is about itself.
func (r *reasons) add(who string, err error) {
	if who != "" {
		who += " for "
	}
	var w *expression.Waiting
	switch {
	case errors.As(err, &w):
		r.waiting = append(r.waiting, who+strings.Join(w.Inputs, ", "))
	case err != nil:
		r.failed = append(r.failed, err.Error())
	}
}

func (r *reasons) empty() bool { return len(r.waiting)+len(r.failed) == 0 }

// text of all reasons.
func (r *reasons) text() string { return shorten(slices.Concat(r.failed, r.waiting), "; ") }

// outcome of what cannot be made, and is held as it was observed if it was.
func (r *reasons) outcome(what, absent string, observed bool) Outcome {
	out := Outcome{State: Held, Warn: true}
	if !observed && len(r.failed) == 0 {
		out = Outcome{State: Waiting}
	}
	if observed {
		absent = "is held as it was observed"
	}
	out.Message = what + " " + absent + ": " + r.sentence()
	return out
}

// sentence is the text of all reasons, with a word before those that are waited for.
func (r *reasons) sentence() string {
	texts := slices.Clone(r.failed)
	if len(r.waiting) > 0 {
		texts = append(texts, "waiting: "+shorten(r.waiting, "; "))
	}
	return shorten(texts, "; ")
}

// variables are the named expressions as a CEL map. Each is evaluated on first use,
// and once, unless what it reads has changed since.
type variables struct {
	ref.Val

	list   []variable
	values map[string]ref.Val
}

// forget what depends on the environment.
func (v *variables) forget() {
	for _, x := range v.list {
		if x.environment {
			delete(v.values, x.name)
		}
	}
}

func newVariables(ctx context.Context, list []variable, r *run) *variables {
	values := make(map[string]ref.Val, len(list))
	// A variable sees those above it, as it was compiled, even where it computes a
	// name: it would find itself else, for ever, and what its readers do not know of.
	var first func(n int) ref.Val
	first = func(n int) ref.Val {
		find := func(name string) (ref.Val, bool) {
			i := slices.IndexFunc(list[:n], func(x variable) bool { return x.name == name })
			if i < 0 {
				return nil, false
			}
			if _, ok := values[name]; !ok {
				v, err := list[i].value.Evaluate(ctx, r.Observation.Scope("", first(i)), r.budget)
				if err != nil {
					v = types.WrapErr(err)
				}
				values[name] = v
			}
			return values[name], true
		}
		return observation.Map(find, func() []string { return variableNames(list[:n]) })
	}
	return &variables{first(len(list)), list, values}
}

func variableNames(list []variable) []string {
	out := make([]string, 0, len(list))
	for _, x := range list {
		out = append(out, x.name)
	}
	slices.Sort(out)
	return out
}

// shorten lists the first of many, and counts the rest.
func shorten(items []string, separator string) string {
	if n := len(items) - limits.MessageItems; n > 0 {
		return fmt.Sprintf("%s%sand %d more", strings.Join(items[:limits.MessageItems], separator), separator, n)
	}
	return strings.Join(items, separator)
}
