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
	if r.parse(sent, plainDepth) {
		return nil
	}
	var err error
	for _, discard := range []bool{false, true} { // if possible, keep what only a newer Crossplane knows
		req := &fnv1.RunFunctionRequest{}
		if err := (proto.UnmarshalOptions{DiscardUnknown: discard}).Unmarshal(sent, req); err != nil {
			return err
		}
		*r = Request{}
		if err = r.encode(req); err == nil {
			break
		}
	}
	return err
}

// Encode returns a request as it is read once protobuf has encoded it.
func Encode(req *fnv1.RunFunctionRequest) (*Request, error) {
	r := &Request{}
	return r, r.encode(req)
}

func (r *Request) encode(req *fnv1.RunFunctionRequest) error {
	sent, err := encode(&fnv1.RunFunctionRequest{ // the fields that are read
		Meta: req.GetMeta(), Observed: req.GetObserved(), Desired: req.GetDesired(), Input: req.GetInput(),
		Context: req.GetContext(), RequiredResources: req.GetRequiredResources(), RequiredSchemas: req.GetRequiredSchemas(),
	})
	if err != nil {
		return err
	}
	if !r.parse(sent, protowire.DefaultRecursionLimit) {
		return errors.New("the request has unknown fields")
	}
	return nil
}

// parse reads a request, and reports whether it has the form that a [parser] reads.
func (r *Request) parse(sent []byte, depth int) bool {
	r.in.sent = slices.Clip(sent)
	p := parser{Request: r, depth: depth}
	p.request()
	return !p.wrong
}
