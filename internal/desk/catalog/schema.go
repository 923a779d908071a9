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
