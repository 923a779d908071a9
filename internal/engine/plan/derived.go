package plan

import (
	"slices"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// derivedKinds are the kinds of generators whose outputs are made from a source.
var derivedKinds = []string{kindBcrypt, kindHtpasswd, kindPKCS12, kindJKS} //nolint:gochecknoglobals // a table

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

// derivation returns the expression for the source of a derived generator, and what it must return.
func derivation(g v1beta1.Generator) (text string, want expression.Want) {
	switch {
	case g.Bcrypt != nil:
		return g.Bcrypt.SecretExpression, expression.WantText
	case g.Htpasswd != nil:
		return g.Htpasswd.SecretExpression, expression.WantTextMap
	case g.PKCS12 != nil:
		return g.PKCS12.SecretExpression, expression.WantTextMap
	case g.JKS != nil:
		return g.JKS.SecretExpression, expression.WantTextMap
	}
	return "", expression.WantAny
}

// derive compiles the source of a generator, if it is derived. It is evaluated after all other generators, so the
// lookups for the next generation cannot depend on it.
func (c *compiler) derive(m *Generator, g v1beta1.Generator) {
	text, want := derivation(g)
	if text == "" {
		return
	}
	m.LooksAhead = true
	x := c.output(source(m.Path.Child(m.Kind, "secretExpression"), text, want))
	c.refuseDerived(x)
	if k, ok := m.Makes.(*Computed); ok {
		k.Source = x
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
		case slices.Contains(derivedKinds, m.Kind):
			c.reportAt(u.place, "may not use %s: it has a secretExpression itself: use what that reads", u)
		}
	}
}
