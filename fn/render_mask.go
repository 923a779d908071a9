package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// lastAppliedKey is the annotation in which kubectl keeps a whole manifest.
const lastAppliedKey = "kubectl.kubernetes.io/last-applied-configuration"

// maskSecrets returns v with the length of each value in the data and
// stringData of a v1 Secret in its place, however deep the Secret lies: in a
// map, in a list, or as JSON or YAML in a string. It does not change v.
func maskSecrets(v any) any {
	out, _ := walkSecrets(v, func(s secretValue) any { return s.mask() })
	return out
}

// A secretValue is what stands in a field of a Secret that holds its data:
// mostly one string, in base64 below data.
type secretValue struct {
	field, key string
	value      any
}

// plain is the value in clear, false if it is none.
func (s secretValue) plain() (string, bool) {
	text, ok := s.value.(string)
	if !ok || s.field != "data" {
		return text, ok
	}
	b, err := base64.StdEncoding.DecodeString(text)
	return string(b), err == nil
}

func (s secretValue) mask() string {
	if p, ok := s.plain(); ok {
		return maskOf(len(p))
	}
	if _, ok := s.value.(string); ok {
		return "[not base64]"
	}
	return "[not a string]"
}

// maskOf is what is printed for a value of so many bytes.
func maskOf(n int) string { return fmt.Sprintf("[%d bytes]", n) }

// walkSecrets returns v with each secret value replaced, and whether there was
// one. Keys and everything else stay.
func walkSecrets(v any, replace func(secretValue) any) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		if isSecretMap(v) {
			return walkSecret(v, replace), true
		}
		if items, ok := v["items"].([]any); ok && v["kind"] == "SecretList" {
			return walkSecretList(v, items, replace), true
		}
		return walkMap(v, replace, nil)
	case []any:
		found := false
		out := make([]any, len(v))
		for i := range v {
			var f bool
			out[i], f = walkSecrets(v[i], replace)
			found = found || f
		}
		return out, found
	case string:
		return walkText(v, replace)
	default:
		return v, false
	}
}

// walkMap walks each value of a map, with special's own way for some keys.
func walkMap(m map[string]any, replace func(secretValue) any, special map[string]func(any) any) (map[string]any, bool) {
	found := false
	out := make(map[string]any, len(m))
	for k, e := range m {
		if way, ok := special[k]; ok {
			out[k] = way(e)
			continue
		}
		var f bool
		out[k], f = walkSecrets(e, replace)
		found = found || f
	}
	return out, found
}

// isSecretMap goes for a v1 Secret, also one in a place that leaves its
// apiVersion out.
func isSecretMap(m map[string]any) bool {
	apiVersion, ok := m["apiVersion"]
	return m["kind"] == "Secret" && (!ok || apiVersion == "v1" || apiVersion == "")
}

func walkSecret(m map[string]any, replace func(secretValue) any) map[string]any {
	// within walks a map with a way of its own for some keys.
	within := func(ways map[string]func(any) any) func(any) any {
		return func(e any) any {
			if inner, ok := e.(map[string]any); ok {
				out, _ := walkMap(inner, replace, ways)
				return out
			}
			out, _ := walkSecrets(e, replace)
			return out
		}
	}
	lastApplied := func(e any) any { return walkLastApplied(e, replace) }
	annotations := within(map[string]func(any) any{lastAppliedKey: lastApplied})
	out, _ := walkMap(m, replace, map[string]func(any) any{
		"data":       func(e any) any { return walkData("data", e, replace) },
		"stringData": func(e any) any { return walkData("stringData", e, replace) },
		"metadata":   within(map[string]func(any) any{"annotations": annotations}),
	})
	return out
}

// walkSecretList walks a list of Secrets, whose items leave out what they are.
func walkSecretList(list map[string]any, items []any, replace func(secretValue) any) map[string]any {
	out, _ := walkMap(list, replace, map[string]func(any) any{"items": func(any) any {
		walked := make([]any, len(items))
		for i := range items {
			if m, ok := items[i].(map[string]any); ok {
				walked[i] = walkSecret(m, replace)
			}
		}
		return walked
	}})
	return out
}

func walkData(field string, v any, replace func(secretValue) any) any {
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		return replace(secretValue{field: "stringData", value: v})
	}
	out := make(map[string]any, len(m))
	for k, e := range m {
		out[k] = replace(secretValue{field: field, key: k, value: e})
	}
	return out
}

// walkLastApplied takes the annotation for a Secret, whatever it says it is, and
// all of it for a value if it cannot be read.
func walkLastApplied(v any, replace func(secretValue) any) any {
	text, _ := v.(string)
	m := map[string]any{}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return replace(secretValue{field: "stringData", key: lastAppliedKey, value: v})
	}
	return encodeJSON(walkSecret(m, replace), text)
}

// walkText looks for Secrets in a string that is JSON, or YAML. A string without
// one stays as it is, to the byte.
func walkText(text string, replace func(secretValue) any) (any, bool) {
	if !strings.Contains(text, "Secret") {
		return text, false
	}
	if v, ok := decodeJSON(text); ok {
		out, found := walkSecrets(v, replace)
		if !found {
			return text, false
		}
		return encodeJSON(out, text), true
	}
	docs, err := parseRenderYAML(text)
	if err != nil {
		return text, false
	}
	parts := make([]string, 0, len(docs))
	found := false
	for _, d := range docs {
		out, f := d, false
		// Mere text is YAML, too: the same text again, unless it was quoted.
		if inner, ok := d.(string); !ok || len(inner) < len(text)-1 {
			out, f = walkSecrets(d, replace)
		}
		found = found || f
		b, err := yaml.Marshal(out)
		if err != nil {
			return text, false
		}
		parts = append(parts, string(b))
	}
	if !found {
		return text, false
	}
	return strings.Join(parts, "---\n"), true
}

// decodeJSON keeps numbers as they are written.
func decodeJSON(text string) (any, bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, false
	}
	_, err := dec.Token()
	return v, errors.Is(err, io.EOF)
}

// encodeJSON is v as JSON; of what it cannot encode, original, only the length.
func encodeJSON(v any, original string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return maskOf(len(original))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
