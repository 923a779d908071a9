// Package why says in which state the exports of a composite are, and why: which object, which key, which input, since
// when, who must act, and the command that shows more. It also has the age and the next rotation of each credential.
//
// It rehearses the Composition in use, as Crossplane would run it now. Its messages are those of the function, so they
// contain names and no values.
package why

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/diff"
	"github.com/crossplane-contrib/function-export/internal/desk/forecast"
	"github.com/crossplane-contrib/function-export/internal/desk/inspect"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// An Answer is the state of a composite.
type Answer struct {
	Composite   state.Ref   `json:"composite"`
	Composition string      `json:"composition"`
	At          time.Time   `json:"at"`
	Pinned      string      `json:"pinned,omitempty"` // why a change of the Composition does not reach it
	Conditions  []Condition `json:"conditions,omitempty"`
	Refused     *Problem    `json:"refused,omitempty"` // the whole input
	Steps       []Step      `json:"steps,omitempty"`
	Unknown     []string    `json:"unknown,omitempty"` // Secrets whose values are unknown

	state *state.State
}

// A Condition is one of the composite, as it is stored.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Since   string `json:"since,omitempty"`
	Message string `json:"message,omitempty"`
}

// A Problem says in which state something is, and what to do.
type Problem struct {
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
	Since   string `json:"since,omitempty"` // empty if the composite does not report it yet
	Act     string `json:"act,omitempty"`   // who must act
	See     string `json:"see,omitempty"`   // a command that shows more
}

// A Step is a step of this function.
type Step struct {
	Step        string       `json:"step"`
	Objects     []Object     `json:"objects,omitempty"`
	Others      []Problem    `json:"others,omitempty"` // of status fields, the environment and generators
	Credentials []Credential `json:"credentials,omitempty"`
}

// An Object is an export.
type Object struct {
	Kind string `json:"kind"`
	Name string `json:"name"` // of the export
	Path string `json:"path"`

	Namespace  string `json:"namespace,omitempty"`
	ObjectName string `json:"objectName,omitempty"` // empty if it is not known
	Created    string `json:"created,omitempty"`

	Problem

	Keys []inspect.ExplainedKey `json:"keys,omitempty"`
}

// A Credential is what a generator has.
type Credential struct {
	Generator string       `json:"generator"`
	InUse     *Generation  `json:"inUse,omitempty"`
	Pending   *Generation  `json:"pending,omitempty"`
	Former    []Generation `json:"former,omitempty"`
	Next      string       `json:"nextRotation,omitempty"` // empty if time alone causes none
	Unknown   bool         `json:"unknown,omitempty"`      // a Secret of it is unknown, and with it the next rotation

	rotates bool // its policy may let time rotate it
}

// A Generation is one of a generator.
type Generation struct {
	Number  int    `json:"generation"`
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Created string `json:"created,omitempty"`
	Ends    string `json:"ends,omitempty"` // when it is deleted, if this is decided
}

// farthest is how far ahead the next rotations are searched.
const farthest = 400 * 24 * time.Hour

// Of returns the answer for a composite whose Composition in use is known.
func Of(ctx context.Context, r *diff.Rehearsal, c *state.Composite) (*Answer, error) {
	p, err := diff.NewPipeline(c.InUse)
	if err != nil {
		return nil, err //nolint:wrapcheck // about the Composition
	}
	end, err := r.Play(ctx, c, p, p)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the composite
	}
	out := &Answer{
		Composite: c.Ref, Composition: c.Composition, At: r.Now, Pinned: c.Pinned, Conditions: conditions(wire.Of(c.Struct())),
		Unknown: end.Unknown(), state: r.State,
	}
	if fatal := world.FatalOf(end.Response); fatal != "" {
		refused := out.problem(outcome.Outcome{State: outcome.Held, Message: fatal, Wrong: true}, nil)
		for _, c := range slices.Backward(end.Response.GetConditions()) { // that of the last step comes first
			if c.GetType() == outcome.ConditionType {
				refused.State = c.GetReason()
			}
		}
		out.Refused = &refused
	}
	env, err := advice.NewEnvironment()
	if err != nil {
		return nil, err //nolint:wrapcheck // of this program
	}
	for _, i := range slices.Sorted(maps.Keys(end.Results)) {
		if p.Steps[i].Environment != nil {
			continue // another function has this step
		}
		input, err := structpb.NewStruct(p.Steps[i].Input)
		if err != nil {
			return nil, err //nolint:wrapcheck // it was read from YAML
		}
		compiled, wrong := plan.Compile(ctx, env, input)
		if len(wrong) > 0 {
			return nil, wrong.Error()
		}
		out.Steps = append(out.Steps, out.step(p.Steps[i].Name, compiled, end.Results[i]))
	}
	return out, out.schedule(ctx, end)
}

