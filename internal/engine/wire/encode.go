package wire

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// encode encodes a message. The same message always has the same bytes.
func encode(m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// An encoder writes a response. Protobuf's own encoder finds the entries of each map by reflection, which costs most of
// the work on a small response. An encoder writes from the end to the beginning, because the length of a message comes
// before the message. It only counts the bytes of what is too large for a response.
type encoder struct {
	parts   [][]byte // the complete ones, the last one first
	b       []byte
	at, end int // b[at:end] is the part that is written
	size    int // the number of bytes written or counted
	own     int // of those, the bytes that are not carried
	invalid bool
}

// room returns the space for the next n bytes, or nil if they are only counted.
func (e *encoder) room(n int) []byte {
	e.size += n
	if e.own += n; e.own > limits.ResponseBytes {
		e.b, e.parts, e.at, e.end = nil, e.parts[:0], 0, 0
		return nil
	}
	if e.at < n {
		const least = 2 << 10
		written := e.b[e.at:e.end]
		grown := make([]byte, max(least, 2*len(e.b), len(written)+n))
		e.at, e.end = len(grown)-len(written), len(grown)
		copy(grown[e.at:], written)
		e.b = grown
	}
	e.at -= n
	return e.b[e.at : e.at+n]
}

// carry writes a part of the request. A large one is not copied.
func (e *encoder) carry(part []byte) {
	const large = 4 << 10
	if len(part) < large {
		copy(e.room(len(part)), part)
		return
	}
	e.cut()
	e.parts = append(e.parts, part)
	e.size += len(part)
}

// cut ends the part that is written.
func (e *encoder) cut() {
	if e.at < e.end {
		e.parts = append(e.parts, e.b[e.at:e.end:e.end])
		e.end = e.at
	}
}

// byte writes a tag or a value of one byte.
func (e *encoder) byte(b byte) { copy(e.room(1), []byte{b}) }

func (e *encoder) varint(n uint64) {
	var b [binary.MaxVarintLen64]byte
	copy(e.room(protowire.SizeVarint(n)), b[:binary.PutUvarint(b[:], n)])
}

// header writes the header of a field after its body, which began when so many bytes were written.
func (e *encoder) header(tag byte, before int) {
	e.varint(uint64(e.size - before)) //nolint:gosec // a length
	e.byte(tag)
}

func (e *encoder) enum(tag byte, n int32) {
	e.varint(uint64(n)) //nolint:gosec // as protobuf
	e.byte(tag)
}

func (e *encoder) text(tag byte, s string) {
	e.invalid = e.invalid || !utf8.ValidString(s)
	before := e.size
	copy(e.room(len(s)), s)
	e.header(tag, before)
}

// entries writes a map in the order of its keys.
func entries[V any](e *encoder, tag byte, m map[string]V, value func(V)) {
	var few [16]string // most maps have fewer entries, and need no allocation
	keys := slices.AppendSeq(few[:0], maps.Keys(m))
	slices.Sort(keys)
	for _, key := range slices.Backward(keys) {
		before := e.size
		value(m[key])
		e.header(tagValue, before)
		e.text(tagKey, key)
		e.header(tag, before)
	}
}

func (e *encoder) state(s *fnv1.State) {
	entries(e, tagResources, s.GetResources(), e.resource)
	if s.GetComposite() != nil {
		before := e.size
		e.resource(s.GetComposite())
		e.header(tagComposite, before)
	}
}

func (e *encoder) resource(r *fnv1.Resource) {
	if r.GetReady() != 0 {
		e.enum(tagReady, int32(r.GetReady()))
	}
	entries(e, tagDetails, r.GetConnectionDetails(), func(b []byte) { copy(e.room(len(b)), b) })
	if r.GetResource() != nil {
		before := e.size
		e.object(r.GetResource())
		e.header(tagResource, before)
	}
}

func (e *encoder) object(s *structpb.Struct) { entries(e, tagEntry, s.GetFields(), e.value) }

func (e *encoder) value(v *structpb.Value) {
	before := e.size
	switch k := v.GetKind().(type) {
	case *structpb.Value_NullValue:
		e.enum(tagNull, int32(k.NullValue))
	case *structpb.Value_NumberValue:
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], math.Float64bits(k.NumberValue))
		copy(e.room(len(b)), b[:])
		e.byte(tagNumber)
	case *structpb.Value_StringValue:
		e.text(tagString, k.StringValue)
	case *structpb.Value_BoolValue:
		e.byte(byte(protowire.EncodeBool(k.BoolValue))) //nolint:gosec // 0 or 1
		e.byte(tagBool)
	case *structpb.Value_StructValue:
		e.object(k.StructValue)
		e.header(tagStruct, before)
	case *structpb.Value_ListValue:
		for _, element := range slices.Backward(k.ListValue.GetValues()) {
			end := e.size
			e.value(element)
			e.header(tagEntry, end)
		}
		e.header(tagList, before)
	}
}
