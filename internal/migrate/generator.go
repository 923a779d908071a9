package migrate

import (
	"fmt"
	"math"
	"strings"
)

const (
	generatorGroup = "generators.external-secrets.io/"

	// generatedPrefix begins what extract calls a generator.
	generatedPrefix = "generated."
)

// generatorsOf are the specs of the generators among the documents, by kind and
// name.
func generatorsOf(documents []Document) map[string]cursor {
	out := map[string]cursor{}
	for _, d := range documents {
		if key, ok := generatorKey(d); ok {
			out[key] = cursor{value: d.Value, faults: &faults{document: d}}.get("spec")
		}
	}
	return out
}

func generatorKey(d Document) (string, bool) {
	o, _ := d.Value.(map[string]any)
	apiVersion, _ := o["apiVersion"].(string)
	metadata, _ := o["metadata"].(map[string]any)
	kind, isKind := o["kind"].(string)
	name, isName := metadata["name"].(string)
	return kind + "/" + name, isKind && isName && strings.HasPrefix(apiVersion, generatorGroup)
}

// generator is that of a dataFrom, with its fields if it is in the file, too.
func (x external) generator(n *node, c cursor) {
	kind, name := c.get("kind").needed(), c.get("name").needed()
	make, ok := map[string]func(cursor) (string, *node){"Password": password, "UUID": uuid, "SSHKey": sshKey}[kind]
	if !ok {
		n.with("extract", mapping().withText("key", generatedPrefix+name).short())
		n.disable("there is no generator of this kind: have a managed resource make it, by one of generators of kind resource")
		return
	}
	spec, found := x.migration.generators[kind+"/"+name]
	if found {
		x.migration.referred[kind+"/"+name] = true
	}
	own := x.step.generatorName(name)
	field, fields := make(spec)
	g := mapping().withText("name", own).with(field, fields.short())
	if !found {
		g.note(fmt.Sprintf("%s%s %s is not in the file: these are its defaults.", decide, kind, name))
	}
	if len(x.step.generators.items) == 0 {
		x.step.generators.note(decide + "there a value is new after each refreshInterval; here it is kept, unless refreshPolicy and refreshInterval say so.")
	}
	x.step.generators.items = append(x.step.generators.items, g)
	n.with("extract", mapping().withText("key", generatedPrefix+own).short())
}

// generatorName is one that no other generator of the step has.
func (s *step) generatorName(wish string) string {
	others := newStep()
	for _, name := range s.generatorNames {
		others.taken[name] = true
	}
	name := others.exportName(wish)
	s.generatorNames = append(s.generatorNames, name)
	return name
}

// password has the fields and the defaults that it has there.
func password(spec cursor) (string, *node) {
	n := mapping()
	for _, name := range []string{"length", "digits", "symbols", "symbolCharacters", "noUpper", "allowRepeat", "encoding"} {
		scalarField(n, spec, name, name)
	}
	var keys []string
	for _, k := range spec.get("secretKeys").items() {
		keys = append(keys, k.text())
	}
	return "password", n.with("secretKeys", stringsNode(keys))
}

func uuid(cursor) (string, *node) { return "uuid", mapping() }

// sshKey spells the defaults that it has there, for here they are others.
func sshKey(spec cursor) (string, *node) {
	kind := spec.get("keyType").text()
	if kind == "" {
		kind = "rsa"
	}
	n := mapping().withText("type", kind)
	defaults := map[string]int{"rsa": 2048, "ecdsa": 256}
	switch bits, ok := defaults[kind]; {
	case ok && spec.get("keySize").there():
		scalarField(n, spec, "keySize", "bits")
	case ok:
		n.with("bits", rawNode(bits))
	}
	return "sshKey", n.withText("comment", spec.get("comment").text())
}

// scalarField copies a text, a number or a boolean.
func scalarField(n *node, c cursor, from, to string) {
	v := c.get(from)
	switch t := v.value.(type) {
	case nil:
	case string:
		n.with(to, textNode(t))
	case bool:
		n.with(to, rawNode(t))
	case int, int64, uint64:
		n.with(to, rawNode(t))
	case float64:
		if t != math.Trunc(t) || math.Abs(t) > 1<<53 {
			v.fault("must be a whole number")
		}
		n.with(to, rawNode(int64(t)))
	default:
		v.fault("must be a text, a number or a boolean")
	}
}
