package main

import (
	"fmt"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/wire"
)

// BenchmarkRunFunction is the function alone, without gRPC and protobuf.
func BenchmarkRunFunction(b *testing.B) {
	for _, size := range benchRequests(b) {
		b.Run(size.name, func(b *testing.B) {
			req := &fnv1.RunFunctionRequest{}
			if err := proto.Unmarshal(size.request, req); err != nil {
				b.Fatal(err)
			}
			f := newFunction(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.RunFunction(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCodec is all but gRPC: from the bytes of a request to those of its response.
func BenchmarkCodec(b *testing.B) {
	for _, size := range benchRequests(b) {
		f := newFunction(b)
		b.Run(size.name+"/"+codecProto, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				req := &fnv1.RunFunctionRequest{}
				if err := proto.Unmarshal(size.request, req); err != nil {
					b.Fatal(err)
				}
				rsp, err := f.RunFunction(b.Context(), req)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := proto.Marshal(rsp); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(size.name+"/"+codecLazy, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				req, err := wire.Decode(size.request)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := f.Run(b.Context(), req).Marshal(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

type benchRequest struct {
	name    string
	request []byte
}

// benchState is what a request has beside five exports: so many bytes in the status of the
// resource that they read, and in the desired state, and resources of 2 KiB each that are
// both observed and desired.
type benchState struct{ observed, desired, resources int }

// benchRequests are of 2 KiB, of 500 KiB, of 500 KiB and as much desired, and of 51 observed
// resources of 2 KiB each of which 50 are desired, too.
func benchRequests(b *testing.B) []benchRequest {
	b.Helper()
	return []benchRequest{
		{"2KiB", benchRequestOf(b, benchState{observed: 1 << 10})},
		{"500KiB", benchRequestOf(b, benchState{observed: 500 << 10})},
		{"500KiB+500KiB", benchRequestOf(b, benchState{observed: 500 << 10, desired: 500 << 10})},
		{"51x2KiB", benchRequestOf(b, benchState{observed: 1 << 10, resources: 50})},
	}
}

// benchRequestOf is the second call of a reconcile, and every one after the first
// reconcile: all is created, and observed.
func benchRequestOf(b *testing.B, state benchState) []byte {
	b.Helper()
	req := request(b, observedDatabase+benchInput)
	req.Observed.Resources["db"].Resource.Fields["filler"] = filler(state.observed)
	req.Desired = &fnv1.State{Resources: map[string]*fnv1.Resource{}}
	if state.desired > 0 {
		req.Desired.Resources["other"] = filled(state.desired)
	}
	for i := range state.resources {
		name := fmt.Sprint("resource-", i)
		req.Observed.Resources[name] = filled(2 << 10)
		req.Desired.Resources[name] = req.Observed.Resources[name]
	}
	rsp := reconcile(b, newFunction(b), req, nil)
	for name, r := range rsp.GetDesired().GetResources() {
		if _, ok := req.GetDesired().GetResources()[name]; !ok {
			req.Observed.Resources[name] = &fnv1.Resource{Resource: r.GetResource()}
		}
	}
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

// filler is a value of about so many bytes, shaped like a status.
func filler(bytes int) *structpb.Value {
	list := &structpb.ListValue{}
	for i := 0; i*64 < bytes; i++ {
		list.Values = append(list.Values, structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			"name":  structpb.NewStringValue(fmt.Sprintf("condition-%06d", i)),
			"ready": structpb.NewBoolValue(true),
			"port":  structpb.NewNumberValue(float64(8000 + i)),
		}}))
	}
	return structpb.NewListValue(list)
}

const benchInput = `
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  variables:
  - {name: host, value: resources.db.status.endpoint}
  secrets:
  - name: connection
    from: db
    data:
    - {key: url, value: "'postgres://%s:%s@%s:%d/app'.format([secret.username, url.queryEscape(secret.password), variables.host, resource.status.port])"}
    - {key: username, value: secret.username}
    - {key: password, value: secret.password}
    - {key: host, value: variables.host}
    - {key: port, value: string(resource.status.port)}
`
