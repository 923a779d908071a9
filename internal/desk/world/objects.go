package world

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
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

// NewSecret returns a Secret.
func NewSecret(namespace, name string, data map[string][]byte) *structpb.Struct {
	out := &structpb.Struct{}
	Set(out, "v1", "apiVersion")
	Set(out, "Secret", "kind")
	Set(out, name, "metadata", "name")
	Set(out, namespace, "metadata", "namespace")
	for key, v := range data {
		Set(out, base64.StdEncoding.EncodeToString(v), "data", key)
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

// Composer is the field manager of Crossplane's composer.
const Composer = "apiextensions.crossplane.io/composed-simulated"

// kubectl is the field manager of people.
const kubectl = "kubectl-annotate"

// managedMaps are the maps of an object whose keys have managers, and where an entry of managedFields has these keys.
// All other fields belong to Crossplane.
var managedMaps = []struct{ at, fields []string }{
	{[]string{"metadata", "annotations"}, []string{"fieldsV1", "f:metadata", "f:annotations"}},
	{[]string{"metadata", "labels"}, []string{"fieldsV1", "f:metadata", "f:labels"}},
	{[]string{"data"}, []string{"fieldsV1", "f:data"}},
}

// A managedKey is a key of one of the maps.
type managedKey struct {
	of  int // the index of the map
	key string
}

// managers are the managers of each key, as the managedFields of an object say.
type managers map[managedKey]map[string]bool

// Manage makes Crossplane the manager of all fields of an object.
func Manage(o *structpb.Struct) {
	m := managers{}
	for k := range managed(o) {
		m.add(k, Composer)
	}
	m.store(o)
}

// mapOf returns a map of an object, which is nil if it has none.
func mapOf(o *structpb.Struct, path []string) map[string]*structpb.Value {
	for _, p := range path {
		o = o.GetFields()[p].GetStructValue()
	}
	return o.GetFields()
}

// managed returns the values of the keys of an object that have managers.
func managed(o *structpb.Struct) map[managedKey]*structpb.Value {
	out := map[managedKey]*structpb.Value{}
	for i, m := range managedMaps {
		for key, v := range mapOf(o, m.at) {
			out[managedKey{i, key}] = v
		}
	}
	return out
}

func managersOf(o *structpb.Struct) managers {
	out := managers{}
	for _, v := range mapOf(o, []string{"metadata"})["managedFields"].GetListValue().GetValues() {
		entry := v.GetStructValue()
		for i, m := range managedMaps {
			for key := range mapOf(entry, m.fields) {
				out.add(managedKey{i, strings.TrimPrefix(key, "f:")}, entry.GetFields()["manager"].GetStringValue())
			}
		}
	}
	return out
}

func (m managers) add(k managedKey, manager string) {
	if m[k] == nil {
		m[k] = map[string]bool{}
	}
	m[k][manager] = true
}

// store writes the managers into an object.
func (m managers) store(o *structpb.Struct) {
	entries := map[string]*structpb.Struct{}
	for k, names := range m {
		for name := range names {
			if entries[name] == nil {
				entries[name] = &structpb.Struct{}
				Set(entries[name], name, "manager")
				Set(entries[name], map[bool]string{true: "Apply", false: "Update"}[name == Composer], "operation")
			}
			at := append(slices.Clone(managedMaps[k.of].fields), "f:"+k.key)
			SetValue(entries[name], structpb.NewStructValue(&structpb.Struct{}), at...)
		}
	}
	list := &structpb.ListValue{}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		list.Values = append(list.Values, structpb.NewStructValue(entries[name]))
	}
	meta := o.GetFields()["metadata"].GetStructValue().GetFields()
	if delete(meta, "managedFields"); len(entries) > 0 {
		meta["managedFields"] = structpb.NewListValue(list)
	}
}

// apply merges what Crossplane applies by force into an object: a key that it no longer applies is removed if no other
// manager has it, and a key to which it gives another value is its own alone.
func apply(was, o *structpb.Struct) {
	all, applied, mine := managersOf(was), managed(o), map[managedKey]bool{}
	for k, names := range all {
		mine[k] = names[Composer]
		delete(names, Composer)
	}
	for k, value := range managed(was) {
		switch is := applied[k]; {
		case is == nil && (len(all[k]) > 0 || !mine[k]):
			SetValue(o, value, append(slices.Clone(managedMaps[k.of].at), k.key)...)
		case is != nil && !proto.Equal(is, value):
			delete(all, k)
		}
	}
	for k := range applied {
		all.add(k, Composer)
	}
	all.store(o)
}

// Edit edits a stored object as kubectl does.
func (c *Cluster) Edit(key string, change func(o *structpb.Struct)) {
	was := c.Stored[key]
	o := proto.CloneOf(was)
	change(o)
	all, before, after := managersOf(was), managed(was), managed(o)
	for k, value := range before {
		if !proto.Equal(after[k], value) {
			delete(all, k)
		}
	}
	for k, value := range after {
		if !proto.Equal(before[k], value) {
			all.add(k, kubectl)
		}
	}
	all.store(o)
	c.Stored[key] = o
}
