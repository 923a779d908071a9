package wire

import (
	"iter"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// A Struct is a google.protobuf.Struct that is only read: bytes, one that protobuf decoded, or parts of them. The zero
// Struct does not exist, and reads as an empty one. It is for one goroutine, except for Proto, and must not be kept
// longer than its request.
type Struct struct {
	decoded *structpb.Struct
	parts   map[string]Value
	sent    []byte
	in      *indexes // of what was sent
}

// Of returns a Struct that protobuf decoded, without a copy. It does not exist if s is nil.
func Of(s *structpb.Struct) Struct { return Struct{decoded: s} }

// Compose returns a Struct with fields of other Structs. The map is not copied.
func Compose(fields map[string]Value) Struct {
	if fields == nil {
		fields = map[string]Value{}
	}
	return Struct{parts: fields}
}

// Exists reports whether there is a Struct, empty or not.
func (s Struct) Exists() bool { return s.decoded != nil || s.parts != nil || s.in != nil }

// Get returns a field, which may not exist.
func (s Struct) Get(name string) Value {
	switch {
	case s.in != nil:
		if v, ok := s.in.find(s.sent, name); ok {
			return sentValue(v, s.in)
		}
	case s.parts != nil:
		return s.parts[name]
	default:
		if v, ok := s.decoded.GetFields()[name]; ok {
			return OfValue(v)
		}
	}
	return Value{}
}

// At returns the field at a path of one or more names.
func (s Struct) At(path ...string) Value {
	for _, name := range path[:len(path)-1] {
		s = s.Get(name).Struct()
	}
	return s.Get(path[len(path)-1])
}

// Len returns the number of fields.
func (s Struct) Len() int {
	switch {
	case s.in != nil:
		return s.in.size(s.sent)
	case s.parts != nil:
		return len(s.parts)
	}
	return len(s.decoded.GetFields())
}

// Keys returns the sorted names of the fields.
func (s Struct) Keys() []string {
	keys := make([]string, 0, s.Len())
	for k := range s.All() {
		keys = append(keys, k)
	}
	return keys
}

// appendKeys appends the sorted names of the fields of a Struct that is not in a request.
func (s Struct) appendKeys(keys []string) []string {
	for k := range s.parts {
		keys = append(keys, k)
	}
	for k := range s.decoded.GetFields() {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// All returns all fields, in the order of their names.
func (s Struct) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if s.in != nil {
			var few [indexedFields]field
			for _, f := range s.in.fields(s.sent, &few) {
				if !yield(s.in.copy(f.name), sentValue(f.value, s.in)) {
					return
				}
			}
			return
		}
		var few [16]string // most Structs have fewer fields, and need no allocation
		for _, k := range s.appendKeys(few[:0]) {
			if !yield(k, s.Get(k)) {
				return
			}
		}
	}
}

// Proto is the Struct decoded by protobuf, or nil. It may be shared: do not write to it. Any goroutine may ask for it.
func (s Struct) Proto() *structpb.Struct {
	switch {
	case s.in != nil:
		out := &structpb.Struct{}
		decode(s.sent, out)
		return out
	case s.parts != nil:
		out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(s.parts))}
		for k, v := range s.parts {
			out.Fields[k] = v.Proto()
		}
		return out
	}
	return s.decoded
}

// Size returns the size of the Struct in bytes of protobuf, which Proto decodes.
func (s Struct) Size() int {
	if s.in != nil {
		return len(s.sent)
	}
	return proto.Size(s.Proto())
}

// Size returns the size of the Value in bytes of protobuf.
func (v Value) Size() int {
	if v.in != nil {
		return len(v.sent)
	}
	return proto.Size(v.Proto())
}

// decode decodes checked bytes.
func decode(sent []byte, out proto.Message) {
	if err := proto.Unmarshal(sent, out); err != nil {
		panic("wire: protobuf refuses checked bytes") // the error may hold data
	}
}

// Kind is the kind of a Value.
type Kind int

// The kinds, named as in JSON, because Struct and List are types here. A Value of protobuf without any kind is Null.
const (
	Absent Kind = iota
	Null
	Number
	Bool
	Text
	Object
	Array
)

// A Value is a google.protobuf.Value that is only read, as a [Struct] is. The zero Value does not exist.
type Value struct {
	kind    Kind
	decoded *structpb.Value
	object  *Struct // of OfStruct
	sent    []byte
	in      *indexes
}

