package world

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// ResourceNameAnnotation has the composition resource name.
const ResourceNameAnnotation = "crossplane.io/composition-resource-name"

// KeyOf returns the key of an object: its apiVersion, kind, namespace and name.
func KeyOf(o *structpb.Struct) string {
	f := o.GetFields()
	return strings.Join([]string{f["apiVersion"].GetStringValue(), f["kind"].GetStringValue(), Meta(o, "namespace"),
		Meta(o, "name")}, "|")
}

func kindOf(key string) string { return strings.Split(key, "|")[1] }

// StructOf returns an object that was read from YAML or JSON. Text that is not UTF-8 is replaced.
func StructOf(fields map[string]any) *structpb.Struct {
	out, err := structpb.NewStruct(fields)
	if err != nil {
		text, _ := json.Marshal(fields) //nolint:errchkjson // it was JSON
		out = &structpb.Struct{}
		_ = out.UnmarshalJSON(text)
	}
	return out
}

// Meta returns the text at a path of an object's metadata.
func Meta(o *structpb.Struct, path ...string) string {
	v := o.GetFields()["metadata"]
	for _, p := range path {
		v = v.GetStructValue().GetFields()[p]
	}
	return v.GetStringValue()
}

// Set sets a text at a path of fields.
func Set(o *structpb.Struct, text string, path ...string) {
	SetValue(o, structpb.NewStringValue(text), path...)
}

// SetValue sets a value at a path of fields.
func SetValue(o *structpb.Struct, v *structpb.Value, path ...string) {
	for _, p := range path[:len(path)-1] {
		if o.GetFields()[p].GetStructValue() == nil {
			SetValue(o, structpb.NewStructValue(&structpb.Struct{}), p)
		}
		o = o.GetFields()[p].GetStructValue()
	}
	if o.Fields == nil {
		o.Fields = map[string]*structpb.Value{}
	}
	o.Fields[path[len(path)-1]] = v
}

// List lists the objects that a composite composes, as Crossplane does before it applies them. A composite of the v1
// style, which has neither a namespace nor spec.crossplane, has the list in spec.
func List(xr *structpb.Struct, keys []string) {
	refs := make([]*structpb.Value, len(keys))
	for i, key := range keys {
		ref, of := &structpb.Struct{}, strings.Split(key, "|")
		Set(ref, of[0], "apiVersion")
		Set(ref, of[1], "kind")
		Set(ref, of[3], "name")
		if of[2] != "" && Meta(xr, "namespace") == "" {
			Set(ref, of[2], "namespace")
		}
		refs[i] = structpb.NewStructValue(ref)
	}
	at := []string{"spec", "crossplane", "resourceRefs"}
	spec := xr.GetFields()["spec"].GetStructValue().GetFields()
	isV1 := spec["crossplane"] == nil && (spec["compositionRef"] != nil || spec["claimRef"] != nil)
	if isV1 && Meta(xr, "namespace") == "" {
		at = []string{"spec", "resourceRefs"}
	}
	SetValue(xr, structpb.NewListValue(&structpb.ListValue{Values: refs}), at...)
}

// controllerOf returns the UID of an object's controller, or nothing.
func controllerOf(o *structpb.Struct) string {
	metadata := o.GetFields()["metadata"].GetStructValue().GetFields()
	for _, v := range metadata["ownerReferences"].GetListValue().GetValues() {
		if f := v.GetStructValue().GetFields(); f["controller"].GetBoolValue() {
			return f["uid"].GetStringValue()
		}
	}
	return ""
}

// OwnedBy returns the owner references with which an object controls another one.
func OwnedBy(owner *structpb.Struct) *structpb.Value {
	ref := &structpb.Struct{Fields: map[string]*structpb.Value{"controller": structpb.NewBoolValue(true)}}
	Set(ref, owner.GetFields()["apiVersion"].GetStringValue(), "apiVersion")
	Set(ref, owner.GetFields()["kind"].GetStringValue(), "kind")
	Set(ref, Meta(owner, "name"), "name")
	Set(ref, Meta(owner, "uid"), "uid")
	return structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewStructValue(ref)}})
}

// generatedName returns the name of a composed object that no function names.
func generatedName(xr *structpb.Struct, resource string) string {
	sum := sha256.Sum256([]byte(Meta(xr, "uid") + "/" + resource))
	return Meta(xr, "name") + "-" + hex.EncodeToString(sum[:6])
}
