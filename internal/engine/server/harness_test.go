package server

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/metrics"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// testFunction answers with the tag of the request, unless it has something
// else to do.
type testFunction struct {
	do func(ctx context.Context) error
	m  *metrics.Metrics
}

func (f testFunction) Run(ctx context.Context, req *wire.Request) *wire.Response {
	f.m.Reconcile("Available")
	if f.do != nil {
		if err := f.do(ctx); err != nil {
			panic(err)
		}
	}
	return req.Respond(&fnv1.RunFunctionResponse{Meta: &fnv1.ResponseMeta{Tag: req.Meta.GetTag()}})
}

// A testServer is a whole server in this process.
type testServer struct {
	*Server

	stop func()       // what a signal does
	done <-chan error // what serve returned
}

// startServer serves a function at a free port of this machine. The options
// change the server before it starts.
func startServer(t *testing.T, f testFunction, log logging.Logger, options ...func(*Server)) testServer {
	t.Helper()
	s := &Server{
		Log: log, Credentials: insecure.NewCredentials(), MemoryLimit: MemoryLimit(), MaxRecvMessageSize: 1 << 20,
		GracePeriod: time.Minute, ConnectionAge: ConnectionAge, Registry: metrics.NewRegistry(), Listener: listen(t),
		MetricsListener: listen(t),
	}
	f.m = metrics.New(s.Registry)
	s.Function = f
	for _, o := range options {
		o(s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	ended := make(chan struct{})
	go func() {
		done <- s.Serve(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return testServer{Server: s, stop: cancel, done: done}
}

// listen at a free port of this machine.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// dial connects on the first call. Every connection is a new one.
func (s testServer) dial(t *testing.T, creds credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:"+s.Listener.Addr().String(), grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// call the function once, and check that the answer is to this call.
func call(t *testing.T, conn *grpc.ClientConn, opts ...grpc.CallOption) error {
	t.Helper()
	rsp, err := fnv1.NewFunctionRunnerServiceClient(conn).
		RunFunction(functiontest.Limited(t), &fnv1.RunFunctionRequest{Meta: &fnv1.RequestMeta{Tag: t.Name()}}, opts...)
	if err == nil && rsp.GetMeta().GetTag() != t.Name() {
		t.Errorf("want the answer to %q, got %q", t.Name(), rsp.GetMeta().GetTag())
	}
	return err
}
