// Package render compares fn render with Crossplane's own command.
package render

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/render"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/e2e"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
)

// A recorder keeps what a function is asked.
type recorder struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	fn fnv1.FunctionRunnerServiceServer

	mu       sync.Mutex
	requests []*fnv1.RunFunctionRequest
}

func (r *recorder) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	r.mu.Lock()
	r.requests = append(r.requests, proto.CloneOf(req))
	r.mu.Unlock()
	return r.fn.RunFunction(ctx, req)
}

// A script is a function that answers as it says.
type script struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	answer func(req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error)
}

func (s *script) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	return s.answer(req)
}

// rendered runs our command, and returns what it prints and its error.
func rendered(t *testing.T, c render.Command, fn fnv1.FunctionRunnerServiceServer) (stdout, stderr, failure string) {
	t.Helper()
	var out, errs bytes.Buffer
	engine := func(func() time.Time, io.Reader, func(*reconcile.Result)) world.Function { return fn.RunFunction }
	if err := c.RunWith(t.Context(), terminal.Disk(nil), engine, &out, &errs); err != nil {
		failure = err.Error()
	}
	return out.String(), errs.String(), failure
}

// TestRenderLikeCrossplane: for the same files, render and `crossplane composition render` send the
// same requests to the function and print the same objects, except fields that only Crossplane
// keeps in them.
func TestRenderLikeCrossplane(t *testing.T) {
	peers := e2e.PeersForTest(t)
	type example struct {
		dir string
		fn  fnv1.FunctionRunnerServiceServer
	}
	cases := map[string]example{
		"Selectors": {dir: selectorsExample(t), fn: &script{answer: asksForAll}},
	}
	for _, dir := range functiontest.ExampleDirs(t) {
		cases[strings.TrimPrefix(dir, filepath.Join(functiontest.ModuleRoot(t), "example")+"/")] = example{dir: dir,
			fn: functiontest.ExampleFunction(t, dir)}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := exportStepsOnly(t, tc.dir)
			ours, theirs := &recorder{fn: tc.fn}, &recorder{fn: tc.fn}

			c := render.Command{Paths: []string{dir}, ShowSecrets: true, IncludeContext: true, IncludeFullXR: true}
			stdout, stderr, failure := rendered(t, c, ours)
			if failure != "" && failure != "an export is not ready" {
				t.Fatal(failure, stderr)
			}
			want, theirErrors, err := tryCrossplane(t, peers, dir, theirs)
			if err != nil {
				t.Fatalf("%v: %s", err, theirErrors)
			}

			// This command also reads schemas from XRDs.
			options := cmp.Options{protocmp.Transform(), protocmp.IgnoreFields(&fnv1.Schema{}, "openapi_v3")}
			if diff := cmp.Diff(sameRequests(theirs.requests), sameRequests(ours.requests), options); diff != "" {
				t.Errorf("requests, -crossplane +render:\n%s", diff)
			}
			if diff := cmp.Diff(sameDocs(t, want), sameDocs(t, stdout)); diff != "" {
				t.Errorf("objects, -crossplane +render:\n%s", diff)
			}
		})
	}
}

