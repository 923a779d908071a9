package main

import (
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/render"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/proof"
	"github.com/crossplane-contrib/function-export/internal/testdata/attack"
)

// codecSeeds returns the requests of all calls of reconciles that together use all features.
func codecSeeds(t testing.TB) [][]byte {
	t.Helper()
	var asked []*fnv1.RunFunctionRequest
	f := &functiontest.Function{Function: functiontest.Fixed(t), Asked: &asked}
	canary := strings.ReplaceAll(functiontest.CanaryRequest, "CANARY", "Y2FuYXJ5") + functiontest.CanaryInput
	ca := map[string]string{"team-a/ca": "{apiVersion: v1, kind: Secret, metadata: {name: ca, namespace: team-a}, data: {tls.crt: Y2FuYXJ5}}"}
	const foreign = "{apiVersion: v1, kind: Secret, metadata: {name: orders-connection, namespace: team-a}}"
	const earlier = "\ndesired:\n  composite: {resource: {status: {phase: up}}, connectionDetails: {a: Yg==}, ready: READY_TRUE}\n  resources: {connection: {ready: READY_FALSE}, fromComposite/Secret/orders-connection: {resource: {apiVersion: v1, kind: Secret, metadata: {name: orders-connection}}}}\n"
	texts := []struct {
		text  string
		found map[string]string
	}{
		{"{}", nil},
		{"input: {apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports}", nil},
		{functiontest.ObservedDatabase + functiontest.SecretInput + "    - {key: url, value: secret.username}", nil},
		{functiontest.ObservedDatabase + functiontest.SecretInput + "    - {key: url, value: secret.username}", map[string]string{"team-a/orders-connection": foreign}},
		{functiontest.ObservedDatabase + functiontest.SecretInput + "    - {key: token, value: secret.token}", nil},
		{functiontest.ObservedDatabase + functiontest.SecretInput + "    - {key: token, value: secrt.token}", nil},
		{functiontest.ObservedDatabase + functiontest.SecretInput + "    - {key: port, value: resource.status.port}", nil},
		{functiontest.ObservedDatabase + earlier + functiontest.SecretInput + "    - {key: a, value: secret.password}\n    connectionDetails: true", nil},
		{functiontest.ObservedDatabase + functiontest.EnvironmentInput, functiontest.Cluster},
		{functiontest.ObservedDatabase + functiontest.EnvironmentInput, nil},
		{canary, nil}, {canary, ca},
		{functiontest.Asking(3) + functiontest.AuthorInput, nil},
		{canaries(attackState + attackInput), nil},
	}
	for _, s := range texts {
		rsp := functiontest.Reconcile(t, f, functiontest.Request(t, s.text), s.found)
		second := functiontest.Request(t, s.text) // a request of another step, and later one with all composed resources
		second.Context, second.Desired = rsp.GetContext(), rsp.GetDesired()
		functiontest.Reconcile(t, f, second, s.found)
		for name, r := range rsp.GetDesired().GetResources() {
			if second.GetObserved() != nil && second.GetObserved().GetResources()[name] == nil {
				second.Observed.Resources[name] = &fnv1.Resource{Resource: r.GetResource()}
			}
		}
		functiontest.Reconcile(t, f, second, s.found)
	}
	codecSeedsOfGenerators(t, &asked)
	codecSeedsOfSchemas(t, f)
	for _, dir := range functiontest.ExampleDirs(t) {
		f := &functiontest.Function{Function: functiontest.ExampleFunction(t, dir).Function, Asked: &asked}
		_ = (&render.Command{Paths: []string{dir}}).RunWith(t.Context(), f, io.Discard, io.Discard) // some inputs are refused
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
	return proof.Part(out, 9)
}

// codecSeedsOfGenerators returns requests in which generations rotate, and in which a generator is removed.
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
	for _, input := range []string{functiontest.RotatedPassword + functiontest.ConnectionOfAdmin, functiontest.TokenOfResource, keys} {
		c := functiontest.NewControlPlane(t, input)
		c.Fn.Asked = asked
		c.Later = []string{`secrets: [{name: other, data: [{key: a, value: "'b'"}]}]`}
		c.Reconcile()
		c.Reconcile()
		c.Reconcile()
		c.Wait(functiontest.Interval)
		c.Reconcile()
		c.Reconcile()
		c.SetInput(c.Later[0])
		c.Later = nil
		c.Reconcile()
	}
}

// codecSeedsOfSchemas returns requests with inputs that a schema refuses, and with inputs that it accepts.
func codecSeedsOfSchemas(t testing.TB, f *functiontest.Function) {
	t.Helper()
	for _, mode := range []string{"Warn", "Strict"} {
		req := functiontest.Request(t, functiontest.ObservedDatabase)
		req.Meta = &fnv1.RequestMeta{Tag: "tag", Capabilities: render.Capabilities()}
		req.Input = functiontest.Parse(t, strings.Replace(functiontest.Misspelt, "TYPECHECKING", mode, 1))
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
				req.RequiredSchemas[key].OpenapiV3 = functiontest.Parse(t, functiontest.DatabaseSchema)
			}
			if _, err := f.RunFunction(t.Context(), req); err != nil {
				t.Fatal(err)
			}
		}
	}
}
