package exportstest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// Compare compares objects that were rendered with expected ones, as far as this function decides them: the objects that
// it composes, the status of the composite, which comes first, and its conditions. A generation that is not observed yet
// has random values, of which only the keys are compared.
func (r *Runner) Compare(want, got []map[string]any, observed map[string]bool) []Failure {
	p := &player{mask: r.mask, secrets: map[string]bool{}}
	expected, rendered := byName(want), byName(got)
	for _, o := range rendered {
		data, _ := o["data"].(map[string]any)
		for _, v := range data {
			p.secrets[textOf(v)] = p.secrets[textOf(v)] || isSecret(o)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		o := expected[name]
		if o == nil {
			p.failures = append(p.failures, Failure{Field: name, Message: "is rendered, but not expected"})
			continue
		}
		random := strings.HasPrefix(name, generationPrefix) && !observed[name]
		a, b := projected(o, random), projected(rendered[name], random)
		p.subset(name, a, b, isSecret(b))
		p.nothingElse(name, a, b)
	}
	for _, name := range slices.Sorted(maps.Keys(expected)) {
		if rendered[name] == nil && isOwn(expected[name]) {
			p.failures = append(p.failures, Failure{Field: name, Message: "is expected, but not rendered"})
		}
	}
	if len(want) > 0 && len(got) > 0 {
		p.compareStatus(want[0], got[0])
	}
	for i := range p.failures {
		p.failures[i].Field = strings.TrimPrefix(p.failures[i].Field, ".moments[0].")
	}
	return p.failures
}

// byName returns the composed objects.
func byName(objects []map[string]any) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, o := range objects {
		s, err := structpb.NewStruct(o)
		if err != nil {
			continue
		}
		if name := world.Meta(s, "annotations", world.ResourceNameAnnotation); name != "" {
			out[name] = decoded(s)
		}
	}
	return out
}

// isOwn reports whether an object is a generation, or has a mark of this function.
func isOwn(o map[string]any) bool {
	metadata, _ := o["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for key := range annotations {
		if strings.HasPrefix(key, "export.fn.crossplane.io/") {
			return true
		}
	}
	return false
}

// projected returns what this function decides about an object.
func projected(o map[string]any, random bool) map[string]any {
	out := withoutServer(o)
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

// compareStatus compares the status of the composite, and the conditions that are rendered.
func (p *player) compareStatus(want, got map[string]any) {
	expected, _ := want["status"].(map[string]any)
	rendered, _ := got["status"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(expected)) {
		if key != "conditions" && key != "claimConditionTypes" { // Crossplane writes them
			p.subset("composite.status."+key, expected[key], rendered[key], false)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(rendered)) {
		if expected[key] == nil {
			p.failures = append(p.failures, Failure{Field: "composite.status." + key, Message: "is rendered, but not expected"})
		}
	}
	conditions := map[any]any{}
	list, _ := expected["conditions"].([]any)
	for _, c := range list {
		fields, _ := c.(map[string]any)
		conditions[fields["type"]] = c
	}
	list, _ = rendered["conditions"].([]any)
	for _, c := range list {
		fields, _ := c.(map[string]any)
		e, _ := conditions[fields["type"]].(map[string]any)
		for _, name := range []string{"status", "reason", "message"} {
			if e != nil && withoutCause(e[name]) != withoutCause(fields[name]) {
				text := fmt.Sprintf("differs\n- %s\n+ %s", textOf(e[name]), textOf(fields[name]))
				p.failures = append(p.failures, Failure{Field: "composite.status.conditions." + name, Message: text})
			}
		}
	}
}

// uncomposed is why a resource is missing that a skipped step composes.
var uncomposed = lazy.MustCompile(`\((?:it does not exist yet|` + advice.Uncomposed + `[^)]*)\)`)

// withoutCause returns a text of a condition that does not depend on whether other steps ran.
func withoutCause(v any) string { return uncomposed.ReplaceAllString(textOf(v), "(missing)") }
