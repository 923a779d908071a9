package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// environmentKey is where steps find and leave the environment in the context.
const environmentKey = "apiextensions.crossplane.io/environment"

// exportFunction is the name of this function in a pipeline.
const exportFunction = "function-export"

// composition has a place for steps.
const composition = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: app}
spec:
  compositeTypeRef: {apiVersion: example.org/v1alpha1, kind: App}
  mode: Pipeline
  pipeline:
`

const app = `
apiVersion: example.org/v1alpha1
kind: App
metadata: {namespace: default, name: storefront}
spec: {stage: prod}
`

// TestRenderEnvironment runs what no example can show through the real Crossplane.
func TestRenderEnvironment(t *testing.T) {
	p := PeersForTest(t)
	address, _ := serveFunction(t, buildFunction(t))

	t.Run("ForLaterSteps", func(t *testing.T) { environmentForLaterSteps(t, p, address) })
	t.Run("MissingEnvironmentConfig", func(t *testing.T) { missingEnvironmentConfig(t, p, address) })
	t.Run("Moved", func(t *testing.T) { movedEnvironment(t, p, address) })
}

// Steps after the one that finds and sets the environment see it with the changes of the step
// before: in a name, in the labels of a selector, and for further changes. Fields are set once,
// although Crossplane calls a step again with its requirements and passes it the context that it
// returned itself.
func environmentForLaterSteps(t *testing.T, p Peers, address string) {
	t.Helper()

	calls := &recorder{address: address}

	dir := writeFiles(t, map[string]string{
		"xr.yaml":          app,
		"environment.yaml": `{apiVersion: internal.crossplane.io/v1alpha1, kind: Environment, count: 41, steps: [before]}`,
		"required.yaml": `
{apiVersion: apiextensions.crossplane.io/v1beta1, kind: EnvironmentConfig, metadata: {name: platform}, data: {name: web-settings, region: eu-west-1}}
---
{apiVersion: apiextensions.crossplane.io/v1beta1, kind: EnvironmentConfig, metadata: {name: europe, labels: {region: eu-west-1}}, data: {account: 1234}}
---
{apiVersion: apiextensions.crossplane.io/v1beta1, kind: EnvironmentConfig, metadata: {name: america, labels: {region: us-east-1}}, data: {account: 5678}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {namespace: platform, name: owners}, data: {web: team-web}}
`,
		"composition.yaml": composition + `
  - step: find
    functionRef: {name: ` + exportFunction + `}
    input:
      apiVersion: export.fn.crossplane.io/v1beta1
      kind: Exports
      environment:
        environmentConfigs: [{ref: {name: platform}}]
        set:
        - {fieldPath: count, value: environment.count + 1}
        - {fieldPath: steps, value: "environment.steps + ['find']"}
  - step: go on
    functionRef: {name: ` + exportFunction + `}
    input:
      apiVersion: export.fn.crossplane.io/v1beta1
      kind: Exports
      environment:
        environmentConfigs:
        - type: Selector
          selector: {matchLabels: [{key: region, type: FromEnvironmentFieldPath, valueFromFieldPath: region}]}
        set:
        - {fieldPath: count, value: environment.count + 10}
        - {fieldPath: steps, value: "environment.steps + ['go on']"}
  - step: with a source
    functionRef: {name: ` + exportFunction + `}
    input:
      apiVersion: export.fn.crossplane.io/v1beta1
      kind: Exports
      environment:
        set:
        - {fieldPath: count, value: environment.count + 100}
        - {fieldPath: owner, value: sources.owners.data.web}
        - {fieldPath: steps, value: "environment.steps + ['with a source']"}
      sources: [{name: owners, apiVersion: v1, kind: ConfigMap, namespace: platform, matchName: owners}]
  - step: export
    functionRef: {name: ` + exportFunction + `}
    input:
      apiVersion: export.fn.crossplane.io/v1beta1
      kind: Exports
      configMaps:
      - name: settings
        metadata: {nameExpression: environment.name}
        data:
        - {key: count, value: string(environment.count)}
        - {key: account, value: string(environment.account)}
