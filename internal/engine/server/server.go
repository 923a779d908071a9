// Package server serves the function to Crossplane over gRPC: TLS, health, metrics, the codec that
// reads requests, and the admission of requests within the memory of the process. It uses the function
// only through its interface.
package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	fnv1beta1 "github.com/crossplane/function-sdk-go/proto/v1beta1"
	grpcprometheus "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

const (
	// connectTimeout bounds the TLS handshake of a new connection. A gRPC client starts again after
	// 20 seconds, so a longer timeout is useless, and a silent connection delays a graceful stop by
	// this time.
	connectTimeout = 20 * time.Second

	// ConnectionAge is how long Crossplane keeps a connection. Crossplane looks up the replicas only
	// when a connection ends. Without a limit, a new replica would get no requests.
	ConnectionAge = 5 * time.Minute

	// stopTimeout bounds the time to close the connections after the grace period. grpc.Server.Stop waits for handshakes
	// and, once grpc.Server.GracefulStop waits for handlers, for these: longer than Kubernetes waits before it kills.
	stopTimeout = time.Second
)

// A Runner answers requests, which are not decoded.
type Runner interface {
	Run(ctx context.Context, req *wire.Request) *wire.Response
}

// A Server serves one function at one listener. It exists because function.Serve of the SDK cannot
// stop gracefully, does not reload certificates, and continues without metrics if their port is
// taken.
type Server struct {
	Function           Runner
	Log                logging.Logger
	Credentials        credentials.TransportCredentials
	MemoryLimit        int64         // of the process, in bytes
	MaxRecvMessageSize int           // in bytes
	GracePeriod        time.Duration // zero stops immediately
	ConnectionAge      time.Duration // a connection is closed after it
	Registry           *prometheus.Registry
	Listener           net.Listener
	MetricsListener    net.Listener // nil serves no metrics
}

// Serve blocks until the context ends, and returns nil then, or until a
// listener fails. Both listeners are closed when it returns; requests that
// outlast the grace period may still run, with their context cancelled. Call it
// once.
func (s *Server) Serve(ctx context.Context) error {
	checks := health.NewServer()
	runner := s.GRPC(checks) //nolint:contextcheck // each stream has its own
	web := s.metricsServer()
	failed := make(chan error, 2)
	go func() {
		failed <- fmt.Errorf("cannot serve gRPC connections: %w", runner.Serve(s.Listener))
	}()
	if s.MetricsListener != nil {
		go func() {
			failed <- fmt.Errorf("cannot serve metrics: %w", web.Serve(s.MetricsListener))
		}()
	}
	s.Log.Info("Serving", "address", s.Listener.Addr().String(),
		"memory-limit", fmt.Sprintf("%d MiB", s.MemoryLimit>>20))
	var err error
	select {
	case <-ctx.Done():
		s.Log.Info("Stopping", "grace-period", s.GracePeriod.String())
	case err = <-failed:
	}
	// Health reports the stop first. Metrics stop last, so that they include the last request.
	checks.Shutdown()
	s.stop(runner)
	_ = web.Close()
	return err
}

// stop waits for running requests within the grace period. Streams count as requests: a client that
// watches the health and never closes its stream uses the whole grace period.
func (s *Server) stop(runner *grpc.Server) {
	if within(s.GracePeriod, runner.GracefulStop) {
		return
	}
	s.Log.Info("Stopping with requests still running")
	within(stopTimeout, runner.Stop)
}

// within runs fn, waits for it up to a limit, and reports whether it returned.
func within(limit time.Duration, fn func()) bool {
	done := make(chan struct{})
	go func() {
		fn()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}

// GRPC returns a server with the services and the metrics of the SDK's server, and a health
// service. Metrics are outermost, so that they count a panic.
func (s *Server) GRPC(checks *health.Server) *grpc.Server {
	calls := grpcprometheus.NewServerMetrics()
	s.Registry.MustRegister(calls)
	admit := newAdmission(s.MemoryLimit, s.MaxRecvMessageSize)
	count := calls.UnaryServerInterceptor()
	runner := grpc.NewServer(append(admit.options(),
		grpc.Creds(s.Credentials),
		grpc.ConnectionTimeout(connectTimeout),
		// Running requests are waited for.
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: s.ConnectionAge}),
		grpc.MaxRecvMsgSize(s.MaxRecvMessageSize),
		grpc.ChainUnaryInterceptor(count),
		grpc.ChainStreamInterceptor(butUnary(calls.StreamServerInterceptor())),
	)...)
	admit.register(runner, fnv1.File_v1_run_function_proto, count, s.run)
	admit.register(runner, fnv1beta1.File_v1beta1_run_function_proto, count, s.run)
	reflection.Register(runner)
	grpc_health_v1.RegisterHealthServer(runner, checks)
	serving := grpc_health_v1.HealthCheckResponse_SERVING
	checks.SetServingStatus(fnv1.FunctionRunnerService_ServiceDesc.ServiceName, serving)
	calls.InitializeMetrics(runner)
	return runner
}

// butUnary skips unary methods that are served as streams.
func butUnary(intercept grpc.StreamServerInterceptor) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if !info.IsClientStream && !info.IsServerStream {
			return handle(srv, stream)
		}
		return intercept(srv, stream, info, handle)
	}
}

// metricsServer serves only /metrics.
func (s *Server) metricsServer() *http.Server {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(s.Registry, promhttp.HandlerOpts{}))
	return &http.Server{Handler: mux, ReadHeaderTimeout: 30 * time.Second, WriteTimeout: time.Minute}
}
