package server

import (
	"context"
	"errors"
	"strings"
	"testing"

	fnv1beta1 "github.com/crossplane/function-sdk-go/proto/v1beta1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

func TestPanicTellsNothing(t *testing.T) {
	const canary = "canary-7f3a"
	type request struct{ Password string }
	cases := map[string]struct {
		reason string
		panic  func()
		kind   string
	}{
		"Text": {"a text is the value", func() { panic(canary) }, "string"},
		"Error": {
			"an error may quote what it could not parse",
			func() { panic(errors.New(canary)) },
			"*errors.errorString",
		},
		"Struct": {"a struct prints its fields", func() { panic(request{Password: canary}) }, "server.request"},
		"Bytes": {"debug.Stack would print bytes that are passed by " +
			"value", func() { panicOver([4]byte([]byte(canary))) }, "[4]uint8"},
		"Nil": {"panic(nil) is a panic", func() { panic(nil) }, "*runtime.PanicNilError"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			log := &functiontest.Log{}
			s := startServer(t, testFunction{do: func(context.Context) error { tc.panic(); return nil }}, log)
			conn := s.dial(t, insecure.NewCredentials())
			_, beta := fnv1beta1.NewFunctionRunnerServiceClient(conn).
				RunFunction(functiontest.Limited(t), &fnv1beta1.RunFunctionRequest{})
			for version, err := range map[string]error{"v1": call(t, conn), "v1beta1": beta} {
				if status.Code(err) != codes.Internal || status.Convert(err).Message() != "the function panicked; "+
					"its log has the stack" {
					t.Errorf("%s: %s: want Internal with the fixed text, got %v", tc.reason, version, err)
				}
			}
			for _, want := range []string{tc.kind, "recovery_test.go:", "testFunction.Run "} {
				if strings.Count(log.String(), want) == 0 {
					t.Errorf("%s: want %q in the log, got:\n%s", tc.reason, want, log)
				}
			}
			for _, secret := range []string{canary, "0x63, 0x61", "99 97 110"} {
				if strings.Contains(log.String(), secret) {
					t.Errorf("%s: the log tells the value:\n%s", tc.reason, log)
				}
			}
		})
	}
}

//go:noinline
func panicOver(b [4]byte) { panic(b) }
