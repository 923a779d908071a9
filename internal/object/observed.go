package object

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/sensitive"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// errNoData says that a Struct is of a kind that holds no data for us.
var errNoData = errors.New("cannot read data: the object is neither a v1 Secret nor a v1 ConfigMap")

// Held is the desired object that keeps an observed one exactly as it is: its
// name, labels, annotations and data, type and immutable, and nothing that the
// API server owns. Left out are the labels and annotations that Crossplane sets by
// itself, and kubectl's copy of the last applied object.
//
// Left out, too, is what others have added or changed, as managedFields tell: it
// stays without us, while Crossplane would take it over and write it back, as it
// was when it was observed. Without an entry of Crossplane's, as in a file, all is
// held.
//
// Everything but a v1 Secret or ConfigMap gives nil: an object of another kind
// would lose its spec. The observed Struct is not modified; its leaf values may be
// shared, so neither may be.
func Held(observed wire.Struct) *structpb.Struct {
	kind, ok := kindOf(observed)
	if !ok {
		return nil
	}
	ours := composedFields(observed.Get("metadata").Struct())

	out := fields(7)
	out["apiVersion"] = structpb.NewStringValue(apiVersion)
	out["kind"] = structpb.NewStringValue(string(kind))
	out["metadata"] = HeldMetadata(observed)
	for _, field := range []string{"type", "immutable"} {
		if value := observed.Get(field); !value.IsNull() {
			out[field] = value.Proto()
		}
	}
	hold(out, "data", observed, ours.below("data"))
	hold(out, "binaryData", observed, ours.below("binaryData"))
	return &structpb.Struct{Fields: out}
}

// HeldMetadata is the metadata that [Held] keeps, of an object of any kind.
func HeldMetadata(observed wire.Struct) *structpb.Value {
	meta := observed.Get("metadata").Struct()
	metadata := fields(4)
	for _, field := range []string{"name", "namespace"} {
		if value := meta.Get(field); value.Exists() {
			metadata[field] = value.Proto()
		}
	}
	ours := composedFields(meta)
	ownLabel, ownAnnotation := ours.below("metadata", "labels"), ours.below("metadata", "annotations")
	hold(metadata, "labels", meta, func(key string) bool {
		_, crossplanes := crossplaneLabels[key]
		return !crossplanes && ownLabel(key)
	})
	hold(metadata, "annotations", meta, func(key string) bool {
		_, crossplanes := crossplaneAnnotations[key]
		return !crossplanes && ownAnnotation(key)
	})
	return structOf(metadata)
}

// composedManager begins the name of the field manager that Crossplane applies a
// composed resource as.
const composedManager = "apiextensions.crossplane.io/composed"

// managed are the fields of an object that Crossplane applied, in the form of
// Kubernetes' FieldsV1: a map of names that begin with f: to what is below them.
type managed []wire.Struct

func composedFields(metadata wire.Struct) managed {
	var out managed
	for _, entry := range metadata.Get("managedFields").List().All() {
		f := entry.Struct()
		if f.Get("operation").Is("Apply") && strings.HasPrefix(f.Get("manager").Text(), composedManager) {
			out = append(out, f.Get("fieldsV1").Struct())
		}
	}
	return out
}

// below reports of a key of the map at a path whether Crossplane applied it, which it
// did for all that is known if there is no entry of its.
func (m managed) below(path ...string) func(key string) bool {
	own := map[string]bool{}
	for _, at := range m {
		for _, name := range path {
			at = at.Get("f:" + name).Struct()
		}
		for _, key := range at.Keys() {
			own[key] = true
		}
	}
	return func(key string) bool { return len(m) == 0 || own["f:"+key] }
}

// hold copies the map that stands under a name, as far as its keys are kept. An
// empty map is left out, as Object.Struct does.
func hold(to map[string]*structpb.Value, name string, from wire.Struct, keeps func(key string) bool) {
	in := from.Get(name).Struct()
	f := fields(in.Len())
	for key, value := range in.All() {
		if keeps(key) {
			f[key] = value.Proto()
		}
	}
	if len(f) > 0 {
		to[name] = structOf(f)
	}
}

