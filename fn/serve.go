package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"syscall"
	"time"

	"github.com/crossplane/function-sdk-go"
	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	fnv1beta1 "github.com/crossplane/function-sdk-go/proto/v1beta1"
	grpcprometheus "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto" // registers the codec
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
)

const (
	// connectTimeout bounds the TLS handshake of a new connection. A gRPC client
	// gives an attempt 20 seconds before it starts over, so longer helps nobody,
	// and a silent connection holds up a graceful stop for as long as this.
	connectTimeout = 20 * time.Second

	// connectionAge is how long Crossplane keeps a connection. It looks up the replicas that
	// there are when one ends, and not before: without a limit one that is added gets no
	// request.
	connectionAge = 5 * time.Minute

	// stopTimeout bounds what happens after the grace period: closing the
	// connections. grpc.Server.Stop waits for handshakes, too, which can take
	// longer than Kubernetes waits before it kills the process.
	stopTimeout = time.Second

	// maxMessageMegabytes keeps --max-recv-message-size within the 32 bits that
	// a gRPC message has for its length.
	maxMessageMegabytes = 4095
)

// gcPercent lets the heap grow to four times what is in use before it is
// collected. What is in use is small and stays for ever, the compiled inputs,
// while a request leaves garbage only: collecting it at Go's default of 100 is
// a third of the cost of a small request.
const gcPercent = 400

// What a large request leaves free in the heap is given back to the system at once,
// instead of in the minutes that Go takes, if it is as much as unusedHeap; it takes a
// collection, and so is done once in unusedEvery at most.
const (
	unusedHeap  = 32 << 20
	unusedEvery = time.Second
)

// gcHeadroom is how much garbage may be there beside what is in use before there is
// more of it than Go's default has: what makes small requests quicker must not make
// a large one, or a hostile one, take five times its size.
const gcHeadroom = 32 << 20

// collectLess sets gcPercent, unless the GOGC variable says otherwise, and after
// each collection how much of it the heap allows.
func collectLess() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(gcPercent)
	var freed time.Time
	afterEachGC(func() {
		heap := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
		runtimemetrics.Read(heap)
		debug.SetGCPercent(gcPercentFor(heap[0].Value.Uint64()))
		if heap[1].Value.Uint64() >= unusedHeap && time.Since(freed) >= unusedEvery {
			freed = time.Now()
			go debug.FreeOSMemory()
		}
	})
}

// gcPercentFor a heap with so many bytes in use.
func gcPercentFor(live uint64) int {
	return int(min(gcPercent, max(100, 100*gcHeadroom/max(live, 1))))
}

// afterEachGC calls f once after each collection, in a goroutine of the runtime.
func afterEachGC(f func()) {
	type sentinel struct{ _ [16]byte } // garbage from the beginning on
	var again func(*sentinel)
	again = func(*sentinel) {
		f()
		runtime.SetFinalizer(&sentinel{}, again)
	}
	runtime.SetFinalizer(&sentinel{}, again)
}

// functionMaker makes the function that a server serves: the log is where it
// writes, the metrics are where it counts. Bind one with kong.Bind.
type functionMaker func(log logging.Logger, m *metrics) (fnv1.FunctionRunnerServiceServer, error)

// serveCmd serves the function to Crossplane. It takes every flag and
// environment variable of the functions made from function-template-go, so that
// a DeploymentRuntimeConfig fits all of them.
type serveCmd struct {
	Debug bool `help:"Emit debug logs in addition to info logs." short:"d"`

	Network            string        `default:"tcp"              help:"Network on which to listen for gRPC connections."`
	Address            string        `default:":9443"            help:"Address at which to listen for gRPC connections."`
	TLSCertsDir        string        `env:"TLS_SERVER_CERTS_DIR" help:"Directory containing server certs (tls.key, tls.crt) and the CA used to verify client certificates (ca.crt)"`
	Insecure           bool          `help:"Run without mTLS credentials. If you supply this flag --tls-certs-dir will be ignored."`
	Codec              string        `default:"lazy"             enum:"lazy,proto" help:"How requests are read: lazy looks at what is used of them, proto decodes them as the SDK does. The answers are the same."`
	MaxRecvMessageSize int           `default:"4"                help:"Maximum size of received messages in MB."`
	MetricsAddress     string        `default:":8080"            help:"Address at which to serve Prometheus metrics. Empty turns them off."`
	GracePeriod        time.Duration `default:"25s"              help:"How long running requests may take to finish after SIGTERM. Keep it below the terminationGracePeriodSeconds of the pod."`
}

