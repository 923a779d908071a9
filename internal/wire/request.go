package wire

import (
	"unicode/utf8"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
)

// Tags of the fields of a RunFunctionRequest, and of the messages in it.
const (
	tagMeta              = 1<<3 | 2
	tagObserved          = 2<<3 | 2
	tagDesired           = 3<<3 | 2
	tagInput             = 4<<3 | 2
	tagContext           = 5<<3 | 2
	tagRequiredResources = 8<<3 | 2
	tagRequiredSchemas   = 9<<3 | 2

	tagComposite = 1<<3 | 2 // of State
	tagResources = 2<<3 | 2

	tagResource = 1<<3 | 2 // of Resource
	tagDetails  = 2<<3 | 2
	tagReady    = 3<<3 | 0

	tagItems  = 1<<3 | 2 // of Resources
	tagSchema = 1<<3 | 2 // of Schema
)

// A Request is a RunFunctionRequest that is only read. It is for one goroutine, and
// nothing of it may be kept but texts and what protobuf decoded.
type Request struct {
	Meta              *fnv1.RequestMeta
	Observed, Desired State
	Input, Context    Struct

	// RequiredResources by name. The connection details of what was read are not here.
	RequiredResources map[string][]Struct

	// RequiredSchemas are the OpenAPI v3 schemas by name. One that does not exist was
	// looked for and not found.
	RequiredSchemas map[string]Struct

	made             *fnv1.RunFunctionRequest
	desired, context []byte   // their bodies, nil for none
	in               *indexes // nil for one that protobuf decoded
}

// A State of the request.
type State struct {
	Composite Resource
	Resources map[string]Resource
}

// A Resource of a State.
type Resource struct {
	Object Struct

	// ConnectionDetails share the memory of the request.
	ConnectionDetails map[string][]byte

	ready fnv1.Ready
	made  *fnv1.Resource
	sent  bool
}

// Proto is the resource as protobuf has it, nil if there is none. It may be shared: do
// not write to it.
func (r Resource) Proto() *fnv1.Resource {
	if !r.sent {
		return r.made
	}
	return &fnv1.Resource{Resource: r.Object.Proto(), ConnectionDetails: r.ConnectionDetails, Ready: r.ready}
}

// OfRequest is a request that protobuf decoded. It is not copied.
func OfRequest(req *fnv1.RunFunctionRequest) *Request {
	out := &Request{
		Meta: req.GetMeta(), Observed: ofState(req.GetObserved()), Desired: ofState(req.GetDesired()),
		Input: Of(req.GetInput()), Context: Of(req.GetContext()), made: req,
	}
	if len(req.GetRequiredResources()) > 0 {
		out.RequiredResources = make(map[string][]Struct, len(req.GetRequiredResources()))
	}
	for name, found := range req.GetRequiredResources() {
		objects := make([]Struct, 0, len(found.GetItems()))
		for _, r := range found.GetItems() {
			objects = append(objects, Of(r.GetResource()))
		}
		out.RequiredResources[name] = objects
	}
	if len(req.GetRequiredSchemas()) > 0 {
		out.RequiredSchemas = make(map[string]Struct, len(req.GetRequiredSchemas()))
	}
	for name, s := range req.GetRequiredSchemas() {
		out.RequiredSchemas[name] = Of(s.GetOpenapiV3())
	}
	return out
}

func ofState(s *fnv1.State) State {
	out := State{Composite: ofResource(s.GetComposite())}
	if len(s.GetResources()) > 0 {
		out.Resources = make(map[string]Resource, len(s.GetResources()))
	}
	for name, r := range s.GetResources() {
		out.Resources[name] = ofResource(r)
	}
	return out
}

func ofResource(r *fnv1.Resource) Resource {
	return Resource{Object: Of(r.GetResource()), ConnectionDetails: r.GetConnectionDetails(), made: r}
}

// Decode a request. The bytes are its own from then on: they must not be written to. An
// error is protobuf's.
func Decode(sent []byte) (*Request, error) {
	if r, ok := read(sent); ok {
		return r, nil
	}
	req := &fnv1.RunFunctionRequest{}
	if err := proto.Unmarshal(sent, req); err != nil {
		return nil, err
	}
	return OfRequest(req), nil
}

// read a request. It is not ok if that is protobuf's to do.
func read(sent []byte) (*Request, bool) {
	r := &Request{in: &indexes{}}
	seen := 0
	for b := sent; len(b) > 0; {
		tag := b[0]
		body, rest, ok := take(b, tag)
		if !ok || !r.readField(tag, body) {
			return nil, false
		}
		if field := 1 << (tag >> 3); tag != tagRequiredResources && tag != tagRequiredSchemas {
			if seen&field != 0 { // protobuf merges the two
				return nil, false
			}
			seen |= field
		}
		b = rest
	}
	return r, true
}

