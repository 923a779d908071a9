package render

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// This file reads the fields that all objects have. Kubernetes' package for that brings serializers and schemes, which
// take a megabyte of the program.

// A manifest is an object of any kind.
type manifest struct{ Object map[string]any }

// value returns the value at a path, or nil.
func (m *manifest) value(path ...string) any {
	var v any = m.Object
	for _, name := range path {
		fields, _ := v.(map[string]any)
		v = fields[name]
	}
	return v
}

// text returns the text at a path, or nothing.
func (m *manifest) text(path ...string) string {
	s, _ := m.value(path...).(string)
	return s
}

// texts returns the map of texts at a path. It is nil if one value is not a text.
func (m *manifest) texts(path ...string) map[string]string {
	fields, _ := m.value(path...).(map[string]any)
	out := make(map[string]string, len(fields))
	for name, v := range fields {
		text, ok := v.(string)
		if !ok {
			return nil
		}
		out[name] = text
	}
	return out
}

func (m *manifest) apiVersion() string { return m.text("apiVersion") }
func (m *manifest) kind() string       { return m.text("kind") }
func (m *manifest) namespace() string  { return m.text("metadata", "namespace") }
func (m *manifest) name() string       { return m.text("metadata", "name") }
func (m *manifest) uid() string        { return m.text("metadata", "uid") }

// gvk returns the group, the version and the kind.
func (m *manifest) gvk() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(m.apiVersion(), m.kind())
}

// controller returns the UID of the object's controller, if it has one.
func (m *manifest) controller() (uid string, ok bool) {
	owners, _ := m.value("metadata", "ownerReferences").([]any)
	for _, o := range owners {
		owner, _ := o.(map[string]any)
		if owner["controller"] == true {
			uid, _ = owner["uid"].(string)
			return uid, true
		}
	}
	return "", false
}

// clone returns a deep copy.
func (m *manifest) clone() *manifest {
	fields, _ := cloneValue(m.Object).(map[string]any)
	return &manifest{fields}
}

func cloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for name, below := range out {
			out[name] = cloneValue(below)
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i, below := range out {
			out[i] = cloneValue(below)
		}
		return out
	}
	return v
}
