package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// schema is the input's CustomResourceDefinition.
const schema = root + "/package/input/export.fn.crossplane.io_exports.yaml"

// TestValidate validates the Composition of each example with its input, and every object that an example expects us to
// make, against Kubernetes' own types. The CLI reads numbers of inputs in Compositions as floats, so a rule of the
// schema that reads an integer fails there.
func TestValidate(t *testing.T) {
	p := PeersForTest(t)

	for name, dir := range examples(t) {
		t.Run(name, func(t *testing.T) {
			var objects []*unstructured.Unstructured

			names := exportNames(t, dir)

			for _, o := range readObjects(t, filepath.Join(dir, "expected.yaml")) {
				name := o.GetAnnotations()[resourceName]
				ours := slices.Contains(names, name) || strings.HasPrefix(name, generationPrefix)

				if ours && o.GetAPIVersion() == "v1" { // of other kinds that are generated there is no schema
					objects = append(objects, o)
				}
			}

			all := report(t, p, schema, filepath.Join(dir, "composition.yaml"))
			// The others have no schema.
			all = slices.DeleteFunc(all, func(v validation) bool { return v.Kind != "Exports" })

			if len(all) == 0 {
				t.Error("no input is validated")
			}

			for _, r := range append(all, validated(t, p, schema, objects)...) {
				if f := r.faults(); len(f) > 0 {
					t.Errorf("%s %s: %q", r.Kind, r.Name, f)
				}
			}
		})
	}
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
