package reconcile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// publish sets the outputs that expressions see of a generator after its step, and reports the step.
func (g *rotator) publish(c *credentialState, why reasons) {
	w := c.wanted
	g.outputs.generated[w.Name] = observation.Generated{Waits: g.waits(c, c.unready, why)}
	if k := c.current(); k != nil {
		g.outputs.generated[w.Name] = g.fitting(c, k)
	}
	if see := cmp.Or(c.pendingReasons().see, g.created[w.Name].See); see != "" {
		g.session.inputs.shows(w.Name, see)
	}
	g.outputs.candidates[w.Name] = observation.Generated{Waits: g.waits(c, nil, why)}
	if k := c.find(c.step.Candidate); k != nil {
		g.outputs.candidates[w.Name] = g.fitting(c, k)
	}
	g.outputs.missing[w.Spelled(expression.Previous)] = "no generation is in its grace period: set optional: true, or read it with ? and orValue(...)"
	if k := c.find(c.step.Previous); k != nil {
		g.outputs.previous[w.Name] = g.generated(w.Generator, k)
	}
	g.reportStep(c, why)
}

func (c *credentialState) pendingReasons() reasons { return c.unready[c.step.Pending] }

// ready returns why a generation cannot be used. Only the pending one is verified.
func (g *rotator) ready(c *credentialState, k *generation) reasons {
	why := c.unusable(k)
	verified := k.Intact && k.Stage != rotation.Pending && k.Stage != rotation.Abandoned
	if verified || !why.empty() {
		return why
	}
	if c.generator.Ready != nil {
		why.add("", g.checkReady(c.generator, k))
	}
	if why.empty() {
		why.missing = c.missingDetails(k)
	}
	if why.empty() {
		_, err := g.outputsOf(c.generator, k)
		why.add("", err)
	}
	return why
}

// unusable returns why a generation has no outputs, or is not ready by itself.
func (c *credentialState) unusable(k *generation) (why reasons) {
	switch {
	case k.withheld != nil:
		why.add("", k.withheld)
	case resourceOf(c.generator) == nil || c.isOfAnotherKind(k):
		if len(k.details) == 0 {
			why.failed = []string{"it has no data"}
		}
	case c.generator.Ready == nil && !isReady(k.object):
		why.missing = []string{"its condition Ready"}
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
	s, x, in := g.session.forItem(m.Item), m.Ready, k.observation()
	if !x.Source().Own { // resource and secret are those of the composite
		in = &observation.Generation{}
	}
	in.Generation = s.generationVariable(m, k.Number)
	list, _, isItem := plan.SplitItem(m.Name)
	unknown := map[string]string{}
	if isItem {
		unknown[list] = ""
	}
	in.Candidate = withItems(map[string]observation.Generated{m.Name: g.generated(m, k)}, unknown)
	v, err := s.evaluate(x, s.generationScope(in))
	if err != nil {
		return err
	}
	ok, err := x.Bool(v)
	if err == nil && !ok {
		err = s.notTrue(x)
	}
	return err
}

// notTrue says what a readyExpression compares with the pending generation.
func (s *session) notTrue(x *expression.Expression) error {
	var reads []string
	command := ""
	for _, r := range x.Reads() {
		if !observes(x, r.Variable) {
			continue
		}
		reads = append(reads, r.Text)
		in, _, _ := s.inputs.find(r.Text)
		o := s.observed.Resources[in.name].Object
		if all := s.observed.Sources[in.name].Objects; in.source && len(all) == 1 {
			o = all[0]
		}
		command = cmp.Or(command, s.inputs.describe(in, o).see)
	}
	text := "readyExpression to be true"
	if len(reads) > 0 {
		text += ", which reads " + plan.Shorten(reads, ", ")
	}
	out := expression.NewWaiting(text)
	out.See = command
	return out
}

// observes reports whether a variable of a readyExpression is something that was observed.
func observes(x *expression.Expression, variable string) bool {
	switch variable {
	case expression.Resources, expression.Secrets, expression.Sources:
		return true
	case expression.Resource, expression.Self, expression.Secret:
		return x.Source().Own
	}
	return false
}

// observation returns the variables of the expressions of a generation.
func (k *generation) observation() *observation.Generation {
	return &observation.Generation{Resource: k.object, Details: k.details}
}

// missingDetails returns the connection details that a generation lacks: all of them, or those that the generation in use
// has.
func (c *credentialState) missingDetails(k *generation) []string {
	if writesDetails(k.object) && len(k.details) == 0 {
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

// writesDetails reports whether a resource must have connection details.
func writesDetails(o wire.Struct) bool {
	return o.At("spec", "writeConnectionSecretToRef").Exists()
}

func (g *rotator) outputsOf(m *plan.Generator, k *generation) (observation.Details, error) {
	if k.withheld != nil {
		return nil, k.withheld
	}
	r := resourceOf(m)
	if r == nil || k.Coded || g.found[m.Name].isOfAnotherKind(k) {
		return k.details, nil
	}
	out, s := observation.Details{}, g.session.forItem(m.Item)
	maps.Copy(out, k.details)
	for _, o := range r.Outputs {
		text, ok, err := valueOf(s, o.Value, s.generationScope(k.observation()), o.Value.Text)
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
		return fmt.Sprintf("generation %d cannot be compared with its source: %s", k.Number, c.wanted.why.text())
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
	if err == nil && writesDetails(k.object) && len(k.details) == 0 {
		err = expression.NewWaiting("its connection details")
	}
	if err != nil {
		why := because("", err)
		out := observation.Generated{Waits: fmt.Sprintf("generation %d: %s", k.Number, why.text())}
		errors.As(k.withheld, &out.Failed)
		return out
	}
	if d == nil {
		d = observation.Details{}
	}
	return observation.Generated{Outputs: d}
}
