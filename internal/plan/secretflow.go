package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/expression"
)

// anything stands for every input, or every key.
const anything = "*"

// A use is one use of secret data that an expression can make.
type use struct {
	input, key string
	place      string // in the source
}

func (u use) String() string {
	switch {
	case u.input == anything:
		return "all secrets"
	case u.key == anything:
		return "all keys of " + expression.PathText(expression.Secrets, u.input)
	}
	return expression.PathText(expression.Secrets, u.input, u.key)
}

// A reading is what an expression can read, by itself and through variables.
type reading struct {
	uses    []use
	sources []string // names below sources; anything for all
}

// reading looks at each reference that can give secret data or a source. A test
// whether a key is there uses it, too; a step that the source does not name is
// any key.
func (c *compiler) reading(x *expression.Expression) reading {
	var out reading
	for _, r := range x.References() {
		place := x.Place(r)
		switch r.Variable {
		case expression.Secret:
			input := x.Source().From
			if input == "" {
				input = expression.Composite
			}
			out.uses = append(out.uses, use{input, stepName(r, 0), place})
		case expression.Secrets:
			out.uses = append(out.uses, use{stepName(r, 0), stepName(r, 1), place})
		case expression.Sources:
			out.sources = append(out.sources, stepName(r, 0))
		case expression.Variables:
			below := c.variableReading(stepName(r, 0))
			for _, u := range below.uses {
				out.uses = append(out.uses, use{u.input, u.key, place})
			}
			out.sources = append(out.sources, below.sources...)
		}
	}
	return out
}

func (c *compiler) variableReading(name string) reading {
	if name != anything {
		return c.readings[name]
	}
	var out reading
	for _, n := range c.variables {
		out.uses = append(out.uses, c.readings[n].uses...)
		out.sources = append(out.sources, c.readings[n].sources...)
	}
	return out
}

func stepName(r expression.Reference, i int) string {
	if i < len(r.Path) {
		if k, ok := r.Path[i].Key.(string); ok {
			return k
		}
	}
	return anything
}

// reads reports whether r reads a source.
func (r reading) reads(s v1beta1.Source) bool {
	if isSecret(s) {
		return slices.ContainsFunc(r.uses, func(u use) bool { return u.input == s.Name || u.input == anything })
	}
	return slices.Contains(r.sources, s.Name) || slices.Contains(r.sources, anything)
}

// isSecret reports whether a source is a v1 Secret.
func isSecret(s v1beta1.Source) bool { return s.APIVersion == "v1" && s.Kind == "Secret" }

// refuseSecrets refuses each use of secret data that is not declared to be none.
// A use of all keys cannot be declared so.
func (c *compiler) refuseSecrets(x *expression.Expression, nonSensitive []string) {
	if x == nil {
		return
	}
	var seen []use
	for _, u := range c.reading(x).uses {
		name := u.input + "." + u.key
		if u.key != anything && slices.Contains(nonSensitive, name) || slices.Contains(seen, u) {
			continue
		}
		seen = append(seen, u)
		mend := fmt.Sprintf("list %q under nonSensitive if it is not secret", name)
		if u.key == anything {
			mend = "name the keys it needs"
		}
		c.fault(u.place, "uses %s, and secret data flows into the data of Secrets only: %s", u, mend)
	}
}

// refuseSources refuses an expression that reads what Crossplane has to be asked
// for first: what is asked for has to be the same on each call of a reconcile.
func (c *compiler) refuseSources(x *expression.Expression) {
	if x == nil {
		return
	}
	r := c.reading(x)
	named := len(r.sources) > 0
	for _, s := range c.sources {
		named = named || r.reads(s)
	}
	if named {
		c.fault(x.Source().Path, "may use no source: a name has to be known before a source is read")
	}
}

// refuseMisplaced refuses sources.<name> for a Secret: it would wait for ever.
func (c *compiler) refuseMisplaced(x *expression.Expression) bool {
	ok := true
	for _, r := range x.References() {
		if r.Variable != expression.Sources {
			continue
		}
		i := slices.IndexFunc(c.sources, func(s v1beta1.Source) bool { return s.Name == stepName(r, 0) })
		if i >= 0 && isSecret(c.sources[i]) {
			ok = false
			c.fault(x.Place(r), "source %q is a Secret: read it as %s", c.sources[i].Name, expression.PathText(expression.Secrets, c.sources[i].Name))
		}
	}
	return ok
}

func (c *compiler) fault(path, format string, args ...any) {
	c.faults = append(c.faults, &field.Error{Type: field.ErrorTypeInvalid, Field: path, BadValue: field.OmitValueType{}, Detail: fmt.Sprintf(format, args...)})
}
