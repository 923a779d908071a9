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
- {name: two, labels: {a.b: x}}
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
		"Place": {"a place in an expression", diagnostic.Diagnostic{Path: "secrets[0].data[0].value", Line: 1,
			Column: 5}, 8, 17, true},
		"PlaceOfBlock": {"a place in another line of one", diagnostic.Diagnostic{Path: "secrets[0].data[1].value",
			Line: 2, Column: 3}, 12, 9, true},
		"PlaceNowhere": {"a place that it does not have: it begins where it does",
			diagnostic.Diagnostic{Path: "secrets[0].data[0].value", Line: 9, Column: 9}, 8, 12, false},
		"Scalar":  {"a value", diagnostic.Diagnostic{Path: "secrets[0].name"}, 5, 9, false},
		"Nothing": {"and one that is nothing", diagnostic.Diagnostic{Path: "none"}, 15, 6, false},
		"Key": {"its key, if that is what is wrong", diagnostic.Diagnostic{Path: "secrets[0].name",
			Key: true}, 5, 3, false},
		"List": {"of a list the key", diagnostic.Diagnostic{Path: "secrets[0].data"}, 6, 3, false},
		"Item": {"of an item where it begins", diagnostic.Diagnostic{Path: "secrets[0].data[1]"}, 9, 5, false},
		"Absent": {"what is not there is where it would be", diagnostic.Diagnostic{Path: "secrets[0].nmae"}, 5,
			3, false},
		"Below": {"a scalar has no fields: it is where its key is",
			diagnostic.Diagnostic{Path: "secrets[0].name.x"}, 5, 3, false},
		"Behind": {"an item after the end of a list is shown at the list",
			diagnostic.Diagnostic{Path: "secrets[7].name"}, 4, 1, false},
		"Input": {"the input itself is where it begins", diagnostic.Diagnostic{Path: "input"}, 2, 1, false},
		"Dot":   {"a key may hold a dot", diagnostic.Diagnostic{Path: "secrets[1].labels.a.b"}, 13, 29, false},
		"Bracketed": {"a key may stand in brackets", diagnostic.Diagnostic{Path: "secrets[1].labels[a.b]"}, 13,
			29, false},
	} {
		t.Run(name, func(t *testing.T) {
			want := location{Range: document.Range{Position: document.Position{Line: c.line, Column: c.column}},
				expression: c.expression}
			step := stepsIn(t, text)[0]
			at := step.locate(&c.at)
			if at.End = (document.Position{}); at != want {
				t.Fatalf("%s: locate(%+v): want %+v, got %+v", c.reason, c.at, want, at)
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
