package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// schema is the input's CustomResourceDefinition.
const schema = root + "/package/input/export.fn.crossplane.io_exports.yaml"

// TestValidate holds the input of every example against the input's schema, and
// every object that an example expects us to make against Kubernetes' own types.
func TestValidate(t *testing.T) {
	p := PeersForTest(t)

	for name, dir := range examples(t) {
		t.Run(name, func(t *testing.T) {
			objects := []*unstructured.Unstructured{exportsInput(t, dir)}
			names := exportNames(t, dir)

			for _, o := range readObjects(t, filepath.Join(dir, "expected.yaml")) {
				_, ours := projected([]*unstructured.Unstructured{o}, names)[o.GetAnnotations()[resourceName]]
				if ours && o.GetAPIVersion() == "v1" { // of other kinds that are generated there is no schema
					objects = append(objects, o)
				}
			}

			if diff := cmp.Diff([]string(nil), validate(t, p, objects...)); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// TestValidateCompositions validates the Compositions themselves. The CLI also validates the inputs in them, and reads
// their numbers as floats, so a rule of the schema that reads an integer fails there.
func TestValidateCompositions(t *testing.T) {
	p := PeersForTest(t)

	for name, dir := range examples(t) {
		t.Run(name, func(t *testing.T) {
			inputs := 0

			for _, r := range report(t, p, schema, filepath.Join(dir, "composition.yaml")) {
				if r.Kind != "Exports" { // without a schema
					continue
				}

				inputs++

				if diff := cmp.Diff([]string(nil), r.faults()); diff != "" {
					t.Errorf("-want, +got:\n%s", diff)
				}
			}

			if inputs == 0 {
				t.Error("no input is validated")
			}
		})
	}
}

// TestValidateRefuses guards TestValidate: a validation that never finds an error would pass it.
func TestValidateRefuses(t *testing.T) {
	p := PeersForTest(t)

	cases := map[string]struct {
		reason string
		object string
		want   string
	}{
		"UnknownField": {
			reason: "A field that is misspelt is refused, not ignored.",
			object: `{apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports, secret: []}`,
			want:   "unknown field",
		},
		"Rule": {
			reason: "The rules of the schema are evaluated, not only its types.",
			object: `{apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports, secrets: [{name: a, data: [{key: b}]}]}`,
			want:   "exactly one of value and valueMap must be set",
		},
		"Secret": {
			reason: "Objects of Kubernetes' own kinds are decoded strictly.",
			object: `{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {b: not base64}}`,
			want:   "base64",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(validate(t, p, parseObjects(t, tc.object)...), "\n")
			if !strings.Contains(got, tc.want) {
				t.Errorf("%s\nwant an error with %q, got: %s", tc.reason, tc.want, got)
			}
		})
	}
}

// TestValidateRefusesBroken holds the inputs that the schemas for editors refuse against
// the schema that those are made from: an editor and a pipeline tell the same.
func TestValidateRefusesBroken(t *testing.T) {
	p := PeersForTest(t)

	paths, err := filepath.Glob("../desk/reference/testdata/broken/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there is no broken input: %v", err)
	}

	want := make([]string, 0, len(paths))
	inputs := make([]*unstructured.Unstructured, 0, len(paths))

	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}

		var broken struct {
			Input map[string]any `json:"input"`
		}
		if err := yaml.Unmarshal(b, &broken); err != nil {
			t.Fatalf("%s: %v", path, err)
		}

		input := &unstructured.Unstructured{Object: broken.Input}
		input.SetName(strings.TrimSuffix(filepath.Base(path), ".yaml"))
		inputs, want = append(inputs, input), append(want, input.GetName())
	}

	var got []string

	for _, r := range validated(t, p, schema, inputs) {
		if len(r.faults()) > 0 {
			got = append(got, r.Name)
		}
	}

	slices.Sort(want)
	slices.Sort(got)

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("inputs that are refused: -want, +got:\n%s", diff)
	}
}

// validate returns what crossplane resource validate has against the objects. It
// reads nothing from the network.
func validate(t *testing.T, p Peers, objects ...*unstructured.Unstructured) []string {
	t.Helper()

	var faults []string

	for _, r := range validated(t, p, schema, objects) {
		for _, f := range r.faults() {
			faults = append(faults, r.Kind+" "+r.Name+": "+f)
		}
	}

	return faults
}

// A validation is what crossplane resource validate says of one object.
type validation struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Status string `json:"status"`
	Errors []struct {
		Message string `json:"message"`
	} `json:"errors"`
}

func (v validation) faults() []string {
	var out []string

	for _, e := range v.Errors {
		out = append(out, e.Message)
	}

	if v.Status != "valid" && len(out) == 0 {
		out = []string{v.Status}
	}

	return out
}

// validated runs crossplane resource validate.
func validated(t *testing.T, p Peers, schemas string, objects []*unstructured.Unstructured) []validation {
	t.Helper()

	path := filepath.Join(t.TempDir(), "objects.yaml")
	writeObjects(t, path, objects)

	out := report(t, p, schemas, path, "--error-on-missing-schemas")
	if len(out) != len(objects) {
		t.Fatalf("the report is about %d objects, not %d", len(out), len(objects))
	}

	return out
}

// report runs crossplane resource validate on a file.
func report(t *testing.T, p Peers, schemas, path string, flags ...string) []validation {
	t.Helper()

	// An empty image keeps it from downloading the schemas of Crossplane itself.
	// Its exit code says no more than its report.
	out, _ := run(t, p.CLI, append([]string{
		"resource", "validate", schemas, path, "--output=json", "--crossplane-image=", "--cache-dir=" + t.TempDir(),
	}, flags...)...)

	var report struct {
		Resources []validation `json:"resources"`
	}

	if err := json.Unmarshal([]byte(out.stdout), &report); err != nil {
		t.Fatalf("cannot read the report: %v\n%s%s", err, out.stdout, out.stderr)
	}

	return report.Resources
}
