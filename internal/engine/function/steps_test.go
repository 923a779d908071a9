package function_test

import (
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// A step whose object has no name yet keeps the objects that it may take over. That does not stop the later step whose
// objects they are.
func TestLaterStepsHaveTheirOwnObjects(t *testing.T) {
	const (
		observed = `
observed:
  composite:
    resource:
      {apiVersion: example.org/v1, kind: App, metadata: {name: xr, namespace: team, uid: u1},
       spec: {crossplane: {resourceRefs: [{apiVersion: v1, kind: Secret, name: xr-later}]}}}
  resources:
    later:
      resource:
        apiVersion: v1
        kind: Secret
        metadata:
          name: xr-later
          namespace: team
          uid: s1
          annotations: {crossplane.io/composition-resource-name: later}
          ownerReferences: [{apiVersion: example.org/v1, kind: App, name: xr, uid: u1, controller: true}]
        type: Opaque
        data: {k: djE=}
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
`
		first = `
  secrets: [{name: first, metadata: {nameExpression: composite.status.name}, data: [{key: k, value: "'v'"}]}]
`
		later = `
  secrets: [{name: later, data: [{key: k, value: "'v2'"}]}]
`
	)
	f := functiontest.New(t)
	before := functiontest.Reconcile(t, f, functiontest.Request(t, observed+first), nil)
	if before.GetDesired().GetResources()["later"] == nil {
		t.Fatal("the first step does not keep the object, so there is nothing to test")
	}
	req := functiontest.Request(t, observed+later)
	req.Desired, req.Context = before.GetDesired(), before.GetContext()
	after := functiontest.Reconcile(t, f, req, nil)
	for _, r := range after.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			t.Error(r.GetMessage())
		}
	}
	o := after.GetDesired().GetResources()["later"].GetResource().GetFields()
	if got := o["data"].GetStructValue().GetFields()["k"].GetStringValue(); got != inBase64("v2") {
		t.Errorf("the object has %q, want the value of its own step", got)
	}
}
