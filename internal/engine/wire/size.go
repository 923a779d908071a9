package wire

import (
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// proto.Size copies each key of a map to count it, so the messages with the most maps are counted here. All tags of
// their fields have one byte.

// sizeOf returns the size of the additions to a section.
func sizeOf(m proto.Message) int {
	switch m := m.(type) {
	case *fnv1.State:
		return sizeState(m)
	case *structpb.Struct:
		return sizeStruct(m)
	}
	return proto.Size(m)
}

// sizeField returns the size of a field with a length.
func sizeField(n int) int { return 1 + protowire.SizeBytes(n) }

// sizeEntry returns the size of an entry of a map from a name to something with a length.
func sizeEntry(name string, n int) int { return sizeField(sizeField(len(name)) + sizeField(n)) }

func sizeEnum[E ~int32](e E) int { return 1 + protowire.SizeVarint(uint64(e)) }

func sizeState(s *fnv1.State) int {
	if s == nil {
		return 0
	}
	n := len(s.ProtoReflect().GetUnknown())
	if s.GetComposite() != nil {
		n += sizeField(sizeResource(s.GetComposite()))
	}
	for name, r := range s.GetResources() {
		n += sizeEntry(name, sizeResource(r))
	}
	return n
}

func sizeResource(r *fnv1.Resource) int {
	if r == nil {
		return 0
	}
	n := len(r.ProtoReflect().GetUnknown())
	if r.GetResource() != nil {
		n += sizeField(sizeStruct(r.GetResource()))
	}
	for key, b := range r.GetConnectionDetails() {
		n += sizeEntry(key, len(b))
	}
	if r.GetReady() != 0 {
		n += sizeEnum(r.GetReady())
	}
	return n
}

func sizeStruct(s *structpb.Struct) int {
	if s == nil {
		return 0
	}
	n := len(s.ProtoReflect().GetUnknown())
	for name, v := range s.GetFields() {
		n += sizeEntry(name, sizeValue(v))
	}
	return n
}

func sizeValue(v *structpb.Value) int {
	if v == nil {
		return 0
	}
	n := len(v.ProtoReflect().GetUnknown())
	switch k := v.GetKind().(type) {
	case *structpb.Value_NullValue:
		n += sizeEnum(k.NullValue)
	case *structpb.Value_NumberValue:
		n += 1 + protowire.SizeFixed64()
	case *structpb.Value_StringValue:
		n += sizeField(len(k.StringValue))
	case *structpb.Value_BoolValue:
		n += 1 + protowire.SizeVarint(1)
	case *structpb.Value_StructValue:
		n += sizeField(sizeStruct(k.StructValue))
	case *structpb.Value_ListValue:
		n += sizeField(sizeList(k.ListValue))
	}
	return n
}

func sizeList(l *structpb.ListValue) int {
	if l == nil {
		return 0
	}
	n := len(l.ProtoReflect().GetUnknown())
	for _, v := range l.GetValues() {
		n += sizeField(sizeValue(v))
	}
	return n
}
