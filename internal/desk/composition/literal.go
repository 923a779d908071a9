package composition

import (
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"
)

// Schema returns the schema of a kind as far as the literal manifests of the Composition show it: the types of the
// values that they set, and further examples. All other fields may exist. It is nil if no manifest has the kind.
func (c *Composition) Schema(apiVersion, kind string, examples ...map[string]any) *structpb.Struct {
	var out *structpb.Struct
	for _, s := range c.Steps {
		for _, r := range s.Resources {
			if r.Base != nil && r.APIVersion == apiVersion && r.Kind == kind {
				examples = append(examples, r.Base)
			}
		}
	}
	for _, e := range examples {
		shown := shows(e)
		if out != nil {
			shown = both(out, shown)
		}
		out = shown
	}
	return out
}

// shows returns the schema that a value shows. Types that are easily confused with others are left out: a text may be
// one of several forms, and the items of a list may differ.
func shows(v any) *structpb.Struct {
	switch t := v.(type) {
	case bool:
		return ofType("boolean")
	case float64:
		if t == math.Trunc(t) {
			return ofType("integer")
		}
	case map[string]any:
		properties := map[string]*structpb.Value{}
		for name, e := range t {
			properties[name] = structpb.NewStructValue(shows(e))
		}
		return objectWith(properties)
	}
	return &structpb.Struct{}
}

func ofType(name string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"type": structpb.NewStringValue(name)}}
}

func objectWith(properties map[string]*structpb.Value) *structpb.Struct {
	out := ofType("object")
	out.Fields["properties"] = structpb.NewStructValue(&structpb.Struct{Fields: properties})
	out.Fields["x-kubernetes-preserve-unknown-fields"] = structpb.NewBoolValue(true)
	return out
}

// both returns what two schemas show that do not contradict each other.
func both(a, b *structpb.Struct) *structpb.Struct {
	of := func(s *structpb.Struct) map[string]*structpb.Value {
		return s.GetFields()["properties"].GetStructValue().GetFields()
	}
	switch kind := a.GetFields()["type"].GetStringValue(); {
	case kind != b.GetFields()["type"].GetStringValue():
		return &structpb.Struct{}
	case kind != "object":
		return a
	}
	properties := maps.Clone(of(a))
	for _, name := range slices.Sorted(maps.Keys(of(b))) {
		if former, ok := properties[name]; ok {
			properties[name] = structpb.NewStructValue(both(former.GetStructValue(), of(b)[name].GetStructValue()))
			continue
		}
		properties[name] = of(b)[name]
	}
	return objectWith(properties)
}
