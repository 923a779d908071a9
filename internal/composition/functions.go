package composition

import (
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
)

// A function has any name that it was installed under, so it is known by the API
// group of its input.
var functions = map[string]func(s *Step, input value, before []Step){
	"pt.fn.crossplane.io":                 patchAndTransform,
	"conditional-pt.fn.crossplane.io":     patchAndTransform,
	"gotemplating.fn.crossplane.io":       goTemplate,
	"environmentconfigs.fn.crossplane.io": environmentConfigs,
	"export.fn.crossplane.io":             exports,
	"kro.fn.crossplane.io":                resourceGraph,
	"dummy.fn.crossplane.io":              dummy,

	// They change, drop or look at what others compose, write the composite's status, or
	// read something into the context.
	"autoready.fn.crossplane.io":                   nothing,
	"cel.fn.crossplane.io":                         nothing,
	"extra-resources.fn.crossplane.io":             nothing,
	"function-status-transformer.fn.crossplane.io": nothing,
	"managed-resource-hook.fn.crossplane.io":       nothing,
	"shell.fn.crossplane.io":                       nothing,
	"tag-manager.fn.crossplane.io":                 nothing,
	"tags.fn.crossplane.io":                        nothing,
	"unittest.fn.crossplane.io":                    nothing,

	// These two compose Usages under names that they make of others: there is nothing in a
	// Usage to read.
	"protection.fn.crossplane.io": nothing,
	"sequencer.fn.crossplane.io":  nothing,
}

// autoReady is in the name of a function that composes nothing, and that most use
// without an input to know it by.
const autoReady = "auto-ready"

func nothing(*Step, value, []Step) {}

// patchAndTransform names each resource. The Secret that it makes of all connection
// details has a name of its own, which no expression needs.
func patchAndTransform(s *Step, input value, before []Step) {
	if input.field("writeConnectionSecretToRef").there() {
		s.Opaque = true // the Secret is composed under a name of its own
	}
	sets := map[string]bool{} // whether one changes the kind
	for _, set := range input.field("patchSets").list() {
		sets[set.field("name").text()] = changesKind(set.field("patches"), nil)
	}
	for _, r := range input.field("resources").list() {
		patched := changesKind(r.field("patches"), sets)
		apiVersion, kind := typeOf(r.field("base"))
		name := r.field("name")
		if name.text() == "" {
			s.Opaque = true
			continue
		}
		if !r.field("base").there() { // it patches what an earlier step composes
			apiVersion, kind = last(before, name.text())
		}
		if patched {
			apiVersion, kind = "", ""
		}
		s.Resources = append(s.Resources, Resource{Name: name.text(), APIVersion: apiVersion, Kind: kind})
	}
}

// changesKind reports whether one of the patches writes apiVersion or kind.
func changesKind(patches value, sets map[string]bool) bool {
	changes := false
	for _, p := range patches.list() {
		from, to, set := p.field("fromFieldPath").text(), p.field("toFieldPath").text(), p.field("patchSetName").text()
		switch p.field("type").text() {
		case "PatchSet":
			changes = changes || sets[set]
		case "", "FromCompositeFieldPath", "FromEnvironmentFieldPath":
			if to == "" {
				to = from
			}
			changes = changes || isKind(to)
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

// typeOf is the kind of an object, if all of it is there.
func typeOf(object value) (apiVersion, kind string) {
	apiVersion, kind = object.field("apiVersion").text(), object.field("kind").text()
	if apiVersion == "" || kind == "" {
		return "", ""
	}
	return apiVersion, kind
}

func environmentConfigs(s *Step, input value, _ []Step) {
	s.Environment = input.field("spec").object()
}

// exports are this module's own. Generations, and what a composite's author asks
// for, have names that no expression reads.
func exports(s *Step, input value, _ []Step) {
	for _, list := range []struct{ field, kind string }{{"secrets", "Secret"}, {"configMaps", "ConfigMap"}} {
		for _, e := range input.field(list.field).list() {
			if name := e.field("name"); name.text() != "" {
				s.Resources = append(s.Resources, Resource{Name: name.text(), APIVersion: "v1", Kind: list.kind})
			}
		}
	}
}

// resourceGraph is of function-kro. One that is there for each item of a list is
// several resources, whose names are made.
func resourceGraph(s *Step, input value, _ []Step) {
	for _, r := range input.field("resources").list() {
		id := r.field("id")
		apiVersion, kind := typeOf(r.field("template"))
		if strings.Contains(apiVersion+kind, "${") {
			apiVersion, kind = "", ""
		}
		switch {
		case r.field("externalRef").there():
		case r.field("forEach").there() || id.text() == "":
			s.Opaque = true
		default:
			s.Resources = append(s.Resources, Resource{Name: id.text(), APIVersion: apiVersion, Kind: kind})
		}
	}
}

// dummy answers with what its input says.
func dummy(s *Step, input value, _ []Step) {
	resources := input.field("response").field("desired").field("resources")
	for _, name := range slices.Sorted(maps.Keys(resources.object())) {
		r := resources.field(name)
		apiVersion, kind := typeOf(r.field("resource"))
		s.Resources = append(s.Resources, Resource{Name: name, APIVersion: apiVersion, Kind: kind})
	}
}
