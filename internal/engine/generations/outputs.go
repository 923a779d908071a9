package generations

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// publish sets the outputs that expressions see of a generator after its step, and reports the step.
func (g *rotator) publish(c *credentialState, why evaluate.Reasons) {
	w, waits := c.wanted, observation.Generated{Waits: g.waits(c, why)}
	outputs := func(uid string) observation.Generated {
		if k := c.byUID[uid]; k != nil {
			return g.fitting(c, k)
		}
		return waits
	}
	g.outputs.generated[w.Name], g.outputs.candidates[w.Name] = outputs(c.step.Current), outputs(c.step.Candidate)
	g.outputs.missing[w.Spelled(expression.Previous)] =
		"no generation is in its grace period: set optional: true, or read it with ? and orValue(...)"
	if k := c.byUID[c.step.Previous]; k != nil {
		g.outputs.previous[w.Name] = g.generated(w.Generator, k)
	}
	o := g.outcome(c, why)
	o.Ready = c.step.Current != ""
	isExported := slices.ContainsFunc(g.exports, func(e *Export) bool { return slices.Contains(e.Generators, c.name) })
	if (o.State == outcome.Created || o.State == outcome.Waiting) && !o.Ready && isExported {
		return // the exports that wait for it say why
	}
	if o.State != outcome.Available || o.Warn {
		g.out.Report(o)
	}
}

// ready returns why a generation cannot be used. Only the pending one is verified.
func (g *rotator) ready(c *credentialState, k *generation) (why evaluate.Reasons) {
	switch {
	case k.withheld != nil:
		why.Add("", k.withheld)
	case c.generator.Manifest == nil || k.isComputed():
		if len(k.details) == 0 {
			why.Failed = []string{"it has no data"}
		}
	case c.generator.Ready == nil && !object.IsReady(k.object):
		why.Missing = []string{"its condition Ready"}
	}
	verified := k.Intact && k.Stage != rotation.Pending && k.Stage != rotation.Abandoned
	if verified || !why.Empty() {
		return why
	}
	if c.generator.Ready != nil {
		why.Add("", g.checkReady(c.generator, k))
	}
	if why.Empty() {
		_, err := g.outputsOf(c.generator, k)
		why.Add("", err)
	}
	if why.Empty() {
		why.Missing = c.missingDetails(k)
	}
	return why
}

// checkReady evaluates whether a pending generation works.
func (g *rotator) checkReady(m *plan.Generator, k *generation) error {
	s, x, in := g.in.Session.ForItem(m.Item), m.Ready, &observation.Generation{Resource: k.object, Details: k.details}
	if !x.Source().Own { // resource and secret are those of the composite
		in = &observation.Generation{}
	}
	in.Generation = g.in.generationVariable(m, k.Number)
	in.Candidate = withItems(map[string]observation.Generated{m.Name: g.generated(m, k)}, nil)
	v, err := s.Evaluate(x, s.GenerationScope(in))
	if err != nil {
		return err
	}
	ok, err := x.Bool(v)
	if err == nil && !ok {
		err = s.NotTrue(x)
	}
	return err
}

// missingDetails returns the connection details that a generation lacks, and the one in use has.
func (c *credentialState) missingDetails(k *generation) (out []string) {
	used := &generation{}
	for _, other := range c.have {
		if other.Stage == rotation.Current {
			used = other
		}
	}
	// A readyExpression may not need them.
	if c.generator.Ready != nil || used.isComputed() || k.isComputed() {
		return nil
	}
	for _, key := range plan.SortedKeys(used.details) {
		if _, ok := k.details[key]; !ok {
			out = append(out, fmt.Sprintf("%q among its connection details", key))
		}
	}
	return out
}

