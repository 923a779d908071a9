package server

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

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
	conn, err := grpc.NewClient(
		"passthrough:"+s.Listener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			return countingConn{c, written, most}, err
		}),
	)
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
	s := startServer(
		t,
		f,
		logging.NewNopLogger(),
		func(s *Server) { s.MemoryLimit, s.MaxRecvMessageSize = 32<<20, 4<<20 },
	)
	large := &fnv1.RunFunctionRequest{Meta: &fnv1.RequestMeta{Tag: strings.Repeat("x", 7<<19)}}
	go func() {
		_, _ = fnv1.NewFunctionRunnerServiceClient(s.dial(t, insecure.NewCredentials())).
			RunFunction(context.Background(), large)
	}()
	functiontest.Receive(t, entered)

	conn, written := s.dialCounting(t, 1<<40)
	client := fnv1.NewFunctionRunnerServiceClient(conn)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err := client.RunFunction(ctx, large)
	if got := status.Convert(err); got.Code() != codes.ResourceExhausted || got.Message() !=
		"too many requests at once for a memory limit of 32 MiB: raise the memory limit and GOMEMLIMIT of the "+
			"function, or its replicas" {
		t.Errorf("want it refused, got %v", err)
	}
	if n := written.Load(); n > 2*windowBytes {
		t.Errorf("want no more than the window of it received, got %d bytes", n)
	}
	if _, err := client.RunFunction(functiontest.Limited(t), &fnv1.RunFunctionRequest{}); err != nil {
		t.Errorf("a small request is not answered: %v", err)
	}
	if got := handled(t, s, "ResourceExhausted"); got != runnerService+" ResourceExhausted "+
		"1\n"+runnerServiceBeta+" ResourceExhausted 0\n" {
		t.Errorf("want the refusal counted, got:\n%s", got)
	}
	release <- struct{}{}
	if _, err := client.RunFunction(functiontest.Limited(t), large); err != nil {
		t.Errorf("want it answered once there is memory, got %v", err)
	}
}

// Clients that stall in the middle of large requests take no memory from small ones, and return it to large ones after
// a time of the server's own.
func TestStalledClients(t *testing.T) {
	s := startServer(t, testFunction{}, logging.NewNopLogger(), func(s *Server) {
		s.MemoryLimit, s.MaxRecvMessageSize = 64<<20, 4<<20
	})
	large := &fnv1.RunFunctionRequest{Meta: &fnv1.RequestMeta{Tag: strings.Repeat("x", 7<<19)}}
	for range 6 {
		conn, _ := s.dialCounting(t, 3<<20)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			_, _ = fnv1.NewFunctionRunnerServiceClient(conn).RunFunction(ctx, large)
		}()
	}
	time.Sleep(500 * time.Millisecond) // until they stall
	client := fnv1.NewFunctionRunnerServiceClient(s.dial(t, insecure.NewCredentials()))
	for _, req := range []*fnv1.RunFunctionRequest{{}, large} {
		if _, err := client.RunFunction(functiontest.Limited(t), req); err != nil {
			t.Errorf("a request of %d bytes is not answered: %v", len(req.GetMeta().GetTag()), err)
		}
	}
}
