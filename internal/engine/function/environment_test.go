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

func TestEnvironmentForLaterSteps(t *testing.T) {
	f := functiontest.New(t)
	rsp := functiontest.Reconcile(t, f, functiontest.Request(t, functiontest.ObservedDatabase+functiontest.EnvironmentInput), functiontest.Cluster)
	want := functiontest.Parse(t, "{apiVersion: internal.crossplane.io/v1alpha1, kind: Environment, count: 2, region: eu, zone: orderseu}")
	if diff := cmp.Diff(want, environmentOf(rsp), protocmp.Transform()); diff != "" {
		t.Errorf("the environment for later steps: -want, +got:\n%s", diff)
	}
	seen := rsp.GetDesired().GetResources()["seen"].GetResource().GetFields()["data"]
	if diff := cmp.Diff(structpb.NewStructValue(functiontest.Parse(t, "{context: '{}', count: '2'}")), seen, protocmp.Transform()); diff != "" {
		t.Errorf("what an expression sees: -want, +got:\n%s", diff)
	}
}

// Crossplane calls a step several times in one reconcile, each time with the
// context that the step itself has left: what it did to the environment is not
// done again.
func TestEnvironmentIsMadeOnce(t *testing.T) {
	f := functiontest.New(t)
	first := functiontest.Reconcile(t, f, functiontest.Request(t, functiontest.ObservedDatabase+functiontest.EnvironmentInput), functiontest.Cluster)
	req := functiontest.Request(t, functiontest.ObservedDatabase+functiontest.EnvironmentInput)
	for range 3 {
		req.Context = first.GetContext()
		again := functiontest.Reconcile(t, f, proto.CloneOf(req), functiontest.Cluster)
		if diff := cmp.Diff(first, again, protocmp.Transform()); diff != "" {
			t.Fatalf("called again: -first, +again:\n%s", diff)
		}
	}
	// The same with an environment of earlier steps.
	req.Context = functiontest.Parse(t, `{apiextensions.crossplane.io/environment: {count: 41, region: us}, other: 1}`)
	first = functiontest.Reconcile(t, f, proto.CloneOf(req), functiontest.Cluster)
	req.Context = first.GetContext()
	again := functiontest.Reconcile(t, f, req, functiontest.Cluster)
	if diff := cmp.Diff(first, again, protocmp.Transform()); diff != "" {
		t.Fatalf("called again: -first, +again:\n%s", diff)
	}
	if got := environmentOf(first).GetFields()["count"].GetNumberValue(); got != 42 {
		t.Errorf("count: want 42, got %v", got)
	}
}