func (g *rotator) outputsOf(m *plan.Generator, k *generation) (observation.Details, error) {
	switch {
	case k.withheld != nil:
		return nil, k.withheld
	case object.HasConnectionSecret(k.object) && len(k.details) == 0:
		return nil, expression.NewWaiting("its connection details")
	case m.Manifest == nil || k.isComputed():
		return k.details, nil
	}
	in := &observation.Generation{Resource: k.object, Details: k.details}
	out, s := maps.Clone(k.details), g.in.Session.ForItem(m.Item)
	for _, o := range m.Manifest.Outputs {
		text, ok, err := evaluate.Value(s, o.Value, s.GenerationScope(in), o.Value.Text)
		switch {
		case err != nil:
			return nil, err
		case text.Len() > 0:
			out[o.Key] = text.Reveal()
		case ok:
			return nil, expression.NewWaiting(o.Value.Source().Path + " that is not empty")
		}
	}
	return out, nil
}

// fitting returns the outputs of a generation, unless they may not belong to the present source. Then, objects that
// use them are kept until the next generation is in use.
func (g *rotator) fitting(c *credentialState, k *generation) observation.Generated {
	if k.Fit == rotation.Fits {
		return g.generated(c.generator, k)
	}
	why := "belongs to another source, and the next one is not in use yet"
	if k.Fit == rotation.Unsure {
		why = "cannot be compared with its source: " + c.wanted.why.Text()
	}
	return observation.Generated{Waits: fmt.Sprintf("generation %d %s", k.Number, why), Keeps: true}
}

// generated returns the outputs of a generation, or why it has none.
func (g *rotator) generated(m *plan.Generator, k *generation) observation.Generated {
	d, err := g.outputsOf(m, k)
	if err != nil {
		why := evaluate.Because("", err)
		out := observation.Generated{Waits: fmt.Sprintf("generation %d: %s", k.Number, why.Text())}
		errors.As(k.withheld, &out.Failed)
		return out
	}
	return observation.Generated{Outputs: d}
}

// waits names the missing inputs of a generator without a generation in use.
func (g *rotator) waits(c *credentialState, why evaluate.Reasons) string {
	pending, not := c.byUID[c.step.Pending], c.unready[c.step.Pending]
	switch {
	case !why.Empty():
		return why.Text()
	case c.step.Make != nil:
		return g.created[c.name].Message
	case pending != nil && !not.Empty():
		return fmt.Sprintf("generation %d is not ready: %s", pending.Number, not.Sentence())
	case pending != nil:
		return fmt.Sprintf("generation %d is not adopted yet", pending.Number)
	}
	return "its next generation"
}

// outcome returns what a step does, and what it waits for.
func (g *rotator) outcome(c *credentialState, why evaluate.Reasons) outcome.Outcome {
	w, step, not := c.wanted, c.step, c.unready[c.step.Pending]
	pending := c.byUID[step.Pending]
	o := outcome.Outcome{State: outcome.Waiting, See: not.See, Message: fmt.Sprintf("%s: %s", w, g.waits(c, why))}
	switch {
	case !why.Empty():
		o = outcome.Of(why, w.String(), "creates no generation", false)
	case pending != nil && pending.Stage == rotation.Abandoned:
		o.Warn, o.Message = true, fmt.Sprintf("%s: generation %d is abandoned: %s", w, pending.Number, not.Sentence())
	case step.Failed != nil && step.Make == nil && step.Current != "" && not.Empty():
		return c.failedBefore(g.in.Now)
	case step.Make != nil:
		o = g.created[w.Name]
	case step.Current != "" && not.Empty():
		return g.checkCurrent(w, c.current())
	}
	o.Message += c.stays()
	return o
}

// stays says what happens to the generation in use while there is no next one, and when the pending one is abandoned.
func (c *credentialState) stays() (out string) {
	switch k := c.current(); {
	case k == nil:
		return ""
	case k.Fit != rotation.Fits:
		out = fmt.Sprintf("; exports of generation %d are kept", k.Number)
	default:
		out = fmt.Sprintf("; generation %d stays in use", k.Number)
	}
	for _, k := range c.step.Keep {
		if at := c.wanted.rotation.AbandonAt(k); !at.IsZero() {
			out += fmt.Sprintf(", and generation %d is abandoned at %s", k.Number, timeText(at))
		}
	}
	return out
}

