package wire

import (
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protowire"
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

	decoded          *fnv1.RunFunctionRequest
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

	ready   fnv1.Ready
	decoded *fnv1.Resource
	sent    bool
}

// Proto is the resource as protobuf has it, nil if there is none. It may be shared, and
// its connection details share the memory of the request: do not write to it.
func (r Resource) Proto() *fnv1.Resource {
	if !r.sent {
		return r.decoded
	}
	return &fnv1.Resource{Resource: r.Object.Proto(), ConnectionDetails: r.ConnectionDetails, Ready: r.ready}
}

// OfRequest is a request that protobuf decoded. It is not copied.
func OfRequest(req *fnv1.RunFunctionRequest) *Request {
	out := &Request{
		Meta: req.GetMeta(), Observed: ofState(req.GetObserved()), Desired: ofState(req.GetDesired()),
		Input: Of(req.GetInput()), Context: Of(req.GetContext()), decoded: req,
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
	return Resource{Object: Of(r.GetResource()), ConnectionDetails: r.GetConnectionDetails(), decoded: r}
}

// Decoded reports whether protobuf has decoded the request, all of it.
func (r *Request) Decoded() bool { return r.decoded != nil }

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
	meta, ok := isRequest(sent)
	if !ok {
		return nil, false
	}
	r := &Request{Meta: meta, in: &indexes{}}
	for b := sent; len(b) > 0; {
		tag := b[0]
		if !isRead(tag) {
			_, _, n := protowire.ConsumeField(b)
			b = b[n:]
			continue
		}
		field, rest := take(b, tag)
		switch tag {
		case tagObserved:
			r.Observed = r.state(field)
		case tagDesired:
			r.desired = field
			r.Desired = r.state(field)
		case tagInput:
			r.Input = r.object(field)
		case tagContext:
			r.context = field
			r.Context = r.object(field)
		case tagRequiredResources:
			r.found(b)
		case tagRequiredSchemas:
			r.schema(b)
		}
		b = rest
	}
	return r, true
}

func (r *Request) object(b []byte) Struct { return Struct{sent: b, in: r.in} }

func (r *Request) state(b []byte) State {
	n := 0
	for rest := b; len(rest) > 0; n++ {
		_, rest = take(rest, rest[0])
	}
	const most = 1 << 10 // or else the same name over again takes memory
	out := State{Resources: make(map[string]Resource, min(n, most))}
	for len(b) > 0 {
		if b[0] == tagComposite {
			var composite []byte
			composite, b = take(b, tagComposite)
			out.Composite = r.resource(composite)
			continue
		}
		var name, resource []byte
		name, resource, b = entry(b, tagResources)
		out.Resources[string(name)] = r.resource(resource)
	}
	return out
}

func (r *Request) resource(b []byte) Resource {
	out := Resource{sent: true}
	for len(b) > 0 {
		switch b[0] {
		case tagResource:
			var object []byte
			object, b = take(b, tagResource)
			out.Object = r.object(object)
		case tagReady:
			out.ready, b = fnv1.Ready(b[1]), b[2:]
		default:
			var name, value []byte
			name, value, b = entry(b, tagDetails)
			if out.ConnectionDetails == nil {
				out.ConnectionDetails = map[string][]byte{}
			}
			out.ConnectionDetails[string(name)] = value
		}
	}
	return out
}

// found adds the entry of required_resources at the beginning of b.
func (r *Request) found(b []byte) {
	name, items, _ := entry(b, tagRequiredResources)
	objects := []Struct{}
	for len(items) > 0 {
		var item []byte
		item, items = take(items, tagItems)
		objects = append(objects, r.resource(item).Object)
	}
	if r.RequiredResources == nil {
		r.RequiredResources = map[string][]Struct{}
	}
	r.RequiredResources[string(name)] = objects
}

// schema adds the entry of required_schemas at the beginning of b.
func (r *Request) schema(b []byte) {
	name, schema, _ := entry(b, tagRequiredSchemas)
	var object Struct
	if len(schema) > 0 {
		schema, _ = take(schema, tagSchema)
		object = r.object(schema)
	}
	if r.RequiredSchemas == nil {
		r.RequiredSchemas = map[string]Struct{}
	}
	r.RequiredSchemas[string(name)] = object
}
