package migrate

import (
	"cmp"
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

// An xr is the kind of the composites of a Composition, as far as a definition of it is known.
type xr struct {
	schema *structpb.Struct
	scope  catalog.Scope // empty if it is not known
}

// kindOfComposites returns the kind in compositeTypeRef.
func (m *migration) kindOfComposites(ref decode.Value) xr {
	k := catalog.Kind{APIVersion: ref.Get("apiVersion").Text(), Kind: ref.Get("kind").Text()}
	if s := m.catalog.Find(k); s != nil {
		return xr{catalog.OfKind(s), m.catalog.ScopeOf(k)}
	}
	return xr{}
}

// typeAt returns the JSON type at a path, or nothing if it is not known.
func typeAt(s *structpb.Struct, path ...any) string {
	at, _ := catalog.At(s, path...)
	return at.GetFields()["type"].GetStringValue()
}

// kindsOf returns the kinds of the resources that a pipeline composes, by composition resource name.
func kindsOf(o map[string]any) map[string]catalog.Kind {
	kinds := map[string]catalog.Kind{}
	read, _ := composition.Read(o) // parts that cannot be read have no kinds
	if read == nil {
		return kinds
	}
	for _, s := range read.Steps {
		for _, r := range s.Resources {
			kinds[r.Name] = catalog.Kind{APIVersion: r.APIVersion, Kind: r.Kind}
		}
	}
	return kinds
}

// A template is a composed resource of a Composition.
type template struct {
	decode.Value
	name  string
	isV1  bool                     // of a Composition for Crossplane v1
	where func(path string) string // where a field of the template is, for comments
}

// composition is a Composition with resource templates: of function-patch-and-transform, or its
// own, as in Crossplane v1.
func (m *migration) composition(c decode.Value) *step {
	spec := c.Get("spec")
	s := newStep("Put it after the steps that compose the resources that it reads.")
	x := m.kindOfComposites(spec.Get("compositeTypeRef"))
	var templates []template
	var ref decode.Value
	isPipeline := spec.Get("mode").Text() == "Pipeline" || spec.Get("pipeline").Exists()
	if isPipeline {
		templates, ref = s.pipeline(spec.Get("pipeline"), templated{xr: x, kinds: kindsOf(c.Object()),
			catalog: m.catalog})
	} else {
		templates = s.resources(spec.Get("resources"), "")
	}
	s.connection(m, templates, ref, spec, x)
	for _, t := range templates {
		if base := t.Get("base"); isAzure(base.Get("apiVersion").Text()) {
			m.azure(s, base, t.name, func(path string) string { return t.where("base." + path) })
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
	if !isPipeline {
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
		name, input := p.Get("step").Text(), p.Get("input")
		s.steps[name] = true
		group, _, _ := strings.Cut(input.Get("apiVersion").Text(), "/")
		switch group + "/" + input.Get("kind").Text() {
		case "gotemplating.fn.crossplane.io/GoTemplate":
			s.goTemplates(name, input, t)
		case "pt.fn.crossplane.io/Resources":
			templates = append(templates, s.resources(input.Get("resources"), name)...)
			if r := input.Get("writeConnectionSecretToRef"); r.Exists() {
				ref = r
				s.remove = append(s.remove, "writeConnectionSecretToRef of step "+name)
			}
		case "export.fn.crossplane.io/" + v1beta1.Kind:
			for _, e := range append(items(input.Get("secrets")), items(input.Get("configMaps"))...) {
				s.taken[e.Get("name").Text()] = true
			}
		}
	}
	return templates, ref
}

// resources returns the templates of a step of the pipeline, or of a Composition for Crossplane v1.
func (s *step) resources(list decode.Value, step string) []template {
	resources := items(list)
	out := make([]template, 0, len(resources))
	for i, r := range resources {
		t := template{r, r.Get("name").Text(), step == "", func(path string) string {
			if step == "" {
				return fmt.Sprintf("spec.resources[%d].%s", i, path)
			}
			return fmt.Sprintf("resources[%d].%s of step %s", i, path, step)
		}}
		if t.name == "" && !t.isV1 {
			needed(r.Get("name"))
		}
		// Crossplane's own converter to mode Pipeline does the same.
		t.name = cmp.Or(t.name, fmt.Sprintf("resource-%d", i))
		s.taken[t.name] = true
		out = append(out, t)
	}
	return out
}
