package migrate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
	"github.com/crossplane-contrib/function-export/internal/desk/migrate/gotemplate"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
	"github.com/crossplane-contrib/function-export/internal/engine/fieldpath"
)

// external is an ExternalSecret. Crossplane has no store, so a source replaces each remote secret.
type external struct {
	migration *migration
	step      *step
	values    map[string]gotemplate.Expr // the values of data, by key; empty if there is none
	all       string                     // the CEL of the only input, if all its keys are read
	target    string                     // the name of the Secret
	lastInput string                     // the CEL of the last entry
}

// externalSecret returns the step of an ExternalSecret.
func (m *migration) externalSecret(c decode.Value) *step {
	spec, metadata := c.Get("spec"), c.Get("metadata")
	target, template := spec.Get("target"), spec.Get("target", "template")
	s := newStep("Put it after the steps that compose the resources that it reads.")
	s.taken = m.taken
	s.remove = []string{"the ExternalSecret"}
	name := cmp.Or(target.Get("name").Text(), metadata.Get("name").Text())
	x := &external{migration: m, step: s, target: name, values: map[string]gotemplate.Expr{}}
	var data, dataFrom []*node //nolint:prealloc // a few
	for _, d := range items(spec.Get("data")) {
		data = append(data, x.data(d))
	}
	for _, d := range items(spec.Get("dataFrom")) {
		dataFrom = append(dataFrom, x.dataFrom(d))
	}
	x.all = x.onlyInput(items(spec.Get("dataFrom")))
	templates := x.templates(template)
	if len(templates) > 0 && template.Get("mergePolicy").Text() != "Merge" { // the Secret has only the template's keys
		data, dataFrom = nil, nil
	}
	if data = append(data, templates...); len(data)+len(dataFrom) == 0 {
		return nil
	}
	if name == "" {
		needed(metadata.Get("name"))
	}
	labels := template.Get("metadata")
	if !template.Exists() { // those of the ExternalSecret are copied
		labels = metadata
	}
	e := mapping().withText("name", s.exportName(name)).
		with("metadata", x.metadata(labels)).withText("type", template.Get("type").Text())
	if target.Get("immutable").Bool() {
		e.with("immutable", rawNode(true))
	}
	e.with("data", list(data...)).with("dataFrom", list(dataFrom...))
	// In an ExternalSecret data wins over dataFrom and later entries win over earlier ones, without a message.
	if len(repeated(e.field("data").live())) > 0 || len(dataFrom) > 0 && len(data)+len(dataFrom) > 1 {
		e.with("conflictPolicy", textNode(string(v1beta1.ConflictLastWins)).note(
			"As in the ExternalSecret. Without it, a key that two entries write is an error that names both."))
	}
	x.describe(e, spec)
	s.secrets.items = append(s.secrets.items, e)
	return s
}

// describe adds comments on fields that have no equivalent.
func (x *external) describe(e *node, spec decode.Value) {
	target, template := spec.Get("target"), spec.Get("target", "template")
	if spec.Get("secretStoreRef").Exists() || spec.Get("refreshInterval").Exists() {
		e.note("There is no store and no refreshInterval here: Crossplane reconciles.")
	}
	out := slices.Concat(foreign(spec, "secretStoreRef refreshInterval refreshPolicy=Periodic target data dataFrom"),
		foreign(target, "name immutable template creationPolicy=Owner deletionPolicy=Retain"),
		foreign(template, "type metadata data templateFrom mergePolicy engineVersion"),
		foreign(template.Get("metadata"), "labels annotations"))
	if len(out) > 0 {
		e.note(decide + "there is no equivalent of " + strings.Join(out, ", ") + ".")
	}
}

// foreign returns the fields of an object that are not known here. After an equals sign is the only value that a known
// field may have.
func foreign(v decode.Value, known string) []string {
	var out []string
	for _, name := range v.Keys() {
		text, _ := v.Get(name).Raw.(string)
		is := func(k string) bool { return k == name || k == name+"="+text }
		if !slices.ContainsFunc(strings.Fields(known), is) {
			out = append(out, v.Get(name).Path.String())
		}
	}
	return out
}

