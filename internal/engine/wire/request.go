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

// A Request is a RunFunctionRequest that is only read. It is for one goroutine. Only texts and messages decoded by
// protobuf may be kept longer.
type Request struct {
	Meta              *fnv1.RequestMeta
	Observed, Desired State
	Input, Context    Struct

	// RequiredResources by name, without their connection details.
	RequiredResources map[string][]Struct

	// RequiredSchemas are the OpenAPI v3 schemas by name. A schema that was not found does not exist.
	RequiredSchemas map[string]Struct

	size             int                      // unless protobuf decoded the request
	decoded          *fnv1.RunFunctionRequest // nil unless protobuf decoded the request
	desired, context []byte                   // their bodies, or nil
	in               *indexes                 // nil if protobuf decoded the request
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

// Proto is the resource decoded by protobuf, or nil. It may be shared, and its connection details share the memory of
// the request: do not write to it.
func (r Resource) Proto() *fnv1.Resource {
	if !r.sent {
		return r.decoded
	}
	return &fnv1.Resource{Resource: r.Object.Proto(), ConnectionDetails: r.ConnectionDetails, Ready: r.ready}
}

// OfRequest returns a request that protobuf decoded. It is not copied.
func OfRequest(req *fnv1.RunFunctionRequest) *Request {
	return &Request{
		Meta: req.GetMeta(), Observed: ofState(req.GetObserved()), Desired: ofState(req.GetDesired()),
		Input: Of(req.GetInput()), Context: Of(req.GetContext()), decoded: req,
		RequiredResources: mapped(req.GetRequiredResources(), func(found *fnv1.Resources) []Struct {
			objects := make([]Struct, 0, len(found.GetItems()))
			for _, r := range found.GetItems() {
				objects = append(objects, Of(r.GetResource()))
			}
			return objects
		}),
		RequiredSchemas: mapped(req.GetRequiredSchemas(), func(s *fnv1.Schema) Struct { return Of(s.GetOpenapiV3()) }),
	}
}

func ofState(s *fnv1.State) State {
	return State{Composite: ofResource(s.GetComposite()), Resources: mapped(s.GetResources(), ofResource)}
}

func ofResource(r *fnv1.Resource) Resource {
	return Resource{Object: Of(r.GetResource()), ConnectionDetails: r.GetConnectionDetails(), decoded: r}
}

// mapped returns nil for an empty map.
func mapped[A, B any](from map[string]A, of func(A) B) map[string]B {
	if len(from) == 0 {
		return nil
	}
	out := make(map[string]B, len(from))
	for name, v := range from {
		out[name] = of(v)
	}
	return out
}

// Decoded reports whether protobuf has decoded the request, all of it.
func (r *Request) Decoded() bool { return r.decoded != nil }

// Size returns the number of bytes of the request.
func (r *Request) Size() int {
	if r.decoded != nil {
		return proto.Size(r.decoded)
	}
	return r.size
}

// Decode decodes a request. It keeps the bytes, so they must not be written to. Errors come from protobuf.
func Decode(sent []byte) (*Request, error) {
	if meta, ok := isRequest(sent); ok {
		return read(sent, meta), nil
	}
	req := &fnv1.RunFunctionRequest{}
	if err := proto.Unmarshal(sent, req); err != nil {
		return nil, err
	}
	return OfRequest(req), nil
}

// read reads a checked request.
func read(sent []byte, meta *fnv1.RequestMeta) *Request {
	r := &Request{Meta: meta, size: len(sent), in: &indexes{}}
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
			r.desired, r.Desired = field, r.state(field)
		case tagInput:
			r.Input = r.object(field)
		case tagContext:
			r.context, r.Context = field, r.object(field)
		case tagRequiredResources:
			r.found(b)
		case tagRequiredSchemas:
			r.schema(b)
		}
		b = rest
	}
	return r
}

func (r *Request) object(b []byte) Struct { return Struct{sent: b, in: r.in} }

func (r *Request) state(b []byte) State {
	n := 0
	for rest := b; len(rest) > 0; n++ {
		_, rest = take(rest, rest[0])
	}
	const most = 1 << 10 // otherwise a repeated name takes memory
	out := State{Resources: make(map[string]Resource, min(n, most))}
	for len(b) > 0 {
		var name, resource []byte
		if b[0] == tagComposite {
			resource, b = take(b, tagComposite)
			out.Composite = r.resource(resource)
			continue
		}
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
