package wire

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// Tags of the fields of a RunFunctionResponse that repeat fields of the request.
const (
	tagResponseDesired = 2<<3 | 2
	tagResponseContext = 4<<3 | 2
)

// A Response repeats the desired state and the context of a request, with additions.
type Response struct {
	// Own is the response with the additions only. Its Desired has the resources that are added or replaced, and the
	// composite if it is replaced. Its Context has the fields that are added or replaced.
	Own *fnv1.RunFunctionResponse

	// Drop has the names of desired resources of the request that the response omits. If it is not empty,
	// Own needs a Desired.
	Drop []string

	request *Request
	whole   *fnv1.RunFunctionResponse // once it is merged
}

// Respond returns a response to the request.
func (r *Request) Respond(own *fnv1.RunFunctionResponse) *Response {
	return &Response{Own: own, request: r}
}

// Proto is the response decoded by protobuf. It may share memory with the request: do not write to it.
func (r *Response) Proto() (*fnv1.RunFunctionResponse, error) {
	if !r.request.Decoded() {
		parts, err := r.Marshal()
		if err != nil {
			return nil, err
		}
		out := &fnv1.RunFunctionResponse{}
		return out, proto.Unmarshal(bytes.Join(parts, nil), out)
	}
	return r.merged(), nil
}

// merged is the response to a request that protobuf decoded. It is merged once, so Own and Drop must not change later.
func (r *Response) merged() *fnv1.RunFunctionResponse {
	if r.whole != nil {
		return r.whole
	}
	req, out := r.request.decoded, r.withoutState()
	out.Desired, out.Context = req.GetDesired(), req.GetContext()
	if own := r.Own.GetDesired(); own != nil {
		out.Desired = &fnv1.State{
			Composite: cmp.Or(own.GetComposite(), req.GetDesired().GetComposite()),
			Resources: replaced(req.GetDesired().GetResources(), r.Drop, own.GetResources()),
		}
	}
	if own := r.Own.GetContext(); own != nil {
		out.Context = &structpb.Struct{Fields: replaced(req.GetContext().GetFields(), nil, own.GetFields())}
	}
	r.whole = out
	return out
}

// replaced returns a copy of the field of the request, without dropped and with added entries.
func replaced[V any](came map[string]V, drop []string, added map[string]V) map[string]V {
	out := make(map[string]V, len(came)+len(added))
	maps.Copy(out, came)
	for _, name := range drop {
		delete(out, name)
	}
	maps.Copy(out, added)
	return out
}

// withoutState returns the function's own response, without desired and context.
func (r *Response) withoutState() *fnv1.RunFunctionResponse {
	return &fnv1.RunFunctionResponse{
		Meta: r.Own.GetMeta(), Results: r.Own.GetResults(), Requirements: r.Own.GetRequirements(),
		Conditions: r.Own.GetConditions(), Output: r.Own.GetOutput(),
	}
}

// Marshal marshals the response: one message, in parts. Some parts are bytes of the request: do not write to them.
func (r *Response) Marshal() ([][]byte, error) {
	if r.request.Decoded() {
		b, err := proto.Marshal(r.merged())
		if err != nil {
			return nil, err
		}
		return [][]byte{b}, nil
	}
	head, err := encode(r.withoutState())
	if err != nil {
		return nil, err
	}
	parts := [][]byte{head}
	for _, s := range r.sections() {
		if parts, err = s.marshal(parts); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// Size returns the size of the response in bytes.
func (r *Response) Size() int {
	size := proto.Size(r.withoutState())
	if r.request.Decoded() {
		for _, part := range []proto.Message{r.merged().GetDesired(), r.merged().GetContext()} {
			if part.ProtoReflect().IsValid() {
				size += sizeField(sizeOf(part))
			}
		}
		return size
	}
	for _, s := range r.sections() {
		if s.exists() {
			_, n := s.carried()
			n += sizeOf(s.own)
			size += len(header(s.tag, n)) + n
		}
	}
	return size
}

// encode encodes a message. The same message always has the same bytes.
func encode(m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// A section is a field of the response that repeats what came, in fields with a tag of one byte.
type section struct {
	tag  byte
	came []byte        // may be nil
	own  proto.Message // the additions, which may be nil in their type

	// isReplaced reports whether an entry of a map is replaced, by its name. It ignores the name of the composite.
	isReplaced func(tag byte, name []byte) bool
}

func (r *Response) sections() [2]section {
	desired, context := r.Own.GetDesired(), r.Own.GetContext()
	return [2]section{
		{tagResponseDesired, r.request.desired, desired, func(tag byte, name []byte) bool {
			if tag == tagComposite {
				return desired.GetComposite() != nil
			}
			_, ok := desired.GetResources()[string(name)]
			return ok || slices.Contains(r.Drop, string(name))
		}},
		{tagResponseContext, r.request.context, context, func(_ byte, name []byte) bool {
			_, ok := context.GetFields()[string(name)]
			return ok
		}},
	}
}

func (s section) adds() bool { return s.own.ProtoReflect().IsValid() }

func (s section) exists() bool { return s.adds() || s.came != nil }

// marshal appends the section to other parts: first the parts of the request that are not replaced, and
// then the additions.
func (s section) marshal(parts [][]byte) ([][]byte, error) {
	if !s.exists() {
		return parts, nil
	}
	added, err := encode(s.own)
	if err != nil {
		return nil, err
	}
	carried, size := s.carried()
	parts = append(parts, header(s.tag, size+len(added)))
	return append(append(parts, carried...), added), nil
}

// carried returns the parts of the request that are not replaced, and their size.
func (s section) carried() (parts [][]byte, size int) {
	begin := 0 // of the carried part, up to the current field
	keep := func(end int) {
		if end > begin {
			parts = append(parts, s.came[begin:end:end])
			size += end - begin
		}
	}
	for b := s.came; len(b) > 0 && s.adds(); {
		entry, rest := take(b, b[0])
		name, _ := take(entry, tagKey)
		if s.isReplaced(b[0], name) {
			keep(len(s.came) - len(b))
			begin = len(s.came) - len(rest)
		}
		b = rest
	}
	keep(len(s.came))
	return parts, size
}

// header returns the header of a field with so many bytes.
func header(tag byte, n int) []byte {
	return binary.AppendUvarint([]byte{tag}, uint64(n)) //nolint:gosec // a length
}
