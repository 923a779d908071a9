package composition

import (
	"math"

	"google.golang.org/protobuf/types/known/structpb"
)

// Schema returns the schema of a kind as far as the literal manifests of the Composition show it: the types of the
// values that they set, and further examples. All other fields may exist. It is nil if no manifest has the kind.
func (c *Composition) Schema(apiVersion, kind string, examples ...map[string]any) *structpb.Struct {
	for _, s := range c.Steps {
		for _, r := range s.Resources {
			if r.Base != nil && r.APIVersion == apiVersion && r.Kind == kind {
				examples = append(examples, r.Base)
			}
		}
	}
	if len(examples) == 0 {
		return nil
	}
	all := shows(examples[0])
	for _, e := range examples[1:] {
		all = both(all, shows(e))
	}
	out, err := structpb.NewStruct(all)
	if err != nil { // a name is not in UTF-8
		return nil
	}
	return out
}

// shows returns the schema that a value shows. Types that are easily confused with others are left out: a text may be
// one of several forms, and the items of a list may differ.
func shows(v any) map[string]any {
	switch t := v.(type) {
	case bool:
		return map[string]any{"type": "boolean"}
	case float64:
		if t == math.Trunc(t) {
			return map[string]any{"type": "integer"}
		}
	case map[string]any:
		properties := map[string]any{}
		for name, e := range t {
			properties[name] = shows(e)
		}
		return map[string]any{"type": "object", "properties": properties, "x-kubernetes-preserve-unknown-fields": true}
	}
	return map[string]any{}
}

// both returns what two schemas show that do not contradict each other.
func both(a, b map[string]any) map[string]any {
	properties, isObject := a["properties"].(map[string]any)
	switch {
	case a["type"] != b["type"]:
		return map[string]any{}
	case !isObject:
		return a
	}
	others, _ := b["properties"].(map[string]any)
	for name, other := range others {
		if former, ok := properties[name].(map[string]any); ok {
			shown, _ := other.(map[string]any)
			other = both(former, shown)
		}
		properties[name] = other
	}
	return a
}
