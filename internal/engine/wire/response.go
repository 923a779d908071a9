package wire

import (
	"errors"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// Tags of the fields of a RunFunctionResponse that repeat fields of the request.
const (
	tagResponseDesired = 2<<3 | 2
	tagResponseContext = 4<<3 | 2
)

// A Response repeats the desired state and the context of a request, with additions. It is encoded when its size or its
// bytes are first asked for, and must not change later.
type Response struct {
	// Own is the response with the additions only. Its Desired has the resources that are added or replaced, and the
	// composite if it is replaced. Its Context has the fields that are added or replaced.
	Own *fnv1.RunFunctionResponse

	// Drop has the names of desired resources of the request that the response omits. If it is not empty,
	// Own needs a Desired.
	Drop []string

	request *Request
	parts   [][]byte  // nil until it is encoded
	few     [1][]byte // their memory, because most responses have one part
	size    int
	err     error
}

// Respond returns a response to the request.
func (r *Request) Respond(own *fnv1.RunFunctionResponse) *Response {
	return &Response{Own: own, request: r}
}

// Size returns the size of the response in bytes, also if it is too large to be encoded.
func (r *Response) Size() int {
	_, _ = r.Marshal()
	return r.size
}

// Marshal marshals the response: one message, in parts. Some parts are bytes of the request: do not write to them.
func (r *Response) Marshal() ([][]byte, error) {
	if r.parts == nil && r.err == nil {
		r.marshal()
	}
	return r.parts, r.err
}

func (r *Response) marshal() {
	e := &encoder{parts: r.few[:0]}
	if context := r.Own.GetContext(); context != nil || r.request.context != nil {
		e.object(context)
		e.section(tagResponseContext, 0, r.request.context, context == nil, r.replacesField)
	}
	if desired := r.Own.GetDesired(); desired != nil || r.request.desired != nil {
		before := e.size
		e.state(desired)
		e.section(tagResponseDesired, before, r.request.desired, desired == nil, r.replacesResource)
	}
	head, err := encode(&fnv1.RunFunctionResponse{
		Meta: r.Own.GetMeta(), Results: r.Own.GetResults(), Requirements: r.Own.GetRequirements(),
		Conditions: r.Own.GetConditions(), Output: r.Own.GetOutput(),
	})
	copy(e.room(len(head)), head)
	e.cut()
	r.size = e.size
	switch {
	case err != nil:
		r.err = err
	case e.invalid:
		r.err = errors.New("a text of the response is not UTF-8")
	case e.own > limits.ResponseBytes:
		r.err = errors.New("the response is too large")
	default:
		slices.Reverse(e.parts)
		r.parts = e.parts
	}
}

// replacesResource reports whether a field of the desired state of the request is replaced or omitted. The composite
// has no name.
func (r *Response) replacesResource(tag byte, name []byte) bool {
	switch tag {
	case tagComposite:
		return r.Own.GetDesired().GetComposite() != nil
	case tagResources:
		_, ok := r.Own.GetDesired().GetResources()[string(name)]
		return ok || slices.Contains(r.Drop, string(name))
	}
	return false
}

func (r *Response) replacesField(_ byte, name []byte) bool {
	_, ok := r.Own.GetContext().GetFields()[string(name)]
	return ok
}

// section writes the parts of the request that are not replaced, and the header of a field that began with the
// additions, when so many bytes were written.
func (e *encoder) section(
	tag byte, before int, came []byte, unchanged bool, isReplaced func(tag byte, name []byte) bool,
) {
	var few [4][]byte
	parts, begin := few[:0], 0 // of the carried part, up to the current field
	for b := came; len(b) > 0 && !unchanged; {
		field, rest := next(b)
		name, _ := take(field, tagKey)
		if isReplaced(b[0], name) {
			parts = append(parts, came[begin:len(came)-len(b)])
			begin = len(came) - len(rest)
		}
		b = rest
	}
	e.carry(came[begin:])
	for _, part := range slices.Backward(parts) {
		e.carry(part)
	}
	e.header(tag, before)
}
