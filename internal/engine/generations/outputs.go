package generations

import (
	"errors"
	"fmt"
	"maps"

	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
)

// publish sets the outputs that expressions see of a generator after its step, and reports the step.
func (g *rotator) publish(c *credentialState, why evaluate.Reasons) {
	w := c.wanted
	g.outputs.generated[w.Name] = observation.Generated{Waits: g.waits(c, c.unready, why)}
	if k := c.current(); k != nil {
		g.outputs.generated[w.Name] = g.fitting(c, k)
	}
	g.outputs.candidates[w.Name] = observation.Generated{Waits: g.waits(c, nil, why)}
	if k := c.byUID[c.step.Candidate]; k != nil {
		g.outputs.candidates[w.Name] = g.fitting(c, k)
	}
	g.outputs.missing[w.Spelled(expression.Previous)] =
		"no generation is in its grace period: set optional: true, or read it with ? and orValue(...)"
	if k := c.byUID[c.step.Previous]; k != nil {
		g.outputs.previous[w.Name] = g.generated(w.Generator, k)
	}
	g.reportStep(c, why)
}

func (c *credentialState) pendingReasons() evaluate.Reasons { return c.unready[c.step.Pending] }

// ready returns why a generation cannot be used. Only the pending one is verified.
func (g *rotator) ready(c *credentialState, k *generation) evaluate.Reasons {
	why := c.unusable(k)
	verified := k.Intact && k.Stage != rotation.Pending && k.Stage != rotation.Abandoned
	if verified || !why.Empty() {
		return why
	}
	if c.generator.Ready != nil {
		why.Add("", g.checkReady(c.generator, k))
	}
	if why.Empty() {
		why.Missing = c.missingDetails(k)
	}
	if why.Empty() {
		_, err := g.outputsOf(c.generator, k)
		why.Add("", err)
	}
	return why
}

// unusable returns why a generation has no outputs, or is not ready by itself.
func (c *credentialState) unusable(k *generation) (why evaluate.Reasons) {
	switch {
	case k.withheld != nil:
		why.Add("", k.withheld)
	case resourceOf(c.generator) == nil || c.isOfAnotherKind(k):
		if len(k.details) == 0 {
			why.Failed = []string{"it has no data"}
		}
	case c.generator.Ready == nil && !object.IsReady(k.object):
		why.Missing = []string{"its condition Ready"}
	}
	return why
}

// isOfAnotherKind reports whether a generation is from a time when its generator computed its outputs.
func (c *credentialState) isOfAnotherKind(k *generation) bool {
	kind := c.originOf(k).Kind
	return kind != "" && kind != plan.KindResource
}

// checkReady evaluates whether a pending generation works.
func (g *rotator) checkReady(m *plan.Generator, k *generation) error {
	s, x, in := g.in.Session.ForItem(m.Item), m.Ready, k.observation()
	if !x.Source().Own { // resource and secret are those of the composite
		in = &observation.Generation{}
	}
	in.Generation = g.in.Owner.generationVariable(m, k.Number)
	list, _, isItem := plan.SplitItem(m.Name)
	unknown := map[string]string{}
	if isItem {
		unknown[list] = ""
	}
	in.Candidate = withItems(map[string]observation.Generated{m.Name: g.generated(m, k)}, unknown)
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

// missingDetails returns the connection details that a generation lacks: all of them, or those that the generation in
// use has.
func (c *credentialState) missingDetails(k *generation) []string {
	if object.HasConnectionSecret(k.object) && len(k.details) == 0 {
		return []string{"its connection details"}
	}
	used := &generation{}
	for _, other := range c.have {
		if other.Stage == rotation.Current && other.Number > used.Number {
			used = other
		}
	}
	if c.generator.Ready != nil || c.isOfAnotherKind(used) || c.isOfAnotherKind(k) || k.Coded { // Ready may not need them
		return nil
	}
	var out []string
	for _, key := range plan.SortedKeys(used.details) {
		if _, ok := k.details[key]; !ok {
			out = append(out, fmt.Sprintf("%q among its connection details", key))
		}
	}
	return out
}

func (g *rotator) outputsOf(m *plan.Generator, k *generation) (observation.Details, error) {
	if k.withheld != nil {
		return nil, k.withheld
	}
	r := resourceOf(m)
	if r == nil || k.Coded || g.found[m.Name].isOfAnotherKind(k) {
		return k.details, nil
	}
	out, s := observation.Details{}, g.in.Session.ForItem(m.Item)
	maps.Copy(out, k.details)
	for _, o := range r.Outputs {
		text, ok, err := evaluate.Value(s, o.Value, s.GenerationScope(k.observation()), o.Value.Text)
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
	if why := c.unfit(k); why != "" {
		return observation.Generated{Waits: why, Keeps: true}
	}
	return g.generated(c.generator, k)
}

// unfit returns why the outputs of a generation may not be used, or an empty text.
func (c *credentialState) unfit(k *generation) string {
	switch {
	case k.Fit == rotation.Unsure:
		return fmt.Sprintf("generation %d cannot be compared with its source: %s", k.Number, c.wanted.why.Text())
	case k.Fit == rotation.Fits:
		return ""
	case c.originOf(k).Kind != c.wanted.Kind:
		return fmt.Sprintf("generation %d is of another kind, and the next one is not in use yet", k.Number)
	}
	return fmt.Sprintf("generation %d belongs to another source, and the next one is not in use yet", k.Number)
}

// generated returns the outputs of a generation, or why it has none.
func (g *rotator) generated(m *plan.Generator, k *generation) observation.Generated {
	d, err := g.outputsOf(m, k)
	if err == nil && object.HasConnectionSecret(k.object) && len(k.details) == 0 {
		err = expression.NewWaiting("its connection details")
	}
	if err != nil {
		why := evaluate.Because("", err)
		out := observation.Generated{Waits: fmt.Sprintf("generation %d: %s", k.Number, why.Text())}
		errors.As(k.withheld, &out.Failed)
		return out
	}
	if d == nil {
		d = observation.Details{}
	}
	return observation.Generated{Outputs: d}
}
