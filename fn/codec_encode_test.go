package main

import (
	"maps"
	"math"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
)

// structsIn returns all objects in a request, always in the same order.
func structsIn(m proto.Message) []*structpb.Struct {
	var out []*structpb.Struct
	var walk func(m protoreflect.Message)
	walk = func(m protoreflect.Message) {
		if s, ok := m.Interface().(*structpb.Struct); ok && m.IsValid() {
			out = append(out, s)
		}
		fields := m.Descriptor().Fields()
		for i := range fields.Len() {
			f := fields.Get(i)
			switch {
			case !m.Has(f) || f.IsMap() && f.MapValue().Message() == nil || !f.IsMap() && f.Message() == nil:
			case f.IsMap():
				entries := map[string]protoreflect.Message{}
				m.Get(f).Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
					entries[k.String()] = v.Message()
					return true
				})
				for _, k := range slices.Sorted(maps.Keys(entries)) {
					walk(entries[k])
				}
			case f.IsList():
				for j := range m.Get(f).List().Len() {
					walk(m.Get(f).List().Get(j).Message())
				}
			default:
				walk(m.Get(f).Message())
			}
		}
	}
	walk(m.ProtoReflect())
	return out
}

// encode encodes a request in valid protobuf that no encoder writes. Maps are in any order. An entry of a
// map may occur twice, and then the last one counts. A field may occur twice, and then both are merged.
func (s *codecScript) encode(req *fnv1.RunFunctionRequest) []byte {
	var sent []byte
	if s.pick(8) == 1 {
		was := &structpb.Struct{Fields: map[string]*structpb.Value{"first": structpb.NewBoolValue(true)}}
		first := &fnv1.Resource{Resource: was}
		sent = s.message(sent, (&fnv1.RunFunctionRequest{
			Context: was,
			Desired: &fnv1.State{Composite: first, Resources: map[string]*fnv1.Resource{"first": first}},
		}).ProtoReflect())
	}
	return s.message(sent, req.ProtoReflect())
}

func (s *codecScript) message(b []byte, m protoreflect.Message) []byte {
	if !m.IsValid() { // nil is written as an empty message
		return b
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !m.Has(f) {
			continue
		}
		v := m.Get(f)
		switch {
		case f.IsMap():
			b = s.entries(b, f, v.Map())
		case f.IsList() && f.IsPacked():
			packed := []byte{}
			for j := range v.List().Len() {
				packed = s.scalar(packed, f, v.List().Get(j))
			}
			b = protowire.AppendBytes(protowire.AppendTag(b, f.Number(), protowire.BytesType), packed)
		case f.IsList():
			for j := range v.List().Len() {
				b = s.field(b, f, v.List().Get(j))
			}
		default:
			b = s.field(b, f, v)
		}
	}
	return append(b, m.GetUnknown()...)
}

func (s *codecScript) entries(b []byte, f protoreflect.FieldDescriptor, m protoreflect.Map) []byte {
	var keys []protoreflect.MapKey
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	slices.SortFunc(keys, func(a, b protoreflect.MapKey) int { return slices.Compare([]byte(a.String()), []byte(b.String())) })
	if s.pick(2) == 1 {
		slices.Reverse(keys)
	}
	entry := func(b []byte, k, v protoreflect.MapKey) []byte {
		e := s.field(nil, f.MapKey(), k.Value())
		e = s.field(e, f.MapValue(), m.Get(v))
		return protowire.AppendBytes(protowire.AppendTag(b, f.Number(), protowire.BytesType), e)
	}
	for i, k := range keys {
		if s.pick(12) == 1 { // the value of another key, which does not count
			b = entry(b, k, keys[len(keys)-1-i])
		}
		b = entry(b, k, k)
	}
	return b
}

func (s *codecScript) field(b []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	if f.Message() != nil {
		return protowire.AppendBytes(protowire.AppendTag(b, f.Number(), protowire.BytesType), s.message(nil, v.Message()))
	}
	kinds := map[protoreflect.Kind]protowire.Type{protoreflect.DoubleKind: protowire.Fixed64Type, protoreflect.StringKind: protowire.BytesType, protoreflect.BytesKind: protowire.BytesType}
	return s.scalar(protowire.AppendTag(b, f.Number(), kinds[f.Kind()]), f, v) // other kinds are varints
}

func (s *codecScript) scalar(b []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protowire.AppendVarint(b, protowire.EncodeBool(v.Bool()))
	case protoreflect.EnumKind:
		return protowire.AppendVarint(b, uint64(v.Enum()))
	case protoreflect.DoubleKind:
		return protowire.AppendFixed64(b, math.Float64bits(v.Float()))
	case protoreflect.StringKind:
		return protowire.AppendString(b, v.String())
	case protoreflect.BytesKind:
		return protowire.AppendBytes(b, v.Bytes())
	default:
		panic("a kind that no request has: " + f.Kind().String())
	}
}
