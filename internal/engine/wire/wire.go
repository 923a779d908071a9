// Package wire reads a RunFunctionRequest in place, and builds a response with parts of it.
//
// A request is bytes. [Struct], [Value] and [List] read only the requested parts of them, and also messages of
// protobuf. The response repeats the bytes of desired and context, with additions.
//
// All bytes are checked once, before any lazy read. If they do not have the form that Crossplane writes, protobuf
// decodes and encodes them, or refuses them with its own error. So the readers handle only one form, and no reader
// returns an error.
//
// The package does not know the meaning of a request. Texts are copied when they are read, so a text that is kept
// does not keep the request in memory. Connection details share the memory of the request.
package wire

import (
	"encoding/binary"
	"math"
)

// Tags of the fields of the messages in google/protobuf/struct.proto, with their wire types.
const (
	tagEntry = 1<<3 | 2 // Struct.fields, ListValue.values, and all maps here
	tagKey   = 1<<3 | 2 // of the entry of a map
	tagValue = 2<<3 | 2 // of the entry of a map

	tagNull   = 1<<3 | 0
	tagNumber = 2<<3 | 1
	tagString = 3<<3 | 2
	tagBool   = 4<<3 | 0
	tagStruct = 5<<3 | 2
	tagList   = 6<<3 | 2
)

// take returns the field at the beginning of the checked bytes b, and the rest after it. Both are nil if the field
// has another tag. The capacity of each says where it is in the request: see [indexes.copy].
func take(b []byte, tag byte) (field, rest []byte) {
	if len(b) < 2 || b[0] != tag {
		return nil, nil
	}
	n, from := uint64(b[1]), 2
	if n >= 0x80 {
		var size int
		if n, size = binary.Uvarint(b[1:]); size <= 0 {
			return nil, nil
		}
		from = 1 + size
	}
	if n > uint64(len(b)-from) { //nolint:gosec // from is at most the length
		return nil, nil
	}
	to := from + int(n) //nolint:gosec // at most the length
	return b[from:to], b[to:]
}

// entry returns the key and the value of an entry of a map.
func entry(b []byte, tag byte) (key, value, rest []byte) {
	e, rest := take(b, tag)
	key, value = keyAndValue(e)
	return key, value, rest
}

// keyAndValue returns the parts of the body of an entry.
func keyAndValue(e []byte) (key, value []byte) {
	key, e = take(e, tagKey)
	value, _ = take(e, tagValue)
	return key, value
}

// text returns the body of a Value that is a string.
func text(b []byte) []byte {
	t, _ := take(b, tagString)
	return t
}

func number(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b[1:])) }
