// Package schema makes CEL types of OpenAPI v3 schemas.
//
// The schema of a kind comes in, as a CustomResourceDefinition or Crossplane has
// it; types come out that CEL's checker can ask for their fields. What a schema
// leaves open is dyn: a type is never narrower than what the API server lets
// through, so that a fault found with it is one. No object is looked at here, and
// nothing is evaluated.
package schema

import (
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"
)

// A node is a schema as it stands, of a value or a part of one.
type node struct{ *structpb.Struct }

func (n node) child(name string) node {
	return node{n.GetFields()[name].GetStructValue()}
}

func (n node) text(name string) string { return n.GetFields()[name].GetStringValue() }

func (n node) flag(name string) bool { return n.GetFields()[name].GetBoolValue() }

// properties are the fields that the schema names.
func (n node) properties() map[string]*structpb.Value {
	return n.child("properties").GetFields()
}

// property is the schema of a field that is named.
func (n node) property(name string) (node, bool) {
	p, ok := n.properties()[name]
	return node{p.GetStructValue()}, ok
}

// further is the schema of all fields that are not named, if there may be some.
func (n node) further() (node, bool) {
	v, ok := n.GetFields()["additionalProperties"]
	if s := v.GetStructValue(); s != nil {
		return node{s}, true
	}
	return node{}, ok && v.GetBoolValue() || n.flag("x-kubernetes-preserve-unknown-fields")
}

func (n node) items() node { return n.child("items") }

// names of the fields, sorted.
func (n node) names() []string { return slices.Sorted(maps.Keys(n.properties())) }

// values are the strings that the value is one of, or nothing if it may be any.
func (n node) values() []string {
	var out []string
	for _, v := range n.GetFields()["enum"].GetListValue().GetValues() {
		s, ok := v.GetKind().(*structpb.Value_StringValue)
		if !ok {
			return nil
		}
		out = append(out, s.StringValue)
	}
	return out
}

// OfKind is the schema of a kind with what each object has and a
// CustomResourceDefinition does not repeat: apiVersion, kind and metadata. It is
// nil for nil, which is a kind that is not known.
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

// withMetadata adds the fields of ObjectMeta to those that a schema of metadata has:
// one can narrow the name, and nothing else.
func withMetadata(s *structpb.Struct) *structpb.Struct {
	all := metadata()
	properties := node{all}.properties()
	maps.Copy(properties, node{s}.properties())
	return all
}

// metadata is the schema of ObjectMeta, of k8s.io/apimachinery.
func metadata() *structpb.Struct {
	text, texts := scalar("string"), ofKey(scalar("string"))
	owner := objectOf(map[string]*structpb.Struct{
		"apiVersion": text, "kind": text, "name": text, "uid": text, "controller": scalar("boolean"), "blockOwnerDeletion": scalar("boolean"),
	})
	return objectOf(map[string]*structpb.Struct{
		"name": text, "generateName": text, "namespace": text, "selfLink": text, "uid": text, "resourceVersion": text,
		"generation": scalar("integer"), "creationTimestamp": text, "deletionTimestamp": text, "deletionGracePeriodSeconds": scalar("integer"),
		"labels": texts, "annotations": texts, "finalizers": list(text), "ownerReferences": list(owner), "managedFields": list(anything()),
	})
}

func scalar(name string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"type": structpb.NewStringValue(name)}}
}

// Like is the schema of objects like this one: with its fields and no others, of the
// types of its values. A null stands for anything, and so does what is in a list.
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

// anything is the schema of anything.
func anything() *structpb.Struct { return &structpb.Struct{} }

// objectOf is the schema of an object with these fields, and no others.
func objectOf(fields map[string]*structpb.Struct) *structpb.Struct {
	properties := make(map[string]*structpb.Value, len(fields))
	for name, s := range fields {
		properties[name] = structpb.NewStructValue(s)
	}
	out := scalar("object")
	out.Fields["properties"] = structpb.NewStructValue(&structpb.Struct{Fields: properties})
	return out
}

func ofKey(value *structpb.Struct) *structpb.Struct {
	out := scalar("object")
	out.Fields["additionalProperties"] = structpb.NewStructValue(value)
	return out
}

func list(items *structpb.Struct) *structpb.Struct {
	out := scalar("array")
	out.Fields["items"] = structpb.NewStructValue(items)
	return out
}
