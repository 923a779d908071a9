package reconcile

import (
	"testing"

	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// State without a seal counts if the object can be one of a resource generator: any client can write that it is one.
func TestSealOfGeneration(t *testing.T) {
	state := func(immutable string) wire.Struct {
		return wire.Of(plantest.Parse(t, `{apiVersion: v1, kind: Secret, immutable: `+immutable+`, data: {token: eA==}, metadata: {name: a, annotations: {
export.fn.crossplane.io/generator-state: '{"state":{"generator":"token","generation":1,"generatedAt":"2026-01-01T00:00:00Z","kind":"resource","adopted":true}}'}}}`))
	}
	computed, composed := &plan.Generator{Makes: &plan.Computed{}}, &plan.Generator{Makes: &plan.Manifest{}}
	for name, tc := range map[string]struct {
		m         *plan.Generator
		immutable string
		lost      bool
	}{
		"Computed":         {computed, "true", true},
		"Removed":          {nil, "true", true},
		"Resource":         {composed, "false", false},
		"ImmutableByOther": {composed, "true", false},
	} {
		t.Run(name, func(t *testing.T) {
			k := readGeneration(tc.m, "token", 1, observation.Resource{Object: state(tc.immutable)}, true)
			if k.lost != tc.lost || k.Adopted == tc.lost || k.sealed != tc.lost {
				t.Errorf("want lost %v, got lost %v, adopted %v, sealed %v", tc.lost, k.lost, k.Adopted, k.sealed)
			}
		})
	}
}
