package e2e

import (
	"net"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"

	"github.com/crossplane-contrib/function-export/internal/e2e/standin"
)

// servePatchAndTransform serves the stand-in until the test ends, and returns
// its address.
func servePatchAndTransform(t *testing.T) string {
	t.Helper()

	return serveRunner(t, standin.PatchAndTransform{})
}

// serveRunner serves a function of this process until the test ends, and returns
// its address.
func serveRunner(t *testing.T, runner fnv1.FunctionRunnerServiceServer) string {
	t.Helper()

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("cannot listen: %v", err)
	}

	server := grpc.NewServer()
	fnv1.RegisterFunctionRunnerServiceServer(server, runner)
	t.Cleanup(server.Stop)

	go func() { _ = server.Serve(listener) }() // It ends with the test.

	return listener.Addr().String()
}
