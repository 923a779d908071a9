package server

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// The services that Crossplane calls, and their method.
const (
	runnerService     = "apiextensions.fn.proto.v1.FunctionRunnerService"
	runnerServiceBeta = "apiextensions.fn.proto.v1beta1.FunctionRunnerService"
	runV1Beta1        = "/" + runnerServiceBeta + "/RunFunction"
)

// codecRequest has desired resources of an earlier step, and a context.
func codecRequest(t *testing.T, tag string, resources int) []byte {
	t.Helper()
	req := functiontest.Request(t, functiontest.ObservedDatabase+`
context: {other: {a: [1, null, {b: c}]}}
required_resources: {export.fn.crossplane.io/v1/Secret/team-a/name=orders-connection: {}}
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  secrets: [{name: connection, from: db, data: [{key: url, value: "'`+tag+`' + secret.username"}]}]
`)
	req.Meta = &fnv1.RequestMeta{Tag: tag}
	req.Desired = &fnv1.State{Resources: map[string]*fnv1.Resource{}}
	for i := range resources {
		o := functiontest.Parse(t, "{apiVersion: v1, kind: ConfigMap, data: {tag: "+tag+"}}")
		req.Desired.Resources[fmt.Sprint("earlier-", i)] = &fnv1.Resource{Resource: o}
	}
	return functiontest.Marshal(t, req)
}

// serve serves a function.
func serve(t *testing.T, f Runner, log logging.Logger) (testServer, *grpc.ClientConn) {
	t.Helper()
	s := startServer(t, testFunction{}, log, func(s *Server) { s.Function = f })
	return s, s.dial(t, insecure.NewCredentials())
}

// callRaw sends bytes to a method.
func callRaw(
	t *testing.T, conn *grpc.ClientConn, method string, sent []byte, opts ...grpc.CallOption,
) (*fnv1.RunFunctionResponse, error) {
	t.Helper()
	var answer []byte
	opts = append(opts, grpc.ForceCodec(functiontest.RawCodec{}))
	if err := conn.Invoke(functiontest.Limited(t), method, &sent, &answer, opts...); err != nil {
		return nil, err
	}
	rsp := &fnv1.RunFunctionResponse{}
	return rsp, proto.Unmarshal(answer, rsp)
}

// answer answers a request without a server.
func answer(t *testing.T, f fnv1.FunctionRunnerServiceServer, sent []byte) (*fnv1.RunFunctionResponse, error) {
	t.Helper()
	req := &fnv1.RunFunctionRequest{}
	if err := proto.Unmarshal(sent, req); err != nil {
		return nil, err
	}
	return f.RunFunction(t.Context(), req)
}

// Both versions of the service answer, and each call is counted. A compressed
// request is refused.
func TestServe(t *testing.T) {
	f := functiontest.Fixed(t).Function
	sent := codecRequest(t, "tag", 3)
	want, err := answer(t, f, sent)
	if err != nil {
		t.Fatal(err)
	}
	if len(want.GetDesired().GetResources()) != 4 {
		t.Fatalf("want three resources carried on and one exported, got %v", want.GetDesired())
	}
	s, conn := serve(t, f, logging.NewNopLogger())
	for _, method := range []string{fnv1.FunctionRunnerService_RunFunction_FullMethodName, runV1Beta1} {
		got, err := callRaw(t, conn, method, sent)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", method, diff)
		}
		if _, err := callRaw(t, conn, method, sent, grpc.UseCompressor(gzip.Name)); status.Code(
			err,
		) != codes.Unimplemented {
			t.Errorf("%s: want a compressed request refused, got %v", method, err)
		}
	}
	counted := ""
	for _, service := range []string{runnerService, runnerServiceBeta} {
		for _, code := range []string{"OK", "Internal"} {
			counted += fmt.Sprintf("%s %s %d\n", service, code, map[string]int{"OK": 1}[code])
		}
	}
	if diff := cmp.Diff(counted, handled(t, s, "OK", "Internal")); diff != "" {
		t.Errorf("calls by service and code: -want, +got:\n%s", diff)
	}
}

// handled are the calls that ended with the codes, by service.
func handled(t *testing.T, s testServer, codes ...string) string {
	t.Helper()
	calls := counters(t, s.Registry)
	out := ""
	for _, service := range []string{runnerService, runnerServiceBeta} {
		for _, code := range codes {
			out += fmt.Sprintln(service, code, calls["grpc_server_handled_total "+code+" RunFunction "+service+" "+
				"unary"])
		}
	}
	return out
}

// counters of a registry, by their names and the values of their labels.
func counters(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := ""
			for _, l := range m.GetLabel() {
				labels += " " + l.GetValue() // in the order of their names
			}
			out[family.GetName()+labels] = m.GetCounter().GetValue()
		}
	}
	return out
}

// An invalid message is refused, and the function never receives it.
func TestServeRefuses(t *testing.T) {
	valid := codecRequest(t, "tag", 1)
	_, conn := serve(t, functiontest.Fixed(t).Function, logging.NewNopLogger())
	for name, tc := range map[string]struct {
		reason string
		sent   []byte
		code   codes.Code
	}{
		"Empty":     {"an empty request is one, whose input is refused by the function", nil, codes.OK},
		"Truncated": {"the end is missing", valid[:len(valid)-3], codes.Internal},
		"Large": {
			"it is larger than --max-recv-message-size", bytes.Repeat([]byte{0x0a}, 1<<20+1), codes.ResourceExhausted,
		},
	} {
		for _, method := range []string{fnv1.FunctionRunnerService_RunFunction_FullMethodName, runV1Beta1} {
			if _, err := callRaw(t, conn, method, tc.sent); status.Code(err) != tc.code {
				t.Errorf("%s: %s: %s: want %s, got %v", name, tc.reason, method, tc.code, err)
			}
		}
	}
}

// The function's context is the call's.
func TestServeCancel(t *testing.T) {
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	f := testFunction{do: func(ctx context.Context) error {
		started <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return nil
	}}
	_, conn := serve(t, f, logging.NewNopLogger())
	ctx, cancel := context.WithCancel(functiontest.Limited(t))
	answered := make(chan error, 1)
	go func() {
		_, err := fnv1.NewFunctionRunnerServiceClient(conn).RunFunction(ctx, &fnv1.RunFunctionRequest{})
		answered <- err
	}()
	functiontest.Receive(t, started)
	cancel()
	if err := functiontest.Receive(t, answered); status.Code(err) != codes.Canceled {
		t.Errorf("want Canceled, got %v", err)
	}
	if err := functiontest.Receive(t, ended); err == nil {
		t.Error("the function is not told")
	}
}
