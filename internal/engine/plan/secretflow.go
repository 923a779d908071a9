package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// Anything stands for every input, or for every key.
const Anything = "*"

// A use is a place where an expression can use secret data.
type use struct {
	variable   string // generated or previous; empty for connection details and Secrets
	input, key string
	place      expression.Place // in the source
	item       string           // of a generator with forEachExpression; otherwise empty
}

// String returns the use as it is written in an expression.
func (u use) String() string {
	steps := []string{cmp.Or(u.variable, expression.Secrets), u.input, u.key}
	switch {
	case u.item != "":
		steps = []string{u.variable, u.input, u.item, u.key}
	case u.input == expression.Composite && u.variable == "":
		steps = []string{expression.Secret, u.key} // secrets has no entry for the composite
	}
	text := steps[0]
	for _, s := range steps[1:] {
		switch s {
		case Anything:
			return "all of " + text
		case ownKey:
			text += ownKey
		default:
			text += expression.PathText("", s)
		}
	}
	return text
}

// declared returns the use as it is written in nonSensitive: <input>.<key>. The first dot ends the
// input. An input with a dot in its name is written ['<input>'].<key>.
func (u use) declared() string {
	if u.variable != "" {
		return u.variable + "." + u.input + "." + u.key
	}
	if strings.Contains(u.input, ".") {
		return "['" + u.input + "']." + u.key
	}
	return u.input + "." + u.key
}

// A reading contains everything that an expression can read, directly and through variables. It
// contains each use once, with its first position. Otherwise, each variable that uses another one
// twice would double the number of uses.
type reading struct {
	uses    []use
	seen    map[use]bool    // uses, without their place
	sources map[string]bool // names below sources; Anything for all

	environment, context bool
}

func (r *reading) addUse(u use) {
	if u.input == Anything {
		u.key = Anything // neither the input nor the key is known
	}
	key := u
	key.place = expression.Place{}
	if r.seen[key] {
		return
	}
	if r.seen == nil {
		r.seen = map[use]bool{}
	}
	r.seen[key] = true
	r.uses = append(r.uses, u)
}

func (r *reading) addSource(name string) {
	if r.sources == nil {
		r.sources = map[string]bool{}
	}
	r.sources[name] = true
}

// addAll adds the reading of a variable, at the position where the variable is used.
func (r *reading) addAll(other reading, place expression.Place) {
	for _, u := range other.uses {
		u.place = place
		r.addUse(u)
	}
	for name := range other.sources {
		r.addSource(name)
	}
	r.environment = r.environment || other.environment
	r.context = r.context || other.context
}

// reading finds each reference that can return secret data or a source. An expression that tests
// whether a key exists also uses the key. A computed step stands for any key. An expression that does not compile is
// nil, and reads nothing.
func (c *compiler) reading(x *expression.Expression) (out reading) {
	if x == nil {
		return out
	}
	for _, r := range x.References() {
		place := x.Place(r)
		switch r.Variable {
		case expression.Secret:
			if x.Source().Own {
				continue // it belongs to the generation of the expression
			}
			out.addUse(use{input: cmp.Or(x.Source().From, expression.Composite), key: StepName(r, 0), place: place})
		case expression.Secrets:
			out.addUse(use{input: StepName(r, 0), key: StepName(r, 1), place: place})
		case expression.Generated, expression.Candidate, expression.Previous:
			out.addUse(c.generatedUse(r, place))
		case expression.Sources:
			out.addSource(StepName(r, 0))
		case expression.Env:
			out.environment = true
		case expression.Context:
			out.context = true
		case expression.Variables:
			out.addAll(c.variableReading(StepName(r, 0)), place)
		}
	}
	return out
}

// variableReading returns the reading of a variable. Anything stands for all variables that are
// already compiled: the current expression cannot use others.
func (c *compiler) variableReading(name string) reading {
	if name != Anything {
		return c.readings[name]
	}
	var out reading
	for _, n := range c.variables {
		out.addAll(c.readings[n], expression.Place{})
	}
	return out
}

// StepName returns the name of a step below the variable of a reference, or Anything.
func StepName(r expression.Reference, i int) string {
	if i < len(r.Path) {
		if k, ok := r.Path[i].Key.(string); ok {
			return k
		}
	}
	return Anything
}

