package server

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// asks adds what the composite's author asks for.
func asks(t testing.TB, req *fnv1.RunFunctionRequest, text string) *fnv1.RunFunctionRequest {
	t.Helper()
	req.Observed.Composite.Resource.Fields["spec"] = structpb.NewStructValue(functiontest.Parse(t, text))
	return req
}

const fitAuthors = "  fromComposite: {fieldPath: spec, from: db, allow: {secrets: [db]}}\n"

// observedExport adds an export's Secret as it is observed, with a value of so many bytes.
func observedExport(t testing.TB, req *fnv1.RunFunctionRequest, name string, size int) *fnv1.RunFunctionRequest {
	t.Helper()
	o := functiontest.Parse(t, fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: orders-%s, namespace: team-a}, type: Opaque}", name))
	o.Fields["data"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
		"k": structpb.NewStringValue(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("o"), size))),
	}})
	req.Observed.Resources[name] = &fnv1.Resource{Resource: o}
	return req
}

// Crossplane's client receives each response, whatever is exported: what would make it too
// large is held, authors' objects first, and the largest before others.
func TestResponsesFit(t *testing.T) {
	cases := map[string]struct {
		reason string
		req    *fnv1.RunFunctionRequest
		made   []string // all that is desired and ready
		held   []string // what is said to be held
		kept   []string // of those, what is desired
	}{
		"FourOf800kB": {
			reason: "three of them fit, and all have the same size: the last one does not",
			req:    functiontest.FitRequest(t, functiontest.FitInput(4, ""), 800_000),
			made:   []string{"e00", "e01", "e02"},
			held:   []string{`Secret "e03" (team-a/orders-e03) is not created: with its 1066`},
		},
		"SmallerAuthor": {
			reason: "an author's object is held before a larger one of the Composition",
			req: asks(t, functiontest.Earlier(functiontest.FitRequest(t, functiontest.FitInput(2, fitAuthors), 800_000), 1_400_000),
				"{secretExpressions: [{name: theirs, key: k, value: secret.medium}, {name: tiny, key: k, value: secret.username}]}"),
			made: []string{"e00", "e01", "fromComposite/Secret/tiny"},
			held: []string{`Secret "theirs" is not created: with its 800`},
		},
		"Observed": {
			reason: "an object that exists is kept unchanged",
			req:    observedExport(t, functiontest.Earlier(functiontest.FitRequest(t, functiontest.FitInput(1, ""), 1_000_000), 2_950_000), "e00", 10),
			held:   []string{`Secret "e00" (team-a/orders-e00) is kept unchanged: with its 1333`},
			kept:   []string{"e00"},
		},
		"Unchanged": {
			reason: "to hold an object that does not change saves nothing: what is added is held",
			req: func() *fnv1.RunFunctionRequest {
				req := functiontest.Earlier(functiontest.FitRequest(t, functiontest.FitInput(2, ""), 700_000), 2_500_000)
				o := functiontest.Parse(t, "{apiVersion: v1, kind: Secret, metadata: {name: orders-e01, namespace: team-a}, type: Opaque}")
				o.Fields["data"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
					"k": structpb.NewStringValue(base64.StdEncoding.EncodeToString(req.GetObserved().GetResources()["db"].GetConnectionDetails()["large"])),
				}})
				req.Observed.Resources["e01"] = &fnv1.Resource{Resource: o}
				return req
			}(),
			made: []string{"e01"},
			held: []string{`Secret "e00" (team-a/orders-e00) is not created: with its 933`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			functiontest.LookedUp(t, tc.req)
			answersOf(t, tc.req, func(t *testing.T, rsp *fnv1.RunFunctionResponse) {
				t.Helper()
				var made, kept []string
				for _, name := range slices.Sorted(maps.Keys(rsp.GetDesired().GetResources())) {
					_, exists := tc.req.GetObserved().GetResources()[name]
					switch ready := rsp.GetDesired().GetResources()[name].GetReady(); {
					case ready == fnv1.Ready_READY_UNSPECIFIED: // what an earlier step composes
					case ready == fnv1.Ready_READY_FALSE && exists:
						kept = append(kept, name)
					default:
						made = append(made, name)
					}
				}
				if diff := cmp.Diff(tc.made, made); diff != "" {
					t.Errorf("%s: made: -want, +got:\n%s", tc.reason, diff)
				}
				if diff := cmp.Diff(tc.kept, kept); diff != "" {
					t.Errorf("%s: kept: -want, +got:\n%s", tc.reason, diff)
				}
				for _, want := range tc.held {
					if !hasWarning(rsp, want) {
						t.Errorf("%s: want a warning %q, got %v", tc.reason, want, rsp.GetResults())
					}
				}
				if c := rsp.GetConditions()[0]; c.GetReason() != "Held" || !strings.Contains(c.GetMessage(), tc.held[0]) {
					t.Errorf("%s: want the condition to say %q, got %v", tc.reason, tc.held[0], c)
				}
			})
		})
	}
}

