package migrate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

// generatedPrefix begins the names of generators in extract.
const generatedPrefix = "generated."

// A generator is one of the documents.
type generator struct {
	reading
	used bool // by an ExternalSecret
}

// generatorFields return the name of the generator here, and its fields.
var generatorFields = map[string]func(spec decode.Value) (string, *node){"Password": password, "UUID": uuid,
	"SSHKey": sshKey}

// generator adds the generator of a dataFrom, with its fields if it is in the file.
func (x *external) generator(n *node, c decode.Value) {
	kind, name := needed(c.Get("kind")), needed(c.Get("name"))
	fieldsOf, ok := generatorFields[kind]
	if !ok {
		// A person decides on the source, so the rest of the step works.
		n.with("extract", mapping().withText("key", x.input(name)).short())
		n.note(fmt.Sprintf("%sthere is no generator of kind %s: keep an ExternalSecret that writes the Secret of this "+
			"source, or replace it by a", decide, kind),
			"generator of kind resource, whose managed resource creates the value.")
		return
	}
	var spec decode.Value
	g, found := x.migration.generators[kind+"/"+name]
	if found {
		g.used = true
		spec = g.root().Get("spec")
	}
	own := x.step.generatorName(name)
	x.lastInput = celtext.Select("generated", own)
	field, fields := fieldsOf(spec)
	to := mapping().withText("name", own).with(field, fields.short())
	if !found {
		to.note(fmt.Sprintf("%s%s %s is not in the file: these are its defaults.", decide, kind, name))
	}
	if len(x.step.generators.items) == 0 {
		x.step.generators.note(decide + "an ExternalSecret creates a new value after each refreshInterval; here the " +
			"value is kept, unless you set refreshPolicy and refreshInterval.")
	}
	x.step.generators.items = append(x.step.generators.items, to)
	n.with("extract", mapping().withText("key", generatedPrefix+own).short())
}

// generatorName returns a name that no other generator of the step has.
func (s *step) generatorName(text string) string {
	name := freeName(text, func(name string) bool { return slices.Contains(s.generatorNames, name) })
	s.generatorNames = append(s.generatorNames, name)
	return name
}

// password has the same fields and defaults in External Secrets.
func password(spec decode.Value) (string, *node) {
	n := mapping()
	for _, name := range []string{"length", "digits", "symbols", "symbolCharacters", "noUpper", "allowRepeat",
		"encoding"} {
		scalarField(n, spec, name, name)
	}
	return "password", n.with("secretKeys", textList(spec.Get("secretKeys")))
}

func uuid(decode.Value) (string, *node) { return "uuid", mapping() }

// sshKey writes the defaults of External Secrets, because they differ from those here.
func sshKey(spec decode.Value) (string, *node) {
	kind := cmp.Or(spec.Get("keyType").Text(), "rsa")
	n := mapping().withText("type", kind)
	defaults := map[string]int{"rsa": 2048, "ecdsa": 256}
	switch bits, ok := defaults[kind]; {
	case ok && spec.Get("keySize").Exists():
		scalarField(n, spec, "keySize", "bits")
	case ok:
		n.with("bits", rawNode(bits))
	}
	return "sshKey", n.withText("comment", spec.Get("comment").Text())
}

// scalarField copies a string, a number or a boolean.
func scalarField(n *node, c decode.Value, from, to string) {
	v := c.Get(from)
	switch t := v.Raw.(type) {
	case nil:
	case string:
		n.with(to, textNode(t))
	case bool, int, int64, uint64:
		n.with(to, rawNode(t))
	case float64:
		if t != math.Trunc(t) || math.Abs(t) > 1<<53 {
			v.Refuse("must be a whole number")
		}
		n.with(to, rawNode(int64(t)))
	default:
		v.Refuse("must be a string, a number or a boolean")
	}
}
