package why

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/diff"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
)

// began is when the composites were composed, and now is when the command answers.
var (
	began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now   = began.Add(48 * time.Hour)
)

// mark is in each value that is secret.
const mark = "hunter2"

const composition = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: apps}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: App}
  mode: Pipeline
  pipeline:
  - step: environment
    functionRef: {name: function-environment-configs}
    input:
      apiVersion: environmentconfigs.fn.crossplane.io/v1beta1
      kind: Input
      spec: {environmentConfigs: [{type: Reference, ref: {name: platform}}]}
  - step: resources
    functionRef: {name: function-patch-and-transform}
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
      resources:
      - {name: db, base: {apiVersion: db.example.org/v1, kind: Instance, spec: {size: 1}}}
  - step: exports
    functionRef: {name: function-export}
    input:
      apiVersion: export.fn.crossplane.io/v1beta1
      kind: Exports
      generators:
      - {name: admin, password: {}, refreshPolicy: Periodic, refreshInterval: 240h, gracePeriod: 24h}
      - {name: id, uuid: {}}
      secrets:
      - name: conn
        from: db
        data:
        - {key: url, value: "'postgres://' + secret.username + '@' + resource.status.endpoint"}
        - {key: password, value: secret.password}
      - {name: admin, data: [{key: password, value: generated.admin.password}, {key: id, value: generated.id.uuid}]}
      configMaps:
      - {name: settings, data: [{key: region, value: composite.spec.region}]}
`

const objects = `
apiVersion: example.org/v1
kind: App
metadata: {namespace: team-a, name: orders, uid: xr, resourceVersion: "1"}
spec:
  region: eu
  crossplane: {compositionRef: {name: apps}, resourceRefs: [{apiVersion: db.example.org/v1, kind: Instance,
    name: orders-db}]}
status:
  note: hunter2
  conditions:
  - {type: Synced, status: "True", reason: ReconcileSuccess, lastTransitionTime: "2026-01-01T00:00:00Z"}
  - type: ExportsReady
    status: "False"
    reason: Held
    lastTransitionTime: "2026-01-02T00:00:00Z"
    message: 'Secret "conn" (team-a/orders-conn) is kept unchanged: key "password" waits for secrets.db.password (Instance orders-db is ready, and has only the key username: select another key); see: kubectl describe instance.db.example.org orders-db --namespace team-a'
---
apiVersion: db.example.org/v1
kind: Instance
metadata:
  namespace: team-a
  name: orders-db
  uid: db
  resourceVersion: "1"
  annotations: {crossplane.io/composition-resource-name: db, copy: hunter2}
  ownerReferences: [{apiVersion: example.org/v1, kind: App, name: orders, uid: xr, controller: true}]
spec: {size: 1, writeConnectionSecretToRef: {name: orders-db}}
status:
  endpoint: db.example.org
  note: hunter2
  conditions: [{type: Ready, status: "True", reason: Available, lastTransitionTime: "2026-01-01T00:00:00Z"}]
---
apiVersion: v1
kind: Secret
metadata:
  namespace: team-a
  name: orders-db
  uid: secret
  resourceVersion: "1"
  ownerReferences: [{apiVersion: db.example.org/v1, kind: Instance, name: orders-db, uid: db, controller: true}]
stringData: {username: hunter2-user, password: hunter2-pass}
---
{apiVersion: apiextensions.crossplane.io/v1beta1, kind: EnvironmentConfig, metadata: {name: platform, uid: platform,
  resourceVersion: "1"}, data: {stage: dev}}
