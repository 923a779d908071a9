package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/server"
	"github.com/crossplane-contrib/function-export/internal/proof"
	"github.com/crossplane-contrib/function-export/internal/testdata/attack"
)

// crowd sends requests at once, and returns the number of responses with each code.
func crowd(t *testing.T, n int, req *fnv1.RunFunctionRequest, conn func(i int) *grpc.ClientConn) map[codes.Code]int {
	t.Helper()
	sent := functiontest.Marshal(t, req)
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
	)
	out := map[codes.Code]int{}
	for i := range n {
		c := conn(i)
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var answer []byte
			err := c.Invoke(ctx, fnv1.FunctionRunnerService_RunFunction_FullMethodName, &sent, &answer,
				grpc.ForceCodec(functiontest.RawCodec{}))
			mu.Lock()
			defer mu.Unlock()
			out[status.Code(err)]++
		})
	}
	wait.Wait()
	return out
}

// A crowdCase is a request that many send at once.
type crowdCase struct {
	reason string
	req    *fnv1.RunFunctionRequest
	slow   bool // it takes a minute, so it is tried over many connections only
}

// A recording is a client that calls a function in this process, and keeps the last request.
type recording struct {
	*functiontest.Function

	last *fnv1.RunFunctionRequest
}

func (r *recording) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest, _ ...grpc.CallOption) (
	*fnv1.RunFunctionResponse, error) {
	r.last = req
	return r.Function.RunFunction(ctx, req)
}

// generating returns a request that generates after some generations exist.
func generating(t *testing.T, a attack.Generating) *fnv1.RunFunctionRequest {
	t.Helper()
	c := generatingPlane(t, a)
	r := &recording{Function: c.Fn}
	c.Client = r
	for range 6 {
		c.Reconcile()
	}
	return r.last
}

// The memory of a replica in example/runtime is enough for 200 simultaneous requests of 3.5 MiB, over one
// connection or over 200. Small requests are answered during that time.
func TestCrowdsFitIntoMemory(t *testing.T) {
	const (
		requests = 200
		limit    = 256 << 20
	)
	base := func() *fnv1.RunFunctionRequest { return fitRequest(t, fitInput(1, ""), 10) }
	cases := map[string]crowdCase{
		"Observed": {reason: "what no expression reads", req: func() *fnv1.RunFunctionRequest {
			req := base()
			req.Observed.Resources["db"].Resource.Fields["filler"] = filler(largeMessage)
			return req
		}()},
		"Desired": {reason: "what is carried on is answered", req: earlier(base(), largeMessage)},
		"Detail":  {reason: "what all exports have", req: fitRequest(t, fitInput(64, ""), 1_000_000)},
		"Status": {reason: "the composite is decoded, to write its status", slow: true, req: func() *fnv1.RunFunctionRequest {
			req := fitRequest(t, fitInput(1, "  status: [{fieldPath: x, value: resource.status.endpoint}]\n"), 10)
			req.Desired = &fnv1.State{Composite: &fnv1.Resource{Resource: &structpb.Struct{Fields: map[string]*structpb.Value{
				"status": structpb.NewStructValue(
					&structpb.Struct{Fields: map[string]*structpb.Value{"y": filler(largeMessage)}})}}}}
			return req
		}()},
	}
	for name, tc := range cases {
		lookedUp(t, tc.req)
		if name != "Detail" {
			resize(t, tc.req)
		}
	}
	for name := range attack.Generators() {
		if proof.Whole() {
			cases["Generated "+name] = crowdCase{"each generates as much as one request may",
				generating(t, attack.Generators()[name]), true}
		}
	}
	for _, name := range proof.Part(slices.Sorted(maps.Keys(cases)), len(cases)) {
		tc := cases[name]
		t.Run(name, func(t *testing.T) {
			s := serveAttacked(t, "GOMEMLIMIT=200MiB")
			small := lookedUp(t, base())
			for connections, conn := range map[string]func(int) *grpc.ClientConn{
				"one": func(c *grpc.ClientConn) func(int) *grpc.ClientConn { return func(int) *grpc.ClientConn { return c } }(
					s.connect(t)),
				"many": func(int) *grpc.ClientConn { return s.connect(t) },
			} {
				if connections == "one" && (tc.slow || !proof.Whole()) {
					continue
				}
				before := s.cpu(t)
				smalls, worst := whileServed(t, s, small, func() {
					got := crowd(t, requests, tc.req, conn)
					t.Logf("%s connection(s): %v", connections, got)
					if got[codes.OK] == 0 || got[codes.OK]+got[codes.ResourceExhausted] != requests {
						t.Errorf("%s: want answers, or ResourceExhausted, got %v", tc.reason, got)
					}
				})
				peak := s.status(t, "VmHWM")
				t.Logf("%s connection(s): peak %d MiB, %s CPU, %d small requests meanwhile, the slowest in %s", connections,
					peak>>20, s.cpu(t)-before, smalls, worst)
				if peak > limit {
					t.Errorf("%s: want at most %d MiB, got %d", tc.reason, limit>>20, peak>>20)
				}
				if smalls == 0 || worst > 10*time.Second {
					t.Errorf("%s: %d small requests were served meanwhile, the slowest in %s", tc.reason, smalls, worst)
				}
			}
		})
	}
}