// without returns why an entry with fields that are not known here is a comment, or nothing.
func without(v decode.Value, known string) string {
	if out := foreign(v, known); len(out) > 0 {
		return "there is no equivalent of " + strings.Join(out, ", ")
	}
	return ""
}

func (x *external) metadata(template decode.Value) *node {
	n := x.step.literalName(x.target)
	for _, field := range []string{"labels", "annotations"} {
		values := texts(template.Get(field))
		delete(values, "kubectl.kubernetes.io/last-applied-configuration")
		for _, k := range slices.Sorted(maps.Keys(values)) {
			if strings.Contains(values[k], "{{") {
				n.note(templateIn(field, k))
				delete(values, k)
			}
		}
		n.withTexts(field, values, nil)
	}
	return n
}

// templateIn says that a label or an annotation is not translated.
func templateIn(field, key string) string {
	return fmt.Sprintf("%s%s %s is a template: write it in CEL, in %sExpression.", decide,
		strings.TrimSuffix(field, "s"), key, field)
}

// remoteFields are the fields of a reference to a remote secret.
const remoteFields = "key property conversionStrategy decodingStrategy metadataPolicy=None"

// data returns one key of spec.data.
func (x *external) data(c decode.Value) *node {
	ref := c.Get("remoteRef")
	key := needed(c.Get("secretKey"))
	value, why := x.remote(key, ref)
	kind := gotemplate.Text
	if ref.Get("decodingStrategy").Text() == "Base64" {
		value, kind = "base64.decode(dyn("+value+"))", gotemplate.Bytes // check warns about it without dyn
	}
	n := entry(key, value)
	n.unless(without(ref,
		"key property conversionStrategy decodingStrategy=None decodingStrategy=Base64 metadataPolicy=None")).unless(why)
	x.values[key] = gotemplate.Of(value, kind)
	if n.off {
		x.values[key] = gotemplate.Expr{}
	}
	return n
}

