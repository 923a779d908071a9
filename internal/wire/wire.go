// Package wire reads a RunFunctionRequest where it lies, and answers with its parts.
//
// The bytes of a request come in, or a request that protobuf has decoded. What comes
// out are the same [Struct], [Value] and [List] over either: of bytes they look at
// what is asked for and no more, and the response carries desired and context on as
// the bytes that they came as, with what is added to them.
//
// Bytes are checked once, from the first to the last, before anything is read. What
// protobuf would refuse is refused, by protobuf itself, in its words; what it would
// take, but in a form that no encoder of Crossplane's writes (a field twice, an unknown
// one, a group, an entry without a key), is decoded by it. So that there is one form
// only to read, and no reader that can fail.
//
// Nothing here knows what a request means. Texts are copied when they are read, and
// never share the memory of the request: whoever keeps one keeps nothing else alive.
package wire

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
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

// maxDepth is how deep values nest in what is read here. Kubernetes' own objects do
// not come near it; what is deeper is protobuf's.
const maxDepth = 128

// take the field at the beginning of b if it has that tag and a length. rest is what is
// behind it.
func take(b []byte, tag byte) (body, rest []byte, ok bool) {
	if len(b) < 2 || b[0] != tag {
		return nil, nil, false
	}
	n, size := uint64(b[1]), 1
	if n >= 0x80 {
		n, size = binary.Uvarint(b[1:])
		if size <= 0 {
			return nil, nil, false
		}
	}
	b = b[1+size:]
	if n > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:n:n], b[n:], true
}

// entry takes the key and the value of one entry of a map: each of them once, in this
// order.
func entry(b []byte) (key, value, rest []byte, ok bool) {
	e, rest, ok := take(b, tagEntry)
	if !ok {
		return nil, nil, nil, false
	}
	key, e, ok = take(e, tagKey)
	if !ok {
		return nil, nil, nil, false
	}
	value, e, ok = take(e, tagValue)
	return key, value, rest, ok && len(e) == 0
}

// isStruct reports whether b is a Struct in the one form that is read here.
func isStruct(b []byte, depth int) bool {
	if depth > maxDepth {
		return false
	}
	for len(b) > 0 {
		key, value, rest, ok := entry(b)
		if !ok || !utf8.Valid(key) || !isValue(value, depth) {
			return false
		}
		b = rest
	}
	return true
}

func isList(b []byte, depth int) bool {
	if depth > maxDepth {
		return false
	}
	for len(b) > 0 {
		value, rest, ok := take(b, tagEntry)
		if !ok || !isValue(value, depth) {
			return false
		}
		b = rest
	}
	return true
}

// isValue reports whether b is a Value with just one field.
func isValue(b []byte, depth int) bool {
	if len(b) == 0 {
		return false
	}
	switch b[0] {
	case tagString:
		text, rest, ok := take(b, tagString)
		return ok && len(rest) == 0 && utf8.Valid(text)
	case tagStruct:
		s, rest, ok := take(b, tagStruct)
		return ok && len(rest) == 0 && isStruct(s, depth+1)
	case tagList:
		l, rest, ok := take(b, tagList)
		return ok && len(rest) == 0 && isList(l, depth+1)
	case tagNumber:
		return len(b) == 9
	case tagBool:
		return len(b) == 2 && b[1] <= 1
	case tagNull:
		return len(b) == 2 && b[1] == 0
	}
	return false
}

// text is the body of a Value that is a string.
func text(b []byte) []byte {
	t, _, _ := take(b, tagString)
	return t
}

func number(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b[1:])) }
