package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
				name := o.GetAnnotations()[resourceName]
				ours := slices.Contains(names, name) || strings.HasPrefix(name, generationPrefix)

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
