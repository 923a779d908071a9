package exportstest

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// Compare compares objects that were rendered with expected ones, as far as this function decides them: the objects
// that it composes, the status of the composite, which comes first, and its conditions. A generation that is not
// observed yet has random values, of which only the keys are compared.
func (r *Runner) Compare(want, got []map[string]any, observed map[string]bool) []Failure {
	p := &player{mask: r.mask, secrets: map[string]bool{}}
	expected, rendered := byName(want), byName(got)
	p.learn(rendered)
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if expected[name] == nil {
			p.fail(name, "is rendered, but not expected")
			continue
		}
		random := strings.HasPrefix(name, plan.GenerationPrefix) && !observed[name]
		a, b := projected(expected[name], random), projected(rendered[name], random)
		p.walk(name, a, b, comparison{isSecret(b), true})
	}
	for _, name := range slices.Sorted(maps.Keys(expected)) {
		if rendered[name] == nil && pipeline.IsOurs(expected[name]) {
			p.fail(name, "is expected, but not rendered")
		}
	}
	if len(want) > 0 && len(got) > 0 {
		was, is := conditionsOf(want[0]), conditionsOf(got[0])
		maps.DeleteFunc(was, func(kind string, _ any) bool { return is[kind] == nil }) // Crossplane writes the others
		p.walk("composite.status.conditions", was, is, comparison{exact: true})
		p.walk("composite.status", statusOf(want[0]), statusOf(got[0]), comparison{exact: true})
	}
	for i := range p.failures {
		p.failures[i].Field = strings.TrimPrefix(p.failures[i].Field, ".moments[0].")
	}
	return p.failures
}

// byName returns the composed objects.
func byName(objects []map[string]any) map[string]*structpb.Struct {
	out := map[string]*structpb.Struct{}
	for _, fields := range objects {
		if o := world.StructOf(fields); pipeline.NameOf(o) != "" {
			out[pipeline.NameOf(o)] = o
		}
	}
	return out
}

// projected returns what this function decides about an object.
func projected(o *structpb.Struct, random bool) map[string]any {
	out := withoutServer(decoded(o))
	delete(out, "status")
	if data, _ := out["data"].(map[string]any); random {
		for key := range data {
			data[key] = ""
		}
	}
	return out
}

// statusOf returns the status of a composite without its conditions.
func statusOf(composite map[string]any) map[string]any {
	status := maps.Clone(read(composite).Get("status").Object())
	delete(status, "conditions")
	delete(status, "claimConditionTypes")
	return status
}
