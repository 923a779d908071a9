package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/decode"
)

// externalSecret returns the step of an ExternalSecret. A person must decide which input replaces each
// remote secret, because Crossplane has no store.
func (m *migration) externalSecret(c decode.Value) *step {
	spec := c.Get("spec")
	template := spec.Get("target", "template")
	s := newStep("Put it after the steps that compose the resources that it reads.")
	s.remove = []string{"the ExternalSecret"}
	x := external{migration: m, step: s, values: map[string]string{}, all: onlyExtract(spec), read: map[string]bool{}}
	x.templated = (template.Get("data").Exists() || template.Get("templateFrom").Exists()) && template.Get("mergePolicy").Text() != "Merge"

	var data, dataFrom []*node //nolint:prealloc // a few
	for _, d := range items(spec.Get("data")) {
		data = append(data, x.data(d))
	}
	for _, d := range items(spec.Get("dataFrom")) {
		dataFrom = append(dataFrom, x.dataFrom(d))
	}
	templates := x.templates(template)
	lost := overwritten(templates, data, dataFrom)
	data = append(data, templates...)
	if len(data)+len(dataFrom) == 0 {
		return nil
	}
	target := spec.Get("target", "name").Text()
	if target == "" {
		target = needed(c.Get("metadata", "name"))
	}
	labels := template.Get("metadata")
	if !template.Exists() { // those of the ExternalSecret are copied
		labels = c.Get("metadata")
	}
	e := mapping().withText("name", s.exportName(target)).with("metadata", x.metadata(target, labels)).withText("type", template.Get("type").Text())
	if spec.Get("target", "immutable").Bool() {
		e.with("immutable", rawNode(true))
	}
	e.with("data", list(data...)).with("dataFrom", list(dataFrom...))
	x.conflicts(e)
	x.describe(e, spec)
	if len(lost) > 0 && len(e.field("data").live()) > 0 {
		e.note(decide + "it lacks these keys of the template, which are comments below: " + strings.Join(lost, ", "))
	}
	noCounterpart(e, c)
	x.put(e, spec.Get("target", "manifest"))
	return s
}

// put adds the export. It is a comment if the target is not a Secret.
func (x external) put(e *node, manifest decode.Value) {
	kind := manifest.Get("kind").Text()
	switch {
	case !manifest.Exists(), kind == "Secret":
		x.step.secrets.items = append(x.step.secrets.items, e)
	case kind == "ConfigMap":
		x.step.configMaps.items = append(x.step.configMaps.items, e.disable(
			"target.manifest makes it a ConfigMap: uncomment it, and add nonSensitive with the secret inputs that it reads to each entry of its data"))
	default:
		x.step.secrets.items = append(x.step.secrets.items, e.disable(
			fmt.Sprintf("target.manifest makes it an object of kind %s, and this function composes only Secrets and ConfigMaps: compose it in another step", kind)))
		x.step.remove = nil
	}
}

// external is an ExternalSecret.
type external struct {
	migration *migration
	step      *step
	values    map[string]string // expressions of data, by key; empty if there is none
	all       string            // the only input, if all its keys are read
	read      map[string]bool   // remote secrets
	templated bool              // the Secret has only the template's keys
}

