package migrate

import (
	"fmt"
	"strings"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

// A template is a composed resource of a Composition.
type template struct {
	decode.Value
	name  string
	where string // its path in the step, or in the Composition
	step  string // of the pipeline; empty in a Composition for Crossplane v1
}

// of returns where a field of the template is.
func (t template) of(path string) string {
	if t.step == "" {
		return t.where + "." + path
	}
	return t.where + "." + path + " of step " + t.step
}

// composition is a Composition with resource templates: of function-patch-and-transform, or its
// own, as in Crossplane v1.
func (m *migration) composition(c decode.Value) *step {
	spec := c.Get("spec")
	s := newStep("Put it after the steps that compose the resources that it reads.")
	var templates []template
	var ref decode.Value
	x := m.kindOfComposites(spec.Get("compositeTypeRef"))
	pipeline := spec.Get("mode").Text() == "Pipeline" || spec.Get("pipeline").Exists()
	if pipeline {
		templates, ref = s.pipeline(spec.Get("pipeline"), templated{xr: x, kinds: kindsOf(c.Object()), catalog: m.catalog})
	} else {
		templates = s.resources(spec.Get("resources"), "spec.resources", "")
	}
	s.connection(m, templates, ref, s.publishing(spec, !pipeline, x))
	for _, t := range templates {
		if base := t.Get("base"); isAzure(base.Get("apiVersion").Text()) {
			m.azure(s, base, t.name, func(path string) string { return t.of("base." + path) })
		}
	}
	if s.empty() && len(s.byHand) > 0 {
		e := mapping().withText("name", s.exportName("connection"))
		s.secrets.items = append(s.secrets.items, e.with("data", rawNode("[]")))
	}
	if s.empty() {
		m.reasons = append(m.reasons, s.reasons...)
		return nil
	}
	s.above = append(s.above, s.byHand...)
	if !pipeline {
		s.above = append(s.above, decide+"change the Composition to mode Pipeline first, with "+
			"function-patch-and-transform: Crossplane v2 has no other mode.")
	}
	return s
}

// pipeline returns the templates of all its steps, and the place where the last of them writes
// connection details.
func (s *step) pipeline(pipeline decode.Value, t templated) ([]template, decode.Value) {
	var templates []template
	var ref decode.Value
	s.steps = map[string]bool{}
	for _, p := range items(pipeline) {
		name := p.Get("step").Text()
		s.steps[name] = true
		input := p.Get("input")
		group, _, _ := strings.Cut(input.Get("apiVersion").Text(), "/")
		switch input.Get("kind").Text() {
		case "GoTemplate":
			if group == "gotemplating.fn.crossplane.io" {
				s.goTemplates(name, input, t)
			}
		case "Resources":
			if group != "pt.fn.crossplane.io" {
				continue
			}
			templates = append(templates, s.resources(input.Get("resources"), "resources", name)...)
			if r := input.Get("writeConnectionSecretToRef"); r.Exists() {
				ref = r
				s.remove = append(s.remove, "writeConnectionSecretToRef of step "+name)
			}
		case v1beta1.Kind:
			for _, e := range append(items(input.Get("secrets")), items(input.Get("configMaps"))...) {
				s.taken[e.Get("name").Text()] = true
			}
		}
	}
	return templates, ref
}

func (s *step) resources(list decode.Value, where, step string) []template {
	resources := items(list)
	out := make([]template, 0, len(resources))
	for i, r := range resources {
		t := template{r, r.Get("name").Text(), fmt.Sprintf("%s[%d]", where, i), step}
		if t.name == "" {
			if step != "" {
				needed(r.Get("name"))
			}
			// Crossplane's own converter to mode Pipeline does the same.
			t.name = fmt.Sprintf("resource-%d", i)
		}
		s.taken[t.name] = true
		out = append(out, t)
	}
	return out
}

// publishing reports whether the Composition declares a legacy composite, and where its Secret is.
func (s *step) publishing(spec decode.Value, legacy bool, x xr) published {
	namespace, store := spec.Get("writeConnectionSecretsToNamespace"),
		spec.Get("publishConnectionDetailsWithStoreConfigRef")
	if namespace.Exists() {
		s.remove = append(s.remove, "spec.writeConnectionSecretsToNamespace, once there are no legacy composites")
	}
	if store.Exists() {
		s.remove = append(s.remove, "spec.publishConnectionDetailsWithStoreConfigRef")
	}
	p := published{legacy || namespace.Exists() || store.Exists(), namespace.Text(), store.Exists(), x}
	if x.scope != "" {
		p.legacy = x.scope == catalog.LegacyCluster
	}
	return p
}

// published adds comments on the connection details of a legacy composite.
type published struct {
	legacy    bool
	namespace string
	store     bool
	xr        xr
}

// connection returns the Secret with the connection details of all templates.
func (s *step) connection(m *migration, templates []template, ref decode.Value, p published) {
	d := details{count: map[string]int{}, catalog: m.catalog}
	for _, t := range templates {
		if list := items(t.Get("connectionDetails")); len(list) > 0 {
			s.remove = append(s.remove, t.of("connectionDetails"))
			d.add(t, list)
		}
	}
	p.legacy = p.legacy || len(s.details) > 0 && p.xr.scope == "" // which are only for a legacy composite
	d.addTemplated(s.details)
	if len(d.entries) == 0 {
		return
	}
	if p.xr.scope == "" {
		p.legacy = p.legacy && !ref.Exists() // which is for a composite of Crossplane v2
	}
	e := mapping().withText("name", s.exportName("connection"))
	if p.legacy {
		p.describe(e)
	} else {
		placeConnection(e, ref, p.xr)
	}
	e.with("data", list(d.entries...).note(d.notes()...))
	if twice := d.twice(); len(twice) > 0 {
		e.field("data").note(decide + "these keys are written twice, and the later one wins, as before: " +
			strings.Join(twice, ", "))
		e.withText("conflictPolicy", string(v1beta1.ConflictLastWins))
	}
	if p.legacy {
		e.with("connectionDetails", rawNode(true))
	}
	s.secrets.items = append(s.secrets.items, e)
}

// describe adds comments on the place of a legacy composite's Secret. Crossplane writes its own
// Secret with the connection details, so this Secret must have another name.
func (p published) describe(e *node) {
	if p.xr.scope == "" {
		e.note(decide+"connectionDetails publishes for a legacy composite, as before, to its own Secret and its claim's.",
			"For a composite of Crossplane v2 remove connectionDetails and the namespace: there is only this Secret.")
	}
	if p.store {
		e.note(decide + "Crossplane v2 has no external secret stores: if you need one, push this Secret to it.")
	}
	if p.namespace != "" {
		e.with("metadata", mapping().withText("namespace", p.namespace))
	} else {
		e.note(decide + "set metadata.namespace for a cluster scoped composite without a claim.")
	}
}
