package object

import (
	"maps"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

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
