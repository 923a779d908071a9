// Package object creates the Secrets and ConfigMaps that this function composes, and reads observed ones.
//
// An [Object] becomes a google.protobuf.Struct, as Crossplane expects it. The package reads the controller and the
// data of an observed Struct, and creates the desired object that keeps it exactly as it is ([Held]).
//
// [Object.Validate] returns what the API server would refuse. No text that the package returns contains a value, and
// no observed Struct is modified.
package object

import (
	"encoding/base64"
	"maps"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Kind is the kind of an object, in apiVersion v1.
type Kind string

// The kinds of objects that this function composes.
const (
	Secret    Kind = "Secret"
	ConfigMap Kind = "ConfigMap"
)

const apiVersion = "v1"

// Object is a desired Secret or ConfigMap.
type Object struct {
	Kind      Kind
	Name      string
	Namespace string

	// Labels and Annotations of the user. Validate refuses those that Crossplane or this function sets itself.
	Labels      map[string]string
	Annotations map[string]string

	State map[string]string // annotations with the state of this function, under StatePrefix

	Type      string // of a Secret. Empty is Opaque, which the API server sets
	Immutable *bool  // left out if nil
	Data      map[string]sensitive.Bytes
}

// Struct returns the object as Crossplane expects it. It shares no data with o. Empty labels, annotations and data
// are left out. A ConfigMap's value is under data if it is UTF-8, and under binaryData if not.
//
// Call [Object.Validate] first: protobuf may be unable to marshal the Struct of an invalid object.
func (o *Object) Struct() *structpb.Struct {
	const ownTexts = 5 // apiVersion, kind, name, namespace, type
	s := newSlab(ownTexts + len(o.Labels) + len(o.Annotations) + len(o.State) + len(o.Data))
	metadata := fields(4)
	metadata["name"] = s.str(o.Name)
	metadata["namespace"] = s.str(o.Namespace)
	putFields(metadata, "labels", s.texts(o.Labels, nil))
	putFields(metadata, "annotations", s.texts(o.Annotations, o.State))

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

// putData adds data and binaryData to an object's fields.
func (o *Object) putData(s *slab, top map[string]*structpb.Value) {
	data := fields(len(o.Data))
	var binaryData map[string]*structpb.Value
	for key, value := range o.Data {
		raw := value.Reveal()
		switch {
		case o.Kind != ConfigMap:
			data[key] = s.str(base64.StdEncoding.EncodeToString(raw))
		case utf8.Valid(raw):
			data[key] = s.str(string(raw))
		default:
			if binaryData == nil {
				binaryData = fields(1)
			}
			binaryData[key] = s.str(base64.StdEncoding.EncodeToString(raw))
		}
	}
	putFields(top, "data", data)
	putFields(top, "binaryData", binaryData)
}

func fields(size int) map[string]*structpb.Value { return make(map[string]*structpb.Value, size) }

// structOf returns a Struct as a value, in one allocation.
func structOf(f map[string]*structpb.Value) *structpb.Value {
	out := &struct {
		value structpb.Value
		kind  structpb.Value_StructValue
		of    structpb.Struct
	}{}
	out.of.Fields, out.kind.StructValue, out.value.Kind = f, &out.of, &out.kind
	return &out.value
}

// putFields adds a Struct with some fields, unless there are none.
func putFields(to map[string]*structpb.Value, name string, f map[string]*structpb.Value) {
	if len(f) > 0 {
		to[name] = structOf(f)
	}
}

// slab returns string values from two slices of a known size, instead of two allocations for each value.
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

func (s *slab) texts(a, b map[string]string) map[string]*structpb.Value {
	if len(a)+len(b) == 0 {
		return nil
	}
	f := fields(len(a) + len(b))
	for key, value := range a {
		f[key] = s.str(value)
	}
	for key, value := range b {
		f[key] = s.str(value)
	}
	return f
}

// Metadata returns the fields of the metadata of an object, which may be nil.
func Metadata(o *structpb.Struct) map[string]*structpb.Value {
	return o.GetFields()["metadata"].GetStructValue().GetFields()
}

// WithMetadata returns a copy of an object with more metadata.
func WithMetadata(o *structpb.Struct, more map[string]*structpb.Value) *structpb.Struct {
	meta := map[string]*structpb.Value{}
	maps.Copy(meta, Metadata(o))
	maps.Copy(meta, more)
	out := copyOf(o)
	out.Fields["metadata"] = structOf(meta)
	return out
}

// WithName returns a copy of an object with a name, and with a namespace unless that is empty.
func WithName(o *structpb.Struct, namespace, name string) *structpb.Struct {
	meta := map[string]*structpb.Value{"name": structpb.NewStringValue(name)}
	if namespace != "" {
		meta["namespace"] = structpb.NewStringValue(namespace)
	}
	return WithMetadata(o, meta)
}

// copyOf returns a shallow copy of an object, which may be nil.
func copyOf(o *structpb.Struct) *structpb.Struct {
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(o.GetFields()))}
	maps.Copy(out.GetFields(), o.GetFields())
	return out
}

// Texts returns a map of texts as a value.
func Texts(m map[string]string) *structpb.Value {
	out := make(map[string]*structpb.Value, len(m))
	for k, v := range m {
		out[k] = structpb.NewStringValue(v)
	}
	return structOf(out)
}

// Observed returns the fields of a manifest with the observed values, or without a manifest all fields.
func Observed(manifest *structpb.Struct, observed wire.Struct) *structpb.Struct {
	if len(manifest.GetFields()) == 0 {
		return copyOf(observed.Proto())
	}
	out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for name, v := range manifest.GetFields() {
		switch is := observed.Get(name); {
		case !is.Exists():
		case is.Kind() == wire.Object:
			out.Fields[name] = structpb.NewStructValue(Observed(v.GetStructValue(), is.Struct()))
		default:
			out.Fields[name] = is.Proto()
		}
	}
	return out
}

// AnnotationRevision counts the changes of an export's own keys in the data of its object.
const AnnotationRevision = StatePrefix + "revision"

// TextBytes returns the number of bytes of labels or annotations.
func TextBytes(m map[string]string) int {
	n := 0
	for k, v := range m {
		n += len(k) + len(v)
	}
	return n
}
