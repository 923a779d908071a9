package composition

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// templated is a Composition with an inline template.
func templated(text string, inputs map[string]any) map[string]any {
	in := map[string]any{"apiVersion": "gotemplating.fn.crossplane.io/v1beta1", "source": "Inline",
		"inline": map[string]any{"template": text}}
	for k, v := range inputs {
		in[k] = v
	}
	return map[string]any{
		"apiVersion": Group + "/v1", "kind": Kind,
		"spec": map[string]any{"pipeline": []any{map[string]any{"input": in}}},
	}
}

// manifest with the name db.
const (
	manifest = `apiVersion: a/v1
kind: A
metadata:
  annotations:
    gotemplating.fn.crossplane.io/composition-resource-name: db
`
	call = `apiVersion: a/v1
kind: A
metadata:
  annotations:
    {{ setResourceNameAnnotation "db" }}
`
)

func TestTemplate(t *testing.T) {
	replaced := func(text, old, with string) string {
		out := strings.Replace(text, old, with, 1)
		if out == text {
			t.Fatalf("%q is not in the manifest", old)
		}
		return out
	}
	a := map[string]string{"db": "a/v1, A"}
	unknown := map[string]string{"db": ", "}
	cases := map[string]struct {
		reason string
		in     string
		want   map[string]string
	}{
		"Literal":     {"all of it is there", manifest, a},
		"Call":        {"the annotation has a function", call, a},
		"CallOfValue": {"a name that is made is not known", replaced(call, `"db"`, ".name"), nil},
		"Several": {"a line of three dashes begins the next", "---\n# first\n" + manifest +
			"--- # next\n{{ range .x }}\n---\n" + replaced(manifest, ": db", ": db2") + "{{ end }}",
			map[string]string{"db": "a/v1, A", "db2": "a/v1, A"}},
		"KindOfValue": {"a kind that is made is not known", replaced(manifest, "A\n", "{{ .kind }}\n"), unknown},
		"KindGoesOn":  {"a scalar may have several lines", replaced(manifest, "A\n", "A\n  {{ .kind }}\n"), unknown},
		"KindInBranch": {"two kinds are none", replaced(manifest, "kind: A\n",
			"{{ if .x }}\nkind: A\n{{ else }}\nkind: B\n{{ end }}\n"), unknown},
		"KindInLine": {"two kinds are none", replaced(manifest, "A\n", "{{ if .x }}A{{ else }}B{{ end }}\n"),
			unknown},
		"NoKind": {"a kind may be missing", replaced(manifest, "kind: A\n", ""), unknown},
		"Names": {"each of several names may be", replaced(manifest, ": db\n",
			": db\n    {{- if .x }}\n    gotemplating.fn.crossplane.io/composition-resource-name: x\n    {{- end }}\n"),
			map[string]string{"db": "a/v1, A", "x": "a/v1, A"}},
		"Branch": {"actions that leave nothing do no harm", "{{- if .x -}}\n" + replaced(manifest, "kind: A\n",
			"kind: A{{/* }} kind */}}\n{{- $y := \"\\\"}}\" }}\n{{- with .z }}\n{{- end }}\n") + "{{ end }}", a},
		"Meta": {"objects of the function itself are not composed",
			replaced(manifest, "a/v1", "meta.gotemplating.fn.crossplane.io/v1alpha1"), nil},
		"Deeper": {"a manifest in another object is not composed",
			replaced(manifest, "metadata:\n  annotations:\n    ", "spec:\n  metadata:\n    annotations:\n      "), nil},
		"Invalid":  {"a manifest that is not YAML is unknown", replaced(manifest, "kind: A\n", "kind: *a\n"), nil},
		"Computed": {"a constant is known", replaced(call, `"db"`, `(printf "d%s" "b")`), a},
		"Entries": {"an action may write entries", replaced(manifest, "metadata:",
			"spec:\n  a: b\n  {{ toYaml .x | nindent 2 }}\n  c: {{- .d | nindent 4 }}\nmetadata:"), a},
		"Other": {"an object without a name is not composed", replaced(manifest, ": db", ":"), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := Read(templated(tc.in, nil))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, kinds(c)); diff != "" || c.Closed() {
				t.Errorf("%s: closed %t, -want, +got:\n%s", tc.reason, c.Closed(), diff)
			}
		})
	}
}

// kinds of the resources of the first step, by name.
func kinds(c *Composition) map[string]string {
	var out map[string]string
	for _, r := range c.Steps[0].Resources {
		if out == nil {
			out = map[string]string{}
		}
		out[r.Name] = r.APIVersion + ", " + r.Kind
	}
	return out
}

func TestTemplateInput(t *testing.T) {
	c, err := Read(templated(manifest, map[string]any{"inline": map[string]any{"templates": []any{"", manifest}}}))
	want := []Resource{{Name: "db", APIVersion: "a/v1", Kind: "A"}}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, c.Steps[0].Resources); diff != "" {
		t.Errorf("several templates: -want, +got:\n%s", diff)
	}
	text := strings.Replace(manifest, ": A\n", ": A[[ .x ]]\n", 1)
	for name, delims := range map[string]map[string]any{", ": {"left": "[[", "right": "]]"},
		"a/v1, A[[ .x ]]": {"left": "[["}} {
		c, err := Read(templated(text, map[string]any{"delims": delims}))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"db": name}, kinds(c)); diff != "" {
			t.Errorf("delimiters %v: -want, +got:\n%s", delims, diff)
		}
	}
}

// Whatever is read never panics.
func FuzzReadNeverPanics(f *testing.F) {
	const head = `{"apiVersion":"apiextensions.crossplane.io/v1","kind":"Composition","spec":{"pipeline":[{"input":`
	f.Add([]byte(head + `{"apiVersion":"gotemplating.fn.crossplane.io/v1beta1","source":"Inline",` +
		`"delims":{"left":"-","right":"-"},"inline":{"template":"--- a"}}}]}}`))
	for group := range functions {
		f.Add([]byte(head + `{"apiVersion":"` + group + `/v1","resources":[{"name":1}]}}]}}`))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var object map[string]any
		if json.Unmarshal(raw, &object) != nil {
			return
		}
		c, err := Read(object)
		if (c == nil) != (err != nil) || err != nil && strings.ContainsAny(err.Error(), "\n") {
			t.Errorf("%v, %v", c, err)
		}
		if c == nil {
			return
		}
		for _, s := range c.Steps {
			for _, r := range s.Resources {
				if r.Name == "" || (r.APIVersion == "") != (r.Kind == "") {
					t.Errorf("resource %+v", r)
				}
			}
		}
	})
}
