package check

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/rules"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// standardPipeline begins the Composition of an example that is an input, and standardXRD defines its composite.
const (
	standardHead = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: app}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: App}
  mode: Pipeline
  pipeline:
`
	standardPipeline = `- step: compose
  functionRef: {name: function-patch-and-transform}
  input:
    apiVersion: pt.fn.crossplane.io/v1beta1
    kind: Resources
    resources:
    - name: db
      base:
        apiVersion: rds.aws.upbound.io/v1beta1
        kind: Instance
        spec: {forProvider: {port: 5432, publiclyAccessible: false}}
    - {name: cluster, base: {apiVersion: rds.aws.upbound.io/v1beta1, kind: Cluster}}
    - {name: cache, base: {apiVersion: elasticache.aws.upbound.io/v1beta1, kind: ReplicationGroup}}
    - {name: bucket, base: {apiVersion: s3.aws.upbound.io/v1beta1, kind: Bucket}}
    - {name: sql, base: {apiVersion: sql.gcp.upbound.io/v1beta1, kind: DatabaseInstance}}
    - {name: role, base: {apiVersion: postgresql.sql.crossplane.io/v1alpha1, kind: Role}}
    - {name: gke, base: {apiVersion: container.gcp.upbound.io/v1beta1, kind: Cluster}}
    - {name: key, base: {apiVersion: iam.aws.upbound.io/v1beta1, kind: AccessKey}}
- step: export
  functionRef: {name: function-export}
  input:
    apiVersion: export.fn.crossplane.io/v1beta1
    kind: Exports
`
	standardXRD = `---
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: apps.example.org}
spec:
  group: example.org
  names: {kind: App, plural: apps}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [users, size, hosts]
            properties:
              mode: {type: string}
              size: {type: string}
              port: {type: integer, default: 5432}
              host: {type: string, default: localhost}
              hosts: {type: array, items: {type: string}}
              zones: {type: array, items: {type: string}}
              users: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
              network: {type: object, properties: {cidr: {type: string}, vlan: {type: integer}}}
          status:
            type: object
            properties: {endpoint: {type: string}, port: {type: integer}}
`
)

// An example is a diff from an input with a mistake to the same input without it. Its lines that begin with ! are the
// messages about the mistake.
type example struct {
	name, diff   string
	wrong, right string
	messages     []string
}

// readExamples reads the examples in a file.
func readExamples(t *testing.T, name string) (archive *txtar.Archive, out []example) {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		e := example{name: f.Name}
		for line := range strings.Lines(string(f.Data)) {
			switch kind, rest := line[:1], line[1:]; kind {
			case "!":
				e.messages = append(e.messages, strings.TrimSpace(rest))
				continue
			case "-":
				e.wrong += rest
			case "+":
				e.right += rest
			default:
				e.wrong, e.right = e.wrong+rest, e.right+rest
			}
			e.diff += line
		}
		out = append(out, e)
	}
	return archive, out
}

// wrapped returns the Composition of an input or a pipeline, and what follows it after a line ---.
func wrapped(text string) string {
	body, rest, _ := strings.Cut(text, "---\n")
	if !strings.HasPrefix(body, "- step:") {
		body = standardPipeline + regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(body, "    $1")
	}
	return standardHead + regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(body, "  $1") + standardXRD + "---\n" + rest
}

// checked returns the diagnostics about a text, without their positions.
func checkedText(t *testing.T, text string) []string {
	t.Helper()
	r, err := (&Command{Paths: []string{"-"}}).check(context.Background(),
		terminal.Disk(strings.NewReader(wrapped(text))))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range r.Diagnostics {
		out = append(out, fmt.Sprintf("%s: %s [%s]", d.Field, d.Message, d.Rule))
	}
	return out
}

// Each rule finds the mistake of its example, and nothing else. Without the mistake nothing is found.
func TestRules(t *testing.T) {
	_, all := readExamples(t, "rules.txtar")
	var names []string
	for _, e := range all {
		names = append(names, e.name)
		t.Run(e.name, func(t *testing.T) {
			wrong := checkedText(t, e.wrong)
			if len(wrong) == 0 || slices.ContainsFunc(wrong, func(d string) bool {
				return !strings.HasSuffix(d,
					"["+e.name+"]")
			}) {
				t.Errorf("want only this rule, got %q", wrong)
			}
			if right := checkedText(t, e.right); len(right) > 0 {
				t.Errorf("want nothing about the example without the mistake, got %q", right)
			}
		})
	}
	if diff := cmp.Diff(rules.Names(), names); diff != "" {
		t.Errorf("examples: -rules, +got:\n%s", diff)
	}
}

// The page of the rules has each rule with its example.
func TestPageOfRules(t *testing.T) {
	_, all := readExamples(t, "rules.txtar")
	var b strings.Builder
	b.WriteString(`# Rules

After this page, you know the mistakes that [` + "`function-export check`" + `](README.md#check) finds in inputs that
compile. The name of a rule is printed after the message. A rule without a level is a warning;
[Settings](README.md#settings) change it. In each example, the lines with ` + "`-`" + ` are wrong. An example that is
not a pipeline is the input of a step after one that composes ` + "`db`, an Instance of `rds.aws.upbound.io`.\n")
	for i, r := range rules.All() {
		level := ""
		if r.Level == rules.Error {
			level = " Level: error."
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s%s\n\n```diff\n%s```\n", r.Name, r.Text, level, all[i].diff)
	}
	path := filepath.Join("..", "..", "..", "..", "fn", "RULES.md")
	if *functiontest.UpdateGolden {
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(page)); diff != "" {
		t.Errorf("run with -update: -want, +page:\n%s", diff)
	}
}

// leastWild is the least number of mistakes from the wild.
const leastWild = 100

// Each mistake that people made in public has messages that say what is wrong, where, and what to write instead.
// Without the mistake nothing is found. With -update, the messages are written: read them.
func TestWild(t *testing.T) {
	archive, all := readExamples(t, "wild.txtar")
	sources := map[string]bool{}
	for i, e := range all {
		kind, source, _ := strings.Cut(e.name, " ")
		sources[source] = true
		t.Run(kind+"/"+strings.TrimPrefix(source, "https://github.com/"), func(t *testing.T) {
			got := checkedText(t, e.wrong)
			if *functiontest.UpdateGolden {
				archive.Files[i].Data = []byte(e.diff + "! " + strings.Join(got, "\n! ") + "\n")
			} else if diff := cmp.Diff(e.messages, got); diff != "" || len(got) == 0 {
				t.Errorf("-want, +got:\n%s", diff)
			}
			if right := checkedText(t, e.right); len(right) > 0 {
				t.Errorf("want nothing about the corrected input, got %q", right)
			}
		})
	}
	if *functiontest.UpdateGolden {
		if err := os.WriteFile(filepath.Join("testdata", "wild.txtar"), txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if len(sources) < leastWild {
		t.Errorf("want %d mistakes with different sources, got %d", leastWild, len(sources))
	}
}
