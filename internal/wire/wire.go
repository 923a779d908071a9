// Package wire reads a RunFunctionRequest in place, and answers with parts of it.
//
// A request is bytes, or was decoded by protobuf. [Struct], [Value] and [List] read both. Of bytes they read only what
// is asked for. The response repeats desired and context as the bytes that came, with additions.
//
// All bytes are checked once, before anything is read lazily. If protobuf would refuse them, it does so itself, in its
// own words. If they have a form that Crossplane does not write (a field twice, an unknown one in a resource, a group,
// an entry without a key), protobuf decodes them. So there is one form only to read, and no reader returns an error.
//
// Nothing here knows the meaning of a request. Texts are copied when they are read, so a text that is kept keeps
// nothing else alive. Connection details share the memory of the request.
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

// take returns the field at the beginning of b, which was checked, and the rest after it. Both are nil if the field has
// another tag.
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
