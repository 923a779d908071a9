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
	template := spec.Get("target", "template")
	s := newStep("Put it after the steps that compose the resources that it reads.")
	s.taken = m.taken
	s.remove = []string{"the " + c.Get("kind").Text()}
	target := spec.Get("target", "name").Text()
	if target == "" {
		target = metadata.Get("name").Text()
	}
	x := &external{
		migration: m, step: s, target: target, values: map[string]gotemplate.Expr{}, inputs: map[string]string{},
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
	x.all = x.onlyInput(items(spec.Get("dataFrom")), dataFrom)
	templates := x.templates(template)
	lost := x.merge(templates, &data, &dataFrom)
	data = append(data, templates...)
	switch {
	case len(data)+len(dataFrom) > 0:
	case x.templated:
		data = append(data, unread("templateFrom", "no template produces a key, so the Secret has no data"))
	default:
		return nil
	}
	if target == "" {
		needed(metadata.Get("name"))
	}
	labels := template.Get("metadata")
	if !template.Exists() { // those of the ExternalSecret are copied
		labels = metadata
	}
	e := mapping().withText("name", s.exportName(target)).
		with("metadata", x.metadata(target, labels)).withText("type", template.Get("type").Text())
	if spec.Get("target", "immutable").Bool() {
		e.with("immutable", rawNode(true))
	}
	e.with("data", list(data...)).with("dataFrom", list(dataFrom...))
	x.conflicts(e)
	x.describe(e, spec)
	e.note(x.notes...)
	if len(lost) > 0 && len(e.field("data").live()) > 0 {
		e.note(decide + "it lacks these keys of the template, which are comments below: " + strings.Join(lost, ", "))
	}
	noCounterpart(e, c)
	x.put(e, spec.Get("target", "manifest"))
	return s
}

// put adds the export. It is a comment if the target is not a Secret.
func (x *external) put(e *node, manifest decode.Value) {
	if kind := manifest.Get("kind").Text(); manifest.Exists() && kind != "Secret" {
		e.disable(fmt.Sprintf("target.manifest makes it an object of kind %s: write a ConfigMap in configMaps, with "+
			"nonSensitive, and compose another kind in another step", kind))
		x.step.remove = nil
	}
	x.step.secrets.items = append(x.step.secrets.items, e)
}

// external is an ExternalSecret.
type external struct {
	migration *migration
	step      *step
	values    map[string]gotemplate.Expr // the values of data, by key; empty if there is none
	all       string                     // the CEL of the only input, if all its keys are read
	inputs    map[string]string          // the names of inputs, by remote secret
	notes     []string                   // on the export
	target    string                     // the name of the Secret
	lastInput string                     // of the last entry
	templated bool                       // the Secret has only the template's keys
}

// describe adds comments on the necessary changes.
func (x *external) describe(e *node, spec decode.Value) {
	if policy := spec.Get("target", "creationPolicy").Text(); policy != "" && policy != "Owner" {
		e.note(decide + "creationPolicy of the ExternalSecret is not Owner; here the composite always owns the Secret.")
	}
	if spec.Get("secretStoreRef").Exists() || spec.Get("refreshInterval").Exists() {
		e.note("There is no store and no refreshInterval here: Crossplane reconciles.")
	}
}

