// Package wire reads a RunFunctionRequest where it lies, and answers with its parts.
//
// The bytes of a request come in, or a request that protobuf has decoded. What comes
// out are the same [Struct], [Value] and [List] over either: of bytes they look at
// what is asked for and no more, and the response carries desired and context on as
// the bytes that they came as, with what is added to them.
//
// Bytes are checked once, from the first to the last, before anything is read lazily.
// What protobuf would refuse is refused, by protobuf itself, in its words; what it would
// take, but in a form that Crossplane does not write (a field twice, an unknown one in a
// resource, a group, an entry without a key), is decoded by it. So there is one form only
// to read, and no reader that returns an error.
//
// Nothing here knows what a request means. Texts are copied when they are read: whoever
// keeps one keeps nothing else alive. Connection details share the memory of the request.
package wire

import (
	"encoding/binary"
	"math"
)

// Tags of the fields of the messages in google/protobuf/struct.proto, with their wire
// types.
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

// take the field at the beginning of b, which was checked. rest is what is behind it. It
// is nothing unless the field has that tag, which only carryOn asks for.
func take(b []byte, tag byte) (field, rest []byte) {
	from, to := body(b, 0, len(b), tag)
	if to < 0 {
		return nil, nil
	}
	return b[from:to:to], b[to:]
}

// entry takes the key and the value of the entry of a map.
func entry(b []byte, tag byte) (key, value, rest []byte) {
	e, rest := take(b, tag)
	key, e = take(e, tagKey)
	value, _ = take(e, tagValue)
	return key, value, rest
}

// text is the body of a Value that is a string.
func text(b []byte) []byte {
	t, _ := take(b, tagString)
	return t
}

func number(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b[1:])) }