// reads reports whether r reads a source.
func (r *reading) reads(s v1beta1.Source) bool {
	if IsSecret(s) {
		return r.readsSecret(s.Name)
	}
	return r.sources[s.Name] || r.sources[Anything]
}

// readsSecret reports whether r reads connection details, or a Secret source.
func (r *reading) readsSecret(input string) bool {
	return slices.ContainsFunc(r.uses, func(u use) bool {
		return u.variable == "" && (u.input == input || u.input == Anything)
	})
}

// IsSecret reports whether a source is a v1 Secret.
func IsSecret(s v1beta1.Source) bool { return s.APIVersion == "v1" && s.Kind == "Secret" }

// refuseSecrets refuses each use of secret data that nonSensitive does not list. A use of all keys
// cannot be listed.
func (c *compiler) refuseSecrets(x *expression.Expression, nonSensitive []string) {
	c.refuseUses(c.reading(x).uses, nonSensitive)
}

func (c *compiler) refuseUses(uses []use, nonSensitive []string) {
	for _, u := range uses {
		name := u.declared()
		exact := u.key != Anything
		hint := ": name the keys that it needs, and list those that are not secret under nonSensitive"
		switch {
		case exact && slices.Contains(nonSensitive, name):
			continue
		case exact:
			hint = fmt.Sprintf(": leave it out, or list %q under nonSensitive if it is not secret", name)
		}
		if u.variable == "" && u.input == expression.Composite {
			hint += "; secret is the connection details of the composite here: " + InsteadOfComposite(c.named)
		}
		c.refuseUse(u, hint)
	}
}

// InsteadOfComposite returns what to write in place of the connection details of the composite. names are those of
// composed resources that may be meant.
func InsteadOfComposite(names []string) string {
	switch len(names) {
	case 0:
		return "set from to a composed resource, or read it as " + expression.Secrets + ".<name>"
	case 1:
		return fmt.Sprintf("set from to %s, or read it as %s", names[0], expression.PathText(expression.Secrets, names[0]))
	}
	return fmt.Sprintf("set from to one of %s, or read it as %s.<name>", suggest.List(names), expression.Secrets)
}

// refuseAllSecrets is like refuseSecrets for a place without nonSensitive.
func (c *compiler) refuseAllSecrets(x *expression.Expression) {
	for _, u := range c.reading(x).uses {
		c.refuseUse(u, ": leave it out")
	}
}

// notGenerated returns the uses without those of the outputs of generators.
func notGenerated(uses []use) []use {
	return slices.DeleteFunc(slices.Clone(uses), func(u use) bool { return u.variable != "" })
}

func (c *compiler) refuseUse(u use, hint string) {
	c.reportAt(u.place, "uses %s, but secret data may flow only into the data of Secrets%s", u, hint)
}

// refuseUnknown refuses a name, or a list of items, that depends on objects that must first be requested
// from Crossplane, because the requests must be the same on each call of a reconcile.
func (c *compiler) refuseUnknown(x *expression.Expression, what string) {
	r := c.reading(x)
	for _, u := range notGenerated(r.uses) {
		c.reportAt(u.place, "may not use %s: %s must be known before any Secret is read: leave it out", u, what)
	}
	if len(r.sources) > 0 {
		c.report(x.Source().Path, "may not use sources: %s must be known before any source is read", what)
	}
	if c.ownEnvironment && r.environment {
		c.report(x.Source().Path, "may not use the environment, which this input looks up or sets: %s must be "+
			"known before that; look up and set the environment in an earlier step of the pipeline", what)
	}
	c.refuseGenerated(x, what+" must be known before a credential is generated")
}

// report adds a diagnostic of a field.
func (c *compiler) report(path, format string, args ...any) {
	c.diagnostics = append(c.diagnostics, diagnosed(path, fmt.Sprintf(format, args...)))
}

// reportAt adds a diagnostic of a position in an expression.
func (c *compiler) reportAt(at expression.Place, format string, args ...any) {
	c.diagnostics = append(c.diagnostics, at.Wrong(fmt.Sprintf(format, args...)))
}

// fields adds the diagnostics of fields.
func (c *compiler) fields(diagnostics field.ErrorList) {
	for _, f := range diagnostics {
		c.report(f.Field, "%s", f.Detail)
	}
}

// diagnosed returns a diagnostic of a field.
func diagnosed(path, message string) *diagnostic.Diagnostic {
	return &diagnostic.Diagnostic{Path: path, Rule: diagnostic.Input, Message: message}
}
