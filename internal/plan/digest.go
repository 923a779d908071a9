package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"sync"

	"github.com/crossplane-contrib/function-export/internal/wire"
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
func digestOf(input wire.Struct) (digest, int) {
	b, _ := buffers.Get().(*[]byte)
	*b = appendStruct((*b)[:0], input)
	d, n := sha256.Sum256(*b), len(*b)
	buffers.Put(b)
	return d, n
}

func appendStruct(b []byte, s wire.Struct) []byte {
	b = binary.AppendUvarint(append(b, 'o'), uint64(s.Len()))
	for k, v := range s.All() {
		b = appendValue(appendText(b, k), v)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendValue(b []byte, v wire.Value) []byte {
	switch v.Kind() {
	case wire.Text:
		return appendText(append(b, 's'), v.Text())
	case wire.Number:
		return binary.BigEndian.AppendUint64(append(b, 'n'), math.Float64bits(v.Number()))
	case wire.Bool:
		if v.Bool() {
			return append(b, 't')
		}
		return append(b, 'f')
	case wire.Object:
		return appendStruct(b, v.Struct())
	case wire.Array:
		l := v.List()
		b = binary.AppendUvarint(append(b, 'l'), uint64(l.Len()))
		for _, e := range l.All() {
			b = appendValue(b, e)
		}
		return b
	}
	return append(b, '0')
}
