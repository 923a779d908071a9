package live_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// A call is a call of the function, with the request and the response.
type call struct {
	req          *fnv1.RunFunctionRequest
	rsp          *fnv1.RunFunctionResponse
	began, ended time.Time
}

func (c call) namespace() string {
	meta := c.req.GetObserved().GetComposite().GetResource().GetFields()["metadata"].GetStructValue().GetFields()
	return cmp.Or(meta["namespace"].GetStringValue(), meta["labels"].GetStructValue().GetFields()["crossplane.io/claim-namespace"].GetStringValue(), meta["name"].GetStringValue())
}

// A recorder is a proxy between Crossplane and a function. It keeps their messages.
type recorder struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	function fnv1.FunctionRunnerServiceClient

	mu    sync.Mutex
	calls []call
}

// RunFunction calls the function.
func (r *recorder) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	began := time.Now()
	rsp, err := r.function.RunFunction(ctx, req)

	r.mu.Lock()
	defer r.mu.Unlock()

	r.calls = append(r.calls, call{req, rsp, began, time.Now()})

	return rsp, err
}

// of returns the calls for a namespace after the first n.
func (r *recorder) of(namespace string, since int) []call {
	r.mu.Lock()
	defer r.mu.Unlock()

	all := slices.DeleteFunc(slices.Clone(r.calls), func(c call) bool { return c.namespace() != namespace })

	return all[min(since, len(all)):]
}

// record installs the function again under another name, with a recorder in front of it.
func record(ctx context.Context, t *testing.T, name string) *recorder {
	t.Helper()

	installAs(ctx, t, name)

	revision, endpoint := endpointOf(ctx, t, name)

	server, ca := keysOf(t, state("tls-"+name))
	client, _ := keysOf(t, state("client"))

	conn, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{client}, RootCAs: ca, MinVersion: tls.VersionTLS12})))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = conn.Close() }) // the process has already ended

	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}

	r := &recorder{function: fnv1.NewFunctionRunnerServiceClient(conn)}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(64<<20), grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{server}, ClientCAs: ca, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	})))
	fnv1.RegisterFunctionRunnerServiceServer(s, r)

	go func() { _ = s.Serve(lis) }() // until it is stopped

	t.Cleanup(s.Stop)

	if err := plane.Patch(ctx, revision, fmt.Sprintf(`{"status": {"endpoint": "dns:///%s"}}`, strings.Replace(lis.Addr().String(), "127.0.0.1", "localhost", 1)), "status"); err != nil {
		t.Fatal(err)
	}

	return r
}

// endpointOf returns the endpoint of an installed function, and the object that has it.
func endpointOf(ctx context.Context, t *testing.T, name string) (live.Ref, string) {
	t.Helper()

	f, err := plane.Get(ctx, live.Ref{APIVersion: "pkg.crossplane.io/v1", Kind: "Function", Name: name})
	if err != nil {
		t.Fatal(err)
	}

	revision := live.Ref{APIVersion: "pkg.crossplane.io/v1", Kind: "FunctionRevision", Name: textAt(f.Object, "status", "currentRevision")}

	o, err := plane.Get(ctx, revision)
	if err != nil {
		t.Fatal(err)
	}

	return revision, textAt(o.Object, "status", "endpoint")
}

func textAt(o map[string]any, path ...string) string {
	for _, name := range path[:len(path)-1] {
		o, _ = o[name].(map[string]any)
	}

	text, _ := o[path[len(path)-1]].(string)

	return text
}

// keysOf returns the keys in a folder, as a package runtime mounts them.
func keysOf(t *testing.T, dir string) (tls.Certificate, *x509.CertPool) {
	t.Helper()

	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}

	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}

	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)

	return pair, pool
}
