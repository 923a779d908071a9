package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// A text in a manifest that is probably an expression has a warning: a user of that name is useless. A text that only
// mentions an expression has none.
func TestExpressionsInManifests(t *testing.T) {
	p, wrong := plantest.Compile(t, plantest.Exports("generators: [{name: token, gracePeriod: 24h, resource: {manifest: "+
		"{apiVersion: example.org/v1, kind: Token, spec: {users: [composite.spec.user], note: see composite.spec}}}}]"))
	if p == nil {
		t.Fatal(wrong)
	}
	var got []string
	for _, w := range p.Warnings {
		got = append(got, w.Error())
	}
	want := []string{"generators[0].resource.manifest.spec.users[0]: is literal: write the expression into set beside the " +
		"manifest, as {fieldPath: spec.users[0], value: ...}"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
