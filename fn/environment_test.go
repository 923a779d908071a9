package main

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
)

// environmentInput finds an EnvironmentConfig, and counts in what it finds.
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

// cluster is what environmentInput finds.
var cluster = map[string]string{"/base": `{apiVersion: apiextensions.crossplane.io/v1beta1, kind: EnvironmentConfig, metadata: {name: base}, data: {region: eu}}`}

// environmentOf is what a response leaves for later steps.
func environmentOf(rsp *fnv1.RunFunctionResponse) *structpb.Struct {
	return rsp.GetContext().GetFields()[environmentKey].GetStructValue()
}

func TestEnvironmentForLaterSteps(t *testing.T) {
	f := newFunction(t)
	rsp := reconcile(t, f, request(t, observedDatabase+environmentInput), cluster)
	want := parse(t, "{apiVersion: internal.crossplane.io/v1alpha1, kind: Environment, count: 2, region: eu, zone: orderseu}")
	if diff := cmp.Diff(want, environmentOf(rsp), protocmp.Transform()); diff != "" {
		t.Errorf("the environment for later steps: -want, +got:\n%s", diff)
	}
	seen := rsp.GetDesired().GetResources()["seen"].GetResource().GetFields()["data"]
	if diff := cmp.Diff(structpb.NewStructValue(parse(t, "{context: '{}', count: '2'}")), seen, protocmp.Transform()); diff != "" {
		t.Errorf("what an expression sees: -want, +got:\n%s", diff)
	}
}

// Crossplane calls a step several times in one reconcile, each time with the
// context that the step itself has left: what it did to the environment is not
// done again.
func TestEnvironmentIsMadeOnce(t *testing.T) {
	f := newFunction(t)
	first := reconcile(t, f, request(t, observedDatabase+environmentInput), cluster)
	req := request(t, observedDatabase+environmentInput)
	for range 3 {
		req.Context = first.GetContext()
		again := reconcile(t, f, proto.CloneOf(req), cluster)
		if diff := cmp.Diff(first, again, protocmp.Transform()); diff != "" {
			t.Fatalf("called again: -first, +again:\n%s", diff)
		}
	}
	// With an environment of earlier steps, too.
	req.Context = parse(t, `{apiextensions.crossplane.io/environment: {count: 41, region: us}, other: 1}`)
	first = reconcile(t, f, proto.CloneOf(req), cluster)
	req.Context = first.GetContext()
	again := reconcile(t, f, req, cluster)
	if diff := cmp.Diff(first, again, protocmp.Transform()); diff != "" {
		t.Fatalf("called again: -first, +again:\n%s", diff)
	}
	if got := environmentOf(first).GetFields()["count"].GetNumberValue(); got != 42 {
		t.Errorf("count: want 42, got %v", got)
	}
}

// A later step with the same input begins with what was changed since.
func TestEnvironmentOfASecondStep(t *testing.T) {
	f := newFunction(t)
	first := reconcile(t, f, request(t, observedDatabase+environmentInput), cluster)
	req := request(t, observedDatabase+environmentInput)
	req.Context = withField(first.GetContext(), []string{environmentKey, "count"}, structpb.NewNumberValue(10))
	req.Context = withField(req.GetContext(), []string{environmentKey, "new"}, structpb.NewStringValue("kept"))
	second := environmentOf(reconcile(t, f, req, cluster)).GetFields()
	if second["count"].GetNumberValue() != 11 || second["new"].GetStringValue() != "kept" {
		t.Errorf("want count 11 and new kept, got %v", second)
	}
}

// A step that requires nothing is called once: one behind it with the same input is
// another step.
func TestEnvironmentOfEqualSteps(t *testing.T) {
	f := newFunction(t)
	req := request(t, observedDatabase+`
input: {apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports, environment: {defaultData: {count: 1}, set: [{fieldPath: count, value: environment.count + 1}]}}`)
	for want := range 3 {
		rsp := reconcile(t, f, req, nil)
		if got := environmentOf(rsp).GetFields()["count"].GetNumberValue(); got != float64(want+2) {
			t.Errorf("step %d: want count %d, got %v", want+1, want+2, got)
		}
		req.Context = rsp.GetContext()
	}
}

// Until Crossplane has looked, and where the input makes no environment, the one
// of earlier steps stays as it is.
func TestEnvironmentIsLeftAlone(t *testing.T) {
	f := newFunction(t)
	for name, input := range map[string]string{
		"Unread": environmentInput,
		"None":   "\ninput: {apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports}\n",
	} {
		t.Run(name, func(t *testing.T) {
			req := request(t, observedDatabase+input)
			req.Context = parse(t, `{apiextensions.crossplane.io/environment: {count: 41}}`)
			rsp, err := f.RunFunction(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, "{count: 41}"), environmentOf(rsp), protocmp.Transform()); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// What is missing is fatal, with its name, and changes nothing.
func TestEnvironmentConfigMissing(t *testing.T) {
	rsp := reconcile(t, newFunction(t), request(t, observedDatabase+environmentInput), nil)
	text := prototext.Format(rsp)
	if len(rsp.GetResults()) != 1 || rsp.GetResults()[0].GetSeverity() != fnv1.Severity_SEVERITY_FATAL || !strings.Contains(text, `EnvironmentConfig \"base\"`) {
		t.Errorf("want one fatal result that names it, got %s", text)
	}
	if environmentOf(rsp) != nil || len(rsp.GetDesired().GetResources()) > 0 {
		t.Errorf("want nothing else, got %s", text)
	}
}
