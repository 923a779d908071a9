package plan

import (
	"slices"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// derives sets what the outputs are made from. Hashes are slow, because that protects them, and keystores because they
// encrypt with a key that is derived from a password.
func (c *Computed) derives(text string, want expression.Want) {
	c.derivation, c.Slow = expression.Source{Text: text, Want: want}, true
}

// isDerived reports whether the outputs of a generator are made from a source.
func (m *Generator) isDerived() bool {
	k, ok := m.Makes.(*Computed)
	return ok && k.derivation.Text != ""
}

// Source returns the expression for the source of a derived generator, or nil.
func (m *Generator) Source() *expression.Expression {
	if c, ok := m.Makes.(*Computed); ok {
		return c.Source
	}
	return nil
}

// withSources adds the uses of the sources of derived generators. An export with a hash of a password needs the
// generation of the password as long as it has the hash.
func (c *compiler) withSources(uses []use) []use {
	out := slices.Clone(uses)
	for _, u := range uses {
		m := c.generator(u.input)
		if u.variable == "" || m == nil {
			continue
		}
		for _, of := range c.usesOf(m.Source()) {
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
	if k, ok := m.Makes.(*Computed); ok && m.isDerived() {
		m.LooksAhead = true
		k.derivation.Path = m.Path.Child(m.Kind, "secretExpression").String()
		k.Source = c.output(k.derivation)
		c.refuseDerived(k.Source)
	}
}

// refuseDerived refuses the outputs of other derived generators, which are not known when a source is evaluated.
func (c *compiler) refuseDerived(x *expression.Expression) {
	if x == nil {
		return
	}
	for _, u := range c.reading(x).uses {
		switch m := c.generator(u.input); {
		case u.variable == "":
		case m == nil:
			c.reportAt(u.place, "may not use %s: write the name of one generator", u)
		case m.isDerived():
			c.reportAt(u.place, "may not use %s: it has a secretExpression itself: use what that reads", u)
		}
	}
}
