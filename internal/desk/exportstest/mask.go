package exportstest

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"google.golang.org/protobuf/types/known/structpb"
)

// A masker replaces secret values with their length and a label. In one run, equal values have equal labels, which are
// random so that they tell nothing about the value.
type masker struct {
	show   bool
	mu     sync.Mutex
	labels map[string]string
	used   map[string]bool
}

func newMasker(show bool) *masker {
	return &masker{show: show, labels: map[string]string{}, used: map[string]bool{}}
}

// learn adds the values of a Secret.
func (m *masker) learn(o *structpb.Struct) {
	if f := o.GetFields(); f["kind"].GetStringValue() == "Secret" && f["apiVersion"].GetStringValue() == "v1" {
		for _, v := range dataOf(o) {
			m.add(v)
		}
	}
}

// add returns the label of a value.
func (m *masker) add(value string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.labels[value] == "" {
		if label := fmt.Sprintf("%04x", rand.IntN(1<<16)); !m.used[label] { //nolint:gosec // a label is no secret
			m.used[label], m.labels[value] = true, label
		}
	}
	return m.labels[value]
}

// value returns how a value is printed.
func (m *masker) value(v any, secret bool) string {
	text := textOf(v)
	switch {
	case v == nil:
		return "nothing"
	case secret && !m.show:
		return fmt.Sprintf("[%d bytes, label %s]", len(text), m.add(text))
	}
	return fmt.Sprintf("%q", text)
}

// clean returns a text without known secret values, for texts that may quote one.
func (m *masker) clean(text string) string {
	if m.show {
		return text
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for value, label := range m.labels {
		if value != "" {
			text = strings.ReplaceAll(text, value, fmt.Sprintf("[%d bytes, label %s]", len(value), label))
		}
	}
	return text
}

// textOf returns a value as text: whole numbers without a fraction.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil:
		return ""
	case float64:
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%f", v), "0"), ".")
	}
	return fmt.Sprint(v)
}

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// isSecret reports whether the data of an object is secret.
func isSecret(object map[string]any) bool {
	return object["apiVersion"] == "v1" && object["kind"] == "Secret"
}
