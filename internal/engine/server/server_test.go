package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// Crossplane finds new replicas when a connection ends. No request is lost by that.
func TestServeEndsOldConnections(t *testing.T) {
	s := startServer(t, testFunction{}, logging.NewNopLogger(), func(s *Server) { s.ConnectionAge = 50 * time.Millisecond })
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

func TestServeBoundsMessages(t *testing.T) {
	s := startServer(t, testFunction{}, logging.NewNopLogger())
	client := fnv1.NewFunctionRunnerServiceClient(s.dial(t, insecure.NewCredentials()))

	for size, want := range map[int]codes.Code{1000 * 1024: codes.OK, 1025 * 1024: codes.ResourceExhausted} {
		_, err := client.RunFunction(functiontest.Limited(t), &fnv1.RunFunctionRequest{Meta: &fnv1.RequestMeta{Tag: strings.Repeat("x", size)}})
		if got := status.Code(err); got != want {
			t.Errorf("%d bytes against --max-recv-message-size=1: want %v, got %v", size, want, err)
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

	watch, err := grpc_health_v1.NewHealthClient(conn).Watch(watching, &grpc_health_v1.HealthCheckRequest{Service: functiontest.RunnerService})
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

// grpc.Server.Stop waits for a handshake that never starts; we do not. Without
// the bound this takes connectTimeout.
func TestServeStopsDespiteSilentConnection(t *testing.T) {
	pki := newAuthority(t, "ca")
	s := startServer(t, testFunction{}, logging.NewNopLogger(), func(s *Server) {
		s.GracePeriod = time.Millisecond
		s.Credentials = credentials.NewTLS(mustCertificates(t, pki.secret(t, 1).write(t, t.TempDir()), logging.NewNopLogger()).config())
	})

	silent, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()

	// Connections are accepted in order: after this one, the silent one is also accepted.
	if err := call(t, s.dial(t, pki.client(t))); err != nil {
		t.Fatal(err)
	}

	s.stop()

	select {
	case err := <-s.done:
		if err != nil {
			t.Errorf("want nil, got %v", err)
		}
	case <-time.After(connectTimeout / 2):
		t.Error("a silent connection holds up the stop")
	}
}

func TestServeEndsWithItsListeners(t *testing.T) {
	cases := map[string]struct {
		reason string
		close  func(s *Server) error
		want   string
	}{
		"GRPC":    {"a function that cannot be called must be restarted", func(s *Server) error { return s.Listener.Close() }, "cannot serve gRPC connections"},
		"Metrics": {"metrics that went away are not a matter to keep silent about", func(s *Server) error { return s.MetricsListener.Close() }, "cannot serve metrics"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, testFunction{}, logging.NewNopLogger(), func(s *Server) {
				if err := tc.close(s); err != nil {
					t.Error(err)
				}
			})

			if err := functiontest.Receive(t, s.done); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: want error %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

func TestServeMetrics(t *testing.T) {
	s := startServer(t, testFunction{}, logging.NewNopLogger())

	if err := call(t, s.dial(t, insecure.NewCredentials())); err != nil {
		t.Fatal(err)
	}

	rsp, err := http.Get("http://" + s.MetricsListener.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer rsp.Body.Close()

	body, err := io.ReadAll(rsp.Body)
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{
		`function_export_reconciles_total{outcome="available"} 1`,
		`function_export_reconciles_total{outcome="held"} 0`,
		`grpc_server_handled_total{grpc_code="OK",grpc_method="RunFunction",grpc_service="` + functiontest.RunnerService + `",grpc_type="unary"} 1`,
		`grpc_server_handled_total{grpc_code="Internal",grpc_method="RunFunction",grpc_service="` + functiontest.RunnerService + `",grpc_type="unary"} 0`,
		`go_goroutines `,
		`process_start_time_seconds `,
	} {
		if !strings.Contains(string(body), "\n"+want) {
			t.Errorf("no line %q in:\n%s", want, body)
		}
	}
}
