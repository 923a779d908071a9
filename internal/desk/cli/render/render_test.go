package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
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
				c := Command{Paths: []string{dir}, IncludeContext: true, IncludeFullXR: show, IncludeFunctionResults: true, ShowSecrets: show}
				stdout, stderr, failure := rendered(t, c, &fakeFunction{script: renderAnswer(t, string(text))})
				got := fmt.Sprintf("%s# stderr\n%s# error\n%s\n", stdout, stderr, failure)
				golden := filepath.Join(dir, map[bool]string{false: "golden.txt", true: "golden-shown.txt"}[show])
				functiontest.CheckGolden(t, golden, got)
			}
		})
	}
}

// TestRenderRequest holds what a request is made of.
func TestRenderRequest(t *testing.T) {
	fn := &fakeFunction{}
	c := Command{
		Paths: []string{functiontest.Folder(t, functiontest.Files{
			"observed.yaml": `
apiVersion: example.org/v1
kind: Database
metadata: {name: demo-db, namespace: default, annotations: {crossplane.io/composition-resource-name: db}}
spec: {writeConnectionSecretToRef: {name: conn}}
`,
			"required/conn.yaml": `
apiVersion: v1
kind: Secret
metadata: {name: conn, namespace: default}
stringData: {password: hunter2}
`,
			"environment.yaml": "apiVersion: internal.crossplane.io/v1alpha1\nkind: Environment\nregion: eu\n",
		})},
		ContextValues: map[string]string{"example.org/n": `{"n": 1}`},
	}
	if _, _, failure := rendered(t, c, fn); failure != "" {
		t.Fatal(failure)
	}
	want := &fnv1.RunFunctionRequest{}
	if err := protojson.Unmarshal([]byte(`{
		"meta": {"capabilities": ["CAPABILITY_CAPABILITIES", "CAPABILITY_REQUIRED_RESOURCES", "CAPABILITY_CREDENTIALS", "CAPABILITY_CONDITIONS", "CAPABILITY_REQUIRED_SCHEMAS"]},
		"observed": {
			"composite": {"resource": {"apiVersion": "example.org/v1", "kind": "App", "metadata": {"name": "demo", "namespace": "default", "uid": "11111111-1111-1111-1111-111111111111"}, "spec": {"size": 3}}},
			"resources": {"db": {
				"resource": {"apiVersion": "example.org/v1", "kind": "Database", "metadata": {"name": "demo-db", "namespace": "default", "annotations": {"crossplane.io/composition-resource-name": "db"}}, "spec": {"writeConnectionSecretToRef": {"name": "conn"}}},
				"connectionDetails": {"password": "aHVudGVyMg=="}
			}}
		},
		"desired": {},
		"input": {"apiVersion": "export.fn.crossplane.io/v1beta1", "kind": "Exports"},
		"context": {
			"apiextensions.crossplane.io/environment": {"apiVersion": "internal.crossplane.io/v1alpha1", "kind": "Environment", "region": "eu"},
			"example.org/n": {"n": 1}
		}
	}`), want); err != nil {
		t.Fatal(err)
	}
	if len(fn.requests) != 1 {
		t.Fatalf("%d calls, want 1", len(fn.requests))
	}
	if diff := cmp.Diff(want, fn.requests[0], protocmp.Transform()); diff != "" {
		t.Error(diff)
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
	stdout, stderr, failure := rendered(t, Command{Paths: []string{functiontest.Folder(t, functiontest.Files{"composition.yaml": twoSteps})}}, fn)
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
	if diff := cmp.Diff([]string{"db", "from-1"}, slices.Sorted(maps.Keys(second.GetDesired().GetResources()))); diff != "" {
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
	c := Command{Paths: []string{functiontest.Folder(t, functiontest.Files{"composition.yaml": strings.Replace(twoSteps, ", n: 1", "", 1)})}, IncludeFullXR: true, IncludeFunctionResults: true, IncludeContext: true}
	var stdout, stderr bytes.Buffer
	err := c.RunWith(t.Context(), terminal.Disk(nil), fn.RunFunction, &stdout, &stderr)
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
			stdout, _, failure := rendered(t, Command{Paths: []string{functiontest.Folder(t, nil)}}, &fakeFunction{script: tc.script})
			if stdout != "" {
				t.Errorf("stdout has %q, want nothing", stdout)
			}
			if diff := cmp.Diff(tc.want, failure); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRenderFlags: names and types are those of `crossplane composition render`, except for -o.
func TestRenderFlags(t *testing.T) {
	cases := map[string]struct {
		args []string
		want Command
	}{
		"Long": {
			args: []string{"dir", "--observed-resources=o", "--required-resources=e", "--context-values=a=1;b=2", "--context-files", "c=f", "--include-function-results", "--include-context", "--include-full-xr", "--show-secrets",
				"--function-annotations=a=b,c=d", "--function-credentials=s", "--required-schemas=k,1", "--timeout=5s", "--xrd=x"},
			want: Command{
				Paths: []string{"dir"}, ObservedResources: []string{"o"}, RequiredResources: []string{"e", "s"},
				ContextValues: map[string]string{"a": "1", "b": "2"}, ContextFiles: map[string]string{"c": "f"},
				IncludeFunctionResults: true, IncludeContext: true, IncludeFullXR: true, ShowSecrets: true, Output: "yaml",
				RequiredSchemas: []string{"k,1"}, Timeout: 5 * time.Second, XRD: "x", Unused: unused{FunctionAnnotations: []string{"a=b", "c=d"}},
			},
		},
		"Short": {
			args: []string{"xr", "comp", "fns", "--observed-resources", "o1", "--observed-resources", "o2,3", "-o", "json", "-e", "e1", "-e", "e2", "-rcx", "-s", "s1", "-s", "s2"},
			want: Command{
				Paths: []string{"xr", "comp", "fns"}, ObservedResources: []string{"o1", "o2,3"}, RequiredResources: []string{"e1", "e2"},
				IncludeFunctionResults: true, IncludeContext: true, IncludeFullXR: true, Output: "json",
				RequiredSchemas: []string{"s1", "s2"}, Timeout: time.Minute,
			},
		},
		"Alias": {
			args: []string{"dir", "--extra-resources", "e", "-e", "f", "--schema", "s", "-s", "t"},
			want: Command{Paths: []string{"dir"}, RequiredResources: []string{"e", "f"}, RequiredSchemas: []string{"s", "t"}, Output: "yaml", Timeout: time.Minute},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Command{}
			p, err := kong.New(&got)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRenderTimeout: a step that does not end is an error, not an empty result.
func TestRenderTimeout(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	fn := &fakeFunction{script: func(int, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	c := Command{Paths: []string{functiontest.Folder(t, nil)}}
	err := c.RunWith(ctx, terminal.Disk(nil), fn.RunFunction, io.Discard, io.Discard)
	const want = `cannot run pipeline step "export": it needs longer than allowed: set a longer --timeout`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
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
