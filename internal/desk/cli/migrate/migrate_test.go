package migrate

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/render"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// migrateComposition has connection details of function-patch-and-transform.
const migrateComposition = `apiVersion: apiextensions.crossplane.io/v1
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
      resources:
      - name: db
        base: {apiVersion: example.org/v1, kind: Database}
        connectionDetails:
        - {name: pass, type: FromConnectionSecretKey, fromConnectionSecretKey: password}
        - {name: kind, type: FromFieldPath, fromFieldPath: kind}
        - {name: port, type: FromValue, value: "5432"}
`

// templates is a Composition with a template of function-go-templating.
const templates = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: apps}
spec:
  mode: Pipeline
  pipeline:
  - step: render
    input: {apiVersion: gotemplating.fn.crossplane.io/v1beta1, kind: GoTemplate, source: %s, inline: {template: "%s"}}
`

func migratedFile(t *testing.T, c Command, stdin io.Reader) (stdout, stderr, failure string) {
	t.Helper()
	var out, errs bytes.Buffer
	if err := c.RunWith(t.Context(), terminal.Disk(stdin), &out, &errs); err != nil {
		failure = err.Error()
	}
	return out.String(), errs.String(), failure
}

func TestMigrate(t *testing.T) {
	const canary = "canary"
	dir := t.TempDir()
	t.Chdir(dir)
	files := functiontest.Files{
		"composition.yaml": migrateComposition,
		"two.yaml":         "kind: ConfigMap\napiVersion: v1\n---\n" + migrateComposition,
		"list.yaml": "apiVersion: v1\nkind: List\nitems:\n- " +
			strings.ReplaceAll(strings.TrimSpace(migrateComposition), "\n", "\n  ") +
			"\n- {apiVersion: v1, kind: Secret, stringData: {a: canary}}\n",
		"secret.yaml": "{apiVersion: v1, kind: Secret, stringData: {a: canary}}",
		"items.yaml": "apiVersion: v1\nkind: List\nitems:\n- {kind: A}\n- apiVersion: external-secrets.io/v1\n  " +
			"kind: ExternalSecret\n  metadata: {name: e}\n  spec: {data: [{secretKey: a, remoteRef: {property: canary}}]}\n",
		"object.yaml": fmt.Sprintf(templates, "Inline",
			`kind: Object\nspec:\n  manifest:\n    kind: Secret\n    stringData: {a: canary}`),
		"elsewhere.yaml": fmt.Sprintf(templates, "FileSystem", ""),
		"bad.yaml":       "a: [\ncanary",
		"fault.yaml":     "\n\n" + strings.Replace(migrateComposition, "type: FromValue", "type: canary", 1),
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const (
		step    = "\n- step: export-values"
		nothing = "nothing to migrate: neither a Composition with connectionDetails or with a Secret in a template, " +
			"nor an ExternalSecret, nor a resource of Azure Service Operator with operatorSpec"
		elsewhere = "step render has its templates elsewhere (source FileSystem), and only inline templates are read; "
		inObject  = "step render composes a Secret that is not translated: it is a part of another object, which " +
			"writes it: remove that part; each part needs a decision: the comments say why"
	)
	for name, c := range map[string]struct {
		reason  string
		paths   []string
		stdin   string
		steps   int
		head    string
		stderr  string
		failure string
	}{
		"Stdin": {
			paths: []string{"-"}, stdin: migrateComposition, steps: 1,
			head:   "# From Composition apps (-:1).\n",
			stderr: "-: 1 step; 3 decisions are left to you\n",
		},
		"Several": {
			reason: "each document is named by its line, its step by a name of its own, and others are counted",
			paths:  []string{"two.yaml", "composition.yaml"}, steps: 2,
			head:   "# From Composition apps (two.yaml:4).\n",
			stderr: "two.yaml, composition.yaml: 2 steps; 6 decisions are left to you\n",
		},
		"List": {
			reason: "kubectl prints several objects as one",
			paths:  []string{"list.yaml"}, steps: 1,
			head:   "# From Composition apps (list.yaml:1: items[0]).\n",
			stderr: "list.yaml: 1 step; 3 decisions are left to you\n",
		},
		"Nothing": {
			reason:  "the reason is a line, and the exit code is 1",
			paths:   []string{"secret.yaml"},
			stderr:  "cannot migrate secret.yaml: " + nothing + "\n",
			failure: nothing,
		},
		"Elsewhere": {
			reason:  "templates that are not in the Composition",
			paths:   []string{"elsewhere.yaml"},
			stderr:  "cannot migrate elsewhere.yaml: " + elsewhere + nothing + "\n",
			failure: elsewhere + nothing,
		},
		"NoStep": {
			reason: "what is printed is a comment as a whole",
			paths:  []string{"object.yaml"},
			head:   "# From Composition apps (object.yaml:1).\n",
			stderr: "cannot migrate object.yaml: " + inObject + "\n", failure: inObject,
		},
		"NoYAML": {
			paths: []string{"bad.yaml"},
			failure: "bad.yaml:2:7: not valid YAML: no comma before this: write one after the value or the item " +
				"above, close the bracket above, or put the whole value in quotes",
		},
		"Fault": {
			reason: "a single fault is the error",
			paths:  []string{"fault.yaml"},
			failure: "cannot migrate fault.yaml: fault.yaml:3: " +
				"spec.pipeline[0].input.resources[0].connectionDetails[2].type: must be FromConnectionSecretKey, " +
				"FromFieldPath or FromValue",
		},
		"FaultInList": {
			reason:  "the place of an item of a List",
			paths:   []string{"items.yaml"},
			failure: "cannot migrate items.yaml: items.yaml:1: items[1]: spec.data[0].remoteRef.key: must be set",
		},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, failure := migratedFile(t, Command{Paths: c.paths}, strings.NewReader(c.stdin))
			if diff := cmp.Diff(c.stderr, stderr); diff != "" {
				t.Errorf("%s\nstderr: -want, +got:\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.failure, failure); diff != "" {
				t.Errorf("%s\nerror: -want, +got:\n%s", c.reason, diff)
			}
			if got := strings.Count(stdout, step); got != c.steps || !strings.HasPrefix(stdout, c.head) {
				t.Errorf("%s\nwant %d steps below %q:\n%s", c.reason, c.steps, c.head, stdout)
			}
			if strings.Contains(stderr+failure, canary) {
				t.Error("a value is out")
			}
		})
	}
}

// The printed step works in the pipeline without changes, and the real function exports the same
// connection details.
func TestMigrateAndRender(t *testing.T) {
	stdout, _, failure := migratedFile(t, Command{Paths: []string{"-"}}, strings.NewReader(migrateComposition))
	if failure != "" {
		t.Fatal(failure)
	}
	steps := regexp.MustCompile(`(?m)^`).ReplaceAllString(strings.TrimSuffix(stdout, "\n"), "  ")
	dir := functiontest.Folder(t, functiontest.Files{
		"composition.yaml": migrateComposition + steps + "\n",
		"observed.yaml":    functiontest.Database + "spec: {writeConnectionSecretToRef: {name: conn}}\n",
		"required.yaml":    functiontest.DatabaseSecret + "stringData: {password: hunter2}\n",
	})
	engine, err := pipeline.NewEngine()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	c := render.Command{Paths: []string{dir}, ShowSecrets: true}
	if err := c.RunWith(t.Context(), terminal.Disk(nil), engine, &out, &errs); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	_, secret, _ := strings.Cut(out.String(), "---\napiVersion: v1\n")
	const want = `data:
  kind: RGF0YWJhc2U=
  pass: aHVudGVyMg==
  port: NTQzMg==
kind: Secret
metadata:
  annotations:
    crossplane.io/composition-resource-name: connection
    export.fn.crossplane.io/revision: "1"
  name: demo-connection
  namespace: default
type: Opaque
`
	if diff := cmp.Diff(want, secret); diff != "" {
		t.Errorf("-want, +got:\n%s\n%s", diff, errs.String())
	}
}
