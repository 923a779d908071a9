package exportstest

import (
	"fmt"
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

// newSnapshot returns a snapshot without anything.
func newSnapshot(name string, at time.Time) *snapshot {
	return &snapshot{
		name: name, at: at, objects: map[string]any{}, stored: map[string]*structpb.Struct{},
		composite: map[string]any{}, conditions: map[string]any{}, results: []any{}, requirements: map[string]any{},
	}
}

func (p *player) snapshot(name string) *snapshot {
	s := newSnapshot(name, p.w.Now)
	s.composite = p.w.XR.AsMap()
	for name, key := range p.named() {
		o := p.w.Stored[key]
		s.stored[name] = o
		s.objects[name] = decoded(o)
	}
	p.learn()
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

// isDeleting reports whether an object is being deleted.
func isDeleting(o *structpb.Struct) bool { return world.Meta(o, "deletionTimestamp") != "" }

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