// step explains a step, with its last result.
func (a *Answer) step(name string, p *plan.Plan, result *reconcile.Result) Step {
	out := Step{Step: name}
	explained := map[string]inspect.ExplainedObject{}
	for i, o := range inspect.Explain(p, nil).Objects {
		explained[p.Exports[i].Name] = o
	}
	for _, o := range result.Objects {
		export, _, _ := plan.SplitItem(o.Export)
		of, ok := explained[cmp.Or(export, o.Export)]
		if o.Export == "" || !ok && !o.Author {
			continue // it is only kept
		}
		one := Object{
			Kind: string(o.Kind), Name: o.Export, Path: of.Path, Namespace: o.Place.Namespace, ObjectName: o.Place.Name,
			Problem: a.problem(o.Outcome, result.Missing),
			Keys:    missingFrom(slices.Concat(of.Metadata, of.Keys), o.Message, result.Missing),
		}
		if len(a.Unknown) > 0 && readsSecret(one.Keys) {
			one.Problem = Problem{State: unknown} // the condition has what the function said
		}
		one.Created = a.created(state.Ref{APIVersion: "v1", Kind: one.Kind, Namespace: one.Namespace, Name: one.ObjectName})
		out.Objects = append(out.Objects, one)
	}
	others := make([]outcome.Outcome, 0, len(result.Status)+len(result.Others))
	for _, s := range result.Status {
		others = append(others, s.Outcome)
	}
	for _, o := range append(others, result.Others...) {
		if o.Said() {
			out.Others = append(out.Others, a.problem(o, result.Missing))
		}
	}
	for _, name := range plan.SortedKeys(result.GeneratorState) {
		c := a.credential(name, result.GeneratorState[name])
		c.rotates = !c.Unknown && slices.ContainsFunc(p.Generators, func(g plan.Generator) bool {
			return (g.Name == name || strings.HasPrefix(name, g.Name+"/")) && g.Policy != v1beta1.CreatedOnce
		})
		out.Credentials = append(out.Credentials, c)
	}
	return out
}

// unknown is the state of an export that reads a Secret, while the values of Secrets are unknown.
const unknown = "Unknown"

// readsSecret reports whether a key reads a Secret that this function does not write.
func readsSecret(keys []inspect.ExplainedKey) bool {
	return slices.ContainsFunc(keys, func(k inspect.ExplainedKey) bool {
		return slices.ContainsFunc(k.Inputs, func(in inspect.Input) bool {
			variable, _, _ := strings.Cut(in.Name, ".")
			return in.Secret && !expression.HasOutputs(variable)
		})
	})
}

// created returns when an object was created, as the state has it.
func (a *Answer) created(r state.Ref) string {
	o := a.state.Find(r)
	if o == nil {
		return ""
	}
	return world.Meta(o.Struct(), "creationTimestamp")
}

// problem returns an outcome as it is shown.
func (a *Answer) problem(o outcome.Outcome, missing []missing) Problem {
	out := Problem{State: o.State.String(), Message: o.Message, See: o.See}
	if o.State == outcome.Available && !o.Warn {
		return Problem{State: out.State}
	}
	out.Act = act(o, missing)
	for _, c := range a.Conditions {
		if c.Type == outcome.ConditionType && strings.Contains(c.Message, o.Message) {
			out.Since = c.Since
		}
	}
	return out
}

