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
// would lose its spec. The observed Struct is not modified; its leaf values are
// shared, so neither may be.
func Held(observed *structpb.Struct) *structpb.Struct {
	kind, ok := kindOf(observed)
	if !ok {
		return nil
	}
	in := observed.GetFields()
	ours := composedFields(in["metadata"].GetStructValue().GetFields())

	out := fields(7)
	out["apiVersion"] = structpb.NewStringValue(apiVersion)
	out["kind"] = structpb.NewStringValue(string(kind))
	out["metadata"] = HeldMetadata(observed)
	for _, field := range []string{"type", "immutable"} {
		if value, ok := in[field]; ok && !isNull(value) {
			out[field] = value
		}
	}
	hold(out, "data", in, func(key string) bool { return ours.own(key, "data") })
	hold(out, "binaryData", in, func(key string) bool { return ours.own(key, "binaryData") })
	return &structpb.Struct{Fields: out}
}

// HeldMetadata is the metadata that [Held] keeps, of an object of any kind.
func HeldMetadata(observed *structpb.Struct) *structpb.Value {
	meta := observed.GetFields()["metadata"].GetStructValue().GetFields()
	metadata := fields(4)
	for _, field := range []string{"name", "namespace"} {
		if value, ok := meta[field]; ok {
			metadata[field] = value
		}
	}
	ours := composedFields(meta)
	hold(metadata, "labels", meta, func(key string) bool {
		_, crossplanes := crossplaneLabels[key]
		return !crossplanes && ours.own(key, "metadata", "labels")
	})
	hold(metadata, "annotations", meta, func(key string) bool {
		_, crossplanes := crossplaneAnnotations[key]
		return !crossplanes && ours.own(key, "metadata", "annotations")
	})
	return structOf(metadata)
}

// composedManager begins the name of the field manager that Crossplane applies a
// composed resource as.
const composedManager = "apiextensions.crossplane.io/composed"

// managed are the fields of an object that Crossplane applied, in the form of
// Kubernetes' FieldsV1: a map of names that begin with f: to what is below them.
type managed []*structpb.Struct

func composedFields(metadata map[string]*structpb.Value) managed {
	var out managed
	for _, entry := range metadata["managedFields"].GetListValue().GetValues() {
		f := entry.GetStructValue().GetFields()
		if f["operation"].GetStringValue() == "Apply" && strings.HasPrefix(f["manager"].GetStringValue(), composedManager) {
			out = append(out, f["fieldsV1"].GetStructValue())
		}
	}
	return out
}

// own reports whether Crossplane applied a key of the map at a path, which it did
// for all that is known if there is no entry of its.
func (m managed) own(key string, path ...string) bool {
	for _, at := range m {
		for _, name := range path {
			at = at.GetFields()["f:"+name].GetStructValue()
		}
		if _, ok := at.GetFields()["f:"+key]; ok {
			return true
		}
	}
	return len(m) == 0
}

// hold copies the map that stands under a name, as far as its keys are kept. An
// empty map is left out, as Object.Struct does.
func hold(to map[string]*structpb.Value, name string, from map[string]*structpb.Value, keeps func(key string) bool) {
	in := from[name].GetStructValue().GetFields()
	f := fields(len(in))
	for key, value := range in {
		if keeps(key) {
			f[key] = value
		}
	}
	if len(f) > 0 {
		to[name] = structOf(f)
	}
}

// Identity says what an object is called. A part that is absent is empty.
func Identity(s *structpb.Struct) (apiVersion, kind, namespace, name string) {
	top := s.GetFields()
	metadata := top["metadata"].GetStructValue().GetFields()
	return top["apiVersion"].GetStringValue(), top["kind"].GetStringValue(),
		metadata["namespace"].GetStringValue(), metadata["name"].GetStringValue()
}

