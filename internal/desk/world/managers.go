package world

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// Composer is the field manager of Crossplane's composer.
const Composer = "apiextensions.crossplane.io/composed-simulated"

// kubectl is the field manager of people.
const kubectl = "kubectl-annotate"

// Manage makes Crossplane the manager of all fields of an object.
func Manage(o *structpb.Struct) { managers{Composer: keysOf(o)}.store(o) }

// managedMaps are the maps of an object whose keys have managers: any number of them. All other fields belong to
// Crossplane.
var managedMaps = [][]string{{"metadata", "annotations"}, {"metadata", "labels"}, {"data"}}

// A managedKey is a key of one of the maps.
type managedKey struct {
	of  int // the index of the map
	key string
}

// managers holds the keys of each manager, as the managedFields of an object say.
type managers map[string]map[managedKey]bool

// mapOf returns a map of an object, which is nil if it has none.
func mapOf(o *structpb.Struct, path []string) map[string]*structpb.Value {
	for _, p := range path {
		o = o.GetFields()[p].GetStructValue()
	}
	return o.GetFields()
}

func keysOf(o *structpb.Struct) map[managedKey]bool {
	out := map[managedKey]bool{}
	for i, path := range managedMaps {
		for key := range mapOf(o, path) {
			out[managedKey{i, key}] = true
		}
	}
	return out
}

func managersOf(o *structpb.Struct) managers {
	out := managers{}
	for _, v := range mapOf(o, []string{"metadata"})["managedFields"].GetListValue().GetValues() {
		entry := v.GetStructValue()
		keys := map[managedKey]bool{}
		for i, path := range managedMaps {
			at := []string{"fieldsV1"}
			for _, p := range path {
				at = append(at, "f:"+p)
			}
			for key := range mapOf(entry, at) {
				keys[managedKey{i, strings.TrimPrefix(key, "f:")}] = true
			}
		}
		out[entry.GetFields()["manager"].GetStringValue()] = keys
	}
	return out
}

// store writes the managers into an object.
func (m managers) store(o *structpb.Struct) {
	var entries []*structpb.Value
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if len(m[name]) == 0 {
			continue
		}
		entry := &structpb.Struct{Fields: map[string]*structpb.Value{}}
		Set(entry, name, "manager")
		Set(entry, map[bool]string{true: "Apply", false: "Update"}[name == Composer], "operation")
		for k := range m[name] {
			at := []string{"fieldsV1"}
			for _, p := range managedMaps[k.of] {
				at = append(at, "f:"+p)
			}
			Set(entry, "", append(at, "f:"+k.key)...)
			mapOf(entry, at)["f:"+k.key] = structpb.NewStructValue(&structpb.Struct{})
		}
		entries = append(entries, structpb.NewStructValue(entry))
	}
	meta := o.GetFields()["metadata"].GetStructValue().GetFields()
	delete(meta, "managedFields")
	if len(entries) > 0 {
		meta["managedFields"] = structpb.NewListValue(&structpb.ListValue{Values: entries})
	}
}

// apply merges what Crossplane applies by force into an object: a key that it no longer applies is removed if no other
// manager has it, and a key to which it gives another value is its own alone.
func apply(was, o *structpb.Struct) {
	all, keys := managersOf(was), keysOf(o)
	mine := all[Composer]
	delete(all, Composer)
	for i, path := range managedMaps {
		for key, value := range mapOf(was, path) {
			k := managedKey{i, key}
			shared := false
			for _, other := range all {
				shared = shared || other[k]
			}
			switch {
			case !keys[k] && (shared || !mine[k]):
				Set(o, "", append(slices.Clone(path), key)...)
				mapOf(o, path)[key] = value
			case keys[k] && !proto.Equal(mapOf(o, path)[key], value):
				for _, other := range all {
					delete(other, k)
				}
			}
		}
	}
	all[Composer] = keys
	all.store(o)
}

// Edit edits a stored object as kubectl does.
func (c *Cluster) Edit(key string, change func(o *structpb.Struct)) {
	was := c.Stored[key]
	o := proto.CloneOf(was)
	change(o)
	all := managersOf(was)
	for i, path := range managedMaps {
		before, after := mapOf(was, path), mapOf(o, path)
		for key := range before {
			if after[key] == nil {
				all.release(managedKey{i, key})
			}
		}
		for key, value := range after {
			if k := (managedKey{i, key}); !proto.Equal(before[key], value) {
				all.release(k)
				if all[kubectl] == nil {
					all[kubectl] = map[managedKey]bool{}
				}
				all[kubectl][k] = true
			}
		}
	}
	all.store(o)
	c.Stored[key] = o
}

func (m managers) release(k managedKey) {
	for _, keys := range m {
		delete(keys, k)
	}
}
