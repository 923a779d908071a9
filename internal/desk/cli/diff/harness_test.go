package diff

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	rehearsal "github.com/crossplane-contrib/function-export/internal/desk/diff"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
)

// began is when the composites of the tests were composed, and now is when a change is rehearsed.
var (
	began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now   = began.Add(48 * time.Hour)
)

// base is a Composition with a database, and with the input of this function.
const base = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: postgresql}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: PostgreSQL}
  mode: Pipeline
  pipeline:
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
`

// input is what the composites of most tests use.
const input = `
generators:
- name: admin
  password: {length: 24}
  refreshPolicy: OnChange
  gracePeriod: 24h
secrets:
- name: url
  from: db
  data:
  - {key: DATABASE_URL, value: "'postgres://' + secret.username + ':' + generated.admin.password + '@' + resource.status.endpoint"}
  - {key: host, value: resource.status.endpoint}
- name: conn
  from: db
  data: [{key: user, value: secret.username}]
status:
- {fieldPath: endpoint, value: resources.db.status.endpoint}
`

// composed returns the pipeline with an input.
func composed(input string) string {
	return base + strings.ReplaceAll(strings.TrimRight(input, "\n"), "\n", "\n      ") + "\n"
}

// marked is in each value that is secret, and at each place where a copy of one may be.
const marked = "hunter2"

// instance is a composite with its database, as a cluster has it before this function composes something.
func instance(namespace, name string) string {
	return strings.NewReplacer("NAMESPACE", namespace, "NAME", name, "MARK", marked).Replace(`
apiVersion: example.org/v1
kind: PostgreSQL
metadata:
  namespace: NAMESPACE
  name: NAME
  uid: xr-NAMESPACE-NAME
  resourceVersion: "1"
spec:
  crossplane:
    compositionRef: {name: postgresql}
    resourceRefs: [{apiVersion: db.example.org/v1, kind: Instance, name: NAME-db}]
status: {note: MARK-status}
---
apiVersion: db.example.org/v1
kind: Instance
metadata:
  namespace: NAMESPACE
  name: NAME-db
  uid: db-NAMESPACE-NAME
  resourceVersion: "1"
  annotations:
    crossplane.io/composition-resource-name: db
    kubectl.kubernetes.io/last-applied-configuration: '{"spec":{"password":"MARK-applied"}}'
  ownerReferences: [{apiVersion: example.org/v1, kind: PostgreSQL, name: NAME, uid: xr-NAMESPACE-NAME,
    controller: true}]
spec: {size: 1, writeConnectionSecretToRef: {name: NAME-db}}
status: {endpoint: NAME.example.org, nested: '{"password":"MARK-json"}'}
---
apiVersion: v1
kind: Secret
metadata:
  namespace: NAMESPACE
  name: NAME-db
  uid: secret-NAMESPACE-NAME
  resourceVersion: "1"
  ownerReferences: [{apiVersion: db.example.org/v1, kind: Instance, name: NAME-db, uid: db-NAMESPACE-NAME,
    controller: true}]
stringData: {username: MARK-user-NAME, password: MARK-pass-NAME}
---
`)
}

// cluster plays a Composition until nothing changes for each composite of a state, and returns all objects as
// kubectl get -o yaml prints them.
func cluster(t testing.TB, composition string, objects ...string) string {
	t.Helper()
	all := state.New()
	if _, err := all.Read("objects", strings.Join(objects, "---\n")); err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.Unmarshal([]byte(composition), &object); err != nil {
		t.Fatal(err)
	}
	p, err := rehearsal.NewPipeline(object)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := pipeline.NewEngine()
	if err != nil {
		t.Fatal(err)
	}
	run := &rehearsal.Rehearsal{State: all, Engine: engine, Now: began}
	out := map[string]*structpb.Struct{}
	for _, c := range all.Composites(object) {
		end, err := run.Play(t.Context(), c, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if fatal := world.FatalOf(end.Response); fatal != "" {
			t.Fatal(fatal)
		}
		world.List(end.XR, end.Listed)
		maps.Copy(out, end.Stored)
		out[world.KeyOf(end.XR)] = end.XR
	}
	items := []any{object}
	for _, key := range slices.Sorted(maps.Keys(out)) {
		o := out[key].AsMap()
		delete(o["metadata"].(map[string]any), "managedFields")
		items = append(items, o)
	}
	for _, o := range append(all.OfKind("", "Secret"), all.OfKind("apiextensions.crossplane.io", "EnvironmentConfig")...) {
		if key := strings.Join([]string{o.APIVersion, o.Kind, o.Namespace, o.Name}, "|"); out[key] == nil {
			items = append(items, o.Map())
		}
	}
	b, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items, "metadata": map[string]any{
		"resourceVersion": ""}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// run runs the command with a changed Composition and a state, and returns its output and its exit code.
func run(t testing.TB, c Command, composition, state string) (string, int) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"composition.yaml": composition, "dump.yaml": state} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	c.Compositions, c.Place.At = []string{"composition.yaml"}, now
	if !c.Cluster {
		c.From = []string{"dump.yaml"}
	}
	engine, err := pipeline.NewEngine()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = c.Run(context.Background(), &kong.Kong{Stdout: &out, Stderr: &out}, terminal.Disk(nil), engine)
	code, known := terminal.ExitCode(err)
	if err != nil && !known {
		fmt.Fprintln(&out, "error:", err)
		code = terminal.ExitUnread
	}
	return out.String(), code
}
