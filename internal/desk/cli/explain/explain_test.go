package explain

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// explainedText runs the command on a file.
func explainedText(t testing.TB, file, output string) (stdout, stderr, failure string) {
	t.Helper()
	var out, said bytes.Buffer
	if err := (&Command{Paths: []string{file}, Output: output}).RunWith(t.Context(), terminal.Disk(nil), &out,
		&said); err != nil {
		failure = err.Error()
	}
	return out.String(), said.String(), failure
}

var explainOutputs = map[string]string{"text": ".txt", "json": ".json"}

func TestExplainGolden(t *testing.T) {
	for golden, file := range map[string]string{
		"all.txt":               "testdata/all.yaml",
		"ca-from-a-secret.json": "../../../../example/ca-from-a-secret/composition.yaml",
	} {
		for output, suffix := range explainOutputs {
			if filepath.Ext(golden) != suffix {
				continue
			}
			got, _, failure := explainedText(t, file, output)
			if failure != "" {
				t.Fatal(failure)
			}
			functiontest.CheckGolden(t, filepath.Join("testdata", golden), got)
		}
	}
}

// Each example is explained in each form.
func TestExplainExamples(t *testing.T) {
	files, err := filepath.Glob("../../../../example/*/composition.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("want at least 20 examples, got %v: %v", files, err)
	}
	for _, file := range files {
		for output := range explainOutputs {
			if stdout, stderr, failure := explainedText(t, file, output); failure != "" || stderr != "" || stdout == "" {
				t.Fatalf("%s as %s: %s%s", file, output, stderr, failure)
			}
		}
	}
}

func TestExplainErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		text    string
		stderr  string // FILE is the name of the file
		failure string // and here
	}{
		"Faults": {
			reason: "All faults of the input, and no explanation.",
			text: "apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\nsecrets: [{name: s, data: [{key: a}, " +
				"{key: b}]}]",
			stderr: `FILE:3:28: secrets[0].data[0]: must have value or valueMap
    3 | secrets: [{name: s, data: [{key: a}, {key: b}]}]
      |                            ^
FILE:3:38: secrets[0].data[1]: must have value or valueMap
    3 | secrets: [{name: s, data: [{key: a}, {key: b}]}]
      |                                      ^
function-export: error: cannot explain FILE: 2 errors
`,
			failure: "there are errors",
		},
		"NoInput": {
			reason:  "A file without an input is a mistake.",
			text:    "apiVersion: v1\nkind: ConfigMap\n",
			failure: "cannot find an input of kind Exports in FILE: name the files with the Compositions",
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "input.yaml")
			if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			stdout, stderr, failure := explainedText(t, file, "text")
			want := strings.ReplaceAll(tc.stderr, "FILE", file)
			if diff := cmp.Diff(want, stderr); diff != "" || stdout != "" {
				t.Errorf("%s\nstdout %q\n%s", tc.reason, stdout, diff)
			}
			if diff := cmp.Diff(strings.ReplaceAll(tc.failure, "FILE", file), failure); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
	if _, _, failure := explainedText(t, "none.yaml", "text"); failure != "cannot read none.yaml: no such file or "+
		"directory" {
		t.Error(failure)
	}
}

// sourceInput is an input that reads a source of a kind.
func sourceInput(kind string) string {
	return "{apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports, sources: [{name: a, " +
		"apiVersion: example.org/v1, kind: " + kind + "}], status: [{fieldPath: a, value: sources.a.b}]}"
}

// Kinds that XRDs and CRDs declare, in the file or in other files, are known. Other resource names
// are guesses.
func TestExplainSchemas(t *testing.T) {
	crd := func(kind, plural string) string {
		return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n" +
			"spec: {group: example.org, names: {kind: " + kind + ", plural: " + plural +
			"}, versions: [{name: v1, schema: {openAPIV3Schema: {type: object}}}]}\n"
	}
	for name, tc := range map[string]struct {
		reason  string
		file    string
		schema  string
		want    string
		failure string // DIR is the folder
	}{
		"Known": {"as it is declared", sourceInput("Gizmo"), crd("Gizmo", "gizmoes"), `"gizmoes"] # for sources[0]`,
			""},
		"InTheFile": {"as it is declared", sourceInput("Gizmo") + "\n---\n" + crd("Gizmo", "gizmoes"),
			crd("Other", "others"), `"gizmoes"] # for sources[0]`, ""},
		"Unknown": {"a guess says so", sourceInput("AccessKey"), crd("Gizmo", "gizmoes"),
			`"accesskeys"] # a guess from the kind AccessKey, for sources[0]`, ""},
		"Broken": {"the schemas are asked for", sourceInput("Gizmo"), crd("Gizmo", "4711"), "",
			"DIR/crds/crd.yaml:1: cannot read spec.names.plural: must be a string"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeExplained(t, dir, map[string]string{"input.yaml": tc.file, "crds/crd.yaml": tc.schema})
			var stdout, stderr bytes.Buffer
			failure := ""
			if err := (&Command{Paths: []string{filepath.Join(dir, "input.yaml")},
				Schema: []string{filepath.Join(dir, "crds")}}).RunWith(t.Context(), terminal.Disk(nil), &stdout,
				&stderr); err != nil {
				failure = err.Error()
			}
			if diff := cmp.Diff(strings.ReplaceAll(tc.failure, "DIR", dir), failure); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			if !strings.Contains(stdout.String(), tc.want) {
				t.Errorf("%s: want %s in\n%s", tc.reason, tc.want, stdout.String())
			}
		})
	}
}

func writeExplained(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The role of one step leaves that of another alone, and has a valid name.
func TestExplainRoleNames(t *testing.T) {
	step := func(name string) string { return "{step: " + name + ", input: " + sourceInput("Gizmo") + "}" }
	composition := func(name, steps string) string {
		return "{apiVersion: apiextensions.crossplane.io/v1, kind: Composition, metadata: {name: " + name +
			"}, spec: {pipeline: [" + steps + "]}}"
	}
	for text, want := range map[string][]string{
		composition("app.example.org", step("a")+", "+step("b")): {"-app.example.org-a", "-app.example.org-b"},
		sourceInput("Gizmo"): {""},
		composition(`"\"A_b\nc."`, step(`"Export: it #1"`)): {"-a-b-c-export-it-1"},
	} {
		file := filepath.Join(t.TempDir(), "input.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		text, _, failure := explainedText(t, file, "text")
		var got []string
		name := regexp.MustCompile(`(?m)^    name: function-export-sources(.*)$`)
		for _, m := range name.FindAllStringSubmatch(text, -1) {
			got = append(got, m[1])
		}
		if diff := cmp.Diff(want, got); diff != "" || failure != "" {
			t.Errorf("%s\n%s", failure, diff)
		}
	}
}
