package wire

import (
	"cmp"
	"encoding/binary"
	"math"
	"unicode/utf8"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Checks read each byte of a request once, and allocate nothing. Each reports whether the bytes between two positions
// are a message in the form that Go's protobuf writes: a field has a tag of one byte, and occurs once unless it is
// repeated; an entry of a map has its key and then its value; a Value has at most one kind. Protobuf decodes and
// encodes all other messages. The request itself, a State and a Resource may have fields that are not read, for example
// credentials, or those of a newer Crossplane. No other message may have them.

// plainDepth is the maximum depth of values in requests that protobuf does not decode first. Only protobuf knows which
// ones are too deep. Kubernetes objects are much less deep.
const plainDepth = 128

// body returns the bounds of the body of the field at i, if the field has the tag and ends before end.
func body(b []byte, i, end int, tag byte) (from, to int, ok bool) {
	if end-i < 2 || b[i] != tag {
		return 0, 0, false
	}
	n := b[i+1]
	if n >= 0x80 {
		return longBody(b, i, end)
	}
	from, to = i+2, i+2+int(n)
	return from, to, to <= end
}

// longBody is body for a length of several bytes.
func longBody(b []byte, i, end int) (from, to int, ok bool) {
	n, size := binary.Uvarint(b[i+1 : end])
	if size <= 0 || n > uint64(end-i-1-size) { //nolint:gosec // size is at most what is left
		return 0, 0, false
	}
	return i + 1 + size, i + 1 + size + int(n), true //nolint:gosec // n is at most what is left
}

// keyOf checks the key of an entry of a map, and returns where its value begins. It fails unless the entry has exactly
// a key and a value.
func keyOf(b []byte, i, end int) (value int, ok bool) {
	from, to, ok := body(b, i, end, tagKey)
	if !ok || !utf8.Valid(b[from:to]) {
		return 0, false
	}
	value, to, ok = body(b, to, end, tagValue)
	return value, ok && to == end
}

func isStruct(b []byte, i, end, left int) bool {
	for i < end {
		from, to, ok := body(b, i, end, tagEntry)
		if !ok {
			return false
		}
		if from, ok = keyOf(b, from, to); !ok || !isValue(b, from, to, left) {
			return false
		}
		i = to
	}
	return true
}

func isList(b []byte, i, end, left int) bool {
	for i < end {
		from, to, ok := body(b, i, end, tagEntry)
		if !ok || !isValue(b, from, to, left) {
			return false
		}
		i = to
	}
	return true
}

// isValue checks a Value with so many levels of others in it. One without a kind is null.
func isValue(b []byte, i, end, left int) bool {
	if i == end {
		return true
	}
	tag := b[i]
	switch tag {
	case tagString, tagStruct, tagList:
		from, to, ok := body(b, i, end, tag)
		switch {
		case !ok || to != end:
			return false
		case tag == tagString:
			return utf8.Valid(b[from:to])
		case left == 0:
			return false
		case tag == tagStruct:
			return isStruct(b, from, to, left-1)
		}
		return isList(b, from, to, left-1)
	case tagNumber:
		return end-i == 9
	case tagBool:
		return end-i == 2 && b[i+1] <= 1
	case tagNull:
		_, n := protowire.ConsumeVarint(b[i+1 : end])
		return n == end-i-1
	}
	return false
}

// A rule is about a field of a message.
type rule struct {
	entry bool // it is an entry of a map
	many  bool // it may occur several times
	is    func(b []byte, i, end, depth int) bool
}

// rules are those of the fields of a message that this package reads, by their tags.
type rules [tagRequiredSchemas + 1]rule

func anything([]byte, int, int, int) bool { return true }

// The rules of each message. A Ready is read like any other field with a higher number than those here.
var (
	resourceRules = rules{tagResource: {is: isStruct}, tagDetails: {entry: true, many: true, is: anything}}
	stateRules    = rules{tagComposite: {is: isResource}, tagResources: {entry: true, many: true, is: isResource}}
	foundRules    = rules{tagItems: {many: true, is: isResource}}
	schemaRules   = rules{tagSchema: {is: isStruct}}
	requestRules  = rules{
		tagMeta: {is: anything}, tagObserved: {is: isState}, tagDesired: {is: isState},
		tagInput: {is: isStruct}, tagContext: {is: isStruct},
		tagRequiredResources: {entry: true, many: true, is: isFound},
		tagRequiredSchemas:   {entry: true, many: true, is: isSchema},
	}
)

// noOthers is the number of a message that may have no other fields.
const noOthers = math.MaxInt32

func isResource(b []byte, i, end, depth int) bool { return resourceRules.fit(b, i, end, 2, depth) }
func isState(b []byte, i, end, depth int) bool    { return stateRules.fit(b, i, end, 2, depth) }
func isFound(b []byte, i, end, depth int) bool    { return foundRules.fit(b, i, end, noOthers, depth) }
func isSchema(b []byte, i, end, depth int) bool   { return schemaRules.fit(b, i, end, noOthers, depth) }

// read reports whether this package reads a field with that tag.
func (r *rules) read(tag byte) bool { return int(tag) < len(r) && r[tag].is != nil }

// field checks the field at i, and returns the bounds of its body. The argument seen has the fields before it.
func (r *rules) field(b []byte, i, end int, seen *uint, depth int) (from, to int, ok bool) {
	f, bit := &r[b[i]], uint(1)<<(b[i]>>3)
	from, to, ok = body(b, i, end, b[i])
	value := from
	if ok && f.entry {
		value, ok = keyOf(b, from, to)
	}
	once := f.many || *seen&bit == 0 // protobuf merges the two
	*seen |= bit
	return from, to, ok && once && f.is(b, value, to, depth)
}

// fit checks the fields of a message. Other fields have a higher number than known, with the shortest tag.
func (r *rules) fit(b []byte, i, end int, known protowire.Number, depth int) bool {
	var seen uint
	for i < end {
		if r.read(b[i]) {
			var ok bool
			if _, i, ok = r.field(b, i, end, &seen, depth); !ok {
				return false
			}
			continue
		}
		number, kind, n := protowire.ConsumeTag(b[i:end])
		if number <= known || n != protowire.SizeTag(number) {
			return false
		}
		value := protowire.ConsumeFieldValue(number, kind, b[i+n:end])
		if value < 0 {
			return false
		}
		i += n + value
	}
	return true
}

// isRequest checks a request with values of at most that depth. It also decodes the meta, which is small, or nil
// without a meta.
func isRequest(b []byte, depth int) (meta *fnv1.RequestMeta, ok bool) {
	var seen uint
	var others *fnv1.RunFunctionRequest
	for i := 0; i < len(b); {
		tag := b[i]
		if !requestRules.read(tag) {
			others = cmp.Or(others, &fnv1.RunFunctionRequest{})
			n, ok := unread(b[i:], others)
			if !ok {
				return nil, false
			}
			i += n
			continue
		}
		from, to, ok := requestRules.field(b, i, len(b), &seen, depth)
		if !ok {
			return nil, false
		}
		if i = to; tag == tagMeta {
			meta = &fnv1.RequestMeta{}
			if proto.Unmarshal(b[from:to], meta) != nil {
				return nil, false
			}
		}
	}
	return meta, true
}

// unread returns the length of the fields of a request at the beginning of b that this package does not read.
// Protobuf decodes them into others, because only protobuf knows which fields it refuses. It fails if protobuf
// refuses them, or if one of them is a field that this package reads, with a tag of several bytes.
func unread(b []byte, others *fnv1.RunFunctionRequest) (n int, ok bool) {
	for n < len(b) && !requestRules.read(b[n]) {
		number, kind, size := protowire.ConsumeField(b[n:])
		tag := byte(number)<<3 | byte(kind) //nolint:gosec // it is read only if both are small
		if size < 0 || number <= tagRequiredSchemas>>3 && requestRules.read(tag) {
			return 0, false
		}
		n += size
	}
	err := proto.UnmarshalOptions{Merge: true, DiscardUnknown: true}.Unmarshal(b[:n], others)
	return n, err == nil
}
