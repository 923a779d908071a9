package function_test

import (
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// environmentOf is what a response leaves for later steps.
func environmentOf(rsp *fnv1.RunFunctionResponse) *structpb.Struct {
	return rsp.GetContext().GetFields()["apiextensions.crossplane.io/environment"].GetStructValue()
}

// environmentInput finds an EnvironmentConfig, and increments a count in it.
const environmentInput = `
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  environment:
    defaultData: {count: 1}
    environmentConfigs: [{ref: {name: base}}]
    set:
    - {fieldPath: count, value: environment.count + 1}
    - {fieldPath: zone, value: composite.metadata.name + environment.region}
  configMaps:
  - name: seen
    data: [{key: context, value: json.encode(context)}, {key: count, value: string(environment.count)}]
`

// cluster has the EnvironmentConfig that environmentInput finds.
var cluster = map[string]string{"/base": `{apiVersion: apiextensions.crossplane.io/v1beta1, kind: EnvironmentConfig,
  metadata: {name: base}, data: {region: eu}}`}

// Crossplane calls a step several times in one reconcile, each time with the
// context that the step itself has left: what it did to the environment is not
// done again.
func TestEnvironmentIsMadeOnce(t *testing.T) {
	f := functiontest.New(t)
	req := functiontest.Request(t, functiontest.ObservedDatabase+environmentInput)
	first := functiontest.Reconcile(t, f, proto.CloneOf(req), cluster)
	seen := first.GetDesired().GetResources()["seen"].GetResource().GetFields()["data"].GetStructValue()
	if diff := cmp.Diff(functiontest.Parse(t, "{context: '{}', count: '2'}"), seen, protocmp.Transform()); diff != "" {
		t.Errorf("what an expression sees: -want, +got:\n%s", diff)
	}
	for range 3 {
		req.Context = first.GetContext()
		again := functiontest.Reconcile(t, f, proto.CloneOf(req), cluster)
		if diff := cmp.Diff(first, again, protocmp.Transform()); diff != "" {
			t.Fatalf("called again: -first, +again:\n%s", diff)
		}
	}
	// The same with an environment of earlier steps.
	req.Context = functiontest.Parse(t, `{apiextensions.crossplane.io/environment: {count: 41, region: us}, other: 1}`)
	first = functiontest.Reconcile(t, f, proto.CloneOf(req), cluster)
	req.Context = first.GetContext()
	again := functiontest.Reconcile(t, f, req, cluster)
	if diff := cmp.Diff(first, again, protocmp.Transform()); diff != "" {
		t.Fatalf("called again: -first, +again:\n%s", diff)
	}
	want := functiontest.Parse(t, "{count: 42, region: eu, zone: orderseu}")
	delete(environmentOf(first).GetFields(), "apiVersion")
	delete(environmentOf(first).GetFields(), "kind")
	if diff := cmp.Diff(want, environmentOf(first), protocmp.Transform()); diff != "" {
		t.Errorf("the environment for later steps: -want, +got:\n%s", diff)
	}
}
