package render

import (
	"encoding/base64"
	"fmt"

	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
)

// maskSecrets returns v with a length in place of each secret, at any depth. Secrets are the values in data and
// stringData of a v1 Secret, connection details, annotations with a copy of an object, and codes that are keyed with
// values in annotations of this function. It does not change v.
func maskSecrets(v any) any {
	switch v := v.(type) {
	case map[string]any:
		isSecret := v["apiVersion"] == "v1" && v["kind"] == "Secret"
		return maskMap(v, isSecret || v["apiVersion"] == apiVersion && v["kind"] == kindDetails)
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
		text, isText := v.(string)
		switch {
		case secret && (k == "data" || k == "stringData"):
			out[k] = maskData(v, k == "data")
		case isList && k == "items":
			out[k] = maskItems(v)
		case observation.HoldsCopy(k):
			out[k] = maskValue(v, false)
		case isText:
			out[k] = seal.HideCodes(k, text, maskOf)
		default:
			out[k] = maskSecrets(v)
		}
	}
	return out
}

// maskItems masks the items of a list of Secrets, which may omit apiVersion and kind.
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

func maskData(data any, encoded bool) any {
	m, ok := data.(map[string]any)
	if !ok && data != nil {
		return maskValue(data, false)
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = maskValue(v, encoded)
	}
	return out
}

// maskValue returns the printed form of a value: its length, decoded if it is base64.
func maskValue(v any, encoded bool) string {
	text, ok := v.(string)
	if !ok {
		return "[not a string]"
	}
	if encoded {
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return "[not base64]"
		}
		text = string(b)
	}
	return maskOf(len(text))
}

// maskOf returns the printed form of a value with so many bytes.
func maskOf(n int) string { return fmt.Sprintf("[%d bytes]", n) }
