package main

import (
	"encoding/base64"
	"fmt"

	"github.com/crossplane-contrib/function-export/internal/observation"
)

// maskSecrets returns v with the length of each value in the data and
// stringData of a v1 Secret in its place, and of each annotation that holds a copy
// of an object, however deep in maps and lists they lie. It does not change v.
func maskSecrets(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return maskMap(v, v["apiVersion"] == "v1" && v["kind"] == "Secret")
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = maskSecrets(e)
		}
		return out
	}
	return v
}

func maskMap(m map[string]any, secret bool) map[string]any {
	isList := m["apiVersion"] == "v1" && m["kind"] == "SecretList"
	out := make(map[string]any, len(m))
	for k, v := range m {
		switch {
		case secret && (k == "data" || k == "stringData"):
			out[k] = maskData(k, v)
		case isList && k == "items":
			out[k] = maskItems(v)
		case observation.HoldsCopy(k):
			out[k] = maskValue("stringData", v)
		default:
			out[k] = maskSecrets(v)
		}
	}
	return out
}

// maskItems masks those of a list of Secrets, which may leave out what they are.
func maskItems(v any) []any {
	items, _ := v.([]any)
	out := make([]any, 0, len(items))
	for _, i := range items {
		if s, ok := i.(map[string]any); ok {
			out = append(out, maskMap(s, true))
		}
	}
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