`,
	})

	got := render(t, p, renderArgs(t, p, map[string]string{exportFunction: serveRunner(t, calls)}, dir))

	want := map[string]any{
		"apiVersion": "internal.crossplane.io/v1alpha1", "kind": "Environment",
		"name": "web-settings", "region": "eu-west-1", "account": 1234.0, "owner": "team-web",
		"count": 152.0, "steps": []any{"before", "find", "go on", "with a source"},
	}
	if diff := cmp.Diff(want, environmentIn(t, got.context)); diff != "" {
		t.Errorf("the environment in the context: -want, +got:\n%s", diff)
	}

	settings := projected(parseObjects(t, got.stdout), []string{"settings"})["settings"]
	if diff := cmp.Diff(map[string]any{"count": "152", "account": "1234"}, settings["data"]); diff != "" || settings["name"] != "web-settings" {
		t.Errorf("the ConfigMap, here %v: -want, +got:\n%s", settings["name"], diff)
	}

	// A step that is called but once, or has not left an environment before it is
	// called again, proves nothing of the above. The last one has: it reads a source,
	// and no EnvironmentConfig.
	twice := []string{"find", "find", "go on", "go on", "with a source", "with a source"}
	if diff := cmp.Diff(twice, calls.setting("find", "go on", "with a source")); diff != "" {
		t.Errorf("calls of the steps that set something: -want, +got:\n%s", diff)
	}
}

// Of a required EnvironmentConfig that does not exist there is one message, with its
// name, and nothing to apply: here the example that can go without it, had it not
// said so.
func missingEnvironmentConfig(t *testing.T, p Peers, address string) {
	t.Helper()

	files := map[string]string{}
	for _, name := range []string{"xr.yaml", "composition.yaml", "required.yaml"} {
		b, err := os.ReadFile(filepath.Join(example, "environment-configs", name))
		if err != nil {
			t.Fatal(err)
		}

		files[name] = string(b)
	}

	const resolution = "resolution: "

	strict := strings.Replace(files["composition.yaml"], resolution+"Optional", resolution+"Required", 1)
	if strict == files["composition.yaml"] {
		t.Fatal("the example does not say that it can go without")
	}

	files["composition.yaml"] = strict

	out, err := run(t, p.CLI, renderArgs(t, p, map[string]string{exportFunction: address}, writeFiles(t, files))...)

	exit := &exec.ExitError{}
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("want exit code 1, got %v", err)
	}

	if out.stdout != "" {
		t.Errorf("want nothing to apply, got:\n%s", out.stdout)
	}

	const want = `environment.environmentConfigs[1].ref.name: EnvironmentConfig "experiments" of apiextensions.crossplane.io/v1beta1 does not exist: create it, or set environment.policy.resolution to Optional`
	if !strings.Contains(out.stderr, want) {
		t.Errorf("want %s, got:\n%s", want, out.stderr)
	}
}

// The spec of an input of function-environment-configs is valid under environment without changes.
// These specs are based on its examples.
func movedEnvironment(t *testing.T, p Peers, address string) {
	t.Helper()

	cases := map[string]struct {
		reason  string
		spec    string
		configs []string // all but what they have in common
		want    map[string]any
	}{
		"reference_name": {
			reason:  "One that is named, whole.",
			spec:    `{environmentConfigs: [{type: Reference, ref: {name: base}}]}`,
			configs: []string{`metadata: {name: base}, data: {nested: {one: x, two: {three: v, four: "4"}}}`},
			want:    map[string]any{"nested": map[string]any{"one": "x", "two": map[string]any{"three": "v", "four": "4"}}},
		},
		"match_label_single": {
			reason: "Of two, the one whose label has the value.",
			spec:   `{environmentConfigs: [{type: Selector, selector: {mode: Multiple, matchLabels: [{type: Value, key: tier, value: gold}]}}]}`,
			configs: []string{
				`metadata: {name: a, labels: {tier: silver}}, data: {section: {member: wrong}}`,
				`metadata: {name: b, labels: {tier: gold}}, data: {section: {member: right}}`,
			},
			want: map[string]any{"section": map[string]any{"member": "right"}},
		},
		"match_label_multiple": {
			reason: "All whose label has the value, as one object.",
			spec:   `{environmentConfigs: [{type: Selector, selector: {mode: Multiple, matchLabels: [{type: Value, key: tier, value: gold}]}}]}`,
			configs: []string{
				`metadata: {name: a, labels: {tier: gold}}, data: {section: {one: x, two: {three: v, four: "4"}}}`,
				`metadata: {name: b, labels: {tier: gold}}, data: {section: {five: z, six: {seven: w}}}`,
			},
			want: map[string]any{"section": map[string]any{
				"one": "x", "two": map[string]any{"three": "v", "four": "4"}, "five": "z", "six": map[string]any{"seven": "w"},
			}},
		},
		"kubecon-2024": {
			reason: "One by its name, and over it one by its label.",
			spec: `{environmentConfigs: [{type: Reference, ref: {name: base}},
              {type: Selector, selector: {mode: Single, matchLabels: [{type: Value, key: tier, value: gold}]}}]}`,
			configs: []string{
				`metadata: {name: base}, data: {nested: {one: base, two: base}}`,
				`metadata: {name: a, labels: {tier: gold}}, data: {nested: {two: gold}}`,
			},
			want: map[string]any{"nested": map[string]any{"one": "base", "two": "gold"}},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var required strings.Builder
			for _, c := range tc.configs {
				required.WriteString("---\n{apiVersion: apiextensions.crossplane.io/v1beta1, kind: EnvironmentConfig, " + c + "}\n")
			}

			got := render(t, p, renderArgs(t, p, map[string]string{exportFunction: address}, writeFiles(t, map[string]string{
				"xr.yaml":       app,
				"required.yaml": required.String(),
				"composition.yaml": composition + `
  - step: environment
    functionRef: {name: ` + exportFunction + `}
    input: {apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports, environment: ` + tc.spec + `}
