package exportstest

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Compare compares objects that were rendered with expected ones, as far as this function decides them: the objects
// that it composes, the status of the composite, which comes first, and its conditions. A generation that is not
// observed yet has random values, of which only the keys are compared.
func (r *Runner) Compare(want, got []map[string]any, observed map[string]bool) []Failure {
	p := &player{mask: r.mask, secrets: map[string]bool{}}
	expected, rendered := byName(want), byName(got)
	for _, o := range rendered {
		for _, v := range pipeline.DataOf(o) {
			p.secrets[v] = p.secrets[v] || object.IsSecret(wire.Of(o))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if expected[name] == nil {
			p.failures = append(p.failures, Failure{Field: name, Message: "is rendered, but not expected"})
			continue
		}
		random := strings.HasPrefix(name, plan.GenerationPrefix) && !observed[name]
		a, b := projected(expected[name], random), projected(rendered[name], random)
		p.walk(name, a, b, comparison{isSecret(b), true})
	}
	for _, name := range slices.Sorted(maps.Keys(expected)) {
		if rendered[name] == nil && pipeline.IsOurs(expected[name]) {
			p.failures = append(p.failures, Failure{Field: name, Message: "is expected, but not rendered"})
		}
	}
	if len(want) > 0 && len(got) > 0 {
		rendered, types := statusOf(got[0], nil)
		expected, _ := statusOf(want[0], types)
		p.walk("composite.status", expected, rendered, comparison{exact: true})
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
	data, _ := out["data"].(map[string]any)
	if !random || data == nil {
		return out
	}
	keys := map[string]any{}
	for key := range data {
		keys[key] = ""
	}
	out["data"] = keys
	return out
}

// statusOf returns the status of a composite to compare, with the conditions of the given types by their types.
// Crossplane writes the others.
func statusOf(composite map[string]any, types map[string]bool) (status map[string]any, of map[string]bool) {
	status, _ = composite["status"].(map[string]any)
	status, of = maps.Clone(status), map[string]bool{}
	list, _ := status["conditions"].([]any)
	conditions := map[string]any{}
	for _, c := range list {
		fields, _ := c.(map[string]any)
		kind := textOf(fields["type"])
		if of[kind] = true; types == nil || types[kind] {
			conditions[kind] = map[string]any{
				"status": fields["status"], "reason": fields["reason"], fieldMessage: textOf(fields[fieldMessage]),
			}
		}
	}
	delete(status, "claimConditionTypes")
	if delete(status, "conditions"); len(conditions) > 0 {
		status["conditions"] = conditions
	}
	return status, of
}
