package composition

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/gotemplate"
)

// templated is a Composition with an inline template.
func templated(text string, inputs map[string]any) map[string]any {
	in := map[string]any{"apiVersion": "gotemplating.fn.crossplane.io/v1beta1", "source": "Inline", "inline": map[string]any{"template": text}}
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
		"Literal":      {"all of it is there", manifest, a},
		"Call":         {"the annotation has a function", call, a},
		"CallOfValue":  {"a name that is made is not known", replaced(call, `"db"`, ".name"), nil},
		"Several":      {"a line of three dashes begins the next", "---\n# first\n" + manifest + "--- # next\n{{ range .x }}\n---\n" + replaced(manifest, ": db", ": db2") + "{{ end }}", map[string]string{"db": "a/v1, A", "db2": "a/v1, A"}},
		"Quoted":       {"scalars may be quoted", replaced(replaced(manifest, "A\n", "'A' # kind\n"), "a/v1", `"a/v1"`), a},
		"KindOfValue":  {"a kind that is made is not known", replaced(manifest, "A\n", "{{ .kind }}\n"), unknown},
		"KindEnds":     {"a kind that goes on is not known", replaced(manifest, "A\n", "A{{ .kind }}\n"), unknown},
		"KindTrimmed":  {"what is trimmed joins lines", replaced(manifest, "A\n", "A\n{{- .kind }}\n"), unknown},
		"KindGoesOn":   {"a scalar may have several lines", replaced(manifest, "A\n", "A\n  {{ .kind }}\n"), unknown},
		"KindInBranch": {"two kinds are none", replaced(manifest, "kind: A\n", "{{ if .x }}\nkind: A\n{{ else }}\nkind: B\n{{ end }}\n"), unknown},
		"KindInLine":   {"two kinds are none", replaced(manifest, "A\n", "{{ if .x }}A{{ else }}B{{ end }}\n"), unknown},
		"SameInBranch": {"the same kind twice is one", replaced(manifest, "kind: A\n", "{{ if .x }}\nkind: A\n{{ else }}\nkind: A\n{{ end }}\n"), a},
		"NoKind":       {"a kind may be missing", replaced(manifest, "kind: A\n", ""), unknown},
		"Names":        {"each of several names may be", replaced(manifest, ": db\n", ": db\n    {{- if .x }}\n    gotemplating.fn.crossplane.io/composition-resource-name: x\n    {{- end }}\n"), map[string]string{"db": "a/v1, A", "x": "a/v1, A"}},
		"SameName":     {"one name of two kinds has none", manifest + "---\n" + replaced(manifest, "kind: A", "kind: B"), unknown},
		"SameTwice":    {"one name of one kind", manifest + "---\n" + manifest, a},
		"Branch":       {"actions that leave nothing do no harm", "{{- if .x -}}\n" + replaced(manifest, "kind: A\n", "kind: A{{/* }} kind */}}\n{{- $y := \"\\\"}}\" }}\n{{- with .z }}\n{{- end }}\n") + "{{ end }}", a},
		"Meta":         {"objects of the function itself are not composed", replaced(manifest, "a/v1", "meta.gotemplating.fn.crossplane.io/v1alpha1"), nil},
		"Deeper":       {"a manifest in another object is not composed", replaced(manifest, "metadata:\n  annotations:\n    ", "spec:\n  metadata:\n    annotations:\n      "), nil},
		"Invalid":      {"a manifest that is not YAML is unknown", replaced(manifest, "kind: A\n", "kind: *a\n"), nil},
		"Computed":     {"a constant is known", replaced(call, `"db"`, `(printf "d%s" "b")`), a},
		"Entries":      {"an action may write entries", replaced(manifest, "metadata:", "spec:\n  a: b\n  {{ toYaml .x | nindent 2 }}\n  c: {{- .d | nindent 4 }}\nmetadata:"), a},
		"Other":        {"an object without a name is not composed", replaced(manifest, ": db", ":"), nil},
		"Unclosed":     {"what is not closed hides the rest", "{{ if \n" + manifest, nil},
		"Indented":     {"a manifest may be indented", "  " + strings.ReplaceAll(strings.TrimSuffix(manifest, "\n"), "\n", "\n  "), a},
		"Empty":        {"nothing is composed", "", nil},
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
	for name, delims := range map[string]map[string]any{", ": {"left": "[[", "right": "]]"}, "a/v1, A[[ .x ]]": {"left": "[["}} {
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
	f.Add([]byte(`{"apiVersion":"apiextensions.crossplane.io/v1","kind":"Composition","spec":{"pipeline":[{"step":"a","input":{"apiVersion":"pt.fn.crossplane.io/v1beta1",
		"patchSets":[{"name":"a","patches":[{"fromFieldPath":"kind"}]}],"resources":[{"name":"a","base":{},"patches":[{"type":"PatchSet","patchSetName":"a"}]}]}}]}}`))
	f.Add([]byte(`{"apiVersion":"apiextensions.crossplane.io/v1","kind":"Composition","spec":{"pipeline":[{"input":{"apiVersion":"gotemplating.fn.crossplane.io/v1beta1",
		"source":"Inline","delims":{"left":"-","right":"-"},"inline":{"template":"--- a"}}}]}}`))
	for group := range functions {
		f.Add([]byte(`{"apiVersion":"apiextensions.crossplane.io/v1","kind":"Composition","spec":{"pipeline":[{"input":{"apiVersion":"` + group + `/v1","resources":[{"name":1}]}}]}}`))
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

// pieces of a template that change what a manifest becomes, or do not.
var pieces = []string{
	"{{ .some }}", "{{ .none }}", "{{- .some }}", "{{ .some -}}", "{{- .none -}}", "{{ if .some }}", "{{ if .none }}", "{{- if .some }}", "{{ else -}}", "{{ end }}", "{{- end -}}",
	"{{ range .list }}", "{{ with .none -}}", "{{/* kind: B */}}", "{{- /* \"a */ -}}", "{{ $x := \"}}\" }}", "{{- $x = 1 }}", "{{ `kind: B` }}", `{{ setResourceNameAnnotation "db" }}`,
	"{{ define \"x\" }}", "{{ break }}", "\n", "\n---\n", " ", "  ", "kind: B", "kind: A", "\nkind: A\n", "\nkind: 'A'\n", "apiVersion: a/v1", "A", "B # no", " #", "'", `"`, "|-\n  B", "*a", "&a ",
	gotemplate.ResourceName + ": db", gotemplate.ResourceName + ": x", "metadata:", "spec:\n  ", "annotations:", "- ", "? ", ": ", "{", "}", "\t", "\\",
}

// mixed is a manifest with pieces after its lines, or instead of their ends, as pairs
// of bytes say.
func mixed(choices []byte) string {
	text := manifest
	if len(choices)%2 > 0 {
		text = call
	}
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i+1 < len(choices) && i < 24; i += 2 {
		at, piece := &lines[int(choices[i]>>2)%len(lines)], pieces[int(choices[i+1])%len(pieces)]
		switch choices[i] & 3 {
		case 0:
			*at += piece
		case 1:
			*at = piece + *at
		case 2:
			*at = strings.TrimSuffix(*at, "\n") + piece + "\n"
		case 3:
			*at = piece + "\n"
		}
	}
	return strings.Join(lines, "")
}

// The resources that are read from a template's manifests are those that it renders, except others
// with the same name that cannot be read.
func FuzzTemplateIsReadAsRendered(f *testing.F) {
	f.Add([]byte{})
	for i := range pieces {
		for how := range byte(4) {
			f.Add([]byte{1<<2 | how, byte(i)})
			f.Add([]byte{4<<2 | how, byte(i), 0})
		}
	}
	// A branch round a kind, its other branch, and a loop round all.
	f.Add([]byte{1<<2 | 1, 5, 1 << 2, 8, 1 << 2, 25, 1 << 2, 9})
	f.Add([]byte{0<<2 | 1, 11, 5 << 2, 9})
	functions := template.FuncMap{"setResourceNameAnnotation": func(name string) string { return gotemplate.ResourceName + ": " + name }}
	data := map[string]any{"some": "B", "list": []string{"a", "b"}, "none": ""}
	f.Fuzz(func(t *testing.T, choices []byte) {
		text := mixed(choices)
		c, err := Read(templated(text, nil))
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := template.New("").Funcs(functions).Parse(text)
		if err != nil {
			return
		}
		var out strings.Builder
		if parsed.Execute(&out, data) != nil {
			return
		}
		is := map[string][]string{}
		for _, o := range rendered(out.String()) {
			apiVersion, _ := o["apiVersion"].(string)
			kind, _ := o["kind"].(string)
			metadata, _ := o["metadata"].(map[string]any)
			annotations, _ := metadata["annotations"].(map[string]any)
			name, _ := annotations[gotemplate.ResourceName].(string)
			is[name] = append(is[name], apiVersion+", "+kind)
		}
		for name, was := range kinds(c) {
			if was != ", " && len(is[name]) > 0 && !slices.Contains(is[name], was) {
				t.Errorf("%s was read as %q, and is %q:\n%s", name, was, is[name], text)
			}
		}
	})
}

// rendered are the objects that the function would find; none if one is broken, as one
// is with two kinds.
func rendered(text string) []map[string]any {
	var out []map[string]any
	documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		raw, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		var o map[string]any
		if err != nil || yaml.UnmarshalStrict(raw, &o) != nil {
			return nil
		}
		out = append(out, o)
	}
}
