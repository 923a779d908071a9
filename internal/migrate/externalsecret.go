package migrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// externalSecret is an ExternalSecret. The store that it reads is here what the
// step sees, so that a person has to say which input each remote secret is.
func (m *migration) externalSecret(c cursor) *step {
	spec := c.get("spec")
	template := spec.get("target", "template")
	s := newStep()
	s.above = []string{title(c), "Put it behind the steps that compose what it reads."}
	s.remove = []string{"the ExternalSecret"}
	x := external{migration: m, step: s, values: map[string]string{}, all: onlyExtract(spec), read: map[string]bool{}}
	x.templated = (template.get("data").there() || template.get("templateFrom").there()) && template.get("mergePolicy").text() != "Merge"

	var data, dataFrom []*node
	for _, d := range spec.get("data").items() {
		data = append(data, x.data(d))
	}
	for _, d := range spec.get("dataFrom").items() {
		dataFrom = append(dataFrom, x.dataFrom(d))
	}
	templates := x.templates(template)
	lost := overwritten(templates, data, dataFrom)
	data = append(data, templates...)
	if len(data)+len(dataFrom) == 0 {
		return nil
	}
	target := spec.get("target", "name").text()
	if target == "" {
		target = c.get("metadata", "name").needed()
	}
	labels := template.get("metadata")
	if !template.there() { // then it copies its own
		labels = c.get("metadata")
	}
	e := mapping().withText("name", s.exportName(target)).with("metadata", x.metadata(target, labels)).withText("type", template.get("type").text())
	if spec.get("target", "immutable").yes() {
		e.with("immutable", rawNode(true))
	}
	e.with("data", list(data...)).with("dataFrom", list(dataFrom...))
	x.conflicts(e)
	x.describe(e, spec)
	if len(lost) > 0 && len(e.field("data").live()) > 0 {
		e.note(decide + "it lacks these keys of the template, which are comments below: " + strings.Join(lost, ", "))
	}
	noCounterpart(e, c)
	x.put(e, spec.get("target", "manifest"))
	return s
}

// put the export where it belongs. What the target makes of no Secret is a comment:
// nobody asked for a Secret.
func (x external) put(e *node, manifest cursor) {
	kind := manifest.get("kind").text()
	switch {
	case !manifest.there(), kind == "Secret":
		x.step.secrets.items = append(x.step.secrets.items, e)
	case kind == "ConfigMap":
		x.step.configMaps.items = append(x.step.configMaps.items, e.disable(
			"target.manifest makes a ConfigMap of it: un-comment it, and give each of its data a nonSensitive with what it reads of secrets"))
	default:
		x.step.secrets.items = append(x.step.secrets.items, e.disable(
			fmt.Sprintf("target.manifest makes an object of kind %s of it, and here there are Secrets and ConfigMaps only: compose it by another step", kind)))
		x.step.remove = nil
	}
}

// external is an ExternalSecret on its way.
type external struct {
	migration *migration
	step      *step
	values    map[string]string // expressions of data, by key; empty if there is none
	all       string            // the only input, if there is one whose keys are all read
	read      map[string]bool   // remote secrets
	templated bool              // only what the template gives is in the Secret
}

// describe what is to do, above the export.
func (x external) describe(e *node, spec cursor) {
	if len(x.read) > 0 {
		e.note(decide+"each of these is a remote secret there, and a composed resource here, for its connection details,",
			"or one of sources, for the data of a Secret: "+strings.Join(sortedKeys(x.read), ", "))
	}
	if policy := spec.get("target", "creationPolicy").text(); policy != "" && policy != "Owner" {
		e.note(decide + "creationPolicy is not Owner there; here the composite always owns the Secret.")
	}
	if spec.get("target", "template", "templateFrom").there() {
		e.note(decide + "templateFrom has no equal: write the keys that it gives in CEL.")
	}
	if spec.get("secretStoreRef").there() || spec.get("refreshInterval").there() {
		e.note("There is no store and no refreshInterval here: Crossplane reconciles.")
	}
}

// noCounterpart names the fields that are dropped.
func noCounterpart(e *node, c cursor) {
	var out []string
	if c.get("metadata", "namespace").there() {
		out = append(out, "metadata.namespace (the Secret is in the composite's)")
	}
	for _, f := range []struct{ path, usual string }{{"spec.refreshPolicy", "Periodic"}, {"spec.target.deletionPolicy", "Retain"}} {
		if v := c.get(strings.Split(f.path, ".")...).text(); v != "" && v != f.usual {
			out = append(out, f.path)
		}
	}
	if c.get("spec", "target", "template", "metadata", "finalizers").there() {
		out = append(out, "spec.target.template.metadata.finalizers")
	}
	if len(out) > 0 {
		e.note(decide + "there is no counterpart of " + strings.Join(out, ", ") + ".")
	}
}

// conflicts keeps who wins: there data goes before dataFrom, and later before
// earlier, and nobody is told.
func (x external) conflicts(e *node) {
	data, bulks := e.field("data").live(), e.field("dataFrom").live()
	keys := map[string]bool{}
	for _, d := range data {
		keys[d.field("key").scalar] = true
	}
	if len(keys) == len(data) && (len(bulks) == 0 || len(data)+len(bulks) == 1) {
		return
	}
	e.with("conflictPolicy", textNode(string(v1beta1.ConflictLastWins)))
	e.field("conflictPolicy").note("As there. Without it a key that two entries write is an error that names both.")
}