// describe adds comments on the necessary changes.
func (x external) describe(e *node, spec decode.Value) {
	if len(x.read) > 0 {
		e.note(decide+"each of these is a remote secret in the ExternalSecret. Here, each must be a composed resource",
			"that has connection details, or a source of kind Secret: "+strings.Join(slices.Sorted(maps.Keys(x.read)), ", "))
	}
	if policy := spec.Get("target", "creationPolicy").Text(); policy != "" && policy != "Owner" {
		e.note(decide + "creationPolicy of the ExternalSecret is not Owner; here the composite always owns the Secret.")
	}
	if spec.Get("target", "template", "templateFrom").Exists() {
		e.note(decide + "templateFrom has no equivalent: write the keys that it produces in CEL.")
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
	for _, f := range []struct{ path, usual string }{{"spec.refreshPolicy", "Periodic"}, {"spec.target.deletionPolicy", "Retain"}} {
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
func (x external) conflicts(e *node) {
	data, dataFrom := e.field("data").live(), e.field("dataFrom").live()
	keys := map[string]bool{}
	for _, d := range data {
		keys[d.field("key").scalar] = true
	}
	if len(keys) == len(data) && (len(dataFrom) == 0 || len(data)+len(dataFrom) == 1) {
		return
	}
	e.with("conflictPolicy", textNode(string(v1beta1.ConflictLastWins)))
	e.field("conflictPolicy").note("As in the ExternalSecret. Without it, a key that two entries write is an error that names both.")
}

func (x external) metadata(target string, template decode.Value) *node {
	n := x.step.literalName(target)
	for _, field := range []string{"labels", "annotations"} {
		values := texts(template.Get(field))
		delete(values, "kubectl.kubernetes.io/last-applied-configuration")
		for _, k := range slices.Sorted(maps.Keys(values)) {
			if strings.Contains(values[k], "{{") {
				n.note(fmt.Sprintf("%s%s %s is a template: write it in CEL, in %sExpression.", decide, strings.TrimSuffix(field, "s"), k, field))
				delete(values, k)
			}
		}
		n.with(field, stringMap(values))
	}
	return n
}

// data returns one key of spec.data.
func (x external) data(c decode.Value) *node {
	ref := c.Get("remoteRef")
	key := needed(c.Get("secretKey"))
	n := mapping().withText("key", key)
	value, why := x.remote(n, ref)
	if why == "" && ref.Get("version").Exists() {
		n.note(decide + "older versions do not exist here: this is the current value.")
	}
	switch ref.Get("decodingStrategy").Text() {
	case "", "None":
	case "Base64":
		value = "base64.decode(dyn(" + value + "))" // check warns about it without dyn
	default:
		why = "its decodingStrategy has no equivalent for a single key: use dataFrom"
	}
	n.with("value", textNode(value))
	if why != "" {
		x.values[key] = ""
		return n.disable(why)
	}
	x.values[key] = value
	return x.leaveOut(n)
}

// remote returns the expression of a remote secret's property, or the reason why it has none.
func (x external) remote(n *node, ref decode.Value) (value, why string) {
	key := needed(ref.Get("key"))
	x.read[key] = true
	property := ref.Get("property").Text()
	input := selected("secrets", key)
	switch {
	case property == "":
		return input, "a remote secret without property is one value: name the key of the input that has it"
	case strings.ContainsAny(property, `*?#|@!{}[]()\`):
		return input, "the property is a query: write it in CEL, with json.decode"
	case !strings.Contains(property, "."):
		return selected(input, property), ""
	}
	// In an ExternalSecret it is a key with a dot, or a path if there is no such key.
	names := strings.Split(property, ".")
	inside := "json.decode(" + selected(input, names[0]) + ")"
	for _, name := range names[1:] {
		inside += celStep(fieldpath.FieldOrIndex(name), false)
	}
	n.note(decide + "the property may also be a path into JSON: string(" + inside + ")")
	return selected(input, property), ""
}

// dataFrom returns one entry of spec.dataFrom.
func (x external) dataFrom(c decode.Value) *node {
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
	return x.leaveOut(n)
}

func (x external) extract(n *node, c decode.Value) {
	key, property := needed(c.Get("key")), c.Get("property").Text()
	x.read[key] = true
	n.with("extract", mapping().withText("key", key).withText("property", property).short())
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

// leaveOut disables an entry that only a template reads.
func (x external) leaveOut(n *node) *node {
	if !x.templated {
		return n
	}
	n.off = true
	return n.note("In the ExternalSecret the Secret has only the keys of the template; the template reads this entry.")
}

func (x external) find(n *node, c decode.Value) {
	f := mapping().withText("path", c.Get("path").Text())
	if name := c.Get("name"); name.Exists() {
		f.with("name", mapping().withText("regexp", name.Get("regexp").Text()).short())
	}
	n.with("find", f.with("tags", stringMap(texts(c.Get("tags"))).short()))
	n.note(decide + "a find searches all connection details and Secret sources, as <input>/<key>, not a store.")
}

// rule returns a rule of rewrite, which has the same fields in an ExternalSecret.
func rule(c decode.Value) *node {
	n := mapping()
	if r := c.Get("regexp"); r.Exists() {
		n.with("regexp", mapping().with("source", textNode(r.Get("source").Text())).with("target", textNode(r.Get("target").Text())).short())
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
