package main

import (
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

	"github.com/crossplane-contrib/function-export/internal/attack"
)

// codecSeeds are requests of all calls of reconciles that use everything that there is.
func codecSeeds(t testing.TB) [][]byte {
	t.Helper()
	var asked []*fnv1.RunFunctionRequest
	f := &bothForms{Function: fixedForm(t), asked: &asked} // in one form: the other is what the seeds are for
	canary := strings.ReplaceAll(canaryRequest, "CANARY", "Y2FuYXJ5") + canaryInput
	ca := map[string]string{"team-a/ca": "{apiVersion: v1, kind: Secret, metadata: {name: ca, namespace: team-a}, data: {tls.crt: Y2FuYXJ5}}"}
	const foreign = "{apiVersion: v1, kind: Secret, metadata: {name: orders-connection, namespace: team-a}}"
	const earlier = "\ndesired:\n  composite: {resource: {status: {phase: up}}, connectionDetails: {a: Yg==}, ready: READY_TRUE}\n  resources: {connection: {ready: READY_FALSE}, fromComposite/Secret/orders-connection: {resource: {apiVersion: v1, kind: Secret, metadata: {name: orders-connection}}}}\n"
	texts := []struct {
		text  string
		found map[string]string
	}{
		{"{}", nil},
		{"input: {apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports}", nil},
		{observedDatabase + secretInput + "    - {key: url, value: secret.username}", nil},
		{observedDatabase + secretInput + "    - {key: url, value: secret.username}", map[string]string{"team-a/orders-connection": foreign}},
		{observedDatabase + secretInput + "    - {key: token, value: secret.token}", nil},
		{observedDatabase + secretInput + "    - {key: token, value: secrt.token}", nil},
		{observedDatabase + secretInput + "    - {key: port, value: resource.status.port}", nil},
		{observedDatabase + earlier + secretInput + "    - {key: a, value: secret.password}\n    connectionDetails: true", nil},
		{observedDatabase + environmentInput, cluster},
		{observedDatabase + environmentInput, nil},
		{canary, nil}, {canary, ca},
		{asking(3) + tenantInput, nil},
		{canaries(attackState + attackInput), nil},
	}
	for _, s := range texts {
		rsp := reconcile(t, f, request(t, s.text), s.found)
		second := request(t, s.text) // of another step, and then with all composed
		second.Context, second.Desired = rsp.GetContext(), rsp.GetDesired()
		reconcile(t, f, second, s.found)
		for name, r := range rsp.GetDesired().GetResources() {
			if second.GetObserved() != nil && second.GetObserved().GetResources()[name] == nil {
				second.Observed.Resources[name] = &fnv1.Resource{Resource: r.GetResource()}
			}
		}
		reconcile(t, f, second, s.found)
	}
	codecSeedsOfGenerators(t, &asked)
	codecSeedsOfSchemas(t, f)
	for _, dir := range exampleDirs(t) {
		f := &bothForms{Function: exampleFunction(t, dir).Function, asked: &asked}
		_ = (&renderCmd{Paths: []string{dir}}).run(t.Context(), f, io.Discard, io.Discard) // some are refused
	}
	for _, name := range []string{"a", "b"} {
		asked = append(asked, attackRequest(t, attack.Case{Exist: []string{name}}))
	}
	var out [][]byte
	for _, req := range asked {
		sent, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, sent)
	}
	return out
}

// codecSeedsOfGenerators rotates, and lets a generator go.
func codecSeedsOfGenerators(t testing.TB, asked *[]*fnv1.RunFunctionRequest) {
	t.Helper()
	const keys = `
generators:
- {name: tls, refreshPolicy: OnChange, certificate: {ca: ca, dnsNames: [db.example.org], duration: 2160h, renewBefore: 720h}}
- {name: ca, refreshPolicy: OnChange, certificate: {isCA: true, subject: {commonName: root}, duration: 87600h}}
- {name: ssh, sshKey: {}}
- {name: id, uuid: {}}
secrets: [{name: server, type: kubernetes.io/tls, dataFrom: [{extract: {key: generated.tls}}]}]
`
	for _, input := range []string{rotatedPassword + connectionOfAdmin, tokenOfResource, keys} {
		c := newControlPlane(t, input)
		c.fn.lazy, c.fn.asked = nil, asked
		c.later = []string{`secrets: [{name: other, data: [{key: a, value: "'b'"}]}]`}
		c.reconcile()
		c.reconcile()
		c.reconcile()
		c.wait(interval)
		c.reconcile()
		c.reconcile()
		c.setInput(c.later[0])
		c.later = nil
		c.reconcile()
	}
}

// codecSeedsOfSchemas are refused by a schema, and are not.
func codecSeedsOfSchemas(t testing.TB, f *bothForms) {
	t.Helper()
	for _, mode := range []string{"Warn", "Strict"} {
		req := request(t, observedDatabase)
		req.Meta = &fnv1.RequestMeta{Tag: "tag", Capabilities: renderCapabilities()}
		req.Input = parse(t, strings.Replace(misspelt, "TYPECHECKING", mode, 1))
		rsp, err := f.RunFunction(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		req.RequiredSchemas, req.RequiredResources = map[string]*fnv1.Schema{}, map[string]*fnv1.Resources{}
		for key := range rsp.GetRequirements().GetResources() {
			req.RequiredResources[key] = &fnv1.Resources{}
		}
		for i, key := range slices.Sorted(maps.Keys(rsp.GetRequirements().GetSchemas())) {
			req.RequiredSchemas[key] = &fnv1.Schema{}
			if i != 1 {
				req.RequiredSchemas[key].OpenapiV3 = parse(t, databaseSchema)
			}
			if _, err := f.RunFunction(t.Context(), req); err != nil {
				t.Fatal(err)
			}
		}
	}
}
