package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// largeMessage is a request of 3.5 MiB.
const largeMessage = 3<<20 + 512<<10

// crowd sends requests at once, and says how many had which code.
func crowd(t *testing.T, n int, req *fnv1.RunFunctionRequest, conn func(i int) *grpc.ClientConn) map[codes.Code]int {
	t.Helper()
	sent := marshal(t, req)
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
			err := c.Invoke(ctx, runV1, &sent, &answer, grpc.ForceCodec(rawCodec{}))
			mu.Lock()
			defer mu.Unlock()
			out[status.Code(err)]++
		})
	}
	wait.Wait()
	return out
}

// The memory that a replica of example/runtime has is enough for 200 requests of 3.5 MiB at
// once, over one connection or as many, and small ones are answered meanwhile.
func TestCrowdsFitIntoMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	const (
		requests = 200
		limit    = 256 << 20
	)
	base := func() *fnv1.RunFunctionRequest { return fitRequest(t, fitInput(1, ""), 10) }
	cases := map[string]struct {
		reason string
		req    *fnv1.RunFunctionRequest
	}{
		"Observed": {"what no expression reads", func() *fnv1.RunFunctionRequest {
			req := base()
			req.Observed.Resources["db"].Resource.Fields["filler"] = filler(largeMessage)
			return req
		}()},
		"Desired": {"what is carried on is answered", earlier(base(), largeMessage)},
		"Detail":  {"what all exports have", fitRequest(t, fitInput(64, ""), 1_000_000)},
		"Status": {"the composite is decoded, to write its status", func() *fnv1.RunFunctionRequest {
			req := fitRequest(t, fitInput(1, "  status: [{fieldPath: x, value: resource.status.endpoint}]\n"), 10)
			req.Desired = &fnv1.State{Composite: &fnv1.Resource{Resource: &structpb.Struct{Fields: map[string]*structpb.Value{"status": structpb.NewStructValue(
				&structpb.Struct{Fields: map[string]*structpb.Value{"y": filler(largeMessage)}})}}}}
			return req
		}()},
	}
	for name, tc := range cases {
		lookedUp(t, tc.req)
		if name != "Detail" {
			resize(t, tc.req)
		}
		t.Run(name, func(t *testing.T) {
			s := serveAttacked(t, "GOMEMLIMIT=230MiB")
			small := lookedUp(t, base())
			for connections, conn := range map[string]func(int) *grpc.ClientConn{
				"one":  func(c *grpc.ClientConn) func(int) *grpc.ClientConn { return func(int) *grpc.ClientConn { return c } }(s.connect(t)),
				"many": func(int) *grpc.ClientConn { return s.connect(t) },
			} {
				before := s.cpu(t)
				smalls, worst := whileServed(t, s, small, func() {
					got := crowd(t, requests, tc.req, conn)
					t.Logf("%s connection(s): %v", connections, got)
					if got[codes.OK] == 0 || got[codes.OK]+got[codes.ResourceExhausted] != requests {
						t.Errorf("%s: want answers, or ResourceExhausted, got %v", tc.reason, got)
					}
				})
				peak := s.status(t, "VmHWM")
				t.Logf("%s connection(s): peak %d MiB, %s CPU, %d small requests meanwhile, the slowest in %s", connections, peak>>20, s.cpu(t)-before, smalls, worst)
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

// resize the request to largeMessage with a field that is not read.
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

// whileServed sends small requests over a connection of their own while f runs.
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

// A countingConn counts what is written, and blocks after some of it.
type countingConn struct {
	net.Conn

	written *atomic.Int64
	most    int64
}

func (c countingConn) Write(b []byte) (int, error) {
	if c.written.Add(int64(len(b))) > c.most {
		select {} // until the test ends
	}
	return c.Conn.Write(b)
}

// dialCounting connects a client that stalls after so many bytes.
func (s testServer) dialCounting(t *testing.T, most int64) (*grpc.ClientConn, *atomic.Int64) {
	t.Helper()
	written := &atomic.Int64{}
	conn, err := grpc.NewClient("passthrough:"+s.listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			return countingConn{c, written, most}, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	return conn, written
}

// A large request is not received while there is no memory for it; it is refused before its
// caller gives up, and counted; and small requests are answered meanwhile.
func TestAdmission(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{}, 100)
	f := testFunction{do: func(ctx context.Context) error {
		if _, ok := ctx.Deadline(); ok {
			return nil
		}
		entered <- struct{}{}
		<-release
		return nil
	}}
	for _, codec := range []string{codecLazy, codecProto} {
		t.Run(codec, func(t *testing.T) {
			s := startServer(t, f, logging.NewNopLogger(), func(s *server) {
				s.memoryLimit, s.maxRecvMessageSize, s.codec = 32<<20, 4<<20, codec
				if codec == codecLazy {
					s.function = lazyTestFunction{f}
				}
			})
			large := earlier(&fnv1.RunFunctionRequest{}, largeMessage)
			go func() {
				_, _ = fnv1.NewFunctionRunnerServiceClient(s.dial(t, insecure.NewCredentials())).RunFunction(context.Background(), large)
			}()
			receive(t, entered)

			conn, written := s.dialCounting(t, 1<<40)
			client := fnv1.NewFunctionRunnerServiceClient(conn)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			_, err := client.RunFunction(ctx, large)
			if got := status.Convert(err); got.Code() != codes.ResourceExhausted || got.Message() !=
				"too many requests at once for a memory limit of 32 MiB: raise the memory limit and GOMEMLIMIT of the function, or its replicas" {
				t.Errorf("want it refused, got %v", err)
			}
			if n := written.Load(); n > 2*windowBytes {
				t.Errorf("want no more than the window of it received, got %d bytes", n)
			}
			if _, err := client.RunFunction(limited(t), &fnv1.RunFunctionRequest{}); err != nil {
				t.Errorf("a small request is not answered: %v", err)
			}
			if got := handled(t, s, "ResourceExhausted"); got != runnerService+" ResourceExhausted 1\n"+runnerServiceBeta+" ResourceExhausted 0\n" {
				t.Errorf("want the refusal counted, got:\n%s", got)
			}
			release <- struct{}{}
			if _, err := client.RunFunction(limited(t), large); err != nil {
				t.Errorf("want it answered once there is memory, got %v", err)
			}
		})
	}
}

// Clients that stall in the middle of large requests take no memory from small ones, and
// give it back to large ones after a time of the server's own.
func TestStalledClients(t *testing.T) {
	s := startServer(t, testFunction{}, logging.NewNopLogger(), func(s *server) {
		s.memoryLimit, s.maxRecvMessageSize, s.function = 64<<20, 4<<20, fixedForm(t)
	})
	large := marshal(t, earlier(&fnv1.RunFunctionRequest{}, largeMessage))
	ended := make(chan error, 100)
	for range 6 {
		conn, _ := s.dialCounting(t, largeMessage-100<<10)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			var answer []byte
			ended <- conn.Invoke(ctx, runV1, &large, &answer, grpc.ForceCodec(rawCodec{}))
		}()
	}
	time.Sleep(500 * time.Millisecond)
	conn := s.dial(t, insecure.NewCredentials())
	for range 20 {
		start := time.Now()
		if _, err := callRaw(t, conn, runV1, nil); err != nil || time.Since(start) > 2*time.Second {
			t.Errorf("a small request was answered in %s: %v", time.Since(start), err)
		}
	}
	start := time.Now()
	if _, err := callRaw(t, conn, runV1, large); err != nil {
		t.Errorf("a large request was not answered: %v", err)
	}
	t.Logf("a large request was answered in %s", time.Since(start))
}

// The limit is that of GOMEMLIMIT or of the cgroup, and never none.
func TestMemoryLimit(t *testing.T) {
	if got := memoryLimit(); got < 1<<20 || got > 1<<45 {
		t.Errorf("want the limit of the process, or what stands for none, got %d", got)
	}
	for limit, want := range map[string]string{"GOMEMLIMIT=64MiB": "64", "GOMEMLIMIT=100MiB": "100"} {
		s := serveAttacked(t, limit)
		for wait := limited(t); !strings.Contains(s.log.String(), "memory-limit"); time.Sleep(time.Millisecond) {
			if wait.Err() != nil {
				t.Fatalf("want the limit in the log:\n%s", s.log)
			}
		}
		if !strings.Contains(s.log.String(), fmt.Sprintf(`"memory-limit": "%s MiB"`, want)) {
			t.Errorf("want a limit of %s MiB in the log:\n%s", want, s.log)
		}
	}
}

// One request of at most 4 MiB takes no more than this over the server at rest.
func TestOneRequestFitsIntoMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	const most = 120 << 20
	status := fitRequest(t, fitInput(1, "  status: [{fieldPath: x, value: resource.status.endpoint}]\n"), 10)
	status.Desired = &fnv1.State{Composite: &fnv1.Resource{Resource: &structpb.Struct{Fields: map[string]*structpb.Value{"status": structpb.NewStructValue(
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
