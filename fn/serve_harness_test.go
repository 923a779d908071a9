package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	rtlogging "github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

const runnerService = "apiextensions.fn.proto.v1.FunctionRunnerService"

// testFunction answers with the tag of the request, unless it has something
// else to do.
type testFunction struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	do func(ctx context.Context) error
	m  *metrics
}

func (f testFunction) make(_ logging.Logger, m *metrics) (fnv1.FunctionRunnerServiceServer, error) {
	f.m = m
	return f, nil
}

func (f testFunction) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	f.m.reconcile(outcomeAvailable)

	if f.do != nil {
		if err := f.do(ctx); err != nil {
			return nil, err
		}
	}

	return &fnv1.RunFunctionResponse{Meta: &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag()}}, nil
}

// testLog keeps what is logged, as the most talkative of encoders writes it.
type testLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *testLog) Info(msg string, kv ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.lines = append(l.lines, fmt.Sprintf("%s %+v", msg, kv))
}

func (l *testLog) Debug(msg string, kv ...any)           { l.Info(msg, kv...) }
func (l *testLog) WithValues(kv ...any) rtlogging.Logger { l.Info("values", kv...); return l }
func (l *testLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}
func (l *testLog) count(substring string) int { return strings.Count(l.String(), substring) }

// A testServer is a whole server in this process.
type testServer struct {
	*server

	stop func()       // what a signal does
	done <-chan error // what serve returned
}

// startServer serves a function at a free port of this machine. The options
// change the server before it starts.
func startServer(t *testing.T, f testFunction, log logging.Logger, options ...func(*server)) testServer {
	t.Helper()

	cmd := &serveCmd{Network: "tcp", Address: "127.0.0.1:0", MetricsAddress: "127.0.0.1:0", Insecure: true, MaxRecvMessageSize: 1, GracePeriod: time.Minute}

	s, err := cmd.server(t.Context(), f.make, log)
	if err != nil {
		t.Fatal(err)
	}

	for _, o := range options {
		o(s)
	}

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	ended := make(chan struct{})

	go func() {
		done <- s.serve(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})

	return testServer{server: s, stop: cancel, done: done}
}

// dial connects on the first call. Every connection is a new one.
func (s testServer) dial(t *testing.T, creds credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()

	conn, err := grpc.NewClient("passthrough:"+s.listener.Addr().String(), grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = conn.Close() })

	return conn
}

// call the function once, and check that the answer is to this call.
func call(t *testing.T, conn *grpc.ClientConn, opts ...grpc.CallOption) error {
	t.Helper()

	rsp, err := fnv1.NewFunctionRunnerServiceClient(conn).RunFunction(limited(t), &fnv1.RunFunctionRequest{Meta: &fnv1.RequestMeta{Tag: t.Name()}}, opts...)
	if err == nil && rsp.GetMeta().GetTag() != t.Name() {
		t.Errorf("want the answer to %q, got %q", t.Name(), rsp.GetMeta().GetTag())
	}

	return err
}

// limited is far more time than anything here takes: a test that reaches it
// hangs.
func limited(t *testing.T) context.Context {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)

	return ctx
}

// receive what another goroutine sends sooner or later.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()

	select {
	case v := <-from:
		return v
	case <-limited(t).Done():
		t.Fatal("nothing came")
		panic("unreachable")
	}
}
