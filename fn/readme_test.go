package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/cli/check"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/plan"
)

// Each input in the README compiles.
func TestReadmeInputs(t *testing.T) {
	env, err := expression.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(functiontest.README(t), -1)
	if len(blocks) < 5 {
		t.Fatalf("want at least 5 inputs, got %d", len(blocks))
	}
	for _, b := range blocks {
		text := b[1]
		if strings.Contains("\n"+text, "\n- step:") { // a whole step
			var steps []struct {
				Input map[string]any `json:"input"`
			}
			if err := yaml.Unmarshal([]byte(text), &steps); err != nil {
				t.Fatal(err)
			}
			step, err := yaml.Marshal(steps[0].Input)
			if err != nil {
				t.Fatal(err)
			}
			text = string(step)
		}
		if !strings.Contains(text, "kind: Exports") {
			continue // an object: see TestReadmeTenants
		}
		j, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		input := &structpb.Struct{}
		if err := protojson.Unmarshal(j, input); err != nil {
			t.Fatal(err)
		}
		if _, faults := plan.Compile(context.Background(), env, input); len(faults) > 0 {
			t.Errorf("%v:\n%s", faults, text)
		}
	}
}

// What the README has an author of a composite write is exported.
func TestReadmeTenants(t *testing.T) {
	parts := regexp.MustCompile("(?s)```yaml\n([^`]*fromComposite:[^`]*)```\\s+```yaml\n([^`]*)```").FindStringSubmatch(functiontest.README(t))
	if parts == nil {
		t.Fatal("the README has no input with fromComposite, and no composite behind it")
	}
	req := functiontest.Request(t, functiontest.ObservedDatabase)
	req.Input, req.Observed.Composite.Resource = functiontest.Parse(t, parts[1]), functiontest.Parse(t, parts[2])
	rsp := functiontest.Reconcile(t, functiontest.New(t), req, nil)
	if c := rsp.GetConditions()[0]; c.GetReason() != "Available" || len(rsp.GetDesired().GetResources()) != 2 {
		t.Errorf("want two objects, got %d: %v", len(rsp.GetDesired().GetResources()), c)
	}
}

// What the README links to, and tells to render, is there.
func TestReadmePaths(t *testing.T) {
	text := functiontest.README(t)
	var paths []string
	for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(text, -1) {
		paths = append(paths, m[1])
	}
	for _, m := range regexp.MustCompile(`go run \./fn render (example/\S+)`).FindAllStringSubmatch(text, -1) {
		paths = append(paths, m[1])
	}
	if len(paths) < 10 {
		t.Fatalf("want at least 10 paths, got %v", paths)
	}
	for _, p := range paths {
		if _, err := os.Stat(filepath.Join("..", p)); err != nil {
			t.Error(err)
		}
	}
	// A heading that is linked to exists.
	for _, m := range regexp.MustCompile(`\]\(#([^)]+)\)`).FindAllStringSubmatch(text, -1) {
		found := false
		for _, h := range regexp.MustCompile(`(?m)^##+ (.*)$`).FindAllStringSubmatch(text, -1) {
			anchor := strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")
			found = found || anchor == m[1]
		}
		if !found {
			t.Errorf("no heading #%s", m[1])
		}
	}
}

// What the README shows of check is what the command prints.
func TestReadmeCheck(t *testing.T) {
	const shown = "$ fn check fn/testdata/check --connection-keys db=username,password\n"
	_, after, ok := strings.Cut(functiontest.README(t), shown)
	if !ok {
		t.Fatal("the README does not show it")
	}
	want, _, _ := strings.Cut(after, "```")
	t.Chdir("..")
	cmd := check.Command{Paths: []string{"fn/testdata/check"}, ConnectionKeys: map[string]string{"db": "username,password"}}
	var got strings.Builder
	if err := cmd.RunWith(t.Context(), strings.NewReader(""), &got, io.Discard); err == nil {
		t.Error("want the faults in the exit code")
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// CI starts with the test command of the README, before it builds or installs anything.
func TestReadmeTestCommand(t *testing.T) {
	shown := regexp.MustCompile("(?m)^```shell\n(go test .*)\n```$").FindStringSubmatch(functiontest.README(t))
	if shown == nil {
		t.Fatal("the README has no code block with a test command alone")
	}
	ci, err := os.ReadFile("../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	first := regexp.MustCompile(`(?m)^\s*(go|apt-get) .*$`).FindString(string(ci))
	if diff := cmp.Diff(shown[1], first); diff != "" {
		t.Errorf("-README, +first command of .ci/run:\n%s", diff)
	}
	before, _, _ := strings.Cut(string(ci), first)
	if !strings.Contains(before, `XDG_CACHE_HOME="$(mktemp -d)"`) {
		t.Error("want the programs in an empty cache before the first command of .ci/run")
	}
}
