package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// The certificate of a generator is often looked for under another name, and often without its CAs.
func TestOutputOfCertificate(t *testing.T) {
	_, got := plantest.Compile(t, plantest.Exports("generators: [{name: server, certificate: {subject: {commonName: a}}}]\n"+
		"secrets: [{name: a, data: [{key: k, value: generated.server.crt}]}]"))
	want := []string{"secrets[0].data[0].value:1:17: generator \"server\" has no output \"crt\": write generated.server['tls.crt'], " +
		"or pem.leaf(generated.server['tls.crt']) without the certificates of its CAs"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
