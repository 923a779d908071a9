package function_test

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
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

// A later step with the same input begins with what was changed since.
func TestEnvironmentOfASecondStep(t *testing.T) {
	f := functiontest.New(t)
	first := functiontest.Reconcile(t, f, functiontest.Request(t, functiontest.ObservedDatabase+functiontest.EnvironmentInput), functiontest.Cluster)
	req := functiontest.Request(t, functiontest.ObservedDatabase+functiontest.EnvironmentInput)
	req.Context = proto.CloneOf(first.GetContext())
	fields := req.GetContext().GetFields()["apiextensions.crossplane.io/environment"].GetStructValue().GetFields()
	fields["count"], fields["new"] = structpb.NewNumberValue(10), structpb.NewStringValue("kept")
	second := environmentOf(functiontest.Reconcile(t, f, req, functiontest.Cluster)).GetFields()
	if second["count"].GetNumberValue() != 11 || second["new"].GetStringValue() != "kept" {
		t.Errorf("want count 11 and new kept, got %v", second)
	}
}

// A step that requires nothing is called once: a later step with the same input is another step.
func TestEnvironmentOfEqualSteps(t *testing.T) {
	f := functiontest.New(t)
	req := functiontest.Request(t, functiontest.ObservedDatabase+`
input: {apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports, environment: {defaultData: {count: 1}, set: [{fieldPath: count, value: environment.count + 1}]}}`)
	for want := range 3 {
		rsp := functiontest.Reconcile(t, f, req, nil)
		if got := environmentOf(rsp).GetFields()["count"].GetNumberValue(); got != float64(want+2) {
			t.Errorf("step %d: want count %d, got %v", want+1, want+2, got)
		}
		req.Context = rsp.GetContext()
	}
}

// Until Crossplane has looked, and where the input makes no environment, the one
// of earlier steps stays as it is.
func TestEnvironmentIsLeftAlone(t *testing.T) {
	f := functiontest.New(t)
	for name, input := range map[string]string{
		"Unread": functiontest.EnvironmentInput,
		"None":   "\ninput: {apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports}\n",
	} {
		t.Run(name, func(t *testing.T) {
			req := functiontest.Request(t, functiontest.ObservedDatabase+input)
			req.Context = functiontest.Parse(t, `{apiextensions.crossplane.io/environment: {count: 41}}`)
			rsp, err := f.RunFunction(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(functiontest.Parse(t, "{count: 41}"), environmentOf(rsp), protocmp.Transform()); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// A missing EnvironmentConfig is fatal, with its name, and changes nothing.
func TestEnvironmentConfigMissing(t *testing.T) {
	rsp := functiontest.Reconcile(t, functiontest.New(t), functiontest.Request(t, functiontest.ObservedDatabase+functiontest.EnvironmentInput), nil)
	text := prototext.Format(rsp)
	if len(rsp.GetResults()) != 1 || rsp.GetResults()[0].GetSeverity() != fnv1.Severity_SEVERITY_FATAL || !strings.Contains(text, `EnvironmentConfig \"base\"`) {
		t.Errorf("want one fatal result that names it, got %s", text)
	}
	if environmentOf(rsp) != nil || len(rsp.GetDesired().GetResources()) > 0 {
		t.Errorf("want nothing else, got %s", text)
	}
}
