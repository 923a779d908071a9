package main

import (
	"testing"

	"github.com/crossplane-contrib/function-export/internal/document"
)

func TestLocateFields(t *testing.T) {
	const text = `# a comment
apiVersion: export.fn.crossplane.io/v1beta1
kind: Exports
secrets:
- name: out
  data:
  - key: k
    value: "a + b"
  - key: l
    value: |
      a +
        b
- {name: two, labels: {a.b: x, a: {c: y, bc: z}, "h[0]": w, "": v, h: [u]}}
empty: []
none:
number: 5
`
	for name, c := range map[string]struct {
		reason       string
		field        string
		key          bool
		line, column int
		expression   bool
	}{
		"Place":         {"a place in an expression", "secrets[0].data[0].value:1:5", false, 8, 17, true},
		"PlaceOfBlock":  {"a place in another line of one", "secrets[0].data[1].value:2:3", false, 12, 9, true},
		"WholeLine":     {"a whole line of one", "secrets[0].data[1].value:2", false, 12, 7, true},
		"PlaceNowhere":  {"a place that it does not have: it begins where it does", "secrets[0].data[0].value:9:9", false, 8, 12, false},
		"PlaceOfAbsent": {"a place in what is not there is that of the parent", "secrets[0].data[0].valeu:1:1", false, 7, 5, false},
		"Scalar":        {"a value", "secrets[0].name", false, 5, 9, false},
		"Number":        {"a value that is no text", "number", false, 16, 9, false},
		"Nothing":       {"and one that is nothing", "none", false, 15, 6, false},
		"Key":           {"its key, if that is what is wrong", "secrets[0].name", true, 5, 3, false},
		"List":          {"of a list the key", "secrets[0].data", false, 6, 3, false},
		"EmptyList":     {"also of an empty one", "empty", false, 14, 1, false},
		"Item":          {"of an item where it begins", "secrets[0].data[1]", false, 9, 5, false},
		"Absent":        {"what is not there is where it would be", "secrets[0].nmae", false, 5, 3, false},
		"AbsentBelow":   {"however deep", "secrets[0].metadata.name", false, 5, 3, false},
		"Below":         {"a scalar has no fields: it is where its key is", "secrets[0].name.x", false, 5, 3, false},
		"PlaceBelow":    {"nor is a place in them one in the scalar", "secrets[0].name.x:1:2", false, 5, 3, false},
		"Behind":        {"what is behind a list is where that is", "secrets[7].name", false, 4, 1, false},
		"Unclosed":      {"what is no index is none", "secrets[0", false, 4, 1, false},
		"NoIndex":       {"nor what is no number", "secrets[a].name", false, 4, 1, false},
		"Input":         {"the input itself is where it begins", "input", false, 2, 1, false},
		"InputNowhere":  {"so is a field that it does not have", "spec", false, 2, 1, false},
		"Dot":           {"a key may hold a dot", "secrets[1].labels.a.b", false, 13, 29, false},
		"Nested":        {"or a field may be in another", "secrets[1].labels.a.c", false, 13, 39, false},
		"NestedLonger":  {"and not be taken for one that begins alike", "secrets[1].labels.a.bc", false, 13, 46, false},
		"Bracketed":     {"a key may stand in brackets", "secrets[1].labels[a.b]", false, 13, 29, false},
		"BracketedKey":  {"or hold some", "secrets[1].labels.h[0]", false, 13, 58, false},
		"Prefix":        {"one that begins like a key is none", "secrets[1].labels.ab", false, 13, 15, false},
		"Dots":          {"nor is an empty one meant", "secrets[1].labels..", false, 13, 15, false},
	} {
		t.Run(name, func(t *testing.T) {
			want := location{Position: document.Position{Line: c.line, Column: c.column}, expression: c.expression}
			step := stepsIn(t, text)[0]
			for range 16 { // keys come in any order
				if at := step.locate(c.field, c.key); at != want {
					t.Fatalf("%s: locate(%q): want %+v, got %+v", c.reason, c.field, want, at)
				}
			}
		})
	}
}
