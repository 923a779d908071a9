package expression_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

func TestAbsent(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, text string
		want         []string
	}{
		"Step":     {"the path goes on after its first missing step, because a schema has all of it", "resource.status.nope.x", []string{"x"}},
		"Exists":   {"an existing path is not missing", "resource.status.host", nil},
		"Optional": {"an optional path may be missing", "resource.status.?nope.orValue('x')", nil},
		"Tested":   {"a tested path may be missing", "has(resource.status.nope) ? resource.status.nope : 'x'", nil},
		"Leading":  {"the expression does without an optional path, and this is not known in advance", "resource.nope.?x.orValue('x')", nil},
		"Branch":   {"it is unknown which branch is evaluated", "resource.spec.port > 1 ? resource.status.nope : 'x'", nil},
		"Both":     {"a default elsewhere does not help a part that is always evaluated", "resource.status.?nope.orValue('x') + resource.status.nope", []string{"nope"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range compile(t, tc.text, expression.WantAny, "db").Absent(fullObservation(t).Scope("db", nil)) {
				last, _ := r.Path[len(r.Path)-1].Key.(string)
				got = append(got, last)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Absent(...): %s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
