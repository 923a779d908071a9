package catalog

import (
	"maps"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/schema"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

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