// credential reads the state of a generator, which later steps of the pipeline also see.
func (a *Answer) credential(name string, v *structpb.Value) Credential {
	fields := wire.OfValue(v).Struct()
	out := Credential{Generator: name}
	out.InUse, out.Pending = a.generation(fields.Get("latest"), &out), a.generation(fields.Get("pending"), &out)
	for _, former := range fields.Get("gc").Struct().All() {
		out.Former = append(out.Former, *a.generation(former, &out))
	}
	slices.SortFunc(out.Former, func(a, b Generation) int { return a.Number - b.Number })
	return out
}

// generation reads a generation. If its Secret is unknown, only its name is known.
func (a *Answer) generation(v wire.Value, of *Credential) *Generation {
	f := v.Struct()
	if !f.Exists() {
		return nil
	}
	text := func(field string) string { return f.Get(field).Text() }
	r := state.Ref{APIVersion: text("apiVersion"), Kind: text("kind"), Namespace: text("namespace"), Name: text("name")}
	of.Unknown = of.Unknown || a.state.IsUnknown(r)
	return &Generation{Number: int(f.Get("generation").Number()), Kind: r.Kind, Name: r.Name, Created: a.created(r)}
}

// schedule adds the next rotation of each credential, and when former generations are deleted.
func (a *Answer) schedule(ctx context.Context, end *diff.End) error {
	type key struct {
		kind      forecast.Kind
		generator string
		number    int // not of a rotation: the next one is searched
	}
	times := map[key]*string{} // that are searched
	for i := range a.Steps {
		for j := range a.Steps[i].Credentials {
			c := &a.Steps[i].Credentials[j]
			if c.rotates {
				times[key{forecast.Rotates, c.Generator, 0}] = &c.Next
			}
			for k := range c.Former {
				times[key{forecast.Retires, c.Generator, c.Former[k].Number}] = &c.Former[k].Ends
			}
		}
	}
	found := func(e forecast.Event) bool {
		k := key{e.Kind, e.Generator, e.Generation}
		if e.Kind == forecast.Rotates {
			k.number = 0
		}
		if at := times[k]; at != nil {
			*at = e.At.Format(time.RFC3339)
			delete(times, k)
		}
		return len(times) == 0
	}
	if len(times) == 0 {
		return nil
	}
	_, _, err := forecast.Of(ctx, end.World, end, a.At.Add(farthest), found)
	return err //nolint:wrapcheck // it names the composite
}

// conditions returns those of a composite that tell whether Crossplane calls the function, and what it answered.
func conditions(xr wire.Struct) (out []Condition) {
	for _, name := range []string{"Synced", "Ready", outcome.ConditionType, "Responsive"} {
		if c := object.Condition(xr, name); c.Exists() {
			text := func(field string) string { return c.Get(field).Text() }
			out = append(out, Condition{name, text("status"), text("reason"), text("lastTransitionTime"), text("message")})
		}
	}
	return out
}

// Find returns a composite by its name. The namespace of a cluster-scoped one is empty, and the kind may be empty.
func Find(s *state.State, kind, namespace, name string) (*state.Composite, error) {
	found := slices.DeleteFunc(s.AllComposites(), func(c *state.Composite) bool {
		return c.Namespace != namespace || c.Name != name || kind != "" && !strings.EqualFold(kind, c.Kind)
	})
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("no composite with the name %q uses a Composition that was read: "+
			"write NAMESPACE/NAME, or only the name of a cluster-scoped one", strings.TrimPrefix(namespace+"/"+name, "/"))
	case len(found) > 1:
		return nil, fmt.Errorf("%s %s and %s %[2]s exist: pass --kind", found[0].Kind, name, found[1].Kind)
	}
	return found[0], nil
}

// IsAvailable reports whether everything is as the input says. If values are unknown, the function has said it.
func (a *Answer) IsAvailable() bool {
	if len(a.Unknown) > 0 {
		said := func(c Condition) bool { return c.Type == outcome.ConditionType && c.Status == "True" }
		return slices.ContainsFunc(a.Conditions, said)
	}
	bad := func(p Problem) bool { return p.State != outcome.Available.String() }
	badObject := func(o Object) bool { return bad(o.Problem) }
	return a.Refused == nil && !slices.ContainsFunc(a.Steps, func(s Step) bool {
		return slices.ContainsFunc(s.Others, bad) || slices.ContainsFunc(s.Objects, badObject)
	})
}
