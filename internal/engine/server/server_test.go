package server

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// Crossplane finds new replicas when a connection ends. No request is lost by that.
func TestServeEndsOldConnections(t *testing.T) {
	s := startServer(
		t,
		testFunction{},
		logging.NewNopLogger(),
		func(s *Server) { s.ConnectionAge = 50 * time.Millisecond },
	)
	conn, all := s.dial(t, insecure.NewCredentials()), functiontest.Limited(t)
	for ended := 0; ended < 3; {
		if err := call(t, conn); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(all, 10*time.Millisecond)
		if conn.WaitForStateChange(ctx, connectivity.Ready) && conn.GetState() != connectivity.Ready {
			ended++
		}
		cancel()
		if all.Err() != nil {
			t.Fatal("no connection ends")
		}
	}
}

// A stop first notifies watchers, and then waits for the running request.
func TestServeStopsGracefully(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	s := startServer(t, testFunction{do: func(context.Context) error {
		close(started)
		<-release
		return nil
	}}, logging.NewNopLogger())
	conn := s.dial(t, insecure.NewCredentials())
	answered := make(chan error, 1)
	go func() { answered <- call(t, conn) }()
	watching, hangUp := context.WithCancel(functiontest.Limited(t))
	defer hangUp()
	watch, err := grpc_health_v1.NewHealthClient(conn).
		Watch(watching, &grpc_health_v1.HealthCheckRequest{Service: runnerService})
	if err != nil {
		t.Fatal(err)
	}
	if h, err := watch.Recv(); err != nil || h.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Fatalf("want SERVING, got %v, %v", h, err)
	}
	functiontest.Receive(t, started)
	s.stop()
	if h, err := watch.Recv(); err != nil || h.GetStatus() != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Fatalf("want NOT_SERVING, got %v, %v", h, err)
	}
	hangUp()
	select {
	case err := <-s.done:
		t.Fatalf("stopped with a request running: %v", err)
	default:
	}
	close(release)
	if err := functiontest.Receive(t, answered); err != nil {
		t.Errorf("the running request failed: %v", err)
	}
	if err := functiontest.Receive(t, s.done); err != nil {
		t.Errorf("want nil, got %v", err)
	}
	for name, l := range map[string]net.Listener{"gRPC": s.Listener, "metrics": s.MetricsListener} {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the %s listener was left open: %v", name, err)
		}
	}
}

func TestServeStopsAfterGracePeriod(t *testing.T) {
	started, cancelled, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s := startServer(t, testFunction{do: func(ctx context.Context) error {
		close(started)
		<-ctx.Done()
		close(cancelled)
		<-release // A handler that does not even heed its context.
		return ctx.Err()
	}}, logging.NewNopLogger(), func(s *Server) { s.GracePeriod = time.Millisecond })
	defer close(release)
	answered := make(chan error, 1)
	conn := s.dial(t, insecure.NewCredentials())
	go func() { answered <- call(t, conn) }()
	functiontest.Receive(t, started)
	s.stop()
	if err := functiontest.Receive(t, s.done); err != nil {
		t.Errorf("want nil, got %v", err)
	}
	functiontest.Receive(t, cancelled)
	if err := functiontest.Receive(t, answered); status.Code(err) != codes.Unavailable {
		t.Errorf("want the request to fail as Unavailable, got %v", err)
	}
}
