package wire

import (
	"errors"
	"slices"

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

// A Request is a RunFunctionRequest that is only read. It is for one goroutine, and must not be copied. Only texts and
// messages decoded by protobuf may be kept longer.
type Request struct {
	Meta              *fnv1.RequestMeta
	Observed, Desired State
	Input, Context    Struct

	// RequiredResources by name, without their connection details.
	RequiredResources map[string][]Struct

	// RequiredSchemas are the OpenAPI v3 schemas by name. A schema that was not found does not exist.
	RequiredSchemas map[string]Struct

	desired, context []byte // their bodies, or nil
	in               indexes
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

	// Ready is what an earlier step said of it.
	Ready fnv1.Ready

	exists bool
}

// Proto is the resource decoded by protobuf, or nil. Its connection details share the memory of the request: do not
// write to it.
func (r Resource) Proto() *fnv1.Resource {
	if !r.exists {
		return nil
	}
	return &fnv1.Resource{Resource: r.Object.Proto(), ConnectionDetails: r.ConnectionDetails, Ready: r.Ready}
}

// Size returns the number of bytes of the request.
func (r *Request) Size() int { return len(r.in.sent) }

// Unmarshal decodes a request into an empty one. It keeps the bytes, so they must not be written to. Errors come from
// protobuf.
func (r *Request) Unmarshal(sent []byte) error {
	if meta, ok := isRequest(sent, plainDepth); ok {
		r.read(sent, meta)
		return nil
	}
	req := &fnv1.RunFunctionRequest{}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(sent, req); err != nil {
		return err
	}
	return r.encode(req)
}

// Encode returns a request as it is read once protobuf has encoded it.
func Encode(req *fnv1.RunFunctionRequest) (*Request, error) {
	r := &Request{}
	return r, r.encode(req)
}

func (r *Request) encode(req *fnv1.RunFunctionRequest) error {
	sent, err := encode(req)
	if err != nil {
		return err
	}
	meta, ok := isRequest(sent, protowire.DefaultRecursionLimit)
	if !ok {
		return errors.New("the request has unknown fields")
	}
	r.read(sent, meta)
	return nil
}

// read reads a checked request.
func (r *Request) read(sent []byte, meta *fnv1.RequestMeta) {
	r.Meta, r.in.sent = meta, slices.Clip(sent)
	for b := r.in.sent; len(b) > 0; {
		var field []byte
		tag := b[0]
		switch field, b = next(b); tag {
		case tagObserved:
			r.Observed = r.state(field)
		case tagDesired:
			r.desired, r.Desired = field, r.state(field)
		case tagInput:
			r.Input = r.object(field)
		case tagContext:
			r.context, r.Context = field, r.object(field)
		case tagRequiredResources:
			r.found(keyAndValue(field))
		case tagRequiredSchemas:
			r.schema(keyAndValue(field))
		}
	}
}

func (r *Request) object(b []byte) Struct { return Struct{sent: b, in: &r.in} }

// next returns the body of the field at the beginning of b, and the rest after it. A field with a longer tag than one
// byte is not read, and has no body.
func next(b []byte) (field, rest []byte) {
	if b[0] < 0x80 && protowire.Type(b[0]&7) == protowire.BytesType {
		return take(b, b[0])
	}
	_, _, n := protowire.ConsumeField(b)
	return b[1:n], b[n:]
}

func (r *Request) state(b []byte) State {
	n := 0
	for rest := b; len(rest) > 0; n++ {
		_, rest = next(rest)
	}
	const most = 1 << 10 // otherwise a repeated name takes memory
	var out State
	if n > 0 {
		out.Resources = make(map[string]Resource, min(n, most))
	}
	for len(b) > 0 {
		var field []byte
		tag := b[0]
		switch field, b = next(b); tag {
		case tagComposite:
			out.Composite = r.resource(field)
		case tagResources:
			name, resource := keyAndValue(field)
			out.Resources[r.in.copy(name)] = r.resource(resource)
		}
	}
	return out
}

func (r *Request) resource(b []byte) Resource {
	out := Resource{exists: true}
	for len(b) > 0 {
		var field []byte
		tag := b[0]
		switch field, b = next(b); tag {
		case tagResource:
			out.Object = r.object(field)
		case tagReady:
			ready, _ := protowire.ConsumeVarint(field)
			out.Ready = fnv1.Ready(ready) //nolint:gosec // as protobuf
		case tagDetails:
			name, value := keyAndValue(field)
			put(&out.ConnectionDetails, r.in.copy(name), slices.Clip(value))
		}
	}
	return out
}

// found adds an entry of required_resources.
func (r *Request) found(name, items []byte) {
	objects := []Struct{}
	for len(items) > 0 {
		var item []byte
		item, items = take(items, tagItems)
		objects = append(objects, r.resource(item).Object)
	}
	put(&r.RequiredResources, r.in.copy(name), objects)
}

// schema adds an entry of required_schemas. One that was not found is empty.
func (r *Request) schema(name, schema []byte) {
	var object Struct
	if len(schema) > 0 {
		schema, _ = take(schema, tagSchema)
		object = r.object(schema)
	}
	put(&r.RequiredSchemas, r.in.copy(name), object)
}

// put adds an entry to a map that may be nil.
func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}
