package live

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A Function is an installed function. It consists of replicas of a program, and of a proxy that acts as its
// Service.
type Function struct {
	Name     string
	Replicas []*Process

	// Metrics are the addresses of the metrics of the replicas.
	Metrics []string

	service *service
	certs   string
	root    *authority
}

// Install installs a function that was pushed to the registry. It runs a program with arguments for each
// replica, as the Deployment of a package runtime would do.
func (c *ControlPlane) Install(ctx context.Context, name, pkg string, replicas int, program string, args []string,
	env ...string) (*Function, error) {
	ca, err := c.Data(ctx, namespace, "crossplane-root-ca")
	if err != nil {
		return nil, err
	}

	root, err := parseAuthority([]byte(ca["tls.crt"]), []byte(ca["tls.key"]))
	if err != nil {
		return nil, err
	}

	f := &Function{Name: name, certs: c.path("tls-" + name), root: root}
	if err := f.RotateCertificate(); err != nil {
		return nil, err
	}

	var backends []string

	for i := range replicas {
		port, err := freePort(ctx)
		if err != nil {
			return f, err
		}

		metrics, err := freePort(ctx)
		if err != nil {
			return f, err
		}

		address := "127.0.0.1:" + strconv.Itoa(port)
		f.Metrics = append(f.Metrics, "http://127.0.0.1:"+strconv.Itoa(metrics)+"/metrics")
		p := c.process(fmt.Sprintf("%s-%d", name, i), program, env,
			append([]string{"serve", "--debug", "--tls-certs-dir=" + f.certs,
				"--address=" + address, "--metrics-address=127.0.0.1:" + strconv.Itoa(metrics)}, args...)...)
		f.Replicas = append(f.Replicas, p)
		backends = append(backends, address)

		if err := p.Start(); err != nil {
			return f, err
		}
	}

	if f.service, err = serve(ctx, backends); err != nil {
		return f, err
	}

	return f, c.register(ctx, f, pkg)
}

// register creates the Function, and does the work of a runtime controller for its revision.
func (c *ControlPlane) register(ctx context.Context, f *Function, pkg string) error {
	err := c.Apply(ctx, fmt.Sprintf(`{apiVersion: pkg.crossplane.io/v1, kind: Function, metadata: {name: %s}, `+
		`spec: {package: %q, packagePullPolicy: Always}}`, f.Name, pkg))
	if err != nil {
		return err
	}

	function := Ref{"pkg.crossplane.io/v1", "Function", "", f.Name}

	revision, err := c.revisionOf(ctx, function, pkg)
	if err != nil {
		return err
	}

	if err := c.publishCertificate(ctx, f); err != nil {
		return err
	}

	err = c.applyStatus(ctx, fmt.Sprintf(`
apiVersion: pkg.crossplane.io/v1
kind: FunctionRevision
metadata: {name: %s}
status:
  endpoint: dns:///localhost:%d
  tlsServerSecretName: %s-tls-server
  conditions: [{type: RuntimeHealthy, status: "True", reason: HealthyPackageRevision, lastTransitionTime: %q}]
`, revision, f.service.port, f.Name, time.Now().UTC().Format(time.RFC3339)))
	if err != nil {
		return err
	}

	return c.WaitForCondition(ctx, time.Minute, function, "Healthy")
}

// revisionOf waits until Crossplane has a revision of a Function for its package, and returns its name.
// If Crossplane cannot fetch a package, it tries again after up to a minute.
func (c *ControlPlane) revisionOf(ctx context.Context, function Ref, pkg string) (string, error) {
	revision := ""

	err := until(ctx, 5*time.Minute, "a revision of "+pkg, func(ctx context.Context) error {
		if err := c.Crossplane.Start(); err != nil { // the kubelet would start it again
			return err
		}

		o, err := c.Get(ctx, function)
		if err != nil {
			return err
		}

		revision, _, _ = unstructured.NestedString(o.Object, "status", "currentRevision")
		if revision == "" {
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")

			return fmt.Errorf("there is none; the conditions of the Function are %v", conditions)
		}

		r, err := c.Get(ctx, Ref{"pkg.crossplane.io/v1", "FunctionRevision", "", revision})
		if err != nil {
			return err
		}

		if image, _, _ := unstructured.NestedString(r.Object, "spec", "image"); image != pkg {
			return fmt.Errorf("its package is %s", image)
		}

		return nil
	})

	return revision, err
}

