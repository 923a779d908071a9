package composition

import (
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/gotemplate"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

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