// TestRenderFlagsOfCrossplane: this command has each flag of Crossplane's command with the same short form. Only -o is
// the output, as in all commands.
func TestRenderFlagsOfCrossplane(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), e2e.PeersForTest(t).CLI, "composition", "render", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(out), "\nFlags:\n")
	theirs := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^ +(?:-(\w), +)?--([-a-z]+)`).FindAllStringSubmatch(list, -1) {
		theirs[m[2]] = m[1]
	}
	parser, err := kong.New(&render.Command{})
	if err != nil {
		t.Fatal(err)
	}
	ours, own := map[string]string{}, []string{}
	for _, f := range parser.Model.Flags {
		for _, name := range f.Aliases {
			ours[name] = theirs[name]
		}
		ours[f.Name] = strings.Trim(string(f.Short), "\x00")
		if _, known := theirs[f.Name]; !known {
			own = append(own, f.Name)
		}
	}
	theirs["observed-resources"] = ""
	for name, short := range theirs {
		if got, ok := ours[name]; !ok || got != short {
			t.Errorf("Crossplane's render has --%s with the short form %q, ours has it: %t, %q", name, short, ok, got)
		}
	}
	if diff := cmp.Diff([]string{"allow-waiting", "at", "output", "show-secrets"}, own); diff != "" {
		t.Errorf("flags that only our render has: -want, +got:\n%s", diff)
	}
}

// parsed returns the value of each document of a text.
func parsed(t *testing.T, text string) []any {
	t.Helper()
	docs, err := document.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var out []any
	for _, d := range docs {
		out = append(out, d.Value())
	}
	return out
}

// environmentKey is where Crossplane's functions keep the environment in the context.
const environmentKey = "apiextensions.crossplane.io/environment"

// required has the objects that asksForAll asks for.
const required = `
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: two, labels: {app: x, tier: web}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: one, labels: {app: x}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: two, labels: {app: y}}
---
apiVersion: example.org/v1
kind: Region
metadata: {name: eu, labels: {app: x}}
---
apiVersion: example.org/v2
kind: Region
metadata: {name: eu2}
`

// selectorsExample has one of every way to ask for a resource.
func selectorsExample(t *testing.T) string {
	t.Helper()
	return functiontest.Folder(t, functiontest.Files{
		"composition.yaml": strings.Replace(functiontest.Composition, "functionRef:", `requirements:
      requiredResources:
      - {requirementName: boot, apiVersion: v1, kind: ConfigMap, matchLabels: {app: x}}
      - {requirementName: gone, apiVersion: v1, kind: ConfigMap, name: gone}
    functionRef:`, 1),
		"observed.yaml": functiontest.Database + `spec:
  {port: 5432, big: 9007199254740993, ratio: 1.5, none: null,
   writeConnectionSecretToRef: {name: conn, namespace: other}}
