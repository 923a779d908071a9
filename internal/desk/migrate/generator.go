package migrate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

// generator adds the generator of a dataFrom, with its fields if it is in the file.
func (x *external) generator(n *node, c decode.Value) {
	kind, name := needed(c.Get("kind")), needed(c.Get("name"))
	var spec decode.Value
	g, found := x.migration.generators[kind+"/"+name]
	if found {
		spec = g.root().Get("spec")
	}
	to := mapping()
	switch kind {
	case "Password":
		to.with("password", copied(spec, "length", "digits", "symbols", "symbolCharacters", "noUpper", "allowRepeat",
			"encoding", "secretKeys"))
	case "UUID":
		to.with("uuid", mapping())
	case "SSHKey":
		to.with("sshKey", sshKey(spec))
	default:
		// A person decides on the source, so the rest of the step works.
		n.with("extract", mapping().withText("key", x.input(name)))
		n.note(fmt.Sprintf("%sthere is no generator of kind %s: keep an ExternalSecret that writes the Secret of this "+
			"source, or replace it by a", decide, kind),
			"generator of kind resource, whose managed resource creates the value.")
		return
	}
	own := x.step.generatorName(name)
	x.lastInput = celtext.Select("generated", own)
	to.fields = slices.Insert(to.fields, 0, member{"name", textNode(own)})
	if !found {
		to.note(fmt.Sprintf("%s%s %s is not in the file: these are its defaults.", decide, kind, name))
	}
	if len(x.step.generators.items) == 0 {
		x.step.generators.note(decide + "an ExternalSecret creates a new value after each refreshInterval; here the " +
			"value is kept, unless you set refreshPolicy and refreshInterval.")
	}
	x.step.generators.items = append(x.step.generators.items, to)
	n.with("extract", mapping().withText("key", "generated."+own))
}

// generatorName returns a name that no other generator of the step has.
func (s *step) generatorName(text string) string {
	name := freeName(text, func(name string) bool { return slices.Contains(s.generatorNames, name) })
	s.generatorNames = append(s.generatorNames, name)
	return name
}

// sshKey returns the fields of an SSH key. The defaults differ here, so they are written.
func sshKey(spec decode.Value) *node {
	kind := cmp.Or(spec.Get("keyType").Text(), "rsa")
	n := mapping().withText("type", kind)
	if bits := map[string]int{"rsa": 2048, "ecdsa": 256}[kind]; bits > 0 {
		n.with("bits", cmp.Or(copiedValue(spec.Get("keySize")), rawNode(bits)))
	}
	return n.withText("comment", spec.Get("comment").Text())
}
