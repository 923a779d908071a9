// Package object makes the Secrets and ConfigMaps that this function composes.
//
// Names, metadata and data come in as an [Object]; a google.protobuf.Struct, as
// Crossplane wants it, goes out. The other way round the package reads an
// observed Struct: whose it is, what data it has, and what to desire so that it
// stays exactly as it is ([Held]).
//
// Nothing goes to Crossplane that the API server would refuse: every object
// passes [Object.Validate] first. No text made here holds a value, and no Struct
// that comes in is ever modified.
package object

import (
	"encoding/base64"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// Kind is the kind of an object, in apiVersion v1.
type Kind string

// The kinds of objects that this function composes.
const (
	Secret    Kind = "Secret"
	ConfigMap Kind = "ConfigMap"
)

const apiVersion = "v1"

// Object is a Secret or a ConfigMap as it shall be.
type Object struct {
	Kind      Kind
	Name      string
	Namespace string

	// Labels and Annotations are what the user asks for. Those that Crossplane
	// or this function sets itself are refused by Validate.
	Labels      map[string]string
	Annotations map[string]string

	// State is the annotations that this function keeps for itself, all of them
	// under StatePrefix: what a user must not set has a place of its own.
	State map[string]string

	// Type is a Secret's type. Empty is Opaque, which the API server fills in.
	Type string

	// Immutable is left out if nil.
	Immutable *bool

	Data map[string]sensitive.Bytes
}

// Struct is the object as Crossplane wants it. It shares nothing with o, and the
// same object always gives the same Struct. Empty labels, annotations and data
// are left out. A ConfigMap's value stands under data if it is UTF-8, and under
// binaryData if not.
//
// Call [Object.Validate] first: the Struct of an object that does not pass may
// be one that protobuf cannot marshal.
func (o *Object) Struct() *structpb.Struct {
	const ownTexts = 5 // apiVersion, kind, name, namespace, type
	s := newSlab(ownTexts + len(o.Labels) + len(o.Annotations) + len(o.State) + len(o.Data))
	metadata := fields(4)
	metadata["name"] = s.str(o.Name)
	metadata["namespace"] = s.str(o.Namespace)
	s.putMap(metadata, "labels", o.Labels, nil)
	s.putMap(metadata, "annotations", o.Annotations, o.State)

	top := fields(7)
	top["apiVersion"] = s.str(apiVersion)
	top["kind"] = s.str(string(o.Kind))
	top["metadata"] = structOf(metadata)
	if o.Type != "" {
		top["type"] = s.str(o.Type)
	}
	if o.Immutable != nil {
		top["immutable"] = structpb.NewBoolValue(*o.Immutable)
	}
	o.putData(s, top)
	return &structpb.Struct{Fields: top}
}

// Bytes are about as many as the Struct of the object has in a response.
func (o *Object) Bytes() int {
	const ofField = 16 // for the lengths of what is nested
	n := len(o.Name) + len(o.Namespace) + len(o.Type) + 8*ofField
	for _, m := range []map[string]string{o.Labels, o.Annotations, o.State} {
		for k, v := range m {
			n += len(k) + len(v) + ofField
		}
	}
	for k, v := range o.Data {
		n += len(k) + ofField
		if o.Kind == ConfigMap && utf8.Valid(v.Reveal()) {
			n += v.Len()
		} else {
			n += base64.StdEncoding.EncodedLen(v.Len())
		}
	}
	return n
}

// putData adds data and binaryData to an object's fields.
func (o *Object) putData(s *slab, top map[string]*structpb.Value) {
	var data, binaryData map[string]*structpb.Value
	for key, value := range o.Data {
		raw := value.Reveal()
		switch {
		case o.Kind == ConfigMap && utf8.Valid(raw):
			put(&data, len(o.Data), key, s.str(string(raw)))
		case o.Kind == ConfigMap:
			put(&binaryData, 1, key, s.str(base64.StdEncoding.EncodeToString(raw)))
		default:
			put(&data, len(o.Data), key, s.str(base64.StdEncoding.EncodeToString(raw)))
		}
	}
	if data != nil {
		top["data"] = structOf(data)
	}
	if binaryData != nil {
		top["binaryData"] = structOf(binaryData)
	}
}

// put adds one field to a map that is made with the first of them.
func put(to *map[string]*structpb.Value, size int, key string, value *structpb.Value) {
	if *to == nil {
		*to = fields(size)
	}
	(*to)[key] = value
}

func fields(size int) map[string]*structpb.Value {
	return make(map[string]*structpb.Value, size)
}

func structOf(f map[string]*structpb.Value) *structpb.Value {
	return structpb.NewStructValue(&structpb.Struct{Fields: f})
}

// slab hands out string values from two slices of a size known before, instead
// of two allocations for each.
type slab struct {
	values  []structpb.Value
	strings []structpb.Value_StringValue
}

func newSlab(size int) *slab {
	return &slab{values: make([]structpb.Value, size), strings: make([]structpb.Value_StringValue, size)}
}

func (s *slab) str(text string) *structpb.Value {
	v, str := &s.values[0], &s.strings[0]
	s.values, s.strings = s.values[1:], s.strings[1:]
	str.StringValue = text
	v.Kind = str
	return v
}

// putMap adds the entries of a and b as one field, unless there are none.
func (s *slab) putMap(to map[string]*structpb.Value, name string, a, b map[string]string) {
	if len(a)+len(b) == 0 {
		return
	}
	f := fields(len(a) + len(b))
	for key, value := range a {
		f[key] = s.str(value)
	}
	for key, value := range b {
		f[key] = s.str(value)
	}
	to[name] = structOf(f)
}