`

// dump returns the state of a cluster in which the composite has settled, as kubectl get -o yaml prints it.
func dump(t *testing.T) string {
	t.Helper()

	all := state.New()
	if _, err := all.Read("objects", objects+"---\n"+composition); err != nil {
		t.Fatal(err)
	}

	engine, err := pipeline.NewEngine()
	if err != nil {
		t.Fatal(err)
	}

	c := all.AllComposites()[0]

	p, err := diff.NewPipeline(c.InUse)
	if err != nil {
		t.Fatal(err)
	}

	end, err := (&diff.Rehearsal{State: all, Engine: engine, Now: began}).Play(t.Context(), c, p, nil)
	if err != nil || world.FatalOf(end.Response) != "" {
		t.Fatal(err, world.FatalOf(end.Response))
	}

	world.List(end.XR, end.Listed)

	stored := maps.Clone(end.Stored)
	stored[world.KeyOf(end.XR)] = end.XR

	items := []any{c.InUse}
	for _, key := range slices.Sorted(maps.Keys(stored)) {
		o := stored[key].AsMap()
		delete(o["metadata"].(map[string]any), "managedFields")
		items = append(items, o)
	}

	b, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		t.Fatal(err)
	}

	return string(b)
}

// run runs the command with a state, and returns its output and its exit code.
func run(t *testing.T, dump string, c Command) (string, int) {
	t.Helper()

	file := filepath.Join(t.TempDir(), "dump.yaml")
	if err := os.WriteFile(file, []byte(dump), 0o600); err != nil {
		t.Fatal(err)
	}

	c.From, c.At, c.Composite = []string{file}, now, "team-a/orders"

	var out bytes.Buffer

	engine, err := pipeline.NewEngine()
	if err != nil {
		t.Fatal(err)
	}

	err = c.Run(context.Background(), &kong.Kong{Stdout: &out}, terminal.Disk(nil), engine)
	code, known := terminal.ExitCode(err)

	if err != nil && !known {
		t.Fatal(err)
	}

	return out.String(), code
}

func TestWhy(t *testing.T) {
	without := func(line string) func(string) string {
		return func(dump string) string {
			if !strings.Contains(dump, line) {
				t.Fatalf("the dump has no %q", line)
			}

			i := strings.LastIndex(dump, line)

			return dump[:i] + dump[i+len(line):]
		}
	}
	cases := map[string]struct {
		reason string
		change func(dump string) string
		want   []string
		code   int
	}{
		"Available": {
			"each credential has an age, and rotates with time or not", without(""),
			[]string{
				"\n  generation 1 is in use: Secret orders-admin-1, created at 2026-01-01T00:00:00Z (2d ago)\n  next rotation at " +
					"2026-01-11T00:00:00Z (in 8d)\n",
				"\n  time alone does not rotate it in the next 400 days\n",
			}, 0,
		},
		"Key": {
			"the condition says since when the provider does not write a key", without("    password: aHVudGVyMi1wYXNz\n"),
			[]string{
				"\n  Held since 2026-01-02T00:00:00Z (24h ago)\n",
				"\n    reads secrets.db.username, secret\n",
				"\n    waits for secrets.db.password, secret, MISSING: Instance orders-db is ready, and has only the key " +
					"username: select another key\n",
				"\n  who must act: the author of the Composition\n  see: kubectl describe instance.db.example.org orders-db " +
					"--namespace team-a\n",
			}, 1,
		},
		"NotReady": {
			"an Instance that is not ready may still write it", func(s string) string {
				return strings.Replace(without("    endpoint: db.example.org\n")(s), "reason: Available\n      status: \"True\"",
					"reason: Creating\n      status: \"False\"", 1)
			},
			[]string{"who must act: the provider of Instance orders-db\n"}, 1,
		},
		"Field": {
			"the composite author removed a field", func(s string) string {
				return strings.Replace(s, "    region: eu\n", "", 1)
			},
			[]string{"\n  Held\n  ConfigMap \"settings\"", "who must act: the author of the composite\n"}, 1,
		},
		"Refused": {
			"the input does not compile", func(s string) string {
				return strings.Replace(s, "value: secret.password", "value: secret.pass word", 1)
			},
			[]string{"\n  InvalidInput\n  invalid input: ", "\n  who must act: the author of the Composition\n"}, 1,
		},
		"Owner": {
			"a former composite controls what was exported", func(s string) string {
				return strings.ReplaceAll(s, "      uid: xr\n", "      uid: other\n")
			},
			[]string{"\n  Conflict\n", "who must act: the author of the Composition, or the owner of the other object\n"}, 1,
		},
		"Secrets": {
			"if Secrets are left out, the condition has what the function said", func(s string) string {
				return regexp.MustCompile(`(?m)^- apiVersion: v1\n(  .*\n)*?  kind: Secret\n(  .*\n)*`).ReplaceAllString(s, "")
			},
			[]string{
				"Held, Secret \"conn\" (team-a/orders-conn) is kept unchanged",
				"Secret \"conn\" (secrets[0]), which is team-a/orders-conn\n  Unknown\n",
				"the next rotation cannot be known without its Secrets",
			}, 1,
		},
	}
	whole := dump(t)

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, code := run(t, tc.change(whole), Command{})
			if code != tc.code {
				t.Errorf("%s: exit code %d, want %d", tc.reason, code, tc.code)
			}

			for _, text := range tc.want {
				if !strings.Contains(got, text) {
					t.Errorf("%s: the output has no %q:\n%s", tc.reason, text, got)
				}
			}

			if strings.Contains(got, mark) {
				t.Error("the output has a value of a Secret")
			}
		})
	}
}
