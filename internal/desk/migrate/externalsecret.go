package migrate

import (
	"cmp"
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

// externalSecret returns the step of an ExternalSecret. Crossplane has no store, so a source replaces
// each remote secret.
func (m *migration) externalSecret(c decode.Value) *step {
	return m.externalSecretOf(c, c.Get("spec"), c.Get("metadata"))
}

// clusterExternalSecret returns the step of a ClusterExternalSecret, which creates an ExternalSecret in
// several namespaces.
func (m *migration) clusterExternalSecret(c decode.Value) *step {
	spec := c.Get("spec")
	metadata := spec.Get("externalSecretMetadata")
	if name := cmp.Or(spec.Get("externalSecretName").Text(), c.Get("metadata", "name").Text()); name != "" {
		raw := map[string]any{"name": name, "labels": metadata.Get("labels").Raw,
			"annotations": metadata.Get("annotations").Raw}
		metadata = decode.Value{Raw: raw, Path: metadata.Path, Report: metadata.Report}
	}
	s := m.externalSecretOf(c, spec.Get("externalSecretSpec"), metadata)
	if s != nil {
		s.above = append(s.above, decide+"a ClusterExternalSecret creates one Secret in each namespace; here each "+
			"composite has its own.")
	}
	return s
}

func (m *migration) externalSecretOf(c, spec, metadata decode.Value) *step {
	target, template := spec.Get("target"), spec.Get("target", "template")
	s := newStep("Put it after the steps that compose the resources that it reads.")
	s.taken = m.taken
	s.remove = []string{"the " + c.Get("kind").Text()}
	name := cmp.Or(target.Get("name").Text(), metadata.Get("name").Text())
	x := &external{
		migration: m, step: s, target: name, values: map[string]gotemplate.Expr{}, inputs: map[string]string{},
		templated: (template.Get("data").Exists() || template.Get("templateFrom").Exists()) &&
			template.Get("mergePolicy").Text() != "Merge",
	}
	var data, dataFrom []*node //nolint:prealloc // a few
	for _, d := range items(spec.Get("data")) {
		data = append(data, x.data(d))
	}
	for _, d := range items(spec.Get("dataFrom")) {
		dataFrom = append(dataFrom, x.dataFrom(d))
	}
	x.all = x.onlyInput(items(spec.Get("dataFrom")))
	templates := x.templates(template)
	lost := x.merge(templates, &data, &dataFrom)
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
	x.conflicts(e)
	x.describe(e, spec, lost)
	s.secrets.items = append(s.secrets.items, e)
	return s
}

// describe adds comments on what the export has not: keys of the template, and fields without an equivalent.
func (x *external) describe(e *node, spec decode.Value, lost []string) {
	target, template := spec.Get("target"), spec.Get("target", "template")
	if spec.Get("secretStoreRef").Exists() || spec.Get("refreshInterval").Exists() {
		e.note("There is no store and no refreshInterval here: Crossplane reconciles.")
	}
	if len(lost) > 0 && len(e.field("data").live()) > 0 {
		e.note(decide + "it lacks these keys of the template, which are comments below: " + strings.Join(lost, ", "))
	}
	out := slices.Concat(foreign(spec, "secretStoreRef refreshInterval refreshPolicy=Periodic target data dataFrom"),
		foreign(target, "name immutable template manifest creationPolicy=Owner deletionPolicy=Retain"),
		foreign(template, "type metadata data templateFrom mergePolicy engineVersion"),
		foreign(template.Get("metadata"), "labels annotations"))
	if len(out) > 0 {
		e.note(decide + "there is no equivalent of " + strings.Join(out, ", ") + ".")
	}
	if kind := target.Get("manifest", "kind").Text(); kind != "" && kind != "Secret" {
		x.step.remove = nil
		e.disable("target.manifest makes it an object of kind " + kind + ": write an export for it, or another step")
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

// withoutForeign makes an entry a comment if it has fields that are not known here.
func (n *node) withoutForeign(v decode.Value, known string) {
	if v.Get("version").Exists() {
		n.note(decide + "older versions do not exist here: this is the current value.")
	}
	if out := foreign(v, "version "+known); len(out) > 0 {
		n.disable("there is no equivalent of " + strings.Join(out, ", "))
	}
}

// external is an ExternalSecret.
type external struct {
	migration *migration
	step      *step
	values    map[string]gotemplate.Expr // the values of data, by key; empty if there is none
	all       string                     // the CEL of the only input, if all its keys are read
	inputs    map[string]string          // the names of inputs, by remote secret
	target    string                     // the name of the Secret
	lastInput string                     // the CEL of the last entry
	templated bool                       // the Secret has only the template's keys
}

// conflicts keeps which entry wins. In an ExternalSecret data wins over dataFrom and later entries win
// over earlier ones, without a message.
func (x *external) conflicts(e *node) {
	data, dataFrom := e.field("data").live(), e.field("dataFrom").live()
	keys := map[string]bool{}
	for _, d := range data {
		keys[keyOf(d)] = true
	}
	if len(keys) == len(data) && (len(dataFrom) == 0 || len(data)+len(dataFrom) == 1) {
		return
	}
	e.with("conflictPolicy", textNode(string(v1beta1.ConflictLastWins)))
	e.field("conflictPolicy").note("As in the ExternalSecret. Without it, a key that two entries write is an error " +
		"that names both.")
}

// keyOf returns the key of an entry of data as it is printed, or nothing if it has none.
func keyOf(entry *node) string {
	if key := entry.field("key"); key != nil {
		return key.scalar
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
		n.with(field, stringMap(values))
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
	n.withoutForeign(ref,
		"key property conversionStrategy decodingStrategy=None decodingStrategy=Base64 metadataPolicy=None")
	if why != "" {
		n.disable(why)
	}
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
		x.generator(n, generator)
	case c.Get("extract").Exists():
		remote = c.Get("extract")
		property := remote.Get("property").Text()
		input := x.input(needed(remote.Get("key")))
		n.with("extract", mapping().withText("key", input).withText("property", property))
		n.withoutForeign(remote, remoteFields)
		if strings.Contains(property, ".") {
			n.note(decide + "each dot of the property separates two fields here: write a key with a dot as [in.brackets].")
		}
	case c.Get("find").Exists():
		remote = c.Get("find")
		f := copied(remote, "path", "name", "tags")
		if len(f.fields) == 0 { // which finds everything
			f.with("name", mapping().withText("regexp", ".*"))
		}
		n.with("find", f).withoutForeign(remote, "path name tags "+remoteFields)
		n.note(decide + "a find searches all connection details and Secret sources, as <input>/<key>, not a store.")
	default:
		c.Refuse("must have extract, find or sourceRef.generatorRef")
	}
	n.with("rewrite", copied(c).field("rewrite")) // the same as here
	for _, strategy := range []string{"conversionStrategy", "decodingStrategy"} {
		n.withText(strategy, remote.Get(strategy).Text())
	}
	return n
}
