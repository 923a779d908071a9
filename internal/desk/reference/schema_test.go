package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

const (
	root      = "../../../"
	published = root + "package/schema/"
)

// The published schemas and the copy of the definition are up to date.
func TestUpToDate(t *testing.T) {
	d, err := readCRD([]byte(text(t, crdFile)))
	if err != nil {
		t.Fatal(err)
	}
	files, err := editorSchemas(d)
	if err != nil {
		t.Fatal(err)
	}
	descriptions := map[string]map[string]string{}
	undescribed(d.schema, descriptions)
	described, err := encode(descriptions, " ")
	if err != nil {
		t.Fatal(err)
	}
	bare, err := encode(d.schema, " ")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		published + exportsFile:                          string(files[exportsFile]),
		published + compositionFile:                      string(files[compositionFile]),
		root + "internal/engine/definition/exports.json": string(bare),
		root + "internal/desk/vocabulary/fields.json":    string(described),
	} {
		if diff := cmp.Diff(want, text(t, path)); diff != "" {
			t.Errorf("%s is not up to date: run go generate ./input\n-want, +got:\n%s", path, diff)
		}
	}
}

// Each step of ours, in each Composition of an example, is taken: as a document of its
// own, and where it is.
func TestExamples(t *testing.T) {
	exports, compositions := compiled(t, exportsFile), compiled(t, compositionFile)
	inputs := 0
	err := filepath.WalkDir(root+"example", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "composition.yaml" {
			return err
		}
		for _, doc := range documents(t, text(t, path)) {
			if faults := refused(compositions, doc); faults != nil {
				t.Errorf("%s: %v", path, faults)
			}
			for _, input := range exportsInputs(doc) {
				inputs++
				if faults := refused(exports, input); faults != nil {
					t.Errorf("%s: %v", path, faults)
				}
			}
		}
		return nil
	})
	if err != nil || inputs < 35 {
		t.Errorf("want at least 35 inputs, got %d: %v", inputs, err)
	}
}

func TestComposition(t *testing.T) {
	compositions := compiled(t, compositionFile)
	cases := map[string]struct {
		reason string
		doc    string
		want   []string
	}{
		"Fault": {
			reason: "An input of ours is held against its schema, whichever step it is of.",
			doc: `{apiVersion: apiextensions.crossplane.io/v1, kind: Composition, spec: {pipeline: [
  {step: a}, {step: b, input: {apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports, secret: []}}]}}`,
			want: []string{"/spec/pipeline/1/input/secret"},
		},
		"OtherInput": {
			reason: "The input of another function is its own business.",
			doc: `{spec: {pipeline: [{input: {apiVersion: pt.fn.crossplane.io/v1beta1, kind: Resources, secret: ` +
				`[]}}]}}`,
		},
		"Unfinished": {
			reason: "While somebody writes, an editor sees what is not finished.",
			doc: `{apiVersion: apiextensions.crossplane.io/v1, kind: Composition, spec: {pipeline: [null, a, ` +
				`{input: null}, {input: a}, {input: {}}, {input: {apiVersion: 1}}]}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, refused(compositions, documents(t, tc.doc)[0])); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// compiled is a published schema.
func compiled(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text(t, published+name)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(home+name, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(home + name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// refused returns the positions of a schema's errors, as sorted JSON pointers. The error of an
// unknown field, or of an invalid name, is at the field.
func refused(s *jsonschema.Schema, doc any) []string {
	var fault *jsonschema.ValidationError
	if !errors.As(s.Validate(doc), &fault) {
		return nil
	}
	var out []string
	var walk func(f *jsonschema.ValidationError, above []string)
	walk = func(f *jsonschema.ValidationError, above []string) {
		switch k := f.ErrorKind.(type) {
		case *kind.AdditionalProperties:
			for _, p := range k.Properties {
				out = append(out, pointer(f.InstanceLocation, p))
			}
			return
		case *kind.PropertyNames:
			out = append(out, pointer(above, k.Property)) // the error itself has no position
			return
		}
		if len(f.Causes) == 0 {
			out = append(out, pointer(f.InstanceLocation))
		}
		for _, c := range f.Causes {
			walk(c, f.InstanceLocation)
		}
	}
	walk(fault, nil)
	slices.Sort(out)
	return slices.Compact(out)
}

// pointer is a JSON pointer. No field of ours has a character that it would escape.
func pointer(at []string, below ...string) string {
	return "/" + strings.Join(slices.Concat(at, below), "/")
}

// takes is what the function has against an input.
func takes(t testing.TB) func(input any) diagnostic.List {
	t.Helper()
	env, err := advice.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	return func(input any) diagnostic.List {
		fields, _ := input.(map[string]any)
		s, err := structpb.NewStruct(fields)
		if err != nil {
			t.Fatal(err)
		}
		_, faults := plan.Compile(context.Background(), env, s)
		return faults
	}
}

// documents of a file.
func documents(t testing.TB, text string) []any {
	t.Helper()
	var out []any
	for _, part := range regexp.MustCompile(`(?m)^---.*$`).Split(text, -1) {
		var doc any
		if err := yaml.Unmarshal([]byte(part), &doc); err != nil {
			t.Fatal(err)
		}
		if doc != nil {
			out = append(out, doc)
		}
	}
	return out
}

// exportsInputs are our inputs in a document: itself, or those of a pipeline.
func exportsInputs(doc any) []any {
	object, _ := doc.(map[string]any)
	if object["kind"] == "Exports" {
		return []any{doc}
	}
	spec, _ := object["spec"].(map[string]any)
	steps, _ := spec["pipeline"].([]any)
	var out []any
	for _, s := range steps {
		step, _ := s.(map[string]any)
		out = append(out, exportsInputs(step["input"])...)
	}
	return out
}
