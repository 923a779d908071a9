package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
)

// readyExpression compiles the verification of a pending generation. Expressions see the outputs of that generation as
// candidate.<name>. The outputs of other generations do not tell whether it works.
func (c *compiler) readyExpression(m *Generator, s expression.Source) *expression.Expression {
	if m.Manifest != nil {
		s.Own, c.own = true, m.Object()
		defer func() { c.own = Kind{} }()
	}
	s.Scope = expression.GenerationScope
	x := c.output(s)
	if x == nil {
		return nil
	}
	before := len(c.diagnostics)
	c.refuseUnknownGeneration(x)
	for _, r := range x.References() {
		c.refuseOtherGenerations(m, x, r)
	}
	verifies := func(r expression.Reference) bool { return verifies(x, r) }
	if len(c.diagnostics) == before && !slices.ContainsFunc(x.References(), verifies) {
		what := m.Spelled(expression.Candidate) + " or generation.number"
		if s.Own {
			what = "resource, secret, " + what
		}
		c.report(s.Path, "does not depend on the pending generation: compare something that was observed with %s", what)
	}
	return x
}

// refuseOtherGenerations refuses outputs in a readyExpression that are not those of the generation to verify. A
// variable has the same value for each generation.
func (c *compiler) refuseOtherGenerations(m *Generator, x *expression.Expression, r expression.Reference) {
	own := m.Spelled(expression.Candidate)
	switch {
	case r.Variable == expression.Variables:
		for _, u := range c.variableReading(StepName(r, 0)).uses {
			if u.variable != "" {
				c.reportAt(x.Place(r), "may not use %s through a variable: only %s, written here, is the generation "+
					"to verify", u, own)
			}
		}
	case expression.HasOutputs(r.Variable) && (r.Variable != expression.Candidate || StepName(r, 0) != m.Name):
		use := c.generatedUse(r, x.Place(r))
		c.reportAt(use.place, "may not use %s: only %s is the generation to verify", use, own)
	}
}

// verifies reports whether a reference of a readyExpression depends on the generation to verify.
func verifies(x *expression.Expression, r expression.Reference) bool {
	switch r.Variable {
	case expression.Candidate, expression.Generation:
		return true
	case expression.Resource, expression.Self, expression.Secret:
		return x.Source().Own
	}
	return false
}

// window compiles when rotations may start.
func (c *compiler) window(at *field.Path, in *v1beta1.RotationWindow) *rotation.Window {
	w, err := rotation.ParseSchedule(in.Schedule, in.Duration.Duration)
	if c.refuseErr(at.Child("schedule"), err); err == nil {
		w, err = w.In(in.TimeZone)
		c.refuseErr(at.Child("timeZone"), err)
	}
	return w
}

// withSources adds the uses of the sources of derived generators. An export with a hash of a password needs the
// generation of the password as long as it has the hash.
func (c *compiler) withSources(uses []use) []use {
	out := slices.Clone(uses)
	for _, u := range uses {
		m := c.declaredGenerators.Named(u.input)
		if u.variable == "" || m == nil {
			continue
		}
		for _, of := range c.reading(m.Source).uses {
			if of.item == ownKey { // of the item whose hash is used
				of.item = u.item
			}
			out = append(out, of)
		}
	}
	return out
}

// derive compiles the source of a generator, if it is derived. It is evaluated after all other generators, so the
// lookups for the next generation cannot depend on it.
func (c *compiler) derive(m *Generator) {
	if m.derived {
		const name = "secretExpression"
		text, want := m.input.GetFields()[m.Kind].GetStructValue().GetFields()[name].GetStringValue(), expression.WantTextMap
		if m.Kind == "bcrypt" {
			want = expression.WantText
		}
		m.LooksAhead, m.Source = true, c.output(source(m.Path.Child(m.Kind, name), text, want))
		c.refuseDerived(m.Source)
	}
}

// refuseDerived refuses the outputs of other derived generators, which are not known when a source is evaluated.
func (c *compiler) refuseDerived(x *expression.Expression) {
	for _, u := range c.reading(x).uses {
		switch m := c.declaredGenerators.Named(u.input); {
		case u.variable == "":
		case m == nil:
			c.reportAt(u.place, "may not use %s: write the name of one generator", u)
		case m.derived:
			c.reportAt(u.place, "may not use %s: it has a secretExpression itself: use what that reads", u)
		}
	}
}
