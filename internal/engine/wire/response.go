package wire

import (
	"encoding/binary"
	"errors"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
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
	parts   [][]byte // nil until it is encoded
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
	if r.parts == nil {
		r.err = r.marshal()
	}
	return r.parts, r.err
}

func (r *Response) marshal() error {
	head, err := encode(&fnv1.RunFunctionResponse{
		Meta: r.Own.GetMeta(), Results: r.Own.GetResults(), Requirements: r.Own.GetRequirements(),
		Conditions: r.Own.GetConditions(), Output: r.Own.GetOutput(),
	})
	r.add(head)
	if desired := r.Own.GetDesired(); desired != nil || r.request.desired != nil {
		e := &encoder{}
		e.state(desired)
		err = errors.Join(err, r.section(tagResponseDesired, r.request.desired, e, desired == nil, r.replacesResource))
	}
	if context := r.Own.GetContext(); context != nil || r.request.context != nil {
		e := &encoder{}
		e.object(context)
		err = errors.Join(err, r.section(tagResponseContext, r.request.context, e, context == nil, r.replacesField))
	}
	return err
}

// add adds a part.
func (r *Response) add(part []byte) {
	r.parts = append(r.parts, part)
	r.size += len(part)
}

// replacesResource reports whether a field of the desired state of the request is replaced or omitted. The composite has
// no name.
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

// section adds a field: the parts of the request that are not replaced, and then the additions.
func (r *Response) section(
	tag byte, came []byte, own *encoder, unchanged bool, isReplaced func(tag byte, name []byte) bool,
) error {
	at, before := len(r.parts), r.size
	r.add(nil) // the header, which has the length
	begin := 0 // of the carried part, up to the current field
	keep := func(end int) {
		if end > begin {
			r.add(came[begin:end:end])
		}
	}
	for b := came; len(b) > 0 && !unchanged; {
		rest := skip(b)
		entry, _ := take(b, b[0])
		name, _ := take(entry, tagKey)
		if isReplaced(b[0], name) {
			keep(len(came) - len(b))
			begin = len(came) - len(rest)
		}
		b = rest
	}
	keep(len(came))
	r.parts = append(r.parts, own.b[own.at:])
	r.size += own.size
	r.parts[at] = binary.AppendUvarint([]byte{tag}, uint64(r.size-before)) //nolint:gosec // a length
	r.size += len(r.parts[at])
	switch {
	case own.invalid:
		return errors.New("a text of the response is not UTF-8")
	case own.size > len(own.b)-own.at:
		return errors.New("the response is too large")
	}
	return nil
}
