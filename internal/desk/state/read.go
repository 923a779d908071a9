package state

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// Read adds the objects of a file of kubectl get -o yaml or -o json, and returns their number. A document that is not
// an object of Kubernetes is left out. An error has the position, and quotes no value.
func (s *State) Read(name, content string) (int, error) {
	n, decoder := 0, yaml.NewYAMLOrJSONDecoder(strings.NewReader(document.Text(content)), 1<<16)
	for {
		var v any
		switch err := decoder.Decode(&v); {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			if _, wrong := document.Parse(content); len(wrong) > 0 {
				return n, fmt.Errorf("%s:%w", name, wrong[0])
			}
			return n, fmt.Errorf("%s: not valid YAML", name)
		}
		n += s.addAll(v)
	}
}

// addAll adds an object, or the items of a list, and returns their number.
func (s *State) addAll(v any) int {
	o, _ := v.(map[string]any)
	kind := Text(o, "kind")
	items, isList := o["items"].([]any)
	switch {
	case isList && strings.HasSuffix(kind, "List"):
		n := 0
		for _, item := range items {
			if of, ok := item.(map[string]any); ok && of["kind"] == nil { // as in the answer of an API server
				of["apiVersion"], of["kind"] = o["apiVersion"], strings.TrimSuffix(kind, "List")
			}
			n += s.addAll(item)
		}
		return n
	case kind == "" || Text(o, "apiVersion") == "" || Text(o, "metadata", "name") == "":
		return 0
	}
	s.Add(o)
	return 1
}

// masked matches what tools write in place of the value of a Secret.
var masked = lazy.MustCompile(
	`(?i)^\s*(\*+|x{3,}|\.{3}|[<\[(*{]*\s*(redacted|masked|hidden|omitted|removed|sensitive|\d+ bytes)\b.*)\s*$`)

// hide removes the values of a masked Secret, and moves stringData into data. It returns the keys that have no value,
// or nil if all have one. A Secret without data is masked as a whole.
func hide(o map[string]any) []string {
	data, _ := o["data"].(map[string]any)
	plain, _ := o["stringData"].(map[string]any)
	if data == nil {
		data = map[string]any{}
	}
	for key, v := range plain {
		text, _ := v.(string)
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	hidden := []string{}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if isMasked(data[key]) {
			hidden = append(hidden, key)
			delete(data, key)
		}
	}
	delete(o, "stringData")
	o["data"] = data
	if len(hidden) == 0 && len(data) > 0 {
		return nil
	}
	return hidden
}

func isMasked(v any) bool {
	text, _ := v.(string)
	b, err := base64.StdEncoding.DecodeString(text)
	return v == nil || err != nil || masked().MatchString(text) || masked().MatchString(string(b))
}