// ControllerOf finds the owner that controls an object: the first one of
// metadata.ownerReferences with controller: true. Kubernetes allows one.
func ControllerOf(s *structpb.Struct) (uid, kind, name string, ok bool) {
	metadata := s.GetFields()["metadata"].GetStructValue().GetFields()
	for _, owner := range metadata["ownerReferences"].GetListValue().GetValues() {
		ref := owner.GetStructValue().GetFields()
		if ref["controller"].GetBoolValue() {
			return ref["uid"].GetStringValue(), ref["kind"].GetStringValue(), ref["name"].GetStringValue(), true
		}
	}
	return "", "", "", false
}

// CompositionResourceName is the name of a composed resource in its pipeline, as
// Crossplane stores it in an annotation. Empty for anything else.
func CompositionResourceName(s *structpb.Struct) string {
	metadata := s.GetFields()["metadata"].GetStructValue().GetFields()
	annotations := metadata["annotations"].GetStructValue().GetFields()
	return annotations[annotationResourceName].GetStringValue()
}

// TypeOf is a Secret's type; an absent one is Opaque, which is what the API
// server makes of it. Empty for any other kind. The API server refuses to change
// it.
func TypeOf(s *structpb.Struct) string {
	if kind, ok := kindOf(s); !ok || kind != Secret {
		return ""
	}
	if t := s.GetFields()["type"].GetStringValue(); t != "" {
		return t
	}
	return typeOpaque
}

// IsImmutable says whether the API server refuses to change an object's data,
// and to make it mutable again.
func IsImmutable(s *structpb.Struct) bool {
	return s.GetFields()["immutable"].GetBoolValue()
}

// DataOf decodes the data of a Secret, or data and binaryData of a ConfigMap. An
// object without data has an empty map. The error names the first key, in
// alphabetical order, that cannot be decoded, and never its value.
func DataOf(s *structpb.Struct) (map[string]sensitive.Bytes, error) {
	kind, ok := kindOf(s)
	if !ok {
		return nil, errNoData
	}
	data := s.GetFields()["data"].GetStructValue().GetFields()
	if kind == Secret {
		out := make(map[string]sensitive.Bytes, len(data))
		return decode(out, data, fromBase64)
	}
	binaryData := s.GetFields()["binaryData"].GetStructValue().GetFields()
	out := make(map[string]sensitive.Bytes, len(data)+len(binaryData))
	if _, err := decode(out, data, fromText); err != nil {
		return nil, err
	}
	return decode(out, binaryData, fromBase64)
}

// Changed says whether an observed object holds anything but exactly the
// desired data: a key more, a key less, or another value. An object that is not
// there, or that cannot be decoded, has changed. Values are compared in constant
// time; a ConfigMap's value is the same under data and under binaryData.
func Changed(observed *structpb.Struct, desired *Object) bool {
	data, err := DataOf(observed)
	return err != nil || !maps.EqualFunc(data, desired.Data, sensitive.Bytes.Equal)
}

// reader reads one value as it stands in a Struct.
type reader func(string) (sensitive.Bytes, error)

// decode adds all of in to out, and returns out unless it fails.
func decode(out map[string]sensitive.Bytes, in map[string]*structpb.Value, read reader) (map[string]sensitive.Bytes, error) {
	var bad []string
	for key, value := range in {
		_, isText := value.GetKind().(*structpb.Value_StringValue)
		decoded, err := read(value.GetStringValue())
		_, twice := out[key] // in data and in binaryData
		if err != nil || twice || !isText && !isNull(value) {
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

func kindOf(s *structpb.Struct) (Kind, bool) {
	version, kind, _, _ := Identity(s)
	known := version == apiVersion && (Kind(kind) == Secret || Kind(kind) == ConfigMap)
	return Kind(kind), known
}

// isNull says whether a value is null, which Kubernetes reads as absent.
func isNull(v *structpb.Value) bool {
	_, ok := v.GetKind().(*structpb.Value_NullValue)
	return ok || v.GetKind() == nil
}