// noCounterpart adds a comment with the fields that are removed.
func noCounterpart(e *node, c decode.Value) {
	var out []string
	if c.Get("metadata", "namespace").Exists() {
		out = append(out, "metadata.namespace (the Secret is in the composite's)")
	}
	for _, f := range []struct{ path, usual string }{{"spec.refreshPolicy", "Periodic"},
		{"spec.target.deletionPolicy", "Retain"}} {
		if v := c.Get(strings.Split(f.path, ".")...).Text(); v != "" && v != f.usual {
			out = append(out, f.path)
		}
	}
	if c.Get("spec", "target", "template", "metadata", "finalizers").Exists() {
		out = append(out, "spec.target.template.metadata.finalizers")
	}
	if len(out) > 0 {
		e.note(decide + "there is no equivalent of " + strings.Join(out, ", ") + ".")
	}
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

func (x *external) metadata(target string, template decode.Value) *node {
	n := x.step.literalName(target)
	for _, field := range []string{"labels", "annotations"} {
		values := texts(template.Get(field))
		delete(values, "kubectl.kubernetes.io/last-applied-configuration")
		for _, k := range slices.Sorted(maps.Keys(values)) {
			if strings.Contains(values[k], "{{") {
				n.note(fmt.Sprintf("%s%s %s is a template: write it in CEL, in %sExpression.", decide,
					strings.TrimSuffix(field, "s"), k, field))
				delete(values, k)
			}
		}
		n.with(field, stringMap(values))
	}
	return n
}

// data returns one key of spec.data.
func (x *external) data(c decode.Value) *node {
	ref := c.Get("remoteRef")
	key := needed(c.Get("secretKey"))
	n := mapping().withText("key", key)
	value, why := x.remote(key, ref)
	if why == "" && ref.Get("version").Exists() {
		n.note(decide + "older versions do not exist here: this is the current value.")
	}
	kind := gotemplate.Text
	switch ref.Get("decodingStrategy").Text() {
	case "", "None":
	case "Base64":
		value, kind = "base64.decode(dyn("+value+"))", gotemplate.Bytes // check warns about it without dyn
	default:
		why = "its decodingStrategy has no equivalent for a single key: use dataFrom"
	}
	n.with("value", textNode(value))
	if why != "" {
		x.values[key] = gotemplate.Expr{}
		return n.disable(why)
	}
	x.values[key] = gotemplate.Of(value, kind)
	return n
}

// remote returns the expression of a remote secret's property, or the reason why it has none. A remote
// secret without property is one value, so its source has it in the same key.
func (x *external) remote(secretKey string, ref decode.Value) (value, why string) {
	input := celtext.Select("secrets", x.input(needed(ref.Get("key"))))
	property := ref.Get("property").Text()
	switch {
	case ref.Get("metadataPolicy").Text() == "Fetch":
		return celtext.Select(input, cmp.Or(property, secretKey)), "metadataPolicy Fetch has no equivalent: use " +
			"resources, with for example .metadata.labels"
	case property == "":
		return celtext.Select(input, secretKey), ""
	case strings.ContainsAny(property, `*?#|@!{}[]()\`):
		return input, "the property is a query: write it in CEL, with json.decode"
	case !strings.Contains(property, "."):
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
		x.extract(n, remote)
	case c.Get("find").Exists():
		remote = c.Get("find")
		x.find(n, remote)
	case c.Get("key").Exists(): // as in v1alpha1
		remote = c
		x.extract(n, remote)
	default:
		c.Refuse("must have extract, find or sourceRef.generatorRef")
	}
	rewrite := items(c.Get("rewrite"))
	rules := make([]*node, len(rewrite))
	for i, r := range rewrite {
		rules[i] = rule(r)
	}
	n.with("rewrite", list(rules...))
	if remote.Exists() {
		n.withText("conversionStrategy", remote.Get("conversionStrategy").Text())
		n.withText("decodingStrategy", remote.Get("decodingStrategy").Text())
	}
	return n
}

func (x *external) extract(n *node, c decode.Value) {
	key, property := needed(c.Get("key")), c.Get("property").Text()
	n.with("extract", mapping().withText("key", x.input(key)).withText("property", property).short())
	if c.Get("metadataPolicy").Text() == "Fetch" {
		n.disable("metadataPolicy Fetch has no equivalent: use valueMap, with resource.metadata.labels")
	}
	if c.Get("version").Exists() {
		n.note(decide + "older versions do not exist here: these are the current values.")
	}
	if strings.Contains(property, ".") {
		n.note(decide + "each dot of the property separates two fields here: write a key with a dot as [in.brackets].")
	}
}

func (x *external) find(n *node, c decode.Value) {
	f := mapping().withText("path", c.Get("path").Text())
	if name := c.Get("name"); name.Exists() {
		f.with("name", mapping().withText("regexp", name.Get("regexp").Text()).short())
	}
	f.with("tags", stringMap(texts(c.Get("tags"))).short())
	if len(f.fields) == 0 { // which finds everything
		f.with("name", mapping().withText("regexp", ".*").short())
	}
	n.with("find", f)
	n.note(decide + "a find searches all connection details and Secret sources, as <input>/<key>, not a store.")
}

// rule returns a rule of rewrite, which has the same fields in an ExternalSecret.
func rule(c decode.Value) *node {
	n := mapping()
	if r := c.Get("regexp"); r.Exists() {
		n.with("regexp", mapping().with("source", textNode(r.Get("source").Text())).
			with("target", textNode(r.Get("target").Text())).short())
	}
	if t := c.Get("transform"); t.Exists() {
		n.with("transform", mapping().with("template", textNode(t.Get("template").Text())).short())
	}
	if r := c.Get("merge"); r.Exists() {
		strategy, into := r.Get("strategy").Text(), r.Get("into").Text()
		if strategy != "JSON" {
			into = "" // an ExternalSecret ignores it
		}
		n.with("merge", mapping().withText("strategy", strategy).withText("into", into).
			with("priority", textList(r.Get("priority"))).
			withText("priorityPolicy", r.Get("priorityPolicy").Text()).
			withText("conflictPolicy", r.Get("conflictPolicy").Text()).short())
	}
	known := func(name string) bool { return name == "regexp" || name == "transform" || name == "merge" }
	if !slices.ContainsFunc(c.Keys(), known) {
		c.Refuse("must have regexp, merge or transform")
	}
	return n
}
