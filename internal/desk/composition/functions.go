package composition

import (
	"cmp"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/gotemplate"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

// A function is identified by the API group of its input, because it can be installed with any name.
var functions = map[string]func(s *Step, input decode.Value){
	"pt.fn.crossplane.io":                 patchAndTransform,
	"conditional-pt.fn.crossplane.io":     patchAndTransform,
	"gotemplating.fn.crossplane.io":       goTemplate,
	"environmentconfigs.fn.crossplane.io": environmentConfigs,
	"export.fn.crossplane.io":             exports,

	// They change, remove or read resources of other steps, write the composite's status, or write
	// the context.
	"autoready.fn.crossplane.io":                   nil,
	"cel.fn.crossplane.io":                         nil,
	"extra-resources.fn.crossplane.io":             nil,
	"function-status-transformer.fn.crossplane.io": nil,
	"managed-resource-hook.fn.crossplane.io":       nil,
	"shell.fn.crossplane.io":                       nil,
	"tag-manager.fn.crossplane.io":                 nil,
	"tags.fn.crossplane.io":                        nil,
	"unittest.fn.crossplane.io":                    nil,

	// They compose Usages, which have nothing to read.
	"protection.fn.crossplane.io": nil,
	"sequencer.fn.crossplane.io":  nil,
}

// autoReady is part of the name of a function that composes nothing, and usually has no input.
const autoReady = "auto-ready"

func patchAndTransform(s *Step, input decode.Value) {
	if input.Get("writeConnectionSecretToRef").Exists() {
		s.Opaque = true // the Secret is composed under a name of its own
	}
	for _, r := range input.Get("resources").List() {
		name, base := r.Get("name").Text(), r.Get("base")
		if name == "" {
			s.Opaque = true
			continue
		}
		out := Resource{Name: name, Base: base.Object(), Namespace: base.Get("metadata", "namespace").Text()}
		out.APIVersion, out.Kind = typeOf(base)
		out.Object = objectName(base.Get("metadata", "name").Text(), r.Get("patches"))
		for _, p := range r.Get("patches").List() {
			to := cmp.Or(p.Get("toFieldPath").Text(), p.Get("fromFieldPath").Text())
			path, isStatus := strings.CutPrefix(to, "status.")
			switch isToComposite := p.Get("type").Text() == "ToCompositeFieldPath"; {
			case isStatus && isToComposite:
				s.Status = append(s.Status, path)
			case !isToComposite && (to == "apiVersion" || to == "kind"):
				out.APIVersion, out.Kind = "", ""
			}
		}
		s.Resources = append(s.Resources, out)
	}
}

// objectName returns the name of an object after the patches, if it is literal, or the composite's name in a format.
func objectName(literal string, patches decode.Value) string {
	for _, p := range patches.List() {
		from, kind := p.Get("fromFieldPath").Text(), cmp.Or(p.Get("type").Text(), "FromCompositeFieldPath")
		switch {
		case kind == "PatchSet", cmp.Or(p.Get("toFieldPath").Text(), from) != "metadata.name":
			continue
		case from != "metadata.name", kind != "FromCompositeFieldPath":
			return ""
		}
		literal = CompositeName
		for _, t := range p.Get("transforms").List() {
			format := t.Get("string", "fmt").Text()
			if strings.Count(format, "%") != 1 || !strings.Contains(format, "%s") {
				return ""
			}
			literal = strings.Replace(format, "%s", literal, 1)
		}
	}
	return literal
}

// typeOf returns the kind of an object, or an empty kind if a part of it is missing.
func typeOf(object decode.Value) (apiVersion, kind string) {
	apiVersion, kind = object.Get("apiVersion").Text(), object.Get("kind").Text()
	if apiVersion == "" || kind == "" {
		return "", ""
	}
	return apiVersion, kind
}

func environmentConfigs(s *Step, input decode.Value) {
	s.Environment = input.Get("spec").Object()
}

// exports reads this function's own input. No expression reads generations, or exports of composite
// authors.
func exports(s *Step, input decode.Value) {
	for _, list := range []struct{ field, kind string }{{"secrets", "Secret"}, {"configMaps", "ConfigMap"}} {
		for _, e := range input.Get(list.field).List() {
			if name := e.Get("name"); name.Text() != "" {
				s.Resources = append(s.Resources, Resource{Name: name.Text(), APIVersion: "v1", Kind: list.kind})
			}
		}
	}
}

// goTemplateMeta begins the API versions of function-go-templating's own objects, which are not composed.
const goTemplateMeta = "meta.gotemplating.fn.crossplane.io/"

// goTemplate returns the manifests of an inline template whose names are literal. There may be other
// manifests, and some of these may not be composed, because a template has loops and branches.
func goTemplate(s *Step, input decode.Value) {
	s.Opaque = true
	if input.Get("source").Text() != "Inline" {
		return
	}
	left, right := input.Get("delims", "left").Text(), input.Get("delims", "right").Text()
	inline := input.Get("inline")
	for _, part := range append([]decode.Value{inline.Get("template")}, inline.Get("templates").List()...) {
		m, err := gotemplate.Parse(part.Text(), left, right, gotemplate.Data{Lookup: compositeName})
		if err != nil {
			continue // it renders nothing
		}
		for _, d := range m.Documents {
			if d.ReadPartly() == nil {
				s.Resources = append(s.Resources, resourcesOf(d)...)
			}
		}
	}
}

// compositeMark is the name of the composite in a template. YAML allows the character in plain text.
const compositeMark = "\ue004"

// compositeName returns the name of the composite. All other data is only known when the template is rendered.
func compositeName(path []any, _ bool) (gotemplate.Expr, error) {
	if slices.Equal(path, []any{"observed", "composite", "resource", "metadata", "name"}) {
		return gotemplate.Literal(compositeMark), nil
	}
	return gotemplate.Of("data", gotemplate.Any), nil
}

// resourcesOf returns the possible resources of a manifest: one for each name, because branches can repeat a field.
func resourcesOf(d *gotemplate.Document) []Resource {
	apiVersion, kind := only(d, "apiVersion"), only(d, "kind")
	if strings.HasPrefix(apiVersion, goTemplateMeta) {
		return nil
	}
	if apiVersion == "" || kind == "" || strings.Contains(apiVersion+kind, compositeMark) {
		apiVersion, kind = "", ""
	}
	object := strings.ReplaceAll(only(d, "metadata", "name"), compositeMark, CompositeName)
	names, _ := d.Literals("metadata", "annotations", gotemplate.ResourceName)
	var out []Resource
	for _, name := range names {
		if !strings.Contains(name, compositeMark) {
			out = append(out, Resource{Name: name, APIVersion: apiVersion, Kind: kind, Object: object})
		}
	}
	return out
}

// only returns the one literal that a field always has, or nothing.
func only(d *gotemplate.Document, path ...string) string {
	if texts, known := d.Literals(path...); known && len(texts) == 1 {
		return texts[0]
	}
	return ""
}
