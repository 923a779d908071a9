package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// A variable sees those above it, even if it computes their names: otherwise it
// could give a secret that its readers do not know of, or itself for ever.
func TestVariableSeesThoseAbove(t *testing.T) {
	for name, value := range map[string]string{
		"Itself": `variables['' + 'first']`,
		"Whole":  `json.encode(variables)`,
		"Walked": `variables.map(k, variables[k]).join('')`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, plantest.Exports(fmt.Sprintf(`
variables:
- {name: first, value: "%s"}
- {name: later, value: secret.password}
configMaps: [{name: c, data: [{key: k, value: "variables.first"}, {key: l, value: "'v'"}]}]`, value)))
			if got := s.run(t); strings.Contains(s.text(t, got), canary) {
				t.Errorf("Run(...): a secret in a ConfigMap:\n%s", s.text(t, got))
			}
		})
	}
}

// A variable is evaluated on first use, and once.
func TestVariableIsEvaluatedOnce(t *testing.T) {
	s := newScene(t, plantest.Exports(`
variables: [{name: unused, value: "1"}, {name: a, value: "'a'"}, {name: later, value: composite.spec.later}, {name: failed, value: composite.spec.size.x}]
secrets: [{name: a, data: [{key: k, value: variables.a + variables.a}, {key: l, value: variables.a}, {key: m, value: variables.later}, {key: p, value: variables.later}, {key: q, value: variables.failed}]}]`))
	r := s.run(t)
	got := []int{r.OK, r.Waiting, r.Failed}
	if diff := cmp.Diff([]int{3, 3, 2}, got); diff != "" { // with the five of the Secret
		t.Errorf("Run(...): evaluations that went well, waited and failed: -want, +got:\n%s", diff)
	}
}
