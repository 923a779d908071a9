package catalog

import (
	"maps"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/schema"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// OfKind adds the fields to the schema of a kind that a CustomResourceDefinition does not repeat:
// apiVersion, kind and metadata. It returns nil for an unknown kind, whose schema is nil.
func OfKind(s *structpb.Struct) *structpb.Struct {
	if s == nil || len(s.GetFields()) == 0 {
		return nil
	}
	properties := maps.Clone(propertiesOf(s))
	if properties == nil {
		properties = map[string]*structpb.Value{}
	}
	text := objectOf("string", nil)
	properties["apiVersion"], properties["kind"] = text, text
	metadata := maps.Clone(propertiesOf(objectMeta()))
	maps.Copy(metadata, propertiesOf(properties["metadata"].GetStructValue())) // which can only narrow the name
	properties["metadata"] = objectOf(schema.Object, metadata)
	out := &structpb.Struct{Fields: maps.Clone(s.GetFields())}
	out.Fields["properties"] = structpb.NewStructValue(&structpb.Struct{Fields: properties})
	return out
}

func propertiesOf(s *structpb.Struct) map[string]*structpb.Value {
	return s.GetFields()["properties"].GetStructValue().GetFields()
}

// objectOf returns a schema of a type, with these fields and no others.
func objectOf(kind string, properties map[string]*structpb.Value) *structpb.Value {
	out := map[string]*structpb.Value{"type": structpb.NewStringValue(kind)}
	if properties != nil {
		out["properties"] = structpb.NewStructValue(&structpb.Struct{Fields: properties})
	}
	return structpb.NewStructValue(&structpb.Struct{Fields: out})
}

// At returns the schema at a path: a string is a field or a key, and any other step is an index. The
// result is nil where the schema allows any value, and ok is false where the schema has no such field.
func At(s *structpb.Struct, path ...any) (at *structpb.Struct, ok bool) {
	n := schema.Node{Struct: wire.Of(s)}
	for _, step := range path {
		if n, ok = n.Step(step); !ok {
			return nil, false
		}
	}
	if n.Len() == 0 {
		return nil, true
	}
	return n.Proto(), true
}

// SetDefaults sets the fields of an object that are missing to the defaults of its schema, as the API server does.
func SetDefaults(object map[string]any, s *structpb.Struct) {
	setDefaults(object, schema.Node{Struct: wire.Of(s)})
}

func setDefaults(v any, n schema.Node) {
	switch v := v.(type) {
	case map[string]any:
		for name, p := range n.Properties().All() {
			field := schema.Node{Struct: p.Struct()}
			value, exists := v[name]
			isUnset := !exists || value == nil && !field.Is("nullable")
			if preset := field.Get("default"); isUnset && !preset.IsNull() {
				v[name] = preset.Proto().AsInterface()
			}
		}
		for name := range maps.Clone(v) {
			if below, ok := n.Step(name); ok {
				setDefaults(v[name], below)
			}
		}
	case []any:
		for _, item := range v {
			setDefaults(item, n.Items())
		}
	}
}
