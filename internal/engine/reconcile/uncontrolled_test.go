package reconcile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// The author of a composite can write the list of composed resources. A listed object that the composite does not
// control is not written into.
func TestListedObjects(t *testing.T) {
	const (
		input  = `secrets: [{name: s, metadata: {name: victim}, data: [{key: k, value: "'v'"}]}]`
		author = `fromComposite: {fieldPath: spec.asks}`
		asks   = "composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, namespace: team, uid: " +
			"u1}, spec: {asks: {secretExpressions: [{name: victim, key: k, value: \"'v'\"}]}}}\n"
		victim   = "apiVersion: v1, kind: Secret, data: {k: b2xk}, metadata: {name: victim, namespace: team"
		conflict = ", which it does not control and has not composed: delete it, or remove it from the list"
	)
	for name, c := range map[string]struct {
		reason, input, objects string
		want                   []string
	}{
		"RestoredForAnother": {
			"another composite composed it before a restore", input, "resources: {s: {object: {" + victim +
				", uid: v1, resourceVersion: '1', labels: {crossplane.io/composite: other}}}}}",
			[]string{`Conflict! nothing | Secret "s": the composite lists Secret team/victim` + conflict},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, show(newScene(t, plantest.Exports(c.input), c.objects).run(t))); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}
