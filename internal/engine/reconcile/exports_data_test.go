package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// All exports of a composite author together have a limit of keys and bytes.
func TestAuthorsQuota(t *testing.T) {
	const most = limits.AuthorKeys
	const tooMuch = "returns too much data: all exports of the composite's author together can have at most 1024 keys " +
		"and 1048576 bytes"
	// keys is an entry with n keys of three bytes, and one is an entry with a key of one byte.
	keys := func(name string, n int) string {
		const entry = `{name: %s, valueMap: "lists.range(%d).transformMapEntry(i, v, {'key' + string(v): 'v'})"}`
		return fmt.Sprintf(entry, name, n)
	}
	one := func(name, value string) string { return fmt.Sprintf(`{name: %s, key: k, value: %q}`, name, value) }
	for name, tc := range map[string]struct {
		reason    string
		maps, one string // the entries of the composite author
		text      int    // the length of spec.text
		want      []string
	}{
		"NotEvaluated": {
			"then no expression is evaluated", keys("a", most+1), one("b", "self.spec.nope"), 0,
			[]string{"dynamicConfigMaps[0].valueMap: " + tooMuch, "configMapExpressions[0].value: " + tooMuch},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newScene(t, plantest.Exports("fromComposite: {fieldPath: spec.operatorSpec}"), asks(fmt.Sprintf(
				"text: %s, operatorSpec: {dynamicConfigMaps: [%s], configMapExpressions: [%s]}",
				strings.Repeat("a", tc.text), tc.maps, tc.one,
			))).run(t)
			var got []string
			for _, o := range r.Objects {
				_, why, _ := strings.Cut(o.Message, "spec.operatorSpec.")
				got = append(got, strings.TrimSpace(o.State.String()+" "+why))
			}
			for i, want := range tc.want {
				if want != "Available" {
					tc.want[i] = "Held " + want
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
