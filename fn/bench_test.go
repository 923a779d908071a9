package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/function"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/metrics"
	"github.com/crossplane-contrib/function-export/internal/engine/server"
)

// benchServer names the function that this test binary serves instead of running tests: this function with
// one of its codecs, or one of the constants below. The server has a process of its own, so that its CPU
// time and memory can be measured.
const (
	benchServer    = "FUNCTION_EXPORT_BENCH_SERVER"
	benchEmpty     = "empty"     // the cost that every function has
	benchTransport = "transport" // the lowest possible cost
)

func TestMain(m *testing.M) {
	if which := os.Getenv(benchServer); which != "" {
		if err := serveBench(which); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	builtFunction.remove()
	os.Exit(code)
}

// benchMost is above gRPC's 4 MiB, because one request is slightly larger than 4 MiB.
const benchMost = 16 << 20

// serveBench answers calls on loopback, and answers each line on stdin with the number of allocations. It
// stops when stdin is closed, so that no server runs longer than its benchmark.
func serveBench(which string) error {
	s, err := benchGRPC(which)
	if err != nil {
		return err
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(lis.Addr())
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			fmt.Println(m.Mallocs)
		}
		os.Exit(0)
	}()
	return s.Serve(lis)
}

func benchGRPC(which string) (*grpc.Server, error) {
	if which == benchEmpty {
		s := grpc.NewServer(grpc.MaxRecvMsgSize(benchMost))
		fnv1.RegisterFunctionRunnerServiceServer(s, emptyFunction{})
		return s, nil
	}
	server.TuneMemory()
	if which == benchTransport {
		s := grpc.NewServer(grpc.MaxRecvMsgSize(benchMost), grpc.ForceServerCodecV2(thrownAway{encoding.GetCodecV2("proto")}))
		fnv1.RegisterFunctionRunnerServiceServer(s, emptyFunction{})
		return s, nil
	}
	s := &server.Server{Log: logging.NewNopLogger(), Credentials: insecure.NewCredentials(), MaxRecvMessageSize: benchMost, MemoryLimit: server.MemoryLimit(), Codec: which, ConnectionAge: time.Hour, Registry: metrics.NewRegistry()}
	var err error
	if s.Function, err = function.New(s.Log, metrics.New(s.Registry)); err != nil {
		return nil, err
	}
	return s.GRPC(health.NewServer()), nil
}

// emptyFunction only does the work of every function: it decodes a request, and encodes a response with the
// same desired state.
type emptyFunction struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

func (emptyFunction) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	return response.To(req, response.DefaultTTL), nil
}

// thrownAway is a request that is received, but not read.
type thrownAway struct{ encoding.CodecV2 }

func (thrownAway) Unmarshal(mem.BufferSlice, any) error { return nil }

// BenchmarkRunFunction measures the function without gRPC and protobuf.
func BenchmarkRunFunction(b *testing.B) {
	for _, size := range benchRequests(b) {
		b.Run(size.name, func(b *testing.B) {
			req := &fnv1.RunFunctionRequest{}
			if err := proto.Unmarshal(size.request, req); err != nil {
				b.Fatal(err)
			}
			f := functiontest.New(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.RunFunction(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCodec measures everything except gRPC, from the bytes of a request to the bytes of its response.
func BenchmarkCodec(b *testing.B) {
	for _, size := range benchRequests(b) {
		for codec, answer := range map[string]func(*testing.B, *function.Function, []byte){metrics.CodecProto: answerDecoded, metrics.CodecLazy: answerBytes} {
			b.Run(size.name+"/"+codec, func(b *testing.B) {
				f := functiontest.OneForm(b)
				b.ReportAllocs()
				for b.Loop() {
					answer(b, f, size.request)
				}
			})
		}
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

// benchRequests are four requests: with 2 KiB, with 500 KiB, with 500 KiB and the same size desired, and
// with 51 observed resources of 2 KiB, 50 of which are also desired.
func benchRequests(b *testing.B) []benchRequest {
	b.Helper()
	return []benchRequest{
		{"2KiB", benchRequestOf(b, benchState{observed: 1 << 10})},
		{"500KiB", benchRequestOf(b, benchState{observed: 500 << 10})},
		{"500KiB+500KiB", benchRequestOf(b, benchState{observed: 500 << 10, desired: 500 << 10})},
		{"51x2KiB", benchRequestOf(b, benchState{observed: 1 << 10, resources: 50})},
	}
}

// benchRequestOf returns the request of a reconcile in which all objects exist.
func benchRequestOf(b *testing.B, state benchState) []byte {
	b.Helper()
	req := functiontest.Request(b, functiontest.ObservedDatabase+benchInput)
	req.Observed.Resources["db"].Resource.Fields["filler"] = functiontest.Filler(state.observed)
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
	return &fnv1.Resource{Resource: &structpb.Struct{Fields: map[string]*structpb.Value{"filler": functiontest.Filler(bytes)}}}
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