// failedBefore says that the same rotation was abandoned, and when it starts again.
func (c *credentialState) failedBefore(now time.Time) outcome.Outcome {
	f, w := c.step.Failed, c.wanted
	not, still := c.unready[f.UID], ""
	if !not.Empty() {
		still = ": " + not.Sentence()
	}
	at, again := "", "Exports that set it get the former value back"
	if !f.Since.IsZero() {
		at = " at " + timeText(f.Since)
		again = "The rotation starts again at " + timeText(rotation.RetryAt(f, now))
	}
	return outcome.Outcome{State: outcome.Held, Warn: true, See: not.See, Message: fmt.Sprintf(
		"%s: generation %d was abandoned%s, because it was not ready in time%s; generation %d stays in use. "+
			"%s. To start it at once, set the composite's annotation %s: %s=<anything new>",
		w, f.Number, at, still, c.current().Number, again, plan.RotateAnnotation, w.Name)}
}

// checkCurrent warns about the generation in use if no other generation is pending.
func (g *rotator) checkCurrent(w *wantedGeneration, k *generation) outcome.Outcome {
	renew, once := k.Renew, w.Policy == "" || w.Policy == v1beta1.CreatedOnce
	if !once || renew.IsZero() || g.in.Now.Before(renew) {
		return outcome.Outcome{}
	}
	return outcome.Outcome{Warn: true, Message: fmt.Sprintf(
		"%s: the certificate of generation %d expires soon, or its CA has changed, and refreshPolicy CreatedOnce "+
			"creates no other generation: create another generation with the composite's annotation %s: "+
			"%s=<anything new>, or set refreshPolicy to OnChange",
		w, k.Number, plan.RotateAnnotation, w.Name)}
}

// lostState says that another client changed the state of a generation, and what follows.
func lostState(k *generation, next rotation.Generation) outcome.Outcome {
	ref, follows := k.Reference, "It is restored from what exports recorded"
	if next.Lost {
		follows = "It is unknown what it was created for, so each request counts as a new one"
	}
	return outcome.Outcome{Warn: true, Message: fmt.Sprintf(
		"generator %q: another client changed %s %s/%s or its annotation %s, so the state of generation %d is lost. %s",
		k.generator, ref.Kind, ref.Namespace, ref.Name, rotation.AnnotationState, k.Number, follows)}
}

// lostRecord says that another client changed the record of an export, and what follows.
func lostRecord(e *Export) outcome.Outcome {
	return outcome.Outcome{Warn: true, Message: fmt.Sprintf(
		"%s (%s): another client changed the data that the export writes, or the annotation %s, so it is unknown "+
			"which generations its values belong to. Until the annotation is written again, no generation in use or "+
			"before it is deleted",
		e.Export, e.Place, rotation.AnnotationRecord)}
}

// unlistedText says how the owner of the composite decides about an object that looks like a generation.
func unlistedText(o wire.Struct) string {
	_, kind, ns, name := object.Identity(o)
	return fmt.Sprintf("%s %s/%s looks like a generation, but the composite does not list it, so it is left "+
		"unchanged. If it was restored from a backup, set the annotation %s: %s on the composite to use it. "+
		"Otherwise delete it",
		kind, ns, name, acceptAnnotation, plan.UIDOf(o))
}

// foreignOutcome warns that the composite lists an object that does not count as a generation, or whose state is lost
// and that no export recorded.
func foreignOutcome(k *generation) outcome.Outcome {
	ref := k.Reference
	return outcome.Outcome{Warn: true, Message: fmt.Sprintf(
		"generator %q: %s %s/%s with UID %s is not used, because it does not prove that it is generation %d: "+
			"another client created or changed it. It is kept for the grace period, and then deleted",
		k.generator, ref.Kind, ref.Namespace, ref.Name, ref.UID, k.Number)}
}
