package wire

import (
	"cmp"
	"encoding/binary"
	"unicode/utf8"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Checks read each byte of a request once, and allocate nothing. Each reports whether the bytes between two positions
// are a message in the form that Go's protobuf writes: every field is known, has a tag of one byte, and occurs once
// unless it is repeated; an entry of a map has its key and then its value; a Value has exactly one kind. Protobuf
// decodes all other messages. Only the request itself may have other fields, for example credentials.

// maxDepth is the maximum depth of values here. Kubernetes objects are much less deep. Protobuf decodes
// deeper values.
const maxDepth = 128

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

func isStruct(b []byte, i, end, depth int) bool {
	for i < end {
		from, to, ok := body(b, i, end, tagEntry)
		if !ok {
			return false
		}
		if from, ok = keyOf(b, from, to); !ok || !isValue(b, from, to, depth) {
			return false
		}
		i = to
	}
	return true
}

func isList(b []byte, i, end, depth int) bool {
	for i < end {
		from, to, ok := body(b, i, end, tagEntry)
		if !ok || !isValue(b, from, to, depth) {
			return false
		}
		i = to
	}
	return true
}

func isValue(b []byte, i, end, depth int) bool {
	if i == end {
		return false
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
		case depth == maxDepth:
			return false
		case tag == tagStruct:
			return isStruct(b, from, to, depth+1)
		}
		return isList(b, from, to, depth+1)
	case tagNumber:
		return end-i == 9
	case tagBool:
		return end-i == 2 && b[i+1] <= 1
	case tagNull:
		return end-i == 2 && b[i+1] == 0
	}
	return false
}

func isResource(b []byte, i, end int) bool {
	object, ready := false, false
	for i < end {
		switch tag := b[i]; tag {
		case tagResource:
			from, to, ok := body(b, i, end, tag)
			if !ok || object || !isStruct(b, from, to, 0) {
				return false
			}
			object, i = true, to
		case tagDetails:
			from, to, ok := body(b, i, end, tag)
			if !ok {
				return false
			}
			if _, ok = keyOf(b, from, to); !ok {
				return false
			}
			i = to
		case tagReady:
			if end-i < 2 || b[i+1] >= 0x80 || ready {
				return false
			}
			ready, i = true, i+2
		default:
			return false
		}
	}
	return true
}

func isState(b []byte, i, end int) bool {
	composite := false
	for i < end {
		tag := b[i]
		from, to, ok := body(b, i, end, tag)
		switch {
		case !ok:
			return false
		case tag == tagComposite && !composite:
			composite = true
		case tag == tagResources:
			if from, ok = keyOf(b, from, to); !ok {
				return false
			}
		default:
			return false
		}
		if !isResource(b, from, to) {
			return false
		}
		i = to
	}
	return true
}

// isFound is an entry of required_resources.
func isFound(b []byte, i, end int) bool {
	i, ok := keyOf(b, i, end)
	if !ok {
		return false
	}
	for i < end {
		from, to, ok := body(b, i, end, tagItems)
		if !ok || !isResource(b, from, to) {
			return false
		}
		i = to
	}
	return true
}

// isSchema is an entry of required_schemas.
func isSchema(b []byte, i, end int) bool {
	i, ok := keyOf(b, i, end)
	if !ok || i == end {
		return ok
	}
	from, to, ok := body(b, i, end, tagSchema)
	return ok && to == end && isStruct(b, from, to, 0)
}

// isRequest also decodes the meta, which is small, or nil without a meta.
func isRequest(b []byte) (meta *fnv1.RequestMeta, ok bool) {
	seen := 0
	var others *fnv1.RunFunctionRequest
	for i := 0; i < len(b); {
		tag := b[i]
		if !isRead(tag) {
			others = cmp.Or(others, &fnv1.RunFunctionRequest{})
			n, ok := unread(b[i:], others)
			if !ok {
				return nil, false
			}
			i += n
			continue
		}
		from, to, ok := body(b, i, len(b), tag)
		if !ok {
			return nil, false
		}
		fits, once := false, true
		switch tag {
		case tagMeta:
			meta = &fnv1.RequestMeta{}
			fits = proto.Unmarshal(b[from:to], meta) == nil
		case tagObserved, tagDesired:
			fits = isState(b, from, to)
		case tagInput, tagContext:
			fits = isStruct(b, from, to, 0)
		case tagRequiredResources:
			fits, once = isFound(b, from, to), false
		case tagRequiredSchemas:
			fits, once = isSchema(b, from, to), false
		}
		if !fits || once && seen&(1<<(tag>>3)) != 0 { // protobuf merges the two
			return nil, false
		}
		seen |= 1 << (tag >> 3)
		i = to
	}
	return meta, true
}

// isRead reports whether this package reads a request's field with that tag.
func isRead(tag byte) bool {
	switch tag {
	case tagMeta, tagObserved, tagDesired, tagInput, tagContext, tagRequiredResources, tagRequiredSchemas:
		return true
	}
	return false
}

// unread returns the length of the fields of a request at the beginning of b that this package does not read.
// Protobuf decodes them into others, because only protobuf knows which fields it refuses. It fails if protobuf
// refuses them, or if one of them is a field that this package reads, with a tag of several bytes.
func unread(b []byte, others *fnv1.RunFunctionRequest) (n int, ok bool) {
	for n < len(b) && !isRead(b[n]) {
		number, kind, size := protowire.ConsumeField(b[n:])
		tag := byte(number)<<3 | byte(kind) //nolint:gosec // it is read only if both are small
		if size < 0 || number <= tagRequiredSchemas>>3 && isRead(tag) {
			return 0, false
		}
		n += size
	}
	err := proto.UnmarshalOptions{Merge: true, DiscardUnknown: true}.Unmarshal(b[:n], others)
	return n, err == nil
}