// Help is what kong prints below the flags.
func (c *serveCmd) Help() string {
	return `Listens for Crossplane's calls until SIGTERM or SIGINT, and lets those that run come
to their end. This is what the package runs; it has the flags of every function, so that
one DeploymentRuntimeConfig fits all, and a few of its own.

Requests are not decoded, but read where they lie, which takes a fraction of the time.
--codec=proto decodes them as the SDK does, to rule that out where an answer surprises.

In a cluster Crossplane sets TLS_SERVER_CERTS_DIR. The certificates in it are read
again when they change. Without them a function has to be told --insecure, and works
for crossplane composition render only.

At --metrics-address there are /metrics for Prometheus, and at --address there are
gRPC health and reflection beside the function itself.

Examples:

    fn --insecure --debug

    fn serve --tls-certs-dir /tls/server --address :9443 --metrics-address :8081

    # in another terminal; functions.yaml has the annotation
    # render.crossplane.io/runtime: Development
    crossplane composition render xr.yaml composition.yaml functions.yaml`
}

// Validate is called by kong once the flags are parsed.
func (c *serveCmd) Validate() error {
	if c.MaxRecvMessageSize < 1 || c.MaxRecvMessageSize > maxMessageMegabytes {
		return &usageError{text: fmt.Sprintf("--max-recv-message-size must be between 1 and %d", maxMessageMegabytes)}
	}

	if c.GracePeriod < 0 {
		return &usageError{text: "--grace-period must not be negative"}
	}

	return nil
}

// Run serves until SIGTERM or SIGINT, and returns nil then: a server that was
// told to stop did not fail. A second signal ends the process at once.
func (c *serveCmd) Run(build functionMaker) error {
	limitHeap()
	collectLess()
	log, err := function.NewLogger(c.Debug)
	if err != nil {
		return fmt.Errorf("cannot create logger: %w", err)
	}

	ctx, restore := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer restore()
	context.AfterFunc(ctx, restore)

	s, err := c.server(ctx, build, log)
	if err != nil {
		return err
	}

	return s.serve(ctx)
}

// server takes all that can be refused: certificates and addresses. What it
// returns only needs serving.
func (c *serveCmd) server(ctx context.Context, build functionMaker, log logging.Logger) (*server, error) {
	creds, err := c.credentials(log)
	if err != nil {
		return nil, err
	}

	s := &server{
		log:                log,
		credentials:        creds,
		codec:              c.Codec,
		memoryLimit:        memoryLimit(),
		maxRecvMessageSize: c.MaxRecvMessageSize * 1024 * 1024,
		gracePeriod:        c.GracePeriod,
		connectionAge:      connectionAge,
		registry:           newRegistry(),
	}

	s.function, err = build(log, newMetrics(s.registry))
	if err != nil {
		return nil, fmt.Errorf("cannot create function: %w", err)
	}

	s.listener, err = (&net.ListenConfig{}).Listen(ctx, c.Network, c.Address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen at --address %q: %w", c.Address, err)
	}

	if c.MetricsAddress == "" {
		return s, nil
	}

	s.metricsListener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", c.MetricsAddress)
	if err != nil {
		_ = s.listener.Close() // The first error is the one to report.
		return nil, fmt.Errorf("cannot listen at --metrics-address %q: %w", c.MetricsAddress, err)
	}

	return s, nil
}

// credentials prefers --insecure to a certificate directory, as the SDK does:
// every Crossplane pod has the environment variable of the latter.
func (c *serveCmd) credentials(log logging.Logger) (credentials.TransportCredentials, error) {
	if c.Insecure {
		return insecure.NewCredentials(), nil
	}

	if c.TLSCertsDir == "" {
		return nil, errors.New("cannot serve without credentials: set --tls-certs-dir (or $TLS_SERVER_CERTS_DIR) or --insecure")
	}

	certs, err := newCertificates(c.TLSCertsDir, log)
	if err != nil {
		return nil, err
	}

	return credentials.NewTLS(certs.config()), nil
}

// A server serves one function at one listener. It exists because
// function.Serve of the SDK cannot stop gracefully, keeps the certificates it
// started with, and goes on without metrics if their port is taken.
type server struct {
	function           fnv1.FunctionRunnerServiceServer
	log                logging.Logger
	credentials        credentials.TransportCredentials
	codec              string        // codecProto, or else codecLazy
	memoryLimit        int64         // of the process, in bytes
	maxRecvMessageSize int           // in bytes
	gracePeriod        time.Duration // zero stops at once
	connectionAge      time.Duration // a connection is closed after it
	registry           *prometheus.Registry
	listener           net.Listener
	metricsListener    net.Listener // nil serves no metrics
}

