package exportstest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// A snapshot is what exists at the end of a moment. Its texts are those that a test writes: data of Secrets is decoded.
type snapshot struct {
	name         string
	at           time.Time
	objects      map[string]any // by composition resource name
	stored       map[string]*structpb.Struct
	composite    map[string]any
	conditions   map[string]any
	results      []any
	requirements map[string]any
}

// fieldMessage is the field of conditions and of results with a text.
const fieldMessage = "message"

// now returns the current moment, and before the one before it. The one before the first is empty.
func (p *player) now() *snapshot    { return p.moments[len(p.moments)-1] }
func (p *player) before() *snapshot { return p.moments[len(p.moments)-2] }

// snapshot returns what exists now.
func (p *player) snapshot(name string) *snapshot {
	s := &snapshot{
		name: name, at: p.w.Now, objects: map[string]any{}, stored: map[string]*structpb.Struct{},
		composite: p.w.XR.AsMap(), conditions: map[string]any{}, results: []any{}, requirements: map[string]any{},
	}
	for name, key := range p.named() {
		o := p.w.Stored[key]
		s.stored[name], s.objects[name] = o, decoded(o)
	}
	p.learn(p.w.Stored)
	for _, c := range slices.Backward(p.w.Response.GetConditions()) {
		s.conditions[c.GetType()] = map[string]any{
			"type": c.GetType(), "status": word(c.GetStatus()), "reason": c.GetReason(), fieldMessage: c.GetMessage(),
		}
	}
	for _, r := range p.w.Response.GetResults() {
		s.results = append(s.results, map[string]any{"severity": word(r.GetSeverity()), fieldMessage: r.GetMessage()})
	}
	for name, r := range p.w.Response.GetRequirements().GetResources() {
		s.requirements[name] = map[string]any{
			"apiVersion": r.GetApiVersion(), "kind": r.GetKind(), "namespace": r.GetNamespace(), "name": r.GetMatchName(),
		}
	}
	return s
}

// A Reading is what a cluster has at the end of a moment.
type Reading struct {
	At        time.Time
	Composite *structpb.Struct
	Objects   []*structpb.Struct // that Crossplane composes
}

// Check compares the last one of the readings of a cluster, one for each moment, with what that moment expects. It is
// the comparison of a simulated run. Readings have no results and no requirements.
func (r *Runner) Check(ctx context.Context, t *ExportsTest, index int, setup *Setup, readings []Reading) []Failure {
	p := r.start(t, &t.Spec.Tests[index], fmt.Sprintf("spec.tests[%d]", index), setup)
	for i, reading := range readings {
		p.moment = i
		p.w.Now, p.w.XR, p.w.Stored = reading.At, reading.Composite, map[string]*structpb.Struct{}
		for _, o := range reading.Objects {
			p.w.Stored[world.KeyOf(o)] = o
		}
		p.moments = append(p.moments, p.snapshot(p.test.Moments[i].Name))
		p.now().conditions = conditionsOf(p.now().composite)
	}
	if e := p.test.Moments[p.moment].Expect; e != nil {
		p.expect(ctx, e)
	}
	return p.failures
}

// conditionsOf returns the conditions that a composite has, by their types.
func conditionsOf(composite map[string]any) map[string]any {
	out := map[string]any{}
	for _, c := range read(composite).Get("status", "conditions").List() {
		text := func(field string) string { return c.Get(field).Text() }
		out[text("type")] = fieldsOf(map[string]any{
			"type": text("type"), "status": text("status"), "reason": text("reason"), fieldMessage: text(fieldMessage),
		})
	}
	return out
}

// named returns the keys of the composed objects by their composition resource names.
func (p *player) named() map[string]string {
	out := map[string]string{}
	for key, o := range p.w.Stored {
		if name := pipeline.NameOf(o); name != "" {
			out[name] = key
		}
	}
	return out
}

// decoded returns an object with the data of a Secret as text.
func decoded(o *structpb.Struct) map[string]any {
	out := o.AsMap()
	if _, ok := out["data"].(map[string]any); ok && isSecret(out) {
		data := map[string]any{}
		for key, text := range pipeline.DataOf(o) {
			data[key] = text
		}
		out["data"] = data
	}
	return out
}

// word returns the last word of the name of an enumeration's value, as Crossplane writes it: Warning, True.
func word(name fmt.Stringer) string {
	text := name.String()
	text = text[strings.LastIndex(text, "_")+1:]
	return text[:1] + strings.ToLower(text[1:])
}

// nameOf returns the composition resource name that an item of changed, kept or gone means.
func nameOf(item any) string {
	switch item := item.(type) {
	case string:
		return item
	case map[string]any:
		if text, ok := item["generation"].(string); ok && len(item) == 1 && strings.Contains(text, "/") {
			return plan.GenerationPrefix + text
		}
	}
	return ""
}

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
		p.failures[i].Field, p.failures[i].Line = strings.TrimPrefix(p.failures[i].Field, ".moments[0]."), 1
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