func (r *Request) readField(tag byte, body []byte) (ok bool) {
	switch tag {
	case tagMeta:
		r.Meta = &fnv1.RequestMeta{}
		return proto.Unmarshal(body, r.Meta) == nil
	case tagObserved:
		r.Observed, ok = r.readState(body)
	case tagDesired:
		r.desired = body
		r.Desired, ok = r.readState(body)
	case tagInput:
		r.Input, ok = r.readStruct(body)
	case tagContext:
		r.context = body
		r.Context, ok = r.readStruct(body)
	case tagRequiredResources:
		ok = r.readRequired(body)
	case tagRequiredSchemas:
		ok = r.readSchema(body)
	}
	return ok
}

func (r *Request) readStruct(b []byte) (Struct, bool) {
	return Struct{sent: b, in: r.in}, isStruct(b, 0)
}

func (r *Request) readState(b []byte) (State, bool) {
	var out State
	composite := false
	for len(b) > 0 {
		switch b[0] {
		case tagComposite:
			body, rest, ok := take(b, tagComposite)
			if ok && !composite {
				out.Composite, ok = r.readResource(body)
			}
			if !ok || composite {
				return State{}, false
			}
			composite, b = true, rest
		case tagResources:
			name, body, rest, ok := mapEntry(b, tagResources)
			if !ok {
				return State{}, false
			}
			if out.Resources == nil {
				out.Resources = map[string]Resource{}
			}
			if out.Resources[name], ok = r.readResource(body); !ok {
				return State{}, false
			}
			b = rest
		default:
			return State{}, false
		}
	}
	return out, true
}

func (r *Request) readResource(b []byte) (Resource, bool) {
	out := Resource{sent: true}
	for ready := false; len(b) > 0; {
		switch b[0] {
		case tagResource:
			body, rest, ok := take(b, tagResource)
			if !ok || out.Object.Exists() {
				return out, false
			}
			if out.Object, ok = r.readStruct(body); !ok {
				return out, false
			}
			b = rest
		case tagDetails:
			name, value, rest, ok := mapEntry(b, tagDetails)
			if !ok {
				return out, false
			}
			if out.ConnectionDetails == nil {
				out.ConnectionDetails = map[string][]byte{}
			}
			out.ConnectionDetails[name] = value
			b = rest
		case tagReady:
			if len(b) < 2 || b[1] >= 0x80 || ready {
				return out, false
			}
			out.ready, ready, b = fnv1.Ready(b[1]), true, b[2:]
		default:
			return out, false
		}
	}
	return out, true
}

// readRequired adds an entry of required_resources.
func (r *Request) readRequired(e []byte) bool {
	name, b, ok := keyed(e)
	if !ok {
		return false
	}
	objects := []Struct{}
	for len(b) > 0 {
		item, rest, ok := take(b, tagItems)
		if !ok {
			return false
		}
		found, ok := r.readResource(item)
		if !ok {
			return false
		}
		objects, b = append(objects, found.Object), rest
	}
	if r.RequiredResources == nil {
		r.RequiredResources = map[string][]Struct{}
	}
	r.RequiredResources[name] = objects
	return true
}

// readSchema adds an entry of required_schemas.
func (r *Request) readSchema(e []byte) bool {
	name, b, ok := keyed(e)
	if !ok {
		return false
	}
	var schema Struct
	if len(b) > 0 {
		body, rest, ok := take(b, tagSchema)
		if !ok || len(rest) > 0 {
			return false
		}
		if schema, ok = r.readStruct(body); !ok {
			return false
		}
	}
	if r.RequiredSchemas == nil {
		r.RequiredSchemas = map[string]Struct{}
	}
	r.RequiredSchemas[name] = schema
	return true
}

// mapEntry takes an entry of a map that is the field of a tag.
func mapEntry(b []byte, tag byte) (name string, value, rest []byte, ok bool) {
	e, rest, ok := take(b, tag)
	if !ok {
		return "", nil, nil, false
	}
	name, value, ok = keyed(e)
	return name, value, rest, ok
}

// keyed is the key and the value of the entry of a map: each of them once, in this order.
func keyed(e []byte) (name string, value []byte, ok bool) {
	key, e, ok := take(e, tagKey)
	if !ok || !utf8.Valid(key) {
		return "", nil, false
	}
	value, e, ok = take(e, tagValue)
	return string(key), value, ok && len(e) == 0
}
