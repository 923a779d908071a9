package files

import (
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
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
		at           diagnostic.Diagnostic
		line, column int
		expression   bool
	}{
		"Place":         {"a place in an expression", diagnostic.Diagnostic{Path: "secrets[0].data[0].value", Line: 1, Column: 5}, 8, 17, true},
		"PlaceOfBlock":  {"a place in another line of one", diagnostic.Diagnostic{Path: "secrets[0].data[1].value", Line: 2, Column: 3}, 12, 9, true},
		"WholeLine":     {"a whole line of one", diagnostic.Diagnostic{Path: "secrets[0].data[1].value", Line: 2}, 12, 7, true},
		"PlaceNowhere":  {"a place that it does not have: it begins where it does", diagnostic.Diagnostic{Path: "secrets[0].data[0].value", Line: 9, Column: 9}, 8, 12, false},
		"PlaceOfAbsent": {"a place in what is not there is that of the parent", diagnostic.Diagnostic{Path: "secrets[0].data[0].valeu", Line: 1, Column: 1}, 7, 5, false},
		"Scalar":        {"a value", diagnostic.Diagnostic{Path: "secrets[0].name"}, 5, 9, false},
		"Number":        {"a value that is no text", diagnostic.Diagnostic{Path: "number"}, 16, 9, false},
		"Nothing":       {"and one that is nothing", diagnostic.Diagnostic{Path: "none"}, 15, 6, false},
		"Key":           {"its key, if that is what is wrong", diagnostic.Diagnostic{Path: "secrets[0].name", Key: true}, 5, 3, false},
		"List":          {"of a list the key", diagnostic.Diagnostic{Path: "secrets[0].data"}, 6, 3, false},
		"EmptyList":     {"also of an empty one", diagnostic.Diagnostic{Path: "empty"}, 14, 1, false},
		"Item":          {"of an item where it begins", diagnostic.Diagnostic{Path: "secrets[0].data[1]"}, 9, 5, false},
		"Absent":        {"what is not there is where it would be", diagnostic.Diagnostic{Path: "secrets[0].nmae"}, 5, 3, false},
		"AbsentBelow":   {"however deep", diagnostic.Diagnostic{Path: "secrets[0].metadata.name"}, 5, 3, false},
		"Below":         {"a scalar has no fields: it is where its key is", diagnostic.Diagnostic{Path: "secrets[0].name.x"}, 5, 3, false},
		"PlaceBelow":    {"nor is a place in them one in the scalar", diagnostic.Diagnostic{Path: "secrets[0].name.x", Line: 1, Column: 2}, 5, 3, false},
		"Behind":        {"an item after the end of a list is shown at the list", diagnostic.Diagnostic{Path: "secrets[7].name"}, 4, 1, false},
		"NoIndex":       {"nor what is no number", diagnostic.Diagnostic{Path: "secrets[a].name"}, 4, 1, false},
		"Input":         {"the input itself is where it begins", diagnostic.Diagnostic{Path: "input"}, 2, 1, false},
		"InputNowhere":  {"so is a field that it does not have", diagnostic.Diagnostic{Path: "spec"}, 2, 1, false},
		"Dot":           {"a key may hold a dot", diagnostic.Diagnostic{Path: "secrets[1].labels.a.b"}, 13, 29, false},
		"Nested":        {"or a field may be in another", diagnostic.Diagnostic{Path: "secrets[1].labels.a.c"}, 13, 39, false},
		"NestedLonger":  {"and not be taken for one that begins alike", diagnostic.Diagnostic{Path: "secrets[1].labels.a.bc"}, 13, 46, false},
		"Bracketed":     {"a key may stand in brackets", diagnostic.Diagnostic{Path: "secrets[1].labels[a.b]"}, 13, 29, false},
		"BracketedKey":  {"or hold some", diagnostic.Diagnostic{Path: "secrets[1].labels.h[0]"}, 13, 58, false},
		"Prefix":        {"one that begins like a key is none", diagnostic.Diagnostic{Path: "secrets[1].labels.ab"}, 13, 15, false},
	} {
		t.Run(name, func(t *testing.T) {
			want := location{Range: document.Range{Position: document.Position{Line: c.line, Column: c.column}}, expression: c.expression}
			step := stepsIn(t, text)[0]
			for range 16 { // keys come in any order
				at := step.locate(&c.at)
				if at.End = (document.Position{}); at != want {
					t.Fatalf("%s: locate(%+v): want %+v, got %+v", c.reason, c.at, want, at)
				}
			}
		})
	}
}

// A diagnostic ends after the word, the text or the line that it is about.
func TestLocateEnds(t *testing.T) {
	const text = `apiVersion: export.fn.crossplane.io/v1beta1
kind: Exports
secrets:
- name: "out"
  data:
  - key: k
    value: 'secret.?host + ''a'' + ä𝄞'
  - {key: 5, value: >-
      a +
        b}
  - &x {key: c}
`
	lines := strings.Split(text, "\n")
	step := stepsIn(t, strings.Replace(text, ">-\n", "\n", 1))[0]
	for want, d := range map[string]diagnostic.Diagnostic{
		`"out"`:  {Path: "secrets[0].name"},
		"name":   {Path: "secrets[0].name", Key: true},
		"data":   {Path: "secrets[0].data"},
		"host":   {Path: "secrets[0].data[0].value", Line: 1, Column: 7},
		"secret": {Path: "secrets[0].data[0].value", Line: 1, Column: 1},
		"''a''":  {Path: "secrets[0].data[0].value", Line: 1, Column: 16},
		"ä":      {Path: "secrets[0].data[0].value", Line: 1, Column: 22},
		"5":      {Path: "secrets[0].data[1].key"},
		"{key":   {Path: "secrets[0].data[2]"},
	} {
		at := step.locate(&d)
		line := []rune(lines[at.Line-1])
		if at.Line != at.End.Line || string(line[at.Column-1:at.End.Column-1]) != want {
			t.Errorf("%+v: want %q, got %+v in %q", d, want, at.Range, string(line))
		}
	}
}