func (x external) metadata(target string, template cursor) *node {
	n := x.step.literalName(target)
	for _, field := range []string{"labels", "annotations"} {
		texts := template.get(field).texts()
		delete(texts, "kubectl.kubernetes.io/last-applied-configuration")
		for _, k := range sortedKeys(texts) {
			if strings.Contains(texts[k], "{{") {
				n.note(fmt.Sprintf("%s%s %s is a template: write it in CEL, in %sExpression.", decide, strings.TrimSuffix(field, "s"), k, field))
				delete(texts, k)
			}
		}
		n.with(field, stringMap(texts))
	}
	return n
}

// data is one key of spec.data.
func (x external) data(c cursor) *node {
	ref := c.get("remoteRef")
	key := c.get("secretKey").needed()
	n := mapping().withText("key", key)
	value, why := x.remote(n, ref)
	if why == "" && ref.get("version").there() {
		n.note(decide + "there is no older version here: this is the value of now.")
	}
	switch ref.get("decodingStrategy").text() {
	case "", "None":
	case "Base64":
		value = "base64.decode(" + value + ")"
	default:
		why = "its decodingStrategy has no equal for a single key: take it by dataFrom"
	}
	n.with("value", textNode(value))
	switch {
	case why != "":
		x.values[key] = ""
		return n.disable(why)
	case x.templated:
		x.values[key] = value
		return n.leaveOut()
	}
	x.values[key] = value
	return n
}

// remote is the expression of a remote secret's property, or why there is none.
func (x external) remote(n *node, ref cursor) (value, why string) {
	key := ref.get("key").needed()
	x.read[key] = true
	property := ref.get("property").text()
	input := selected("secrets", key)
	switch {
	case property == "":
		return input, "a remote secret without property is one value: name the key of the input that has it"
	case strings.ContainsAny(property, `*?#|@!{}[]()\`):
		return input, "the property is a query: write it in CEL, with json.decode"
	case !strings.Contains(property, "."):
		return selected(input, property), ""
	}
	// There it is a key with a dot, and if there is none a path.
	names := strings.Split(property, ".")
	inside := "json.decode(" + selected(input, names[0]) + ")"
	for _, name := range names[1:] {
		inside += celStep(fieldpath.FieldOrIndex(name), false)
	}
	n.note(decide + "the property may be a path into JSON, too: string(" + inside + ")")
	return selected(input, property), ""
}

// dataFrom is one entry of spec.dataFrom.
func (x external) dataFrom(c cursor) *node {
	n := mapping()
	var remote cursor
	switch generator := c.get("sourceRef", "generatorRef"); {
	case generator.there():
		x.generator(n, generator)
	case c.get("extract").there():
		remote = c.get("extract")
		x.extract(n, remote)
	case c.get("find").there():
		remote = c.get("find")
		x.find(n, remote)
	default:
		c.fault("must have extract, find or sourceRef.generatorRef")
	}
	var rules []*node
	for _, r := range c.get("rewrite").items() {
		rules = append(rules, rule(r))
	}
	n.with("rewrite", list(rules...))
	if remote.there() {
		n.withText("conversionStrategy", remote.get("conversionStrategy").text())
		n.withText("decodingStrategy", remote.get("decodingStrategy").text())
	}
	if x.templated {
		n.leaveOut()
	}
	return n
}

func (x external) extract(n *node, c cursor) {
	key, property := c.get("key").needed(), c.get("property").text()
	x.read[key] = true
	n.with("extract", mapping().withText("key", key).withText("property", property).short())
	if c.get("metadataPolicy").text() == "Fetch" {
		n.disable("metadataPolicy Fetch has no equal: use valueMap, with resource.metadata.labels")
	}
	if c.get("version").there() {
		n.note(decide + "there is no older version here: these are the values of now.")
	}
	if strings.Contains(property, ".") {
		n.note(decide + "each dot of the property is a step here: a key with a dot is [in.brackets].")
	}
}

// leaveOut what only a template reads.
func (n *node) leaveOut() *node {
	n.off = true
	return n.note("Only what the template gives is in the Secret there; this is what it reads.")
}

func (x external) find(n *node, c cursor) {
	f := mapping().withText("path", c.get("path").text())
	if name := c.get("name"); name.there() {
		f.with("name", mapping().withText("regexp", name.get("regexp").text()).short())
	}
	if tags := stringMap(c.get("tags").texts()); tags != nil {
		f.with("tags", tags.short())
	}
	n.with("find", f)
	n.note(decide + "a find goes over all connection details and Secret sources, as <input>/<key>, not over a store.")
}

// rule of rewrite. Each has the fields that it has there.
func rule(c cursor) *node {
	n := mapping()
	if r := c.get("regexp"); r.there() {
		n.with("regexp", mapping().with("source", textNode(r.get("source").text())).with("target", textNode(r.get("target").text())).short())
	}
	if t := c.get("transform"); t.there() {
		n.with("transform", mapping().with("template", textNode(t.get("template").text())).short())
	}
	if r := c.get("merge"); r.there() {
		var priority []string
		for _, p := range r.get("priority").items() {
			priority = append(priority, p.text())
		}
		into := r.get("into").text()
		if r.get("strategy").text() != "JSON" {
			into = "" // ignored there
		}
		merge := mapping().withText("strategy", r.get("strategy").text()).withText("into", into)
		merge.with("priority", stringsNode(priority)).withText("priorityPolicy", r.get("priorityPolicy").text())
		n.with("merge", merge.withText("conflictPolicy", r.get("conflictPolicy").text()).short())
	}
	if known := []string{"regexp", "transform", "merge"}; !slices.ContainsFunc(c.names(), func(s string) bool { return slices.Contains(known, s) }) {
		c.fault("must have regexp, merge or transform")
	}
	return n
}
