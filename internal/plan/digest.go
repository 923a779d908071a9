package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"google.golang.org/protobuf/types/known/structpb"
)

// A digest is the SHA-256 of what an input says, in a form that only equal
// inputs share: a letter for each kind of value, lengths before contents, keys
// in their order.
//
// It is what proto's deterministic marshalling would be hashed for, at a fifth
// of the cost, which is spent on every request.
type digest [sha256.Size]byte

// buffers hold encoded inputs while they are hashed.
var buffers = sync.Pool{New: func() any { return new([]byte) }} //nolint:gochecknoglobals // a pool

// digestOf an input, and its size in the encoded form, in bytes.
func digestOf(input *structpb.Struct) (digest, int) {
	b, _ := buffers.Get().(*[]byte)
	*b = appendStruct((*b)[:0], input)
	d, n := sha256.Sum256(*b), len(*b)
	buffers.Put(b)
	return d, n
}

func appendStruct(b []byte, s *structpb.Struct) []byte {
	keys := make([]string, 0, 16)
	for k := range s.GetFields() {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	b = binary.AppendUvarint(append(b, 'o'), uint64(len(keys)))
	for _, k := range keys {
		b = appendValue(appendText(b, k), s.GetFields()[k])
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendValue(b []byte, v *structpb.Value) []byte {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return appendText(append(b, 's'), k.StringValue)
	case *structpb.Value_NumberValue:
		return binary.BigEndian.AppendUint64(append(b, 'n'), math.Float64bits(k.NumberValue))
	case *structpb.Value_BoolValue:
		if k.BoolValue {
			return append(b, 't')
		}
		return append(b, 'f')
	case *structpb.Value_StructValue:
		return appendStruct(b, k.StructValue)
	case *structpb.Value_ListValue:
		values := k.ListValue.GetValues()
		b = binary.AppendUvarint(append(b, 'l'), uint64(len(values)))
		for _, e := range values {
			b = appendValue(b, e)
		}
		return b
	}
	return append(b, '0')
}
