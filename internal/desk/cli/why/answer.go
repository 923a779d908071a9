package why

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/explain"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/diff"
	"github.com/crossplane-contrib/function-export/internal/desk/inspect"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// farthest is how far ahead the next rotations are searched.
const farthest = 400 * 24 * time.Hour

// An answer is the text about a composite. It rehearses the Composition in use, as Crossplane would run it now. Its
// messages are those of the function, so they contain names and no values.
type answer struct {
	bytes.Buffer

	state    *state.State
	at       time.Time
	xr       wire.Struct
	unknown  []string              // Secrets whose values are unknown
	next     map[string]diff.Event // rotations, by generator
	problems int
}

// A step is a step of this function, with its last result.
type step struct {
	*reconcile.Result

	plan *plan.Plan
}

// answerOf returns the answer for a composite whose Composition in use is known.
func answerOf(ctx context.Context, r *diff.Rehearsal, c *state.Composite) (*answer, error) {
	p, err := diff.NewPipeline(c.InUse)
	if err != nil {
		return nil, err //nolint:wrapcheck // about the Composition
	}
	end, err := r.Play(ctx, c, p, p)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the composite
	}
	env, err := advice.NewEnvironment()
	if err != nil {
		return nil, err //nolint:wrapcheck // of this program
	}
	a := &answer{state: r.State, at: r.Now, xr: wire.Of(c.Struct()), unknown: end.Unknown()}
	var steps []step
	rotating := map[string]bool{}
	for _, i := range slices.Sorted(maps.Keys(end.Results)) {
		if p.Steps[i].Environment != nil {
			continue // another function has this step
		}
		compiled, wrong := plan.Compile(ctx, env, world.StructOf(p.Steps[i].Input))
		if len(wrong) > 0 {
			return nil, wrong.Error()
		}
		s := step{end.Results[i], compiled}
		for name, v := range s.GeneratorState {
			if s.rotates(name) && a.isKnown(wire.OfValue(v).Struct()) {
				rotating[name] = true
			}
		}
		steps = append(steps, s)
	}
	response := end.Response // that of now
	if a.next, err = end.NextRotations(ctx, rotating, farthest); err != nil {
		return nil, err //nolint:wrapcheck // it names the composite
	}
	a.line(0, "%s, Composition %s", c.Ref, c.Composition)
	if c.Pinned != "" {
		a.line(1, "a change of the Composition does not reach it: %s", c.Pinned)
	}
	a.conditions(len(steps) > 0)
	if fatal := world.FatalOf(response); fatal != "" {
		o := outcome.Outcome{State: outcome.Held, Message: fatal, Wrong: true}
		a.problem(1, cmp.Or(reasonOf(response), o.State.String()), o, nil)
	}
	for _, name := range a.unknown {
		a.line(1, "the values of %s are unknown: what depends on them may differ", name)
	}
	for _, s := range steps {
		a.step(s)
	}
	return a, nil
}

// reasonOf returns the reason of the condition about exports. That of the last step comes first.
func reasonOf(rsp *fnv1.RunFunctionResponse) string {
	for _, c := range rsp.GetConditions() {
		if c.GetType() == outcome.ConditionType {
			return c.GetReason()
		}
	}
	return ""
}

func (a *answer) line(depth int, format string, args ...any) {
	_, _ = fmt.Fprintln(a, strings.Repeat("  ", depth)+terminal.OneLine(fmt.Sprintf(format, args...)))
}

// time returns a time, and how long ago it is, or nothing without a time.
func (a *answer) time(lead, text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return ""
	}
	return lead + text + " (" + duration.HumanDuration(a.at.Sub(t)) + " ago)"
}

// created returns when an object was created, as the state has it.
func (a *answer) created(r state.Ref) string {
	o := a.state.Find(r)
	if o == nil {
		return ""
	}
	return a.time(", created at ", world.Meta(o.Struct(), "creationTimestamp"))
}

// conditions prints those that tell whether Crossplane calls the function, and what it answered. The message about the
// exports follows with each of them.
func (a *answer) conditions(explained bool) {
	before := a.Len()
	for _, name := range []string{"Synced", "Ready", outcome.ConditionType, "Responsive"} {
		c := object.Condition(a.xr, name)
		if !c.Exists() {
			continue
		}
		status, reason := c.Get("status").Text(), c.Get("reason").Text()
		text := fmt.Sprintf("%s is %s%s", name, status, a.time(" since ", c.Get("lastTransitionTime").Text()))
		switch {
		case name == outcome.ConditionType && explained && len(a.unknown) == 0:
			text += ": " + reason
		case status != "True":
			text += ": " + strings.TrimSuffix(reason+", "+c.Get("message").Text(), ", ")
		}
		a.line(1, "%s", text)
	}
	if a.Len() == before {
		a.line(1, "it has no conditions: Crossplane has not reconciled it yet")
	}
}

// problem prints why something is not available, since when, and who must act.
func (a *answer) problem(depth int, state string, o outcome.Outcome, missing []missing) {
	if o.State == outcome.Available && !o.Warn {
		a.line(depth, "%s", state)
		return
	}
	if o.State != outcome.Available {
		a.problems++
	}
	since := ""
	c := object.Condition(a.xr, outcome.ConditionType)
	if strings.Contains(c.Get("message").Text(), o.Message) {
		since = a.time(" since ", c.Get("lastTransitionTime").Text())
	}
	a.line(depth, "%s%s", state, since)
	if o.Message == "" {
		return
	}
	message, _, _ := strings.Cut(o.Message, "; see: ")
	a.line(depth, "%s", message)
	a.line(depth, "who must act: %s", act(o, missing))
	if o.See != "" {
		a.line(depth, "see: %s", o.See)
	}
}

