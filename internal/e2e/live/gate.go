package live

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// A Disturbance is what a gate does to the requests of Crossplane.
type Disturbance string

const (
	// Throttles answers half of the requests with 429 and Retry-After, as a busy API server does.
	Throttles Disturbance = "API server throttles"

	// Unavailable answers half of the requests with 503.
	Unavailable Disturbance = "API server unavailable"

	// Slow holds half of the requests for a second. Then it passes every other one of them on, and drops the rest.
	Slow Disturbance = "API server slow"

	// LosesAnswers passes changes on, and loses the answers to half of them. Crossplane does not learn that the object
	// has changed.
	LosesAnswers Disturbance = "answers lost"

	// CutsWatches ends all watches at once, in the middle of their streams.
	CutsWatches Disturbance = "watches cut"
)

// slowBy is how long a slow API server holds a request.
const slowBy = time.Second

// A Gate is a proxy between Crossplane and the API server. It is safe for concurrent use.
type Gate struct {
	server *http.Server
	proxy  *httputil.ReverseProxy

	mu       sync.Mutex
	active   map[Disturbance]int
	requests map[Disturbance]int // those that a disturbance could have met
	counts   map[Disturbance]int64
	watches  map[*http.Request]context.CancelFunc
}

// Interpose puts a gate between Crossplane and the API server, and starts Crossplane again. The gate calls the API
// server as Crossplane. The returned function removes the gate.
func (c *ControlPlane) Interpose(ctx context.Context) (gate *Gate, remove func(ctx context.Context) error, err error) {
	g := &Gate{
		active: map[Disturbance]int{}, requests: map[Disturbance]int{}, counts: map[Disturbance]int64{},
		watches: map[*http.Request]context.CancelFunc{},
	}

	kubeconfig, err := c.serveGate(ctx, g)
	if err != nil {
		return nil, nil, err
	}

	before := c.Crossplane.env
	use := func(ctx context.Context, env []string) error {
		c.Crossplane.Stop(10 * time.Second)
		c.Crossplane.mu.Lock()
		c.Crossplane.env = env
		c.Crossplane.mu.Unlock()
		c.Crossplane.Kill() // it may have been started before the change

		return c.WaitForCrossplane(ctx)
	}
	remove = func(ctx context.Context) error {
		err := use(ctx, before)
		_ = g.server.Close() // nothing uses it now

		return err
	}

	return g, remove, use(ctx, append([]string{"KUBECONFIG=" + kubeconfig}, before[1:]...))
}

// serveGate starts the server of a gate, and returns the path of a kubeconfig for it.
func (c *ControlPlane) serveGate(ctx context.Context, g *Gate) (string, error) {
	config, err := clientcmd.LoadFromFile(c.path("crossplane.kubeconfig"))
	if err != nil {
		return "", fmt.Errorf("cannot read kubeconfig: %w", err)
	}

	client, err := clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig()
	if err != nil {
		return "", fmt.Errorf("cannot read kubeconfig: %w", err)
	}

	transport, err := rest.TransportFor(client)
	if err != nil {
		return "", fmt.Errorf("cannot make a transport: %w", err)
	}

	quiet := log.New(io.Discard, "", 0)
	target := &url.URL{Scheme: "https", Host: c.address("apiserver")}
	g.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport, ErrorLog: quiet,
	}
	g.server = &http.Server{Handler: g, ErrorLog: quiet, ReadHeaderTimeout: time.Minute}

	if g.server.TLSConfig, err = c.gateTLS(); err != nil {
		return "", err
	}

	port, err := freePort(ctx)
	if err != nil {
		return "", err
	}

	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return "", fmt.Errorf("cannot listen: %w", err)
	}

	go func() { _ = g.server.ServeTLS(lis, "", "") }() // until it is closed

	config.Clusters["live"].Server = "https://" + lis.Addr().String()
	if err := clientcmd.WriteToFile(*config, c.path("gate.kubeconfig")); err != nil {
		return "", fmt.Errorf("cannot write kubeconfig: %w", err)
	}

	return c.path("gate.kubeconfig"), nil
}

func (c *ControlPlane) gateTLS() (*tls.Config, error) {
	p, err := c.ca.sign(pkix.Name{CommonName: "gate"}, "localhost")
	if err != nil {
		return nil, err
	}

	cert, err := tls.X509KeyPair(p.cert, p.key)
	if err != nil {
		return nil, fmt.Errorf("cannot read a certificate: %w", err)
	}

	clients := x509.NewCertPool()
	clients.AddCert(c.ca.cert)

	return &tls.Config{
		Certificates: []tls.Certificate{cert}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert,
		MinVersion: tls.VersionTLS13,
	}, nil
}

// Disturb starts a disturbance. It lasts until the returned function is called.
func (g *Gate) Disturb(d Disturbance) (stop func()) {
	g.mu.Lock()
	defer g.mu.Unlock()

	if d == CutsWatches {
		for _, cut := range g.watches {
			cut()

			g.counts[d]++
		}

		return func() {}
	}

	g.active[d]++

	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()

		g.active[d]--
	}
}

// Count returns how many requests or watches a disturbance has met.
func (g *Gate) Count(d Disturbance) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()

	return g.counts[d]
}

func (g *Gate) count(d Disturbance) {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.counts[d]++
}

// meets reports whether a disturbance is active and meets this request. It meets every other one.
func (g *Gate) meets(d Disturbance) bool {
	g.mu.Lock()
	defer g.mu.Unlock()

	if g.active[d] == 0 {
		return false
	}

	g.requests[d]++

	return g.requests[d]%2 == 0
}

// ServeHTTP passes a request on, unless it is disturbed.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Query().Get("watch") == "true":
		g.watch(w, r)
	case g.meets(Throttles):
		g.count(Throttles)
		w.Header().Set("Retry-After", "1")
		http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
	case g.meets(Unavailable):
		g.count(Unavailable)
		http.Error(w, "The service is unavailable.", http.StatusServiceUnavailable)
	case g.meets(Slow):
		g.hold(w, r)
	case r.Method != http.MethodGet && g.meets(LosesAnswers):
		answer := &lost{header: http.Header{}}
		g.proxy.ServeHTTP(answer, r)

		if answer.status < http.StatusMultipleChoices {
			g.count(LosesAnswers)
		}

		panic(http.ErrAbortHandler)
	default:
		g.proxy.ServeHTTP(w, r)
	}
}

// watch passes a watch on until it is cut.
func (g *Gate) watch(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()

	g.mu.Lock()
	g.watches[r] = cancel
	g.mu.Unlock()

	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()

		delete(g.watches, r)
	}()

	g.proxy.ServeHTTP(w, r.WithContext(ctx))
}

// hold keeps a request for some time, and then passes it on or drops it. It never passes a request on whose client is
// gone.
func (g *Gate) hold(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.counts[Slow]++
	drop := g.counts[Slow]%2 == 0
	g.mu.Unlock()

	select {
	case <-r.Context().Done():
		panic(http.ErrAbortHandler)
	case <-time.After(slowBy):
	}

	if drop {
		panic(http.ErrAbortHandler)
	}

	g.proxy.ServeHTTP(w, r)
}

// A lost is an answer that the client does not get.
type lost struct {
	header http.Header
	status int
}

// Header returns the header, which is lost.
func (l *lost) Header() http.Header { return l.header }

// Write drops a part of the body.
func (l *lost) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader keeps the status.
func (l *lost) WriteHeader(status int) { l.status = status }
