package object

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// errNoData says that a Struct has a kind without readable data.
var errNoData = errors.New("cannot read data: the object is neither a v1 Secret nor a v1 ConfigMap")

// Held returns the desired object that keeps an observed one exactly as it is: its name, labels, annotations, data,
// type and immutable. It is nil unless the object is a v1 Secret or ConfigMap, because an object of another kind
// would lose its spec. It may share leaf values with the observed Struct: modify neither.
//
// It omits labels and annotations that Crossplane sets itself, kubectl's copy of the last applied object, and fields
// that others have added or changed according to managedFields. Otherwise Crossplane would take over the changes of
// others, and write them back as they were observed. If no entry belongs to Crossplane, as in a file, everything is
// kept.
func Held(observed wire.Struct) *structpb.Struct {
	kind, ok := kindOf(observed)
	if !ok {
		return nil
	}
	out := fields(7)
	out["apiVersion"] = structpb.NewStringValue(apiVersion)
	out["kind"] = structpb.NewStringValue(string(kind))
	out["metadata"] = HeldMetadata(observed)
	for _, field := range []string{"type", "immutable"} {
		if value := observed.Get(field); !value.IsNull() {
			out[field] = value.Proto()
		}
	}
	applied := appliedFields(observed)
	hold(out, "data", observed, nil, applied.keys("data", "stringData"))
	hold(out, "binaryData", observed, nil, applied.keys("binaryData"))
	return &structpb.Struct{Fields: out}
}

// HeldMetadata returns the metadata that [Held] keeps, for an object of any kind.
func HeldMetadata(observed wire.Struct) *structpb.Value {
	meta := observed.Get("metadata").Struct()
	out := fields(4)
	for _, field := range []string{"name", "namespace"} {
		if value := meta.Get(field); value.Exists() {
			out[field] = value.Proto()
		}
	}
	applied := appliedFields(observed, "f:metadata")
	hold(out, "labels", meta, crossplaneLabels, applied.keys("labels"))
	hold(out, "annotations", meta, crossplaneAnnotations, applied.keys("annotations"))
	return structOf(out)
}

// managed holds the fields of an object that Crossplane applied, in the form of Kubernetes' FieldsV1: a map from
// names that begin with f: to the fields below them.
type managed []wire.Struct

// appliedFields returns the fields at a path.
func appliedFields(observed wire.Struct, path ...string) managed {
	const manager = "apiextensions.crossplane.io/composed" // and a suffix
	var out managed
	for _, entry := range observed.At("metadata", "managedFields").List().All() {
		f := entry.Struct()
		if f.Get("operation").Is("Apply") && strings.HasPrefix(f.Get("manager").Text(), manager) {
			out = append(out, f.At(append([]string{"fieldsV1"}, path...)...).Struct())
		}
	}
	return out
}

// keys returns whether Crossplane applied a key of one of the maps with these names. It does for all keys if nothing is
// known. The keys are read once: anyone can add managers and keys, whose numbers would be multiplied otherwise.
func (m managed) keys(of ...string) func(key string) bool {
	if len(m) == 0 {
		return func(string) bool { return true }
	}
	applied := map[string]bool{}
	for _, fields := range m {
		for _, name := range of {
			for key := range fields.Get("f:" + name).Struct().All() {
				applied[key] = true
			}
		}
	}
	return func(key string) bool { return applied["f:"+key] }
}

// Applied reports whether Crossplane applied a key of the object's data. It is true for all keys if nothing is known.
func Applied(observed wire.Struct) func(key string) bool {
	return appliedFields(observed).keys("data", "stringData", "binaryData")
}

// AppliedAsText reports whether Crossplane applied a key of a Secret as stringData. The API server copied its value to
// data, where the key has no owner, so that it stays if a later apply lacks it.
func AppliedAsText(observed wire.Struct) func(key string) bool {
	applied := appliedFields(observed)
	text := applied.keys("stringData")
	return func(key string) bool { return len(applied) > 0 && text(key) }
}

// hold copies the applied keys of the map with a name, except the keys in except.
func hold(
	to map[string]*structpb.Value, name string, from wire.Struct, except map[string]string, applied func(string) bool,
) {
	in := from.Get(name).Struct()
	f := fields(in.Len())
	for key, value := range in.All() {
		if except[key] == "" && applied(key) {
			f[key] = value.Proto()
		}
	}
	putFields(to, name, f)
}

// Identity returns the fields that identify an object. A missing field is empty.
func Identity(s wire.Struct) (apiVersion, kind, namespace, name string) {
	metadata := s.Get("metadata").Struct()
	apiVersion, kind = s.Get("apiVersion").Text(), s.Get("kind").Text()
	return apiVersion, kind, metadata.Get("namespace").Text(), metadata.Get("name").Text()
}

// GroupOf returns the group of an API version, which is empty for the core group.
func GroupOf(apiVersion string) string {
	return apiVersion[:max(0, strings.IndexByte(apiVersion, '/'))]
}

