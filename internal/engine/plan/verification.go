package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
)

// verification compiles how a pending generation is verified.
func (c *compiler) verification(m *Generator, g v1beta1.Generator) {
	if g.ReadyExpression != "" {
		m.Ready = c.readyExpression(m, source(m.Path.Child("readyExpression"), g.ReadyExpression, expression.WantBool))
		m.LooksAhead = m.LooksAhead || c.readsLater(m.Ready)
	}
}

// readyExpression compiles the verification of a pending generation. Expressions see the outputs of that generation as
// candidate.<name>. The outputs of other generations do not tell whether it works.
func (c *compiler) readyExpression(m *Generator, s expression.Source) *expression.Expression {
	if r, ok := m.Makes.(*Manifest); ok {
		s.Own, c.own = true, r.Object()
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
				c.reportAt(x.Place(r), "may not use %s through a variable: only %s, written here, is the generation to verify", u,
					own)
			}
		}
	case expression.HasOutputs(r.Variable) && (r.Variable != expression.Candidate || StepName(r, 0) != m.Name):
		c.reportAt(x.Place(r), "may not use %s: only %s is the generation to verify", c.generatedUse(r, x.Place(r)), own)
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
	if err != nil {
		c.refuseErr(at.Child("schedule"), err)
		return nil
	}
	if w, err = w.In(in.TimeZone); err != nil {
		c.refuseErr(at.Child("timeZone"), err)
		return nil
	}
	return w
}
