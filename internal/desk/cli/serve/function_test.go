package serve

import (
	"crypto/rand"
	"testing"

	"github.com/crossplane/function-sdk-go/logging"

	"github.com/crossplane-contrib/function-export/internal/engine/function"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// served returns the function that a command serves.
func served(t *testing.T, requireGrants bool) *function.Function {
	t.Helper()
	c := Command{Network: "tcp", Address: "127.0.0.1:0", Insecure: true, RequireGrants: requireGrants}
	s, err := c.server(t.Context(), logging.NewNopLogger())
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Listener.Close()
	return s.Function.(*function.Function)
}

// Only a rehearsal has a source that is derived from files: serve has the randomness of the system.
func TestServeIsNotSeeded(t *testing.T) {
	if served(t, false).Entropy() != rand.Reader {
		t.Error("serve does not use the randomness of the system")
	}
}

// The flag of an operator counts for an input that does not ask for grants.
func TestServeRequiresGrants(t *testing.T) {
	req := functiontest.Request(t, `
observed: {composite: {resource: {apiVersion: example.org/v1, kind: App, metadata: {name: shop, namespace: team-a,
  uid: u1}}}}
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  sources: [{name: ca, apiVersion: v1, kind: Secret, namespace: platform}]
  secrets: [{name: trust, data: [{key: k, value: secrets.ca.k}]}]
`)
	for insists, want := range map[bool]string{false: "v1/Secret/platform/name=ca",
		true: "apiextensions.k8s.io/v1/CustomResourceDefinition//name=referencegrants.gateway.networking.k8s.io"} {
		rsp, err := served(t, insists).RunFunction(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		required := rsp.GetRequirements().GetResources()
		if _, ok := required[functiontest.Prefix+want]; !ok || len(required) != 2 { // the other one is the export
			t.Errorf("--require-grants=%t: want only %s and the export, got %v", insists, want, required)
		}
	}
}