`,
			})))

			tc.want["apiVersion"], tc.want["kind"] = "internal.crossplane.io/v1alpha1", "Environment"
			if diff := cmp.Diff(tc.want, environmentIn(t, got.context)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// writeFiles writes an example whose only function is ours, and returns its folder.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()

	dir := t.TempDir()

	files["functions.yaml"] = `
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata: {name: ` + exportFunction + `}
spec: {package: example.org/` + exportFunction + `:v0.0.0}
`
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	return dir
}

// environmentIn is the environment that the context among the objects has, if any.
func environmentIn(t *testing.T, text string) map[string]any {
	t.Helper()

	return fieldIn(t, text, environmentKey)
}

// fieldIn is a field that the context among the objects has, if any.
func fieldIn(t *testing.T, text, key string) map[string]any {
	t.Helper()

	for _, o := range parseObjects(t, text) {
		if o.GetKind() != "Context" {
			continue
		}

		field, _, err := unstructured.NestedMap(o.Object, "fields", key)
		if err != nil {
			t.Fatal(err)
		}

		return field
	}

	t.Fatalf("there is no context:\n%s", text)

	return nil
}

// A recorder passes calls on to a function, and keeps their requests.
type recorder struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	address string

	mu       sync.Mutex
	requests []*fnv1.RunFunctionRequest
}

func (r *recorder) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	r.mu.Lock()
	r.requests = append(r.requests, proto.CloneOf(req))
	r.mu.Unlock()

	conn, err := grpc.NewClient("passthrough:///"+r.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer conn.Close()

	return fnv1.NewFunctionRunnerServiceClient(conn).RunFunction(ctx, req)
}

// setting returns, for each call in order, which of the words its input sets in the
// environment.
func (r *recorder) setting(words ...string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()

	var out []string

	for _, req := range r.requests {
		for _, word := range words {
			if strings.Contains(req.GetInput().GetFields()["environment"].String(), "'"+word+"'") {
				out = append(out, word)
			}
		}
	}

	return out
}
