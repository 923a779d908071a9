package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// largeMessage is a request of 3.5 MiB.
const largeMessage = 3<<20 + 512<<10

// filler returns a value of about so many bytes, with the form of a status.
func filler(bytes int) *structpb.Value {
	list := &structpb.ListValue{}
	for i := 0; i*64 < bytes; i++ {
		list.Values = append(list.Values, structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			"name":  structpb.NewStringValue(fmt.Sprintf("condition-%06d", i)),
			"ready": structpb.NewBoolValue(true),
			"port":  structpb.NewNumberValue(float64(8000 + i)),
		}}))
	}
	return structpb.NewListValue(list)
}

// fitInput returns an input with exports of one value each, and with generators and author's objects.
func fitInput(exports int, more string) string {
	var b strings.Builder
	b.WriteString("input:\n  apiVersion: export.fn.crossplane.io/v1beta1\n  kind: Exports\n" + more + "  secrets:\n")
	for i := range exports {
		fmt.Fprintf(&b, "  - {name: e%02d, from: db, data: [{key: k, value: secret.large}]}\n", i)
	}
	return b.String()
}

// fitRequest returns ObservedDatabase with a connection detail of so many bytes. No looked up
// object exists.
func fitRequest(t testing.TB, input string, large int) *fnv1.RunFunctionRequest {
	t.Helper()
	req := functiontest.Request(t, functiontest.ObservedDatabase+input)
	value := bytes.Repeat([]byte("canary-7f3a"), large/11+1)[:large]
	details := req.GetObserved().GetResources()["db"].GetConnectionDetails()
	details["large"], details["medium"] = value, value[:large/4*3]
	return req
}

// lookedUp adds the answers to the function's requirements.
func lookedUp(t testing.TB, req *fnv1.RunFunctionRequest) *fnv1.RunFunctionRequest {
	t.Helper()
	small := proto.CloneOf(req)
	small.Observed.Resources["db"].ConnectionDetails["large"] = []byte("x")
	small.Desired, small.Context = nil, nil
	if req.GetRequiredResources() == nil {
		req.RequiredResources = map[string]*fnv1.Resources{}
	}
	for key := range functiontest.Reconcile(t, functiontest.New(t), small, nil).GetRequirements().GetResources() {
		req.RequiredResources[key] = &fnv1.Resources{}
	}
	return req
}

// earlier returns an earlier step's ConfigMap of so many bytes.
func earlier(req *fnv1.RunFunctionRequest, size int) *fnv1.RunFunctionRequest {
	o := &structpb.Struct{Fields: map[string]*structpb.Value{"x": structpb.NewStringValue(strings.Repeat("x", size))}}
	req.Desired = &fnv1.State{Resources: map[string]*fnv1.Resource{"earlier": {Resource: o}}}
	return req
}

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
	o := functiontest.Parse(t, fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: orders-%s, namespace: "+
		"team-a}, type: Opaque}", name))
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
			req:    fitRequest(t, fitInput(4, ""), 800_000),
			made:   []string{"e00", "e01", "e02"},
			held:   []string{`Secret "e03" (team-a/orders-e03) is not created: with its 1066`},
		},
		"SmallerAuthor": {
			reason: "an author's object is held before a larger one of the Composition",
			req: asks(t, earlier(fitRequest(t, fitInput(2, fitAuthors), 800_000), 1_400_000),
				"{secretExpressions: [{name: theirs, key: k, value: secret.medium}, {name: tiny, key: k, value: "+
					"secret.username}]}"),
			made: []string{"e00", "e01", "fromComposite/Secret/tiny"},
			held: []string{`Secret "theirs" is not created: with its 800`},
		},
		"Observed": {
			reason: "an object that exists is kept unchanged",
			req:    observedExport(t, earlier(fitRequest(t, fitInput(1, ""), 1_000_000), 2_950_000), "e00", 10),
			held:   []string{`Secret "e00" (team-a/orders-e00) is kept unchanged: with its 1333`},
			kept:   []string{"e00"},
		},
		"Unchanged": {
			reason: "to hold an object that does not change saves nothing: what is added is held",
			req: func() *fnv1.RunFunctionRequest {
				req := earlier(fitRequest(t, fitInput(2, ""), 700_000), 2_500_000)
				o := functiontest.Parse(t, "{apiVersion: v1, kind: Secret, metadata: {name: orders-e01, namespace: "+
					"team-a}, type: Opaque}")
				o.Fields["data"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
					"k": structpb.NewStringValue(
						base64.StdEncoding.EncodeToString(
							req.GetObserved().GetResources()["db"].GetConnectionDetails()["large"],
						),
					),
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
			lookedUp(t, tc.req)
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
		"CarriedOn": {"an earlier step composes too much by itself", earlier(fitRequest(t, fitInput(1, ""), 10), 4<<20)},
		"Kept": {
			"what is kept is too much beside it",
			observedExport(t, earlier(fitRequest(t, fitInput(1, ""), 900_000), 3_500_000), "e00", 600_000),
		},
		"Context": {"the context is a part of the response", func() *fnv1.RunFunctionRequest {
			req := earlier(fitRequest(t, fitInput(1, ""), 10), 2<<20)
			req.Context = &structpb.Struct{
				Fields: map[string]*structpb.Value{"x": structpb.NewStringValue(strings.Repeat("x", 2<<20))},
			}
			return req
		}()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			lookedUp(t, tc.req)
			answersOf(t, tc.req, func(t *testing.T, rsp *fnv1.RunFunctionResponse) {
				t.Helper()
				if rsp.GetDesired() != nil || rsp.GetContext() != nil {
					t.Errorf("%s: want no desired state and no context", tc.reason)
				}
				if r := rsp.GetResults(); len(r) != 1 || r[0].GetSeverity() != fnv1.Severity_SEVERITY_FATAL ||
					!strings.Contains(r[0].GetMessage(), "nothing is changed: the response has 4") {
					t.Errorf("%s: want it to be fatal, got %v", tc.reason, r)
				}
				if c := rsp.GetConditions()[0]; c.GetReason() != "Held" || c.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE {
					t.Errorf("%s: want Held, got %v", tc.reason, c)
				}
			})
		})
	}
}

// answersOf judges the answer to a request. The same request has the same answer, which Crossplane's client accepts,
// and no value is in its texts.
func answersOf(t *testing.T, req *fnv1.RunFunctionRequest, judge func(t *testing.T, rsp *fnv1.RunFunctionResponse)) {
	t.Helper()
	f := functiontest.Fixed(t)
	rsp, err := f.RunFunction(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := f.RunFunction(t.Context(), req); err != nil || !proto.Equal(rsp, again) {
		t.Errorf("the same request has another answer: %v", err)
	}
	if n := proto.Size(rsp); n > limits.ResponseBytes {
		t.Errorf("the answer has %d bytes", n)
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
