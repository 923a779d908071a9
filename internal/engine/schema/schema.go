// Package schema creates CEL types from OpenAPI v3 schemas.
//
// The type is dyn where a schema allows any value. A type is never narrower than the values that the API
// server accepts, so every error that is found with it is a real error.
package schema

import (
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"
)

// objectType is the type of objects in a schema.
const objectType = "object"

// A node is the schema of a value, or of a part of it.
type node struct{ *structpb.Struct }

func (n node) child(name string) node {
	return node{n.GetFields()[name].GetStructValue()}
}

// of returns the type of the values.
func (n node) of() string { return n.GetFields()["type"].GetStringValue() }

func (n node) flag(name string) bool { return n.GetFields()[name].GetBoolValue() }

func (n node) properties() map[string]*structpb.Value {
	return n.child("properties").GetFields()
}

func (n node) property(name string) (node, bool) {
	p, ok := n.properties()[name]
	return node{p.GetStructValue()}, ok
}

// further returns the schema of all fields that are not named, if other fields are allowed.
func (n node) further() (node, bool) {
	v, ok := n.GetFields()["additionalProperties"]
	if s := v.GetStructValue(); s != nil {
		return node{s}, true
	}
	return node{}, ok && v.GetBoolValue() || n.flag("x-kubernetes-preserve-unknown-fields")
}

func (n node) items() node { return n.child("items") }

func (n node) names() []string { return slices.Sorted(maps.Keys(n.properties())) }

// OfKind adds the fields to the schema of a kind that a CustomResourceDefinition does not repeat:
// apiVersion, kind and metadata. It returns nil for an unknown kind, whose schema is nil.
func OfKind(s *structpb.Struct) *structpb.Struct {
	if s == nil || len(s.GetFields()) == 0 {
		return nil
	}
	properties := maps.Clone(node{s}.properties())
	if properties == nil {
		properties = map[string]*structpb.Value{}
	}
	text := structpb.NewStructValue(scalar("string"))
	properties["apiVersion"], properties["kind"] = text, text
	properties["metadata"] = structpb.NewStructValue(withMetadata(properties["metadata"].GetStructValue()))
	out := &structpb.Struct{Fields: maps.Clone(s.GetFields())}
	out.Fields["properties"] = structpb.NewStructValue(&structpb.Struct{Fields: properties})
	return out
}

// withMetadata adds the fields of ObjectMeta to those that a schema of metadata has, which can only
// narrow the name.
func withMetadata(s *structpb.Struct) *structpb.Struct {
	properties := maps.Clone(node{objectMeta()}.properties())
	maps.Copy(properties, node{s}.properties())
	out := scalar(objectType)
	out.Fields["properties"] = structpb.NewStructValue(&structpb.Struct{Fields: properties})
	return out
}

func scalar(name string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"type": structpb.NewStringValue(name)}}
}

// Like returns the schema of objects like this one, with exactly its fields and the types of its values. A
// null, or an item of a list, stands for any value.
func Like(example *structpb.Struct) *structpb.Struct {
	fields := make(map[string]*structpb.Struct, len(example.GetFields()))
	for name, v := range example.GetFields() {
		fields[name] = like(v)
	}
	return objectOf(fields)
}

func like(v *structpb.Value) *structpb.Struct {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return scalar("string")
	case *structpb.Value_BoolValue:
		return scalar("boolean")
	case *structpb.Value_NumberValue:
		if k.NumberValue == math.Trunc(k.NumberValue) {
			return scalar("integer")
		}
	case *structpb.Value_ListValue:
		return list(anything())
	case *structpb.Value_StructValue:
		return Like(k.StructValue)
	}
	return anything()
}

func anything() *structpb.Struct { return &structpb.Struct{} }

// objectOf returns the schema of an object with these fields and no others.
func objectOf(fields map[string]*structpb.Struct) *structpb.Struct {
	properties := make(map[string]*structpb.Value, len(fields))
	for name, s := range fields {
		properties[name] = structpb.NewStructValue(s)
	}
	out := scalar(objectType)
	out.Fields["properties"] = structpb.NewStructValue(&structpb.Struct{Fields: properties})
	return out
}

func ofKey(value *structpb.Struct) *structpb.Struct {
	out := scalar(objectType)
	out.Fields["additionalProperties"] = structpb.NewStructValue(value)
	return out
}

func list(items *structpb.Struct) *structpb.Struct {
	out := scalar("array")
	out.Fields["items"] = structpb.NewStructValue(items)
	return out
}