// OfValue returns a Value that protobuf decoded, without a copy. A nil Value is Null.
func OfValue(v *structpb.Value) Value {
	out := Value{kind: Null, decoded: v}
	switch v.GetKind().(type) {
	case *structpb.Value_NumberValue:
		out.kind = Number
	case *structpb.Value_BoolValue:
		out.kind = Bool
	case *structpb.Value_StringValue:
		out.kind = Text
	case *structpb.Value_StructValue:
		out.kind = Object
	case *structpb.Value_ListValue:
		out.kind = Array
	}
	return out
}

// OfStruct returns a Value with a Struct, which is empty if it does not exist.
func OfStruct(s Struct) Value {
	if !s.Exists() {
		s = Compose(nil)
	}
	return Value{kind: Object, object: &s}
}

var kinds = [...]Kind{
	tagNull: Null, tagNumber: Number, tagBool: Bool, tagString: Text, tagStruct: Object, tagList: Array,
}

func sentValue(sent []byte, in *indexes) Value {
	if len(sent) == 0 {
		return Value{kind: Null, sent: sent, in: in}
	}
	return Value{kind: kinds[sent[0]], sent: sent, in: in}
}

// Kind returns the kind of the value.
func (v Value) Kind() Kind { return v.kind }

// Exists reports whether the value exists, even if it is null.
func (v Value) Exists() bool { return v.kind != Absent }

// IsNull reports whether the value is null or does not exist.
func (v Value) IsNull() bool { return v.kind == Absent || v.kind == Null }

// Text returns the text of a string, and an empty text for other kinds.
func (v Value) Text() string {
	if v.in != nil {
		return v.in.text(v.sent)
	}
	return v.decoded.GetStringValue()
}

// Is reports whether the value is that string, without copying it.
func (v Value) Is(s string) bool {
	switch {
	case v.kind != Text:
		return false
	case v.in != nil:
		return string(text(v.sent)) == s
	}
	return v.decoded.GetStringValue() == s
}

// Number returns the number, and 0 for other kinds.
func (v Value) Number() float64 {
	switch {
	case v.kind != Number:
		return 0
	case v.in != nil:
		return number(v.sent)
	}
	return v.decoded.GetNumberValue()
}

// Bool returns the boolean, and false for other kinds.
func (v Value) Bool() bool {
	if v.in != nil {
		return v.kind == Bool && v.sent[1] == 1
	}
	return v.decoded.GetBoolValue()
}

// Struct returns the Struct of an object. It does not exist for other kinds.
func (v Value) Struct() Struct {
	switch {
	case v.kind != Object:
		return Struct{}
	case v.in != nil:
		sent, _ := take(v.sent, tagStruct)
		return Struct{sent: sent, in: v.in}
	case v.decoded == nil:
		return *v.object
	case v.decoded.GetStructValue() == nil:
		return Compose(nil)
	}
	return Of(v.decoded.GetStructValue())
}

// List returns the list, and an empty list for other kinds.
func (v Value) List() List {
	if v.in != nil {
		sent, _ := take(v.sent, tagList)
		return List{sent: sent, in: v.in}
	}
	return List{decoded: v.decoded.GetListValue()}
}

// Proto is the Value decoded by protobuf, nil if it does not exist. It may be shared: do not write to it.
func (v Value) Proto() *structpb.Value {
	switch {
	case v.in != nil:
		out := &structpb.Value{}
		decode(v.sent, out)
		return out
	case v.kind == Object && v.decoded == nil:
		return structpb.NewStructValue(v.object.Proto())
	}
	return v.decoded
}

// A List is a google.protobuf.ListValue that is only read, as a [Struct] is. The zero List is empty.
type List struct {
	decoded *structpb.ListValue
	sent    []byte
	in      *indexes
}

// Len returns the number of elements.
func (l List) Len() int {
	if l.in != nil {
		return l.in.length(l.sent)
	}
	return len(l.decoded.GetValues())
}

// At returns the element with an index below Len.
func (l List) At(i int) Value {
	if l.in != nil {
		return sentValue(l.in.element(l.sent, i), l.in)
	}
	return OfValue(l.decoded.GetValues()[i])
}

// All returns all elements, in their order.
func (l List) All() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if l.in != nil {
			for i, b := 0, l.sent; len(b) > 0; i++ {
				var e []byte
				if e, b = take(b, tagEntry); !yield(i, sentValue(e, l.in)) {
					return
				}
			}
			return
		}
		for i := range l.Len() {
			if !yield(i, l.At(i)) {
				return
			}
		}
	}
}