// resize makes the request as large as largeMessage with a field that is not read.
func resize(t *testing.T, req *fnv1.RunFunctionRequest) {
	t.Helper()
	for proto.Size(req) > largeMessage+64<<10 {
		for _, list := range []*structpb.Value{
			req.GetObserved().GetResources()["db"].GetResource().GetFields()["filler"],
			req.GetDesired().GetComposite().GetResource().GetFields()["status"].GetStructValue().GetFields()["y"],
		} {
			if l := list.GetListValue(); l != nil {
				l.Values = l.GetValues()[:len(l.GetValues())*largeMessage/proto.Size(req)]
			}
		}
	}
}

// whileServed sends small requests over a separate connection while f runs.
func whileServed(t *testing.T, s *attacked, req *fnv1.RunFunctionRequest, f func()) (n int, worst time.Duration) {
	t.Helper()
	client, done, ended := s.dial(t), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if _, err := client.RunFunction(ctx, req); err != nil {
				t.Errorf("a small request was not served: %v", err)
			}
			cancel()
			n, worst = n+1, max(worst, time.Since(start))
		}
	}()
	f()
	close(done)
	<-ended
	return n, worst
}

// The memory limit comes from GOMEMLIMIT or from the cgroup. There always is a limit.
func TestMemoryLimit(t *testing.T) {
	if got := server.MemoryLimit(); got < 1<<20 || got > 1<<45 {
		t.Errorf("want the limit of the process, or what stands for none, got %d", got)
	}
	for limit, want := range map[string]string{"GOMEMLIMIT=64MiB": "64", "GOMEMLIMIT=100MiB": "100"} {
		s := serveAttacked(t, limit)
		for wait := functiontest.Limited(t); !strings.Contains(s.log.String(), "memory-limit"); time.Sleep(time.Millisecond) {
			if wait.Err() != nil {
				t.Fatalf("want the limit in the log:\n%s", s.log)
			}
		}
		if !strings.Contains(s.log.String(), fmt.Sprintf(`"memory-limit": "%s MiB"`, want)) {
			t.Errorf("want a limit of %s MiB in the log:\n%s", want, s.log)
		}
	}
}

// The memory that one request of at most 4 MiB may use, in addition to the memory of the server at rest.
func TestOneRequestFitsIntoMemory(t *testing.T) {
	const most = 120 << 20
	status := fitRequest(t, fitInput(1, "  status: [{fieldPath: x, value: resource.status.endpoint}]\n"), 10)
	status.Desired = &fnv1.State{Composite: &fnv1.Resource{Resource: &structpb.Struct{Fields: map[string]*structpb.Value{
		"status": structpb.NewStructValue(
			&structpb.Struct{Fields: map[string]*structpb.Value{"y": filler(largeMessage)}})}}}}
	resize(t, lookedUp(t, status))
	cases := map[string]struct {
		reason string
		req    *fnv1.RunFunctionRequest
	}{
		"64Exports": {"of one value of 1 MB", fitRequest(t, fitInput(64, ""), 1_000_000)},
		"Desired":   {"what is carried on is not copied", earlier(fitRequest(t, fitInput(1, ""), 10), largeMessage)},
		"Status":    {"the composite is decoded, to write its status", status},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := serveAttacked(t)
			s.rest(t)
			out := s.reconcile(t, lookedUp(t, tc.req))
			t.Logf("%s", out.cost)
			if out.cost.memory > most {
				t.Errorf("%s: want at most %d MiB over rest, got %s", tc.reason, most>>20, out.cost)
			}
		})
	}
}