func (c *ControlPlane) applyStatus(ctx context.Context, text string) error {
	objects, err := Parse(text)
	if err != nil {
		return err
	}

	return c.ApplyObject(ctx, objects[0], "status")
}

func (c *ControlPlane) publishCertificate(ctx context.Context, f *Function) error {
	data := map[string]any{}

	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		data[name] = readText(filepath.Join(f.certs, name))
	}

	return c.ApplyObject(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": f.Name + "-tls-server",
			"namespace": namespace}, "stringData": data,
	}})
}

// RotateCertificate replaces the certificate of the function. Crossplane's own CA signs the new one. Running
// replicas load it by themselves.
func (f *Function) RotateCertificate() error {
	p, err := f.root.sign(pkix.Name{CommonName: f.Name}, "localhost", f.Name, f.Name+"."+namespace,
		f.Name+"."+namespace+".svc")
	if err != nil {
		return err
	}

	for name, b := range map[string][]byte{"tls.crt": p.cert, "tls.key": p.key, "ca.crt": f.root.pem} {
		if err := writeFile(f.certs, name, b); err != nil {
			return err
		}
	}

	return nil
}

// Delay delays all data that is sent to the function and back, from now on.
func (f *Function) Delay(d time.Duration) { f.service.delay.Store(int64(d)) }

// Stop stops the replicas and the proxy.
func (f *Function) Stop() {
	for _, p := range f.Replicas {
		p.Stop(5 * time.Second)
	}

	if f.service != nil {
		_ = f.service.lis.Close() // it is no longer needed
	}
}

// A service sends each connection to a random backend, or to the next one that accepts it. A Service of Kubernetes also
// chooses at random. If it did not, a client that always opens two connections would always use the same backend.
type service struct {
	port     int
	backends []string
	lis      net.Listener
	delay    atomic.Int64

	mu   sync.Mutex
	open map[net.Conn]bool
}

func serve(ctx context.Context, backends []string) (*service, error) {
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}

	s := &service{lis: lis, backends: backends, open: map[net.Conn]bool{}}
	if addr, ok := lis.Addr().(*net.TCPAddr); ok {
		s.port = addr.Port
	}

	go func() {
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}

			go s.forward(conn, backends, rand.IntN(len(backends))) //nolint:gosec // It need not be secret.
		}
	}()

	return s, nil
}

func (s *service) forward(conn net.Conn, backends []string, first int) {
	defer s.track(conn)()

	for i := range backends {
		backend, err := (&net.Dialer{Timeout: time.Second}).Dial("tcp", backends[(first+i)%len(backends)])
		if err != nil {
			continue
		}
		defer backend.Close() //nolint:errcheck // It is gone.

		var wg sync.WaitGroup

		wg.Go(func() { s.copy(backend, conn) })
		wg.Go(func() { s.copy(conn, backend) })
		wg.Wait()

		return
	}
}

// copy copies data in both directions until one end is closed, and then closes both.
func (s *service) copy(to, from net.Conn) {
	defer to.Close()   //nolint:errcheck // It is gone.
	defer from.Close() //nolint:errcheck // It is gone.

	b := make([]byte, 64<<10)

	for {
		n, err := from.Read(b)
		if d := s.delay.Load(); d > 0 {
			time.Sleep(time.Duration(d))
		}

		if n > 0 {
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}

		if err != nil {
			return
		}
	}
}
