package main

import (
	"fmt"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-contrib/function-export/internal/limits"
)

// tenantInput lets the composite's author ask for objects, and waits for one of its
// own.
const tenantInput = `
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  secrets: [{name: own, from: db, data: [{key: k, value: secret.later}]}]
  status: [{fieldPath: later, value: resources.later.status.x}]
  fromComposite: {fieldPath: spec.exports}
`

// asking is observedDatabase, whose author asks for n ConfigMaps by mistake.
func asking(n int) string {
	var entries []string
	for i := range n {
		entries = append(entries, fmt.Sprintf(`{name: wrong-%02d, key: k, value: nope}`, i))
	}
	return strings.Replace(observedDatabase, "spec: {size: 3}", "spec: {exports: {configMapExpressions: ["+strings.Join(entries, ", ")+"]}}", 1)
}

// An author's mistakes are one warning, however many there are, to the composite and
// its claim; and what the Composition's author has to know is said before.
func TestTenantsAreToldOfMistakes(t *testing.T) {
	const n = limits.MessageItems + 3
	rsp := reconcile(t, newFunction(t), request(t, asking(n)+tenantInput), nil)

	var warnings []*fnv1.Result
	for _, r := range rsp.GetResults() {
		if strings.Contains(r.GetMessage(), "wrong-") {
			warnings = append(warnings, r)
		}
	}
	if len(warnings) != 1 || warnings[0].GetSeverity() != fnv1.Severity_SEVERITY_WARNING || warnings[0].GetTarget() != fnv1.Target_TARGET_COMPOSITE_AND_CLAIM {
		t.Fatalf("want one warning to the composite and its claim, got %v", rsp.GetResults())
	}
	if want := "spec.exports.configMapExpressions[0].value:1:1: there is no variable nope"; !strings.Contains(warnings[0].GetMessage(), want) {
		t.Errorf("want the place in the composite, %q, got %q", want, warnings[0].GetMessage())
	}

	c := rsp.GetConditions()[0]
	if c.GetTarget() != fnv1.Target_TARGET_COMPOSITE_AND_CLAIM || !strings.HasPrefix(c.GetMessage(), `Secret "own" is not created`) {
		t.Errorf("want the condition on both, and the Composition's own message first, got %v", c)
	}
	if status := strings.Index(c.GetMessage(), "status.later is not written"); status < 0 || status > strings.Index(c.GetMessage(), "wrong-") {
		t.Errorf("want what the Composition's status waits for before an author's messages, got %q", c.GetMessage())
	}
	if want := "and 3 more of the composite's author"; !strings.HasSuffix(c.GetMessage(), want) || strings.Count(c.GetMessage(), "wrong-") != limits.MessageItems {
		t.Errorf("want %d of an author's messages and %q, got %q", limits.MessageItems, want, c.GetMessage())
	}
}

// What an earlier step composed for the author is not desired any more, where an
// export takes its name. Everything else of that step stays.
func TestTenantsGiveWay(t *testing.T) {
	const earlier = `
desired:
  resources:
    fromComposite/Secret/orders-connection: {resource: {apiVersion: v1, kind: Secret, metadata: {name: orders-connection}}}
    fromComposite/Secret/other: {resource: {apiVersion: v1, kind: Secret, metadata: {name: other}}}
`
	rsp := reconcile(t, newFunction(t), request(t, observedDatabase+earlier+secretInput+"    - {key: k, value: secret.username}"), nil)
	got := rsp.GetDesired().GetResources()
	if got["fromComposite/Secret/orders-connection"] != nil || got["fromComposite/Secret/other"] == nil || got["connection"].GetReady() != fnv1.Ready_READY_TRUE {
		t.Errorf("want the export and the other Secret, got %v", got)
	}
}
