package render

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// TestRenderGolden renders each folder of testdata with the function that
// answers what its response.yaml holds.
func TestRenderGolden(t *testing.T) {
	dirs, err := filepath.Glob("testdata/*/response.yaml")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no folders to render: %v", err)
	}
	for _, dir := range dirs {
		dir = filepath.Dir(dir)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, "response.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			for _, show := range []bool{false, true} {
				c := Command{Paths: []string{dir}, IncludeContext: true, IncludeFullXR: show, IncludeFunctionResults: true,
					ShowSecrets: show}
				stdout, stderr, failure := rendered(t, c, &fakeFunction{script: renderAnswer(t, string(text))})
				got := fmt.Sprintf("%s# stderr\n%s# error\n%s\n", stdout, stderr, failure)
				golden := filepath.Join(dir, map[bool]string{false: "golden.txt", true: "golden-shown.txt"}[show])
				functiontest.CheckGolden(t, golden, got)
			}
		})
	}
}

// TestRenderSteps: state and context flow from step to step, and other functions
// are named.
func TestRenderSteps(t *testing.T) {
	fn := &fakeFunction{script: func(call int, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		// Like the SDK's response.To, with everything of the request in it.
		rsp := &fnv1.RunFunctionResponse{Desired: req.GetDesired(), Context: req.GetContext()}
		if rsp.Desired.Resources == nil {
			rsp.Desired.Resources = map[string]*fnv1.Resource{}
		}
		rsp.Desired.Resources[fmt.Sprintf("from-%d", call)] = &fnv1.Resource{Resource: &structpb.Struct{}}
		if rsp.Context.Fields == nil {
			rsp.Context.Fields = map[string]*structpb.Value{}
		}
		rsp.Context.Fields["calls"] = structpb.NewNumberValue(float64(call))
		// This must not be printed.
		req.Observed.Composite.Resource.Fields["spec"] = structpb.NewStringValue("spoilt")
		req.Input.Fields["n"] = structpb.NewStringValue("spoilt")
		return rsp, nil
	}}
	stdout, stderr, failure := rendered(
		t, Command{Paths: []string{functiontest.Folder(t, functiontest.Files{"composition.yaml": twoSteps})}}, fn)
	if failure != "" {
		t.Fatal(failure)
	}
	wantErr := `skipped step "compose" (function-patch-and-transform): only function-export runs here
skipped step "no-input" (function-auto-ready): only function-export runs here
`
	if diff := cmp.Diff(wantErr, stderr); diff != "" {
		t.Error(diff)
	}
	if strings.Count(stdout, "crossplane.io/composition-resource-name: from-") != 3 {
		t.Errorf("want from-1, from-2 and from-3:\n%s", stdout)
	}
	if len(fn.requests) != 3 {
		t.Fatalf("%d calls, want 3", len(fn.requests))
	}
	second := fn.requests[1]
	if diff := cmp.Diff([]string{"db", "from-1"},
		slices.Sorted(maps.Keys(second.GetDesired().GetResources()))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"calls": 1.0}, second.GetContext().AsMap()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(fn.requests[0].GetObserved(), second.GetObserved(), protocmp.Transform()); diff != "" {
		t.Errorf("a step changed what the next one observes: %s", diff)
	}
}

func TestRenderFatal(t *testing.T) {
	fn := &fakeFunction{script: renderAnswer(t, `
desired: {resources: {a: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}}}
results:
- {severity: SEVERITY_WARNING, message: "first\nof two lines"}
- {severity: SEVERITY_FATAL, message: "secrets[0].data[2].value: does not compile"}
conditions:
- {type: ExportsReady, status: STATUS_CONDITION_FALSE, reason: InvalidInput, message: see results}
`)}
	c := Command{Paths: []string{functiontest.Folder(t, functiontest.Files{"composition.yaml": strings.Replace(twoSteps,
		", n: 1", "", 1)})}, IncludeFullXR: true, IncludeFunctionResults: true, IncludeContext: true}
	var stdout, stderr bytes.Buffer
	err := c.RunWith(t.Context(), terminal.Disk(nil), engineOf(fn.RunFunction), &stdout, &stderr)
	if code, ok := terminal.ExitCode(err); !ok || code != 1 || !strings.Contains(err.Error(), `"first"`) {
		t.Errorf("got error %v, want exit code 1 for step first", err)
	}
	if stdout.Len() > 0 {
		t.Errorf("stdout has %q, want nothing", stdout.String())
	}
	want := `skipped step "compose" (function-patch-and-transform): only function-export runs here
warning: first of two lines
fatal: secrets[0].data[2].value: does not compile
ExportsReady=False InvalidInput
`
	if diff := cmp.Diff(want, stderr.String()); diff != "" {
		t.Error(diff)
	}
	if len(fn.requests) != 1 {
		t.Errorf("%d calls, want 1: nothing runs after a fatal result", len(fn.requests))
	}
}

func TestRenderFunctionFails(t *testing.T) {
	cases := map[string]struct {
		reason string
		script func(int, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error)
		want   string
	}{
		"Error": {
			reason: "A gRPC error ends the pipeline, with its text.",
			script: func(int, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
				return nil, errors.New("boom\nbang")
			},
			want: `cannot run pipeline step "export": boom bang`,
		},
		"Panic": {
			reason: "The value of a panic can be anything; only its type is told.",
			script: func(int, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) { panic("hunter2") },
			want:   `cannot run pipeline step "export": the function panicked with a string`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			stdout, _, failure := rendered(t, Command{Paths: []string{functiontest.Folder(t, nil)}},
				&fakeFunction{script: tc.script})
			if stdout != "" {
				t.Errorf("stdout has %q, want nothing", stdout)
			}
			if diff := cmp.Diff(tc.want, failure); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

// twoSteps is a Composition with two steps of this function between others.
const twoSteps = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: apps}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: App}
  mode: Pipeline
  pipeline:
  - step: compose
    functionRef: {name: function-patch-and-transform}
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
      resources: [{name: db, base: {apiVersion: example.org/v1, kind: Database}}]
  - step: first
    functionRef: {name: function-export}
    input: {apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports, n: 1}
  - step: no-input
    functionRef: {name: function-auto-ready}
  - step: other-kind
    functionRef: {name: function-export}
    input: {apiVersion: export.fn.crossplane.io/v1beta1, kind: Exporters}
  - step: second
    functionRef: {name: function-export}
    input: {apiVersion: export.fn.crossplane.io/v2, kind: Exports, n: 2}
`