// What cannot fit changes nothing: there is no desired state, and no context.
func TestResponsesThatCannotFit(t *testing.T) {
	cases := map[string]struct {
		reason string
		req    *fnv1.RunFunctionRequest
	}{
		"CarriedOn": {"an earlier step composes too much by itself", functiontest.Earlier(functiontest.FitRequest(t, functiontest.FitInput(1, ""), 10), 4<<20)},
		"Kept":      {"what is kept is too much beside it", observedExport(t, functiontest.Earlier(functiontest.FitRequest(t, functiontest.FitInput(1, ""), 900_000), 3_500_000), "e00", 600_000)},
		"Context": {"the context is a part of the response", func() *fnv1.RunFunctionRequest {
			req := functiontest.Earlier(functiontest.FitRequest(t, functiontest.FitInput(1, ""), 10), 2<<20)
			req.Context = &structpb.Struct{Fields: map[string]*structpb.Value{"x": structpb.NewStringValue(strings.Repeat("x", 2<<20))}}
			return req
		}()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			functiontest.LookedUp(t, tc.req)
			answersOf(t, tc.req, func(t *testing.T, rsp *fnv1.RunFunctionResponse) {
				t.Helper()
				if rsp.GetDesired() != nil || rsp.GetContext() != nil {
					t.Errorf("%s: want no desired state and no context", tc.reason)
				}
				if r := rsp.GetResults(); len(r) != 1 || r[0].GetSeverity() != fnv1.Severity_SEVERITY_FATAL || !strings.Contains(r[0].GetMessage(), "nothing is changed: the response has 4") {
					t.Errorf("%s: want it to be fatal, got %v", tc.reason, r)
				}
				if c := rsp.GetConditions()[0]; c.GetReason() != "Held" || c.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE {
					t.Errorf("%s: want Held, got %v", tc.reason, c)
				}
			})
		})
	}
}

// answersOf a server, through the client that Crossplane has. The same
// request has the same answer, and no value is in its texts.
func answersOf(t *testing.T, req *fnv1.RunFunctionRequest, judge func(t *testing.T, rsp *fnv1.RunFunctionResponse)) {
	t.Helper()
	s := startServer(t, testFunction{}, logging.NewNopLogger(), func(s *Server) {
		s.Function, s.MaxRecvMessageSize = functiontest.Fixed(t), 16<<20
	})
	client := fnv1.NewFunctionRunnerServiceClient(s.dial(t, insecure.NewCredentials()))
	rsp, err := client.RunFunction(functiontest.Limited(t), req)
	if err != nil {
		t.Fatal(err)
	}
	again, err := client.RunFunction(functiontest.Limited(t), req, grpc.MaxCallRecvMsgSize(limits.ResponseBytes))
	if err != nil || !proto.Equal(rsp, again) {
		t.Errorf("the same request has another answer: %v", err)
	}
	judge(t, rsp)
	for _, r := range rsp.GetResults() {
		if strings.Contains(r.GetMessage(), "canary") {
			t.Errorf("a value is in %q", r.GetMessage())
		}
	}
}

func hasWarning(rsp *fnv1.RunFunctionResponse, text string) bool {
	for _, r := range rsp.GetResults() {
		if strings.Contains(r.GetMessage(), text) {
			return true
		}
	}
	return false
}