// serve blocks until the context ends, and returns nil then, or until a
// listener fails. Both listeners are closed when it returns; requests that
// outlast the grace period may still run, with their context cancelled. Call it
// once.
func (s *server) serve(ctx context.Context) error {
	checks := health.NewServer()
	runner := s.grpcServer(checks)
	web := s.metricsServer()
	failed := make(chan error, 2)

	go func() {
		failed <- fmt.Errorf("cannot serve gRPC connections: %w", runner.Serve(s.listener))
	}()

	if s.metricsListener != nil {
		go func() {
			failed <- fmt.Errorf("cannot serve metrics: %w", web.Serve(s.metricsListener))
		}()
	}

	s.log.Info("Serving", "address", s.listener.Addr().String(), "codec", s.codec, "memory-limit", fmt.Sprintf("%d MiB", s.memoryLimit>>20))

	var err error
	select {
	case <-ctx.Done():
		s.log.Info("Stopping", "grace-period", s.gracePeriod.String())
	case err = <-failed:
	}

	// Whoever asks or watches learns of the end first. Metrics go last, so that
	// the last request is counted where somebody can still read it.
	checks.Shutdown()
	s.stop(runner)
	_ = web.Close()

	return err
}

// stop lets running requests finish within the grace period. Streams count as
// requests: a client that watches our health and never hangs up costs all of it.
func (s *server) stop(runner *grpc.Server) {
	if within(s.gracePeriod, runner.GracefulStop) {
		return
	}

	s.log.Info("Stopping with requests still running")
	within(stopTimeout, runner.Stop)
}

// within runs fn, waits for it at most so long, and says whether it returned.
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

// grpcServer has the services and the metrics of the SDK's server, and a health
// service beside them. Metrics are outermost, so that they count a panic.
func (s *server) grpcServer(checks *health.Server) *grpc.Server {
	calls := grpcprometheus.NewServerMetrics()
	s.registry.MustRegister(calls)

	lazy, ok := s.function.(lazyRunner)
	lazily := ok && s.codec != codecProto
	codec := encoding.GetCodecV2(grpcproto.Name)
	if lazily {
		codec = newLazyCodec(s.log)
	}
	admit := newAdmission(s.memoryLimit, s.maxRecvMessageSize, codec)
	count, recovered := calls.UnaryServerInterceptor(), recoverPanic(s.log)
	runner := grpc.NewServer(append(admit.options(),
		grpc.Creds(s.credentials),
		grpc.ConnectionTimeout(connectTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: s.connectionAge}), // requests that run are waited for
		grpc.MaxRecvMsgSize(s.maxRecvMessageSize),
		grpc.ChainUnaryInterceptor(count, recovered),
		grpc.ChainStreamInterceptor(butUnary(calls.StreamServerInterceptor())),
	)...)
	intercept := func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		return count(ctx, req, info, func(ctx context.Context, req any) (any, error) { return recovered(ctx, req, info, handle) })
	}
	if lazily {
		admit.register(runner, lazyService(fnv1.File_v1_run_function_proto), lazy, intercept)
		admit.register(runner, lazyService(fnv1beta1.File_v1beta1_run_function_proto), lazy, intercept)
	} else {
		admit.register(runner, fnv1.FunctionRunnerService_ServiceDesc, s.function, intercept)
		admit.register(runner, fnv1beta1.FunctionRunnerService_ServiceDesc, function.ServeBeta(s.function), intercept)
	}
	reflection.Register(runner)
	grpc_health_v1.RegisterHealthServer(runner, checks)
	checks.SetServingStatus(fnv1.FunctionRunnerService_ServiceDesc.ServiceName, grpc_health_v1.HealthCheckResponse_SERVING)
	calls.InitializeMetrics(runner)

	return runner
}

// butUnary leaves out unary methods that are served as streams.
func butUnary(intercept grpc.StreamServerInterceptor) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if !info.IsClientStream && !info.IsServerStream {
			return handle(srv, stream)
		}
		return intercept(srv, stream, info, handle)
	}
}

// metricsServer serves /metrics and nothing else.
func (s *server) metricsServer() *http.Server {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}))

	return &http.Server{Handler: mux, ReadHeaderTimeout: 30 * time.Second, WriteTimeout: time.Minute}
}
