package main

import (
	"fmt"
	"os"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/function"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

func TestMain(m *testing.M) {
	code := m.Run()
	builtFunction.remove()
	os.Exit(code)
}

// BenchmarkRunFunction measures everything except gRPC, from the bytes of a request to the bytes of its response.
func BenchmarkRunFunction(b *testing.B) {
	for _, r := range benchRequests(b) {
		b.Run(r.name, func(b *testing.B) {
			f := functiontest.New(b).Function
			b.ReportAllocs()
			for b.Loop() {
				answerBytes(b, f, r.request)
			}
		})
	}
}

// answerBytes answers a request as the server does.
func answerBytes(b *testing.B, f *function.Function, sent []byte) {
	b.Helper()
	req := &wire.Request{}
	if err := req.Unmarshal(sent); err != nil {
		b.Fatal(err)
	}
	if _, err := f.Run(b.Context(), req).Marshal(); err != nil {
		b.Fatal(err)
	}
}

type benchRequest struct {
	name    string
	request []byte
}

// benchState describes a request with five exports: the number of bytes in the status of the resource that
// they read, the number of bytes in the desired state, and the number of further resources of 2 KiB that
// are both observed and desired.
type benchState struct{ observed, desired, resources int }

// benchRequests are five requests: with 2 KiB, the same with the connection Secret that Crossplane sends along and the
// exported Secret as the API server stores it, with 500 KiB, with 500 KiB and the same size desired, and with 51
// observed resources of 2 KiB, 50 of which are also desired.
func benchRequests(b *testing.B) []benchRequest {
	b.Helper()
	return []benchRequest{
		{"2 KiB", benchRequestOf(b, benchState{observed: 1 << 10})},
		{"2 KiB, connection Secret", benchConnection(b)},
		{"500 KiB", benchRequestOf(b, benchState{observed: 500 << 10})},
		{"500 KiB, and 500 KiB desired", benchRequestOf(b, benchState{observed: 500 << 10, desired: 500 << 10})},
		{"51 resources of 2 KiB, 50 of them desired", benchRequestOf(b, benchState{observed: 1 << 10, resources: 50})},
	}
}

// benchConnection returns the request of a reconcile on a control plane, in which nothing changes any more. Crossplane
// sends the connection Secret with it, because it watches what the function requires.
func benchConnection(b *testing.B) []byte {
	b.Helper()
	c := functiontest.NewControlPlane(b, benchExports)
	db := functiontest.Parse(b, benchDatabase)
	db.Fields["filler"] = filler(1 << 10)
	if err := c.Apply("db", db); err != nil {
		b.Fatal(err)
	}
	key := world.KeyOf(db)
	c.Listed, c.Details[key] = []string{key}, map[string][]byte{"username": []byte("app"),
		"password": []byte("a-password")}
	c.Earlier = &fnv1.State{Resources: map[string]*fnv1.Resource{"db": {Resource: functiontest.Parse(b, benchDatabase)}}}
	asked := &recording{Function: c.Fn}
	c.Client = asked
	for range 3 {
		c.Reconcile()
	}
	last := asked.last
	if c.Condition() != "Available" || len(last.GetRequiredResources()) != 1 ||
		len(last.GetObserved().GetResources()) != 2 {
		b.Fatal(c.Condition(), last)
	}
	sent, err := proto.Marshal(last)
	if err != nil {
		b.Fatal(err)
	}
	return sent
}

const benchDatabase = `
apiVersion: rds.aws.m.upbound.io/v1beta1
kind: Instance
metadata: {name: orders-db, namespace: team-a}
spec: {writeConnectionSecretToRef: {name: orders-db}}
status: {endpoint: db.example.org, port: 5432}
`

// benchRequestOf returns the request of a reconcile in which all objects exist.
func benchRequestOf(b *testing.B, state benchState) []byte {
	b.Helper()
	req := functiontest.Request(b, functiontest.ObservedDatabase)
	req.Input = functiontest.Parse(b, "apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\n"+benchExports)
	req.Observed.Resources["db"].Resource.Fields["filler"] = filler(state.observed)
	req.Desired = &fnv1.State{Resources: map[string]*fnv1.Resource{}}
	if state.desired > 0 {
		req.Desired.Resources["other"] = filled(state.desired)
	}
	for i := range state.resources {
		name := fmt.Sprint("resource-", i)
		req.Observed.Resources[name] = filled(2 << 10)
		req.Desired.Resources[name] = req.GetObserved().GetResources()[name]
	}
	f := functiontest.New(b)
	for name, r := range functiontest.Reconcile(b, f, req, nil).GetDesired().GetResources() {
		if _, ok := req.GetDesired().GetResources()[name]; !ok {
			req.Observed.Resources[name] = &fnv1.Resource{Resource: r.GetResource()}
		}
	}
	rsp := functiontest.Reconcile(b, f, req, nil)
	buf, err := proto.Marshal(req)
	if err != nil {
		b.Fatal(err)
	}
	if len(rsp.GetResults()) > 0 || rsp.GetConditions()[0].GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
		b.Fatal(rsp.GetConditions())
	}
	return buf
}

func filled(bytes int) *fnv1.Resource {
	return &fnv1.Resource{Resource: &structpb.Struct{Fields: map[string]*structpb.Value{"filler": filler(bytes)}}}
}

// benchExports are five exports.
const benchExports = `
variables:
- {name: host, value: resources.db.status.endpoint}
secrets:
- name: connection
  from: db
  data:
  - {key: url, value: "'postgres://%s:%s@%s:%d/app'.format([secret.username, url.queryEscape(secret.password),
      variables.host, resource.status.port])"}
  - {key: username, value: secret.username}
  - {key: password, value: secret.password}
  - {key: host, value: variables.host}
  - {key: port, value: string(resource.status.port)}
`