// ControllerOf returns the parts of the first owner reference with controller: true, if an object has one. Kubernetes
// allows only one.
func ControllerOf(s wire.Struct) (uid, kind, name string, ok bool) {
	for _, owner := range s.At("metadata", "ownerReferences").List().All() {
		if ref := owner.Struct(); ref.Get("controller").Bool() {
			return ref.Get("uid").Text(), ref.Get("kind").Text(), ref.Get("name").Text(), true
		}
	}
	return "", "", "", false
}

// CompositionResourceName returns the name that Crossplane stores in an annotation of a composed resource, or empty.
func CompositionResourceName(s wire.Struct) string {
	return s.At("metadata", "annotations", annotationResourceName).Text()
}

// TypeOf returns the type of a Secret, which the API server refuses to change. It is empty for any other kind.
func TypeOf(s wire.Struct) string {
	if kind, _ := kindOf(s); kind != Secret {
		return ""
	}
	return cmp.Or(s.Get("type").Text(), typeOpaque)
}

// IsImmutable reports whether the API server refuses to change an object's data and to make the object mutable again.
func IsImmutable(s wire.Struct) bool { return s.Get("immutable").Bool() }

// DataOf decodes the data of a Secret, or data and binaryData of a ConfigMap. An object without data has an empty map.
// The error names the first key, in alphabetical order, that cannot be decoded, and never its value.
func DataOf(s wire.Struct) (map[string]sensitive.Bytes, error) {
	kind, ok := kindOf(s)
	if !ok {
		return nil, errNoData
	}
	data := s.Get("data").Struct()
	var binaryData wire.Struct
	read := fromBase64
	if kind == ConfigMap {
		binaryData, read = s.Get("binaryData").Struct(), fromText
	}
	out := make(map[string]sensitive.Bytes, data.Len()+binaryData.Len())
	if err := decode(out, data, read); err != nil {
		return nil, err
	}
	if err := decode(out, binaryData, fromBase64); err != nil {
		return nil, err
	}
	return out, nil
}

// Changed reports whether the data of an observed object differs from the desired data. An object that is missing or
// cannot be decoded has changed. Values are compared in constant time. A ConfigMap's value can be under data or under
// binaryData.
func Changed(observed wire.Struct, desired *Object) bool {
	data, err := DataOf(observed)
	return err != nil || !maps.EqualFunc(data, desired.Data, sensitive.Bytes.Equal)
}

// decode decodes all values of in into out.
func decode(out map[string]sensitive.Bytes, in wire.Struct, read func(string) (sensitive.Bytes, error)) error {
	for key, value := range in.All() {
		decoded, err := read(value.Text())
		_, twice := out[key] // in data and in binaryData
		if err != nil || twice || value.Kind() != wire.Text && !value.IsNull() {
			return fmt.Errorf("cannot decode key %s: its value is not what the API server returns", quote(key))
		}
		out[key] = decoded
	}
	return nil
}

func fromText(s string) (sensitive.Bytes, error) { return sensitive.FromString(s), nil }

func fromBase64(s string) (sensitive.Bytes, error) {
	raw, err := base64.StdEncoding.DecodeString(s)
	return sensitive.Own(raw), err
}

// kindOf returns the kind of a v1 Secret or ConfigMap, or empty.
func kindOf(s wire.Struct) (kind Kind, ok bool) {
	switch version, kind, _, _ := Identity(s); {
	case version != apiVersion:
		return "", false
	case kind == string(Secret), kind == string(ConfigMap):
		return Kind(kind), true
	}
	return "", false
}

// Condition returns a condition of an object. It has no fields if the object does not have it.
func Condition(o wire.Struct, conditionType string) wire.Struct {
	for _, v := range o.At("status", "conditions").List().All() {
		if c := v.Struct(); c.Get("type").Is(conditionType) {
			return c
		}
	}
	return wire.Struct{}
}

// Transition returns the time of a condition, or zero.
func Transition(condition wire.Struct) time.Time {
	at, _ := time.Parse(time.RFC3339, condition.Get("lastTransitionTime").Text()) // zero on an error
	return at.UTC()
}

// IsReady reports whether an object has the condition Ready.
func IsReady(o wire.Struct) bool { return Condition(o, "Ready").Get("status").Is("True") }

// IsLegacy reports whether a composite has the v1 style, the only one with connection details.
func IsLegacy(xr wire.Struct) bool {
	_, _, ns, _ := Identity(xr)
	return ns == "" && !xr.At("spec", "crossplane").Exists()
}

// HasConnectionSecret reports whether a resource must have connection details.
func HasConnectionSecret(o wire.Struct) bool {
	return o.At("spec", "writeConnectionSecretToRef").Exists()
}

// IsSecret reports whether an object is a v1 Secret.
func IsSecret(o wire.Struct) bool {
	kind, _ := kindOf(o)
	return kind == Secret
}