// remote returns the expression of a remote secret's property, or the reason why it has none. A remote
// secret without property is one value, so its source has it in the same key.
func (x *external) remote(secretKey string, ref decode.Value) (value, why string) {
	input := celtext.Select("secrets", x.input(needed(ref.Get("key"))))
	property := cmp.Or(ref.Get("property").Text(), secretKey)
	switch {
	case strings.ContainsAny(property, `*?#|@!{}[]()\`):
		return input, "the property is a query: write it in CEL, with json.decode"
	case !strings.Contains(property, ".") || property == secretKey:
		return celtext.Select(input, property), ""
	}
	// In an ExternalSecret it is a key with a dot, or a path into JSON if there is no such key.
	names := strings.Split(property, ".")
	inside := "json.decode(" + celtext.Select(input, names[0]) + ")"
	for _, name := range names[1:] {
		inside += celtext.Step(pathStep(fieldpath.FieldOrIndex(name)), false)
	}
	return fmt.Sprintf("%s%s.orValue(string(%s))", input, celtext.Step(property, true), inside), ""
}

// dataFrom returns one entry of spec.dataFrom.
func (x *external) dataFrom(c decode.Value) *node {
	n := mapping()
	var remote decode.Value
	switch generator := c.Get("sourceRef", "generatorRef"); {
	case generator.Exists():
		n.with("extract", mapping().withText("key", x.input(needed(generator.Get("name")))))
		n.note(fmt.Sprintf("%sa generator of kind %s writes these keys: add an entry to generators, which keeps its "+
			"value,",
			decide, needed(generator.Get("kind"))), "and extract generated.<name> instead of this source.")
	case c.Get("extract").Exists():
		remote = c.Get("extract")
		input := x.input(needed(remote.Get("key")))
		n.with("extract", mapping().withText("key", input).withText("property", remote.Get("property").Text()))
		n.unless(without(remote, remoteFields))
	case c.Get("find").Exists():
		remote = c.Get("find")
		find := map[string]any{"path": remote.Get("path").Raw, "name": remote.Get("name").Raw,
			"tags": remote.Get("tags").Raw}
		n.with("find", nodeOf(find)).unless(without(remote, "path name tags "+remoteFields))
		n.note(decide + "a find searches all connection details and Secret sources, as <input>/<key>, not a store.")
	default:
		c.Refuse("must have extract, find or sourceRef.generatorRef")
	}
	n.with("rewrite", nodeOf(c.Get("rewrite").Raw)) // the same as here
	for _, strategy := range []string{"conversionStrategy", "decodingStrategy"} {
		n.withText(strategy, remote.Get(strategy).Text())
	}
	return n
}

// input returns the name of the input that replaces a remote secret: a composed resource of a
// Composition in the files, or a source. The names of sources are the same in all steps.
func (x *external) input(remote string) string {
	s, m, name := x.step, x.migration, remote
	if !m.composed[remote] {
		if m.sources[remote] == "" {
			m.sources[remote] = s.exportName(remote)
		}
		name = m.sources[remote]
		if len(s.sources.items) == 0 {
			s.sources.note(decide+"each source replaces a remote secret. Set matchName to a Secret that has the same "+
				"keys, or remove the source", "and compose a resource with its name that has these connection details.")
		}
		if !slices.ContainsFunc(s.sources.items, func(n *node) bool { return n.field("name").value == name }) {
			// A source with the name of the target would read itself.
			s.source(name, freeName(remote, func(name string) bool { return name == x.target }))
		}
	}
	x.lastInput = celtext.Select("secrets", name)
	return name
}

// onlyInput returns the CEL of the only entry of dataFrom, if all its keys keep their names.
func (x *external) onlyInput(entries []decode.Value) string {
	if len(entries) != 1 || len(items(entries[0].Get("rewrite"))) > 0 || entries[0].Get("find").Exists() ||
		len(foreign(entries[0].Get("extract"),
			"key conversionStrategy=Default decodingStrategy=None metadataPolicy=None")) > 0 {
		return ""
	}
	return x.lastInput
}

// templates returns the keys of target.template.
func (x *external) templates(c decode.Value) []*node {
	values := texts(c.Get("data"))
	out := make([]*node, 0, len(values))
	for _, k := range slices.Sorted(maps.Keys(values)) {
		e, err := gotemplate.Translate(values[k], gotemplate.Data{Lookup: x.lookup})
		switch {
		case err != nil:
			out = append(out, entry(k, values[k]).disable("this Go template "+err.Error()+": write it in CEL"))
		case e.Empty():
			out = append(out, entry(k, celtext.Literal("")).disable(emptyValue))
		default:
			out = append(out, entry(k, e.Value(false)))
		}
	}
	for _, from := range items(c.Get("templateFrom")) {
		original, _ := json.Marshal(from.Raw) //nolint:errchkjson // it was JSON
		out = append(out, entry("templateFrom", string(original)).disable("it is not translated: write its keys in "+
			"CEL"))
	}
	return out
}

// lookup returns the value of a key that a template reads.
func (x *external) lookup(path []any, optional bool) (gotemplate.Expr, error) {
	if len(path) != 1 || optional {
		return gotemplate.Expr{}, errors.New("does not read a single key, without a default")
	}
	key, _ := path[0].(string)
	switch v, ok := x.values[key]; {
	case ok && !v.Empty():
		return v, nil
	case ok:
		return v, fmt.Errorf("reads %s, which is a comment", key)
	case x.all == "":
		return v, fmt.Errorf("reads %s, and it is not known which entry has this key", key)
	}
	return gotemplate.Of(celtext.Select(x.all, key), gotemplate.Text), nil
}
