package schema

import (
	"maps"

	"google.golang.org/protobuf/types/known/structpb"
)

// SetDefaults sets the fields of an object that are missing to the defaults of its schema, as the API server does.
func SetDefaults(object map[string]any, s *structpb.Struct) {
	if s != nil {
		setDefaults(object, node{s})
	}
}

func setDefaults(v any, n node) {
	switch v := v.(type) {
	case map[string]any:
		for name := range n.properties() {
			p, _ := n.property(name)
			if value, ok := p.preset(); ok && isUnset(v, name, p) {
				v[name] = value
			}
		}
		values, typed := n.further()
		for name := range maps.Clone(v) {
			if p, ok := n.property(name); ok {
				setDefaults(v[name], p)
			} else if typed {
				setDefaults(v[name], values)
			}
		}
	case []any:
		for _, item := range v {
			setDefaults(item, n.items())
		}
	}
}

// preset returns a copy of the default of a schema.
func (n node) preset() (any, bool) {
	value := n.GetFields()["default"]
	if _, null := value.GetKind().(*structpb.Value_NullValue); value == nil || null {
		return nil, false
	}
	return value.AsInterface(), true
}

// isUnset reports whether a field needs its default: it is missing, or it is a null that the schema does not allow.
func isUnset(object map[string]any, name string, p node) bool {
	value, ok := object[name]
	return !ok || value == nil && !p.flag("nullable")
}
