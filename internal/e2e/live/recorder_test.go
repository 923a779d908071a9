package live_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// A call is a call of the function, with the request and the response.
type call struct {
	req *fnv1.RunFunctionRequest
	rsp *fnv1.RunFunctionResponse
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
	rsp, err := r.function.RunFunction(ctx, req)

	r.mu.Lock()
	defer r.mu.Unlock()

	r.calls = append(r.calls, call{req, rsp})

	return rsp, err
}

// record installs the function again under another name, with a recorder in front of it.
func record(t *testing.T, name string) *recorder {
	t.Helper()
	installAs(t, name)

	ctx := t.Context()

	f, err := plane.Get(ctx, functionNamed(name))
	if err != nil {
		t.Fatal(err)
	}

	revision := live.Ref{
		APIVersion: "pkg.crossplane.io/v1", Kind: "FunctionRevision", Name: textAt(f.Object, "status",
			"currentRevision"),
	}

	o, err := plane.Get(ctx, revision)
	if err != nil {
		t.Fatal(err)
	}

	server, ca := keysOf(t, state("tls-"+name))
	client, _ := keysOf(t, state("client"))

	conn, err := grpc.NewClient(textAt(o.Object, "status", "endpoint"),
		grpc.WithTransportCredentials(credentials.NewTLS(
			&tls.Config{Certificates: []tls.Certificate{client}, RootCAs: ca, MinVersion: tls.VersionTLS12})))
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
		Certificates: []tls.Certificate{server}, ClientCAs: ca, ClientAuth: tls.RequireAndVerifyClientCert,
		MinVersion: tls.VersionTLS12,
	})))
	fnv1.RegisterFunctionRunnerServiceServer(s, r)

	go func() { _ = s.Serve(lis) }() // until it is stopped

	t.Cleanup(s.Stop)

	endpoint := strings.Replace(lis.Addr().String(), "127.0.0.1", "localhost", 1)
	if err := plane.Patch(ctx, revision, `{"status": {"endpoint": "dns:///`+endpoint+`"}}`, "status"); err != nil {
		t.Fatal(err)
	}

	return r
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
