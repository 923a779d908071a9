package composition

import (
	"cmp"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/decode"
	"github.com/crossplane-contrib/function-export/internal/engine/fieldpath"
)

// A function is identified by the API group of its input, because it can be installed with any name.
var functions = map[string]func(s *Step, input decode.Value, before []Step){
	"pt.fn.crossplane.io":                 patchAndTransform,
	"conditional-pt.fn.crossplane.io":     patchAndTransform,
	"gotemplating.fn.crossplane.io":       goTemplate,
	"environmentconfigs.fn.crossplane.io": environmentConfigs,
	"export.fn.crossplane.io":             exports,
	"kro.fn.crossplane.io":                resourceGraph,
	"dummy.fn.crossplane.io":              dummy,

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

func patchAndTransform(s *Step, input decode.Value, before []Step) {
	if input.Get("writeConnectionSecretToRef").Exists() {
		s.Opaque = true // the Secret is composed under a name of its own
	}
	sets := map[string]bool{} // whether a set of patches changes the kind
	for _, set := range input.Get("patchSets").List() {
		sets[set.Get("name").Text()] = changesKind(set.Get("patches"), nil)
	}
	for _, r := range input.Get("resources").List() {
		patched := changesKind(r.Get("patches"), sets)
		apiVersion, kind := typeOf(r.Get("base"))
		name := r.Get("name")
		if name.Text() == "" {
			s.Opaque = true
			continue
		}
		if !r.Get("base").Exists() { // it patches a resource of an earlier step
			apiVersion, kind = last(before, name.Text())
		}
		if patched {
			apiVersion, kind = "", ""
		}
		base := r.Get("base")
		out := Resource{Name: name.Text(), APIVersion: apiVersion, Kind: kind, Base: base.Object()}
		out.Object = objectName(base.Get("metadata", "name").Text(), r.Get("patches"))
		out.Namespace = base.Get("metadata", "namespace").Text()
		s.Resources = append(s.Resources, out)
		for _, p := range r.Get("patches").List() {
			to := cmp.Or(p.Get("toFieldPath").Text(), p.Get("fromFieldPath").Text())
			if path, ok := strings.CutPrefix(to, "status."); ok && p.Get("type").Text() == "ToCompositeFieldPath" {
				s.Status = append(s.Status, path)
			}
		}
	}
}

// objectName returns the name of an object after the patches, if it is literal, or the composite's name in a format.
func objectName(literal string, patches decode.Value) string {
	for _, p := range patches.List() {
		switch {
		case p.Get("type").Text() == "PatchSet", cmp.Or(p.Get("toFieldPath").Text(), p.Get("fromFieldPath").Text()) != "metadata.name":
			continue
		case p.Get("fromFieldPath").Text() != "metadata.name",
			cmp.Or(p.Get("type").Text(), "FromCompositeFieldPath") != "FromCompositeFieldPath":
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

// changesKind reports whether one of the patches writes apiVersion or kind.
func changesKind(patches decode.Value, sets map[string]bool) bool {
	changes := false
	for _, p := range patches.List() {
		from, to, set := p.Get("fromFieldPath").Text(), p.Get("toFieldPath").Text(), p.Get("patchSetName").Text()
		switch p.Get("type").Text() {
		case "PatchSet":
			changes = changes || sets[set]
		case "", "FromCompositeFieldPath", "FromEnvironmentFieldPath":
			changes = changes || isKind(cmp.Or(to, from))
		case "CombineFromComposite", "CombineFromEnvironment":
			changes = changes || isKind(to)
		}
	}
	return changes
}

// isKind reports whether a field path is, or may be, apiVersion or kind.
func isKind(path string) bool {
	segments, err := fieldpath.Parse(path)
	if err != nil || len(segments) == 0 {
		return false
	}
	return slices.Contains([]string{"apiVersion", "kind", "*"}, segments[0].Field)
}

// typeOf returns the kind of an object, or an empty kind if a part of it is missing.
func typeOf(object decode.Value) (apiVersion, kind string) {
	apiVersion, kind = object.Get("apiVersion").Text(), object.Get("kind").Text()
	if apiVersion == "" || kind == "" {
		return "", ""
	}
	return apiVersion, kind
}

func environmentConfigs(s *Step, input decode.Value, _ []Step) {
	s.Environment = input.Get("spec").Object()
}

// exports reads this function's own input. No expression reads generations, or exports of composite
// authors.
func exports(s *Step, input decode.Value, _ []Step) {
	for _, list := range []struct{ field, kind string }{{"secrets", "Secret"}, {"configMaps", "ConfigMap"}} {
		for _, e := range input.Get(list.field).List() {
			if name := e.Get("name"); name.Text() != "" {
				s.Resources = append(s.Resources, Resource{Name: name.Text(), APIVersion: "v1", Kind: list.kind})
			}
		}
	}
}

// resourceGraph reads the input of function-kro. A resource with forEach becomes several, whose names
// are computed.
func resourceGraph(s *Step, input decode.Value, _ []Step) {
	for _, r := range input.Get("resources").List() {
		id := r.Get("id")
		apiVersion, kind := typeOf(r.Get("template"))
		if strings.Contains(apiVersion+kind, "${") {
			apiVersion, kind = "", ""
		}
		switch {
		case r.Get("externalRef").Exists():
		case r.Get("forEach").Exists() || id.Text() == "":
			s.Opaque = true
		default:
			s.Resources = append(s.Resources, Resource{Name: id.Text(), APIVersion: apiVersion, Kind: kind})
		}
	}
}

// dummy reads the response in the input.
func dummy(s *Step, input decode.Value, _ []Step) {
	resources := input.Get("response", "desired", "resources")
	for _, name := range resources.Keys() {
		apiVersion, kind := typeOf(resources.Get(name, "resource"))
		s.Resources = append(s.Resources, Resource{Name: name, APIVersion: apiVersion, Kind: kind})
	}
}
