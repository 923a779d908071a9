package migrate

import (
	"fmt"
	"strings"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// A template is a composed resource of a Composition.
type template struct {
	cursor
	name  string
	where string // its path in the step, or in the Composition
	step  string // the pipeline step that has it; empty before Crossplane had any
}

// of says where a field of the template is.
func (t template) of(path string) string {
	if t.step == "" {
		return t.where + "." + path
	}
	return t.where + "." + path + " of step " + t.step
}

// composition is a Composition with resource templates: of function-patch-and-transform,
// or of its own as Crossplane v1 had them.
func (m *migration) composition(c cursor) *step {
	spec := c.get("spec")
	s := newStep()
	s.above = []string{title(c), "Put it behind the steps that compose what it reads."}
	var templates []template
	var ref *cursor
	pipeline := spec.get("mode").text() == "Pipeline" || spec.get("pipeline").there()
	if pipeline {
		templates, ref = s.pipeline(spec.get("pipeline"))
	} else {
		templates = s.resources(spec.get("resources"), "spec.resources", "")
	}
	s.connection(templates, ref, s.publishing(spec, !pipeline))
	for _, t := range templates {
		if base := t.get("base"); isAzure(base.get("apiVersion").text()) {
			m.azure(s, base, t.name, func(path string) string { return t.of("base." + path) })
		}
	}
	if s.empty() && len(s.byHand) > 0 {
		e := mapping().withText("name", s.exportName("connection"))
		s.secrets.items = append(s.secrets.items, e.with("data", rawNode("[]")))
	}
	if s.empty() {
		return nil
	}
	s.above = append(s.above, s.byHand...)
	if !pipeline {
		s.above = append(s.above, decide+"bring the Composition into mode Pipeline first, with function-patch-and-transform: Crossplane v2 has no other.")
	}
	return s
}

// connectionKind is what function-go-templating publishes connection details by.
const connectionKind = "CompositeConnectionDetails"

// pipeline are the templates of all its steps, and where the last of them writes
// the connection details to.
func (s *step) pipeline(pipeline cursor) ([]template, *cursor) {
	var templates []template
	var ref *cursor
	steps := map[string]bool{}
	for _, p := range pipeline.items() {
		name := p.get("step").text()
		steps[name] = true
		input := p.get("input")
		group, _, _ := strings.Cut(input.get("apiVersion").text(), "/")
		switch input.get("kind").text() {
		case "GoTemplate":
			if group == "gotemplating.fn.crossplane.io" && strings.Contains(input.get("inline", "template").text(), connectionKind) {
				s.byHand = append(s.byHand, fmt.Sprintf("%sstep %s has %s in a Go template, which cannot be translated: write its keys by hand, as data of a Secret.", decide, name, connectionKind))
				s.remove = append(s.remove, connectionKind+" of step "+name)
			}
		case "Resources":
			if group != "pt.fn.crossplane.io" {
				continue
			}
			templates = append(templates, s.resources(input.get("resources"), "resources", name)...)
			if r := input.get("writeConnectionSecretToRef"); r.there() {
				ref = &r
				s.remove = append(s.remove, "writeConnectionSecretToRef of step "+name)
			}
		case v1beta1.Kind:
			for _, e := range append(input.get("secrets").items(), input.get("configMaps").items()...) {
				s.taken[e.get("name").text()] = true
			}
		}
	}
	s.steps = steps
	return templates, ref
}

func (s *step) resources(list cursor, where, step string) []template {
	var out []template
	for i, r := range list.items() {
		t := template{r, r.get("name").text(), fmt.Sprintf("%s[%d]", where, i), step}
		if t.name == "" {
			if step != "" {
				r.get("name").needed()
			}
			// So does Crossplane's own converter to mode Pipeline.
			t.name = fmt.Sprintf("resource-%d", i)
		}
		s.taken[t.name] = true
		out = append(out, t)
	}
	return out
}

// publishing reports whether the composite is a legacy one, as far as the Composition
// says so, and where its Secret is.
func (s *step) publishing(spec cursor, legacy bool) published {
	namespace, store := spec.get("writeConnectionSecretsToNamespace"), spec.get("publishConnectionDetailsWithStoreConfigRef")
	if namespace.there() {
		s.remove = append(s.remove, "spec.writeConnectionSecretsToNamespace, once no composite is a legacy one")
	}
	if store.there() {
		s.remove = append(s.remove, "spec.publishConnectionDetailsWithStoreConfigRef")
	}
	return published{legacy || namespace.there() || store.there(), namespace.text(), store.there()}
}

// published says what becomes of a legacy composite's connection details.
type published struct {
	legacy    bool
	namespace string
	store     bool
}

// connection is the Secret that has the connection details of all templates.
func (s *step) connection(templates []template, ref *cursor, p published) {
	d := details{count: map[string]int{}}
	for _, t := range templates {
		if list := t.get("connectionDetails").items(); len(list) > 0 {
			s.remove = append(s.remove, t.of("connectionDetails"))
			d.add(t, list)
		}
	}
	if len(d.entries) == 0 {
		return
	}
	p.legacy = p.legacy && ref == nil // which is for a composite of Crossplane v2
	e := mapping().withText("name", s.exportName("connection"))
	if p.legacy {
		p.describe(e)
	} else {
		placeConnection(e, ref)
	}
	e.with("data", list(d.entries...).note(d.notes()...))
	if twice := d.twice(); len(twice) > 0 {
		e.field("data").note(decide + "these keys are written twice, and the later one wins, as before: " + strings.Join(twice, ", "))
		e.withText("conflictPolicy", string(v1beta1.ConflictLastWins))
	}
	if p.legacy {
		e.with("connectionDetails", rawNode(true))
	}
	s.secrets.items = append(s.secrets.items, e)
}

// describe where a legacy composite's Secret goes. Crossplane writes one of its own
// with the connection details, so that this one must have another name.
func (p published) describe(e *node) {
	e.note(decide+"connectionDetails publishes for a legacy composite, as before, to its own Secret and its claim's.",
		"For a composite of Crossplane v2 drop it, and with it the namespace: this Secret is all there is.")
	if p.store {
		e.note(decide + "there is no external secret store any more: push this Secret there, if you need to.")
	}
	if p.namespace != "" {
		e.with("metadata", mapping().withText("namespace", p.namespace))
	} else {
		e.note(decide + "set metadata.namespace for a cluster scoped composite without a claim.")
	}
}
