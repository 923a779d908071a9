package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// An export whose entries cannot all be evaluated has a message that a person can read.
func TestRunDataMessages(t *testing.T) {
	// fails is a list of entries that fail, with the names of their keys, and then an entry that waits.
	fails := func(entry, last string) string {
		var entries []string
		for i := range 12 {
			entries = append(entries, fmt.Sprintf(entry, i))
		}
		return strings.Join(append(entries, last), ", ")
	}
	// failed is the message about these entries.
	failed := func(at string) string {
		var b strings.Builder
		for i := range 9 {
			fmt.Fprintf(&b, at, i)
		}
		return b.String() + "and more: correct these first"
	}
	for name, tc := range map[string]struct{ reason, input, want string }{
		"Data": {
			"after the most errors that a message lists, no entry is evaluated",
			"secrets: [{name: a, data: [" + fails(
				`{key: k%d, value: string(1 / (composite.spec.size - 3))}`, `{key: last, value: secrets.later.password}`,
			) + "]}]",
			`Held | Secret "a" (team/xr-a) is not created: ` + failed(
				"secrets[0].data[%d].value:1:10: / failed on int and int: the divisor is zero, or an operand is not a number; ",
			),
		},
		"DataFrom": {
			"neither one of dataFrom nor one of data",
			"secrets: [{name: a, dataFrom: [" + fails(
				`{valueMap: "{'k%d': string(1 / (composite.spec.size - 3))}"}`, `{extract: {key: later}}`,
			) + "], data: [{key: last, value: secrets.later.password}]}]",
			`Held | Secret "a" (team/xr-a) is not created: ` + failed(
				"secrets[0].dataFrom[%d].valueMap:1:17: / failed on int and int: the divisor is zero, or an operand is not a "+
					"number; ",
			),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := bulkText(newScene(t, plantest.Exports(tc.input)).run(t).Objects[0])
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

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
