package function_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// Other field managers add annotations to our objects, edit ours, remove them, and write earlier ones back. Server-side apply
// never removes their keys. Their own annotations change nothing, and their changes of ours are put back, and said.

const (
	stateKey  = functiontest.Prefix + "generator-state"
	recordKey = functiontest.Prefix + "export-state"
)

// annotated returns an input with a password. Its export has the value of a key of the composite.
func annotated(fields string) string {
	return fmt.Sprintf("generators: [{name: admin, gracePeriod: 1h, password: {length: 20}, %s}]\n", fields) + functiontest.ConnectionOfAdmin +
		"  - {key: role, value: composite.spec.role}\n"
}

// Objects of two steps keep their places and their values, whatever composition resource name one of them gets.
func TestCopiedNameInTwoSteps(t *testing.T) {
	for name, tc := range map[string]struct{ reason, object, name string }{
		"ExportOfEarlierStep":     {"the hidden object of the first step is found at its place", "shop-later", "connection"},
		"GenerationOfEarlierStep": {"an export is no generation", "shop-later", "generated/admin/1"},
		"NoGeneration":            {"an export is no generation", "shop-later", "generated/admin/9"},
		"GenerationThatLeft":      {"an export is no generation", "shop-later", "generated/left/9"},
		"GenerationAsExport":      {"the export of the later step gets another name", "shop-other-1", "later"},
		"ExportOfLaterStep":       {"the export of the later step gets another name", "shop-zone", "later"},
	} {
		t.Run(name, func(t *testing.T) {
			c := functiontest.NewControlPlane(t, annotated("refreshPolicy: CreatedOnce")+"- {name: zone, data: [{key: password, value: \"'z'\"}]}\n")
			c.Later = []string{"generators: [{name: other, gracePeriod: 1h, password: {}}]\n" +
				"secrets: [{name: later, data: [{key: password, value: generated.other.password}]}]"}
			c.Settle()
			exports := []string{"shop-connection", "shop-later", "shop-zone"}
			values := func() (out []string) {
				for _, s := range exports {
					out = append(out, functiontest.Meta(c.Object("Secret", s), "uid")+c.Value(s, "password"))
				}
				return out
			}
			was, want := values(), c.Names()
			c.AnnotateSecret(tc.object, map[string]string{functiontest.ResourceNameAnnotation: tc.name})
			for range 6 {
				c.ReconcileHostile()
				if diff := cmp.Diff(was, values()); diff != "" {
					t.Fatalf("%s: -before, +after:\n%s", tc.reason, diff)
				}
			}
			c.Wait(30 * time.Hour)
			c.Settle()
			c.Wants(tc.reason, want, "Available")
			if diff := cmp.Diff(was, values()); diff != "" {
				t.Errorf("%s: -before, +after:\n%s", tc.reason, diff)
			}
		})
	}
}