---
apiVersion: v1
kind: Secret
metadata: {name: own, namespace: default, annotations: {crossplane.io/composition-resource-name: own}}
data: {a: b2xk}
`,
		"required.yaml": required + "---" + functiontest.DatabaseSecret + "data: {password: aHVudGVyMg==}\n",
		// Crossplane's render invents a UID, and this function does the same.
		"xr.yaml":          strings.Replace(functiontest.XR, ", uid: 11111111-1111-1111-1111-111111111111", "", 1),
		"environment.yaml": "{apiVersion: internal.crossplane.io/v1alpha1, kind: Environment, deep: {list: [1, a, null]}}",
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func asksForAll(req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	ns, two := "default", "two"
	name := func(n string) *fnv1.ResourceSelector_MatchName { return &fnv1.ResourceSelector_MatchName{MatchName: n} }
	rsp := &fnv1.RunFunctionResponse{Context: req.GetContext(), Desired: &fnv1.State{},
		Requirements: &fnv1.Requirements{Resources: map[string]*fnv1.ResourceSelector{
			"name":      {ApiVersion: "v1", Kind: "Secret", Namespace: &ns, Match: name("conn")},
			"noNS":      {ApiVersion: "v1", Kind: "Secret", Match: name("conn")},
			"composite": {ApiVersion: "example.org/v1", Kind: "Database", Namespace: &ns, Match: name("demo-db")},
			"cluster":   {ApiVersion: "example.org/v1", Kind: "Region", Match: name("eu")},
			"none":      {ApiVersion: "v1", Kind: "Secret", Namespace: &ns, Match: name("none")},
			"labels": {ApiVersion: "v1", Kind: "ConfigMap",
				Match: &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{
					Labels: map[string]string{"app": "x"},
				}}},
			"all": {ApiVersion: "v1", Kind: "ConfigMap", Namespace: &two},
		}}}
	if len(req.GetRequiredResources()["labels"].GetItems()) == 0 {
		delete(rsp.GetRequirements().GetResources(), "all")
	}
	rsp.Desired.Composite = &fnv1.Resource{Resource: &structpb.Struct{Fields: map[string]*structpb.Value{
		"status": structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			"n": structpb.NewNumberValue(3),
		}}),
	}}}
	return rsp, nil
}

// exportStepsOnly copies an example without the steps of other functions.
func exportStepsOnly(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("cp", "-rL", from+"/.", dir).CombinedOutput(); err != nil {
		t.Fatalf("cannot copy %s: %v: %s", from, err, out)
	}
	file := filepath.Join(dir, "composition.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	composition := parsed(t, string(text))[0].(map[string]any)
	spec := composition["spec"].(map[string]any)
	spec["pipeline"] = slices.DeleteFunc(spec["pipeline"].([]any), func(s any) bool {
		input, _ := s.(map[string]any)["input"].(map[string]any)
		return input["kind"] != "Exports"
	})
	writeYAML(t, file, composition)
	return dir
}

func writeYAML(t *testing.T, file string, v any) {
	t.Helper()
	b, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func tryCrossplane(t *testing.T, peers e2e.Peers, dir string, fn fnv1.FunctionRunnerServiceServer) (stdout,
	stderr string, err error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	fnv1.RegisterFunctionRunnerServiceServer(srv, fn)
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(srv.Stop)

	functions := filepath.Join(t.TempDir(), "functions.yaml")
	writeYAML(t, functions, map[string]any{
		"apiVersion": "pkg.crossplane.io/v1", "kind": "Function",
		"metadata": map[string]any{"name": "function-export", "annotations": map[string]any{
			"render.crossplane.io/runtime":                    "Development",
			"render.crossplane.io/runtime-development-target": l.Addr().String(),
		}},
		"spec": map[string]any{"package": "xpkg.crossplane.io/crossplane-contrib/function-export:v0.0.0"},
	})
	args := []string{"composition", "render", filepath.Join(dir, "xr.yaml"), filepath.Join(dir, "composition.yaml"),
		functions,
		"--crossplane-binary=" + peers.Core, "-c", "-x"}
	for flag, file := range map[string]string{
		"--observed-resources=": "observed.yaml", "--required-resources=": "required.yaml", "--xrd=": "xrd.yaml",
		"--context-files=" + environmentKey + "=": "environment.yaml",
	} {
		if exists(filepath.Join(dir, file)) {
			args = append(args, flag+filepath.Join(dir, file))
		}
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), peers.CLI, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// sameRequests are requests without what only Crossplane's reconciler puts into
// them: the tag, and its bookkeeping on the composite.
func sameRequests(requests []*fnv1.RunFunctionRequest) []*fnv1.RunFunctionRequest {
	var out []*fnv1.RunFunctionRequest
	for _, r := range requests {
		r = proto.CloneOf(r)
		r.Meta.Tag = ""
		withoutBookkeeping(r.GetObserved().GetComposite().GetResource())
		for _, rs := range r.GetRequiredResources() {
			for _, i := range rs.GetItems() {
				withoutBookkeeping(i.GetResource())
			}
		}
		out = append(out, r)
	}
	return out
}

func withoutBookkeeping(s *structpb.Struct) {
	md := s.GetFields()["metadata"].GetStructValue().GetFields()
	delete(md, "resourceVersion")
	for _, k := range []string{"composite", "claim-name", "claim-namespace"} {
		delete(md["labels"].GetStructValue().GetFields(), "crossplane.io/"+k)
	}
	if len(md["labels"].GetStructValue().GetFields()) == 0 {
		delete(md, "labels")
	}
	spec := s.GetFields()["spec"].GetStructValue().GetFields()
	for _, k := range []string{"crossplane", "compositionRef", "resourceRefs"} {
		delete(spec, k)
	}
	status := s.GetFields()["status"].GetStructValue().GetFields()
	delete(status, "conditions")
	exports := s.GetFields()["fields"].GetStructValue().GetFields()["export.fn.crossplane.io/exports"]
	for _, report := range exports.GetStructValue().GetFields() {
		delete(report.GetStructValue().GetFields(), "see") // the command needs the compositionRef
	}
	delete(status, "claimConditionTypes")
	if len(status) == 0 {
		delete(s.GetFields(), "status")
	}
	if len(spec) == 0 {
		delete(s.GetFields(), "spec")
	}
}

// sameDocs are printed objects by kind and name, without what only Crossplane's
// reconciler puts into them, and without the kind that it does not have.
func sameDocs(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, d := range parsed(t, text) {
		s, err := structpb.NewStruct(d.(map[string]any))
		if err != nil {
			t.Fatal(err)
		}
		withoutBookkeeping(s)
		u := &unstructured.Unstructured{Object: s.AsMap()}
		u.SetOwnerReferences(nil)
		u.SetGenerateName("")
		u.SetUID("")
		if u.GetKind() != "ConnectionDetails" {
			out[u.GetKind()+" "+u.GetName()] = u.Object
		}
	}
	return out
}