// step prints the objects, the other outcomes, and the credentials of a step.
func (a *answer) step(s step) {
	explained := map[string]inspect.Part{}
	for i, o := range inspect.Explain(s.plan, nil).Objects {
		explained[s.plan.Exports[i].Name] = o
	}
	for _, o := range s.Objects {
		export, _, _ := plan.SplitItem(o.Export)
		of, ok := explained[cmp.Or(export, o.Export)]
		if o.Export == "" || !ok && !o.Author {
			continue // it is only kept
		}
		keys := missingFrom(of.Keys, o.Message, s.Missing)
		place := strings.Trim(o.Place.Namespace+"/"+cmp.Or(o.Place.Name, "<unknown>"), "/")
		created := a.created(state.Ref{APIVersion: "v1", Kind: string(o.Kind), Namespace: o.Place.Namespace,
			Name: o.Place.Name})
		a.line(0, "")
		a.line(0, "%s %q (%s), which is %s%s", o.Kind, o.Export, of.Path, place, created)
		if len(a.unknown) > 0 && readsSecret(keys) {
			a.line(1, "Unknown") // the condition has what the function said
		} else {
			a.problem(1, o.State.String(), o.Outcome, s.Missing)
		}
		explain.PrintKeys(a, keys)
	}
	others := make([]outcome.Outcome, 0, len(s.Status)+len(s.Others))
	for _, status := range s.Status {
		others = append(others, status.Outcome)
	}
	for _, o := range append(others, s.Others...) {
		if o.Said() {
			a.line(0, "")
			a.problem(0, o.State.String(), o, s.Missing)
		}
	}
	for _, name := range plan.SortedKeys(s.GeneratorState) {
		a.generator(name, wire.OfValue(s.GeneratorState[name]).Struct())
	}
}

// readsSecret reports whether a key reads a Secret that this function does not write.
func readsSecret(keys []inspect.Key) bool {
	return slices.ContainsFunc(keys, func(k inspect.Key) bool {
		return slices.ContainsFunc(k.Inputs, func(in inspect.Input) bool {
			variable, _, _ := strings.Cut(in.Name, ".")
			return in.Secret && !expression.HasOutputs(variable)
		})
	})
}

// isKnown reports whether none of the Secrets of a generator is unknown.
func (a *answer) isKnown(generator wire.Struct) bool {
	all := append(former(generator), generator.Get("latest").Struct(), generator.Get("pending").Struct())
	return !slices.ContainsFunc(all, func(g wire.Struct) bool { return a.state.IsUnknown(refOf(g)) })
}

// former returns the generations of a generator in their grace periods.
func former(generator wire.Struct) (out []wire.Struct) {
	for _, g := range generator.Get("gc").Struct().All() {
		out = append(out, g.Struct())
	}
	slices.SortFunc(out, func(a, b wire.Struct) int { return numberOf(a) - numberOf(b) })
	return out
}

func numberOf(generation wire.Struct) int { return int(generation.Get("generation").Number()) }

func refOf(generation wire.Struct) state.Ref {
	text := func(field string) string { return generation.Get(field).Text() }
	return state.Ref{APIVersion: text("apiVersion"), Kind: text("kind"), Namespace: text("namespace"), Name: text("name")}
}

// generator prints the generations of a generator, whose state later steps of the pipeline also see.
func (a *answer) generator(name string, generator wire.Struct) {
	a.line(0, "")
	a.line(0, "Generator %q", name)
	for _, of := range [][2]string{{"latest", "is in use"}, {"pending", "is pending"}} {
		if g := generator.Get(of[0]).Struct(); g.Exists() {
			r := refOf(g)
			a.line(1, "generation %d %s: %s %s%s", numberOf(g), of[1], r.Kind, r.Name, a.created(r))
		}
	}
	for _, g := range former(generator) {
		text := fmt.Sprintf("generation %d is not used anymore: %s %s", numberOf(g), refOf(g).Kind, refOf(g).Name)
		if o := a.state.Find(refOf(g)); o != nil {
			read, _ := seal.ReadState(wire.Of(o.Struct()))
			if ends := diff.Ends(read.State); ends != "" {
				text += ", deleted at " + ends
			}
		}
		a.line(1, "%s", text)
	}
	switch next, rotates := a.next[name]; {
	case !a.isKnown(generator):
		a.line(1, "the next rotation cannot be known without its Secrets")
	case !rotates:
		a.line(1, "time alone does not rotate it in the next 400 days")
	default:
		a.line(1, "next rotation at %s (in %s)", next.At.Format(time.RFC3339), duration.HumanDuration(next.At.Sub(a.at)))
	}
}

// rotates reports whether the policy of a generator may let time rotate it.
func (s step) rotates(name string) bool {
	return slices.ContainsFunc(s.plan.Generators, func(g plan.Generator) bool {
		return (g.Name == name || strings.HasPrefix(name, g.Name+"/")) && g.Policy != v1beta1.CreatedOnce
	})
}

// find returns a composite by its name. The namespace of a cluster-scoped one is empty, and the kind may be empty.
func find(s *state.State, kind, namespace, name string) (*state.Composite, error) {
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

// isAvailable reports whether everything is as the input says. If values are unknown, the function has said it.
func (a *answer) isAvailable() bool {
	if len(a.unknown) > 0 {
		return object.Condition(a.xr, outcome.ConditionType).Get("status").Is("True")
	}
	return a.problems == 0
}
