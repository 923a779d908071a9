package reconcile_test

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// A generation that is observed without an object is kept as little as it is: nothing is
// made up, and nothing panics.
func TestGenerationsWithoutObject(t *testing.T) {
	const (
		input = "generators: [{name: a, resource: {manifest: {apiVersion: example.org/v1, kind: User, spec: {}}}}]"
		user  = "apiVersion: example.org/v1, kind: User"
		from  = "{" + user + `, metadata: {name: x, annotations: {export.fn.crossplane.io/generator-state: '{"generator":"a","generation":1,"resource":FROM,"state":{"stage":"pending","kind":"resource"}}'}}, spec: {a: b}}`
	)
	for name, c := range map[string]struct{ reason, observed, want string }{
		"OddMetadata":  {"what is no object has no name", "{" + user + ", metadata: [1], status: {a: b}, spec: {a: b}}", "{" + user + `, metadata: {name: ""}, spec: {a: b}}`},
		"MadeFromNull": {"if that is not known it is what is observed", strings.Replace(from, "FROM", "null", 1), "{" + user + ", metadata: {name: x}, spec: {a: b}}"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &fnv1.Resource{}
			if c.observed != "" {
				r.Resource = plantest.Parse(t, c.observed)
			}
			for form, object := range bothForms(t, &fnv1.RunFunctionRequest{Observed: &fnv1.State{Composite: r}}) {
				s := newScene(t, plantest.Exports(input))
				s.req.Observation.Resources["generated/a/1"] = observation.Resource{Object: object}
				all := s.run(t).Generations
				if len(all) == 0 || all[0].Name != "generated/a/1" {
					t.Fatalf("%s: %s: got generations %v, want first the one that is observed", c.reason, form, all)
				}
				got := all[0].Desired
				meta := got.GetFields()["metadata"].GetStructValue().GetFields()
				if l := meta["labels"].GetStructValue().GetFields(); l["export.fn.crossplane.io/generator"].GetStringValue() != "a" {
					t.Errorf("%s: %s: labels %v, want those of a generation", c.reason, form, l)
				}
				delete(meta, "labels")
				delete(meta, "annotations")
				if diff := cmp.Diff(plantest.Parse(t, c.want), got, protocmp.Transform()); diff != "" {
					t.Errorf("%s: %s: desired: -want, +got:\n%s", c.reason, form, diff)
				}
			}
		})
	}
}
