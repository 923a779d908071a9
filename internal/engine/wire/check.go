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

func isResource(b []byte, i, end, depth int) bool {
	object, ready := false, false
	for i < end {
		switch tag := b[i]; tag {
		case tagResource:
			from, to, ok := body(b, i, end, tag)
			if !ok || object || !isStruct(b, from, to, depth) {
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
			_, n := protowire.ConsumeVarint(b[i+1 : end])
			if n < 0 || ready {
				return false
			}
			ready, i = true, i+1+n
		default:
			n := unknown(b[i:end], tagReady>>3)
			if n == 0 {
				return false
			}
			i += n
		}
	}
	return true
}

func isState(b []byte, i, end, depth int) bool {
	composite := false
	for i < end {
		tag := b[i]
		if tag != tagComposite && tag != tagResources {
			n := unknown(b[i:end], tagResources>>3)
			if n == 0 {
				return false
			}
			i += n
			continue
		}
		from, to, ok := body(b, i, end, tag)
		if !ok || tag == tagComposite && composite {
			return false
		}
		composite = composite || tag == tagComposite
		if tag == tagResources {
			from, ok = keyOf(b, from, to)
		}
		if !ok || !isResource(b, from, to, depth) {
			return false
		}
		i = to
	}
	return true
}

// unknown returns the length of the field at the beginning of b, if its number is higher than those of the known ones.
func unknown(b []byte, known protowire.Number) int {
	number, _, n := protowire.ConsumeField(b)
	if number <= known {
		return 0
	}
	return max(n, 0)
}

// isFound is an entry of required_resources.
func isFound(b []byte, i, end, depth int) bool {
	i, ok := keyOf(b, i, end)
	if !ok {
		return false
	}
	for i < end {
		from, to, ok := body(b, i, end, tagItems)
		if !ok || !isResource(b, from, to, depth) {
			return false
		}
		i = to
	}
	return true
}

// isSchema is an entry of required_schemas.
func isSchema(b []byte, i, end, depth int) bool {
	i, ok := keyOf(b, i, end)
	if !ok || i == end {
		return ok
	}
	from, to, ok := body(b, i, end, tagSchema)
	return ok && to == end && isStruct(b, from, to, depth)
}

// isRequest checks a request with values of at most that depth. It also decodes the meta, which is small, or nil
// without a meta.
func isRequest(b []byte, depth int) (meta *fnv1.RequestMeta, ok bool) {
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
			fits = isState(b, from, to, depth)
		case tagInput, tagContext:
			fits = isStruct(b, from, to, depth)
		case tagRequiredResources:
			fits, once = isFound(b, from, to, depth), false
		case tagRequiredSchemas:
			fits, once = isSchema(b, from, to, depth), false
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
