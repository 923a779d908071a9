package main

import (
	"encoding/base64"
	"fmt"
	"maps"
)

// lastAppliedKey is the annotation in which kubectl keeps a whole manifest.
const lastAppliedKey = "kubectl.kubernetes.io/last-applied-configuration"

// maskSecrets returns v with the length of each value in the data and
// stringData of a v1 Secret in its place, however deep in maps and lists the
// Secret lies. It does not change v.
func maskSecrets(v any) any {
	switch v := v.(type) {
	case map[string]any:
		switch {
		case v["apiVersion"] == "v1" && v["kind"] == "Secret":
			return maskSecret(v)
		case v["apiVersion"] == "v1" && v["kind"] == "SecretList":
			return maskList(v)
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = maskSecrets(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = maskSecrets(e)
		}
		return out
	}
	return v
}

func maskSecret(s map[string]any) map[string]any {
	out := maps.Clone(s)
	for _, field := range []string{"data", "stringData"} {
		if data, ok := s[field]; ok {
			out[field] = maskData(field, data)
		}
	}
	metadata, _ := s["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if applied, ok := annotations[lastAppliedKey]; ok {
		metadata, annotations = maps.Clone(metadata), maps.Clone(annotations)
		annotations[lastAppliedKey] = maskValue("stringData", applied)
		metadata["annotations"] = annotations
		out["metadata"] = metadata
	}
	return out
}

// maskList masks a list of Secrets, whose items may leave out what they are.
func maskList(list map[string]any) map[string]any {
	out := maps.Clone(list)
	items, _ := list["items"].([]any)
	masked := make([]any, 0, len(items))
	for _, i := range items {
		if s, ok := i.(map[string]any); ok {
			masked = append(masked, maskSecret(s))
		}
	}
	out["items"] = masked
	return out
}

func maskData(field string, data any) any {
	m, ok := data.(map[string]any)
	if !ok && data != nil {
		return maskValue("stringData", data)
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = maskValue(field, v)
	}
	return out
}

// maskValue is what is printed for a value: its length, decoded below data.
func maskValue(field string, v any) string {
	text, ok := v.(string)
	if !ok {
		return "[not a string]"
	}
	if field == "stringData" {
		return maskOf(len(text))
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "[not base64]"
	}
	return maskOf(len(b))
}

// maskOf is what is printed for a value of so many bytes.
func maskOf(n int) string { return fmt.Sprintf("[%d bytes]", n) }
