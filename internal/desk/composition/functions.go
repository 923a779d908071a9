package composition

import (
	"cmp"
	"strings"

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