// Identity says what an object is called. A part that is absent is empty.
func Identity(s wire.Struct) (apiVersion, kind, namespace, name string) {
	metadata := s.Get("metadata").Struct()
	return s.Get("apiVersion").Text(), s.Get("kind").Text(), metadata.Get("namespace").Text(), metadata.Get("name").Text()
}

// Controller is the reference to the owner that controls an object: the first one of
// metadata.ownerReferences with controller: true, or none. Kubernetes allows one.
func Controller(s wire.Struct) wire.Struct {
	for _, owner := range s.At("metadata", "ownerReferences").List().All() {
		if ref := owner.Struct(); ref.Get("controller").Bool() {
			return ref
		}
	}
	return wire.Struct{}
}

// ControllerOf says who controls an object, if it has a [Controller].
func ControllerOf(s wire.Struct) (uid, kind, name string, ok bool) {
	ref := Controller(s)
	return ref.Get("uid").Text(), ref.Get("kind").Text(), ref.Get("name").Text(), ref.Exists()
}

// CompositionResourceName is the name of a composed resource in its pipeline, as
// Crossplane stores it in an annotation. Empty for anything else.
func CompositionResourceName(s wire.Struct) string {
	return s.At("metadata", "annotations", annotationResourceName).Text()
}

// TypeOf is a Secret's type; an absent one is Opaque, which is what the API
// server makes of it. Empty for any other kind. The API server refuses to change
// it.
func TypeOf(s wire.Struct) string {
	if kind, ok := kindOf(s); !ok || kind != Secret {
		return ""
	}
	if t := s.Get("type").Text(); t != "" {
		return t
	}
	return typeOpaque
}

// IsImmutable says whether the API server refuses to change an object's data,
// and to make it mutable again.
func IsImmutable(s wire.Struct) bool { return s.Get("immutable").Bool() }

// DataOf decodes the data of a Secret, or data and binaryData of a ConfigMap. An
// object without data has an empty map. The error names the first key, in
// alphabetical order, that cannot be decoded, and never its value.
func DataOf(s wire.Struct) (map[string]sensitive.Bytes, error) {
	kind, ok := kindOf(s)
	if !ok {
		return nil, errNoData
	}
	data := s.Get("data").Struct()
	if kind == Secret {
		out := make(map[string]sensitive.Bytes, data.Len())
		return decode(out, data, fromBase64)
	}
	binaryData := s.Get("binaryData").Struct()
	out := make(map[string]sensitive.Bytes, data.Len()+binaryData.Len())
	if _, err := decode(out, data, fromText); err != nil {
		return nil, err
	}
	return decode(out, binaryData, fromBase64)
}

// Changed says whether an observed object holds anything but exactly the
// desired data: a key more, a key less, or another value. An object that is not
// there, or that cannot be decoded, has changed. Values are compared in constant
// time; a ConfigMap's value is the same under data and under binaryData.
func Changed(observed wire.Struct, desired *Object) bool {
	data, err := DataOf(observed)
	return err != nil || !maps.EqualFunc(data, desired.Data, sensitive.Bytes.Equal)
}

// reader reads one value as it stands in a Struct.
type reader func(string) (sensitive.Bytes, error)

// decode adds all of in to out, and returns out unless it fails.
func decode(out map[string]sensitive.Bytes, in wire.Struct, read reader) (map[string]sensitive.Bytes, error) {
	var bad []string
	for key, value := range in.All() {
		decoded, err := read(value.Text())
		_, twice := out[key] // in data and in binaryData
		if err != nil || twice || value.Kind() != wire.Text && !value.IsNull() {
			bad = append(bad, key)
			continue
		}
		out[key] = decoded
	}
	if len(bad) > 0 {
		return nil, fmt.Errorf("cannot decode key %s: its value is not what the API server returns", quote(slices.Min(bad)))
	}
	return out, nil
}

func fromText(s string) (sensitive.Bytes, error) { return sensitive.FromString(s), nil }

func fromBase64(s string) (sensitive.Bytes, error) {
	raw, err := base64.StdEncoding.DecodeString(s)
	return sensitive.New(raw), err
}

func kindOf(s wire.Struct) (Kind, bool) {
	version, kind, _, _ := Identity(s)
	known := version == apiVersion && (Kind(kind) == Secret || Kind(kind) == ConfigMap)
	return Kind(kind), known
}
