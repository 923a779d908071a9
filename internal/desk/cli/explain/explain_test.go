package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// explainedText runs the command on a file.
func explainedText(t testing.TB, file, output string) (stdout, stderr, failure string) {
	t.Helper()
	var out, said bytes.Buffer
	if err := (&Command{Paths: []string{file}, Output: output}).RunWith(t.Context(), strings.NewReader(""), &out, &said); err != nil {
		failure = err.Error()
	}
	return out.String(), said.String(), failure
}

var explainOutputs = map[string]string{"text": ".txt", "mermaid": ".mmd", "json": ".json"}

func TestExplainGolden(t *testing.T) {
	for file, name := range map[string]string{
		"testdata/all.yaml": "all",
		"../../../../example/postgresql-url/composition.yaml":   "postgresql-url",
		"../../../../example/ca-from-a-secret/composition.yaml": "ca-from-a-secret",
	} {
		for output, suffix := range explainOutputs {
			golden := filepath.Join("testdata", name+suffix)
			got, _, failure := explainedText(t, file, output)
			if failure != "" {
				t.Fatal(failure)
			}
			functiontest.CheckGolden(t, golden, got)
		}
	}
}

// Each example is explained in each form, the same each time, and in a form that can be
// read.
func TestExplainExamples(t *testing.T) {
	files, err := filepath.Glob("../../../../example/*/composition.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("want at least 20 examples, got %v: %v", files, err)
	}
	for _, file := range append(files, "testdata/all.yaml") {
		printed := map[string]string{}
		for output := range explainOutputs {
			first, stderr, failure := explainedText(t, file, output)
			second, _, _ := explainedText(t, file, output)
			if failure != "" || stderr != "" || first == "" {
				t.Fatalf("%s as %s: %s%s", file, output, stderr, failure)
			}
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("%s as %s is not the same each time:\n%s", file, output, diff)
			}
			printed[output] = first
		}
		mermaid, err := parseMermaid(printed["mermaid"])
		if err != nil {
			t.Errorf("%s: %v\n%s", file, err, printed["mermaid"])
			continue
		}
		if len(mermaid.nodes) == 0 {
			t.Errorf("%s: no nodes", file)
		}
		if !json.Valid([]byte(printed["json"])) {
			t.Errorf("%s: no JSON", file)
		}
	}
}

// A secret is marked on its whole path to an object.
func TestExplainGraphSecrets(t *testing.T) {
	text, _, failure := explainedText(t, "testdata/all.yaml", "mermaid")
	g, err := parseMermaid(text)
	if err != nil || failure != "" {
		t.Fatal(err, failure)
	}
	label := func(id string) string { return g.nodes[id] }
	got := map[string]bool{} // whether an edge is secret
	for _, e := range g.edges {
		got[label(e.from)+" -> "+label(e.to)] = e.secret
	}
	for edge, secret := range map[string]bool{
		"secrets.db.password -> variables.userinfo":                true,
		"variables.userinfo -> variables.url":                      true,
		"variables.url -> url":                                     true,
		"url -> Secret connection":                                 true,
		"variables.host -> variables.url":                          false,
		"resources.db.status.atProvider.address -> variables.host": false,
		"generator admin -> generated.admin.password":              true,
		"generated.admin.password -> generator hash":               true,
		"secrets.db.username -> user":                              false, // nonSensitive says so
		"user -> ConfigMap settings":                               false,
		"environment.region -> region":                             false,
		"composite.spec.version -> generator admin":                false,
		"secrets.db -> exports of composite authors":               true,
		"environment -> exports of composite authors":              false,
		"host -> status":                                           false,
		"Secret connection -> revisions.connection":                false,
		"revisions.connection -> revision":                         false,
	} {
		if s, ok := got[edge]; !ok || s != secret {
			t.Errorf("%s: want secret %t, got %t, and is it there: %t", edge, secret, s, ok)
		}
	}
}

// The ClusterRole that is printed has only the rules that Crossplane's default role does not have.
func TestExplainClusterRole(t *testing.T) {
	text, _, _ := explainedText(t, "testdata/all.yaml", "text")
	m := regexp.MustCompile(`(?s)(  apiVersion: rbac.*?)\n\n`).FindStringSubmatch(text)
	if m == nil {
		t.Fatal("no ClusterRole")
	}
	var got struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name   string            `json:"name"`
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
		Rules []struct {
			APIGroups []string `json:"apiGroups"`
			Resources []string `json:"resources"`
			Verbs     []string `json:"verbs"`
		} `json:"rules"`
	}
	if err := yaml.UnmarshalStrict([]byte(m[1]), &got); err != nil {
		t.Fatal(err)
	}
	if got.Kind != "ClusterRole" || got.Metadata.Labels["rbac.crossplane.io/aggregate-to-crossplane"] != "true" {
		t.Errorf("%+v", got)
	}
	var rules []string
	for _, r := range got.Rules {
		rules = append(rules, strings.Join(slices.Concat(r.APIGroups, r.Resources, r.Verbs), " "))
	}
	want := []string{
		"example.org tokens get list watch create update patch delete",
		"networking.k8s.io networkpolicies get list watch",
	}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Error(diff)
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
			text:   "apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\nsecrets: [{name: s, data: [{key: a}, {key: b}]}]",
			stderr: `FILE:3:28: secrets[0].data[0]: must have value or valueMap
    3 | secrets: [{name: s, data: [{key: a}, {key: b}]}]
      |                            ^
FILE:3:38: secrets[0].data[1]: must have value or valueMap
    3 | secrets: [{name: s, data: [{key: a}, {key: b}]}]
      |                                      ^
function-export: error: cannot explain FILE: 2 errors
`,
			failure: "cannot explain FILE: 2 errors",
		},
		"NoInput": {
			reason:  "A file without an input is a mistake.",
			text:    "apiVersion: v1\nkind: ConfigMap\n",
			failure: "cannot find an input of kind Exports in FILE: name the files with the Compositions",
		},
		"NoYAML": {
			reason:  "Nothing of the file is quoted.",
			text:    "a: hunter2\n b: [hunter2",
			failure: "FILE:2:2: not valid YAML: wrong indentation here or above: begin it in column 1, like the key in line 1",
		},
		"NoComposition": {
			reason:  "A Composition whose pipeline is none.",
			text:    "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nspec: {pipeline: hunter2}",
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
	if _, _, failure := explainedText(t, "none.yaml", "text"); failure != "cannot read none.yaml: no such file or directory" {
		t.Error(failure)
	}
}

// Several files, folders and patterns are explained like one file with all of their inputs.
// An input that is too large is not compiled: the positions of its errors would take a minute.
func TestExplainTooLarge(t *testing.T) {
	text := bytes.NewBufferString("apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\n")
	for i := range 200_000 {
		fmt.Fprintf(text, "k%d: v\n", i)
	}
	file := filepath.Join(t.TempDir(), "exports.yaml")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	_, said, _ := explainedText(t, file, "text")
	if !strings.Contains(said, "over the limit of 524288: split it into several pipeline steps") {
		t.Errorf("want the limit, got %.500s", said)
	}
}

func TestExplainSeveral(t *testing.T) {
	dir := t.TempDir()
	read := func(kind string) string { return sourceInput(kind) + "\n" }
	writeExplained(t, dir, map[string]string{
		"a.yaml": read("A"), "b/b.yaml": read("B"), "b/c.yml": read("C") + "---\n" + read("D"),
		"other.yaml": "apiVersion: v1\nkind: ConfigMap\n", "chart.yaml": "{{ if .Values.a }}\na: b\n", "notes.txt": read("E"),
	})
	run := func(output string, paths ...string) (string, string, error) {
		var out, said bytes.Buffer
		err := (&Command{Paths: paths, Output: output}).RunWith(t.Context(), strings.NewReader(read("F")), &out, &said)
		return out.String(), said.String(), err
	}
	type place struct{ File string }
	for name, c := range map[string]struct {
		reason string
		paths  []string
		want   []string
	}{
		"Folder":  {"all YAML files below it that have an input", []string{dir}, []string{"a.yaml", "b/b.yaml", "b/c.yml", "b/c.yml"}},
		"Files":   {"in their order", []string{dir + "/b/b.yaml", dir + "/a.yaml"}, []string{"b/b.yaml", "a.yaml"}},
		"Pattern": {"of any depth", []string{dir + "/**/b.yaml"}, []string{"b/b.yaml"}},
		"Stdin":   {"with a file", []string{"-", dir + "/a.yaml"}, []string{"<stdin>", "a.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			text, _, err := run("json", c.paths...)
			if err != nil {
				t.Fatal(err)
			}
			var list []place
			if err := json.Unmarshal([]byte(text), &list); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range list {
				got = append(got, filepath.ToSlash(strings.TrimPrefix(p.File, dir+"/")))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
	text, _, _ := run("text", dir)
	if got := regexp.MustCompile(`(?m)^\S+\.ya?ml$`).FindAllString(text, -1); len(got) != 4 {
		t.Errorf("want a heading for each input, got %q in\n%s", got, text)
	}
	mermaid, _, _ := run("mermaid", dir)
	if g, err := parseMermaid(mermaid); err != nil || strings.Count(mermaid, "subgraph") != 4 {
		t.Errorf("want a graph with four inputs, got %v, %v", g, err)
	}
	writeExplained(t, dir, map[string]string{"wrong.yaml": "{apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports, status: [{fieldPath: a}]}", "x.yaml": "kind: [Exports # function-export"})
	out, said, err := run("text", dir+"/a.yaml", dir+"/wrong.yaml", dir+"/x.yaml")
	if out != "" || strings.Count(said, "\n") == 0 || err == nil || !strings.HasSuffix(err.Error(), "x.yaml: 2 errors") {
		t.Errorf("want the diagnostics of both files and no explanation, got %q, %q, %v", out, said, err)
	}
}

// An input by itself is explained as it is in a Composition.
func TestExplainInputAlone(t *testing.T) {
	b, err := os.ReadFile("../../../../example/ca-from-a-secret/composition.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, input, _ := strings.Cut(string(b), "    input:\n      apiVersion: export")
	file := filepath.Join(t.TempDir(), "input.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: export"+strings.ReplaceAll(input, "\n      ", "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	alone, _, failure := explainedText(t, file, "text")
	if failure != "" {
		t.Fatal(failure)
	}
	within, _, _ := explainedText(t, "../../../../example/ca-from-a-secret/composition.yaml", "text")
	_, alone, _ = strings.Cut(alone, "\n")
	_, within, _ = strings.Cut(within, "\n")
	if diff := cmp.Diff(within, alone); diff != "" {
		t.Error(diff)
	}
}

// sourceInput is an input that reads a source of a kind.
func sourceInput(kind string) string {
	return `{apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports, sources: [{name: a, apiVersion: example.org/v1, kind: ` + kind + `}], status: [{fieldPath: a, value: sources.a.b}]}`
}

// Kinds that XRDs and CRDs declare, in the file or in other files, are known. Other resource names
// are guesses.
func TestExplainSchemas(t *testing.T) {
	crd := func(kind, plural string) string {
		return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n" +
			"spec: {group: example.org, names: {kind: " + kind + ", plural: " + plural + "}, versions: [{name: v1, schema: {openAPIV3Schema: {type: object}}}]}\n"
	}
	for name, tc := range map[string]struct {
		reason  string
		file    string
		schema  string
		want    string
		failure string // DIR is the folder
	}{
		"Known":      {"as it is declared", sourceInput("Gizmo"), crd("Gizmo", "gizmoes"), `"gizmoes"] # for sources[0]`, ""},
		"InTheFile":  {"as it is declared", sourceInput("Gizmo") + "\n---\n" + crd("Gizmo", "gizmoes"), crd("Other", "others"), `"gizmoes"] # for sources[0]`, ""},
		"BrokenKind": {"what is wrong with a kind in the file is for check", sourceInput("Gizmo") + "\n---\n" + crd("Gizmo", "4711"), crd("Other", "others"), `"gizmos"] # a guess from the kind Gizmo, for sources[0]`, ""},
		"Unknown":    {"a guess says so", sourceInput("AccessKey"), crd("Gizmo", "gizmoes"), `"accesskeys"] # a guess from the kind AccessKey, for sources[0]`, ""},
		"Broken":     {"the schemas are asked for", sourceInput("Gizmo"), crd("Gizmo", "4711"), "", "DIR/crds/crd.yaml:1: cannot read spec.names.plural: must be a string"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeExplained(t, dir, map[string]string{"input.yaml": tc.file, "crds/crd.yaml": tc.schema})
			var stdout, stderr bytes.Buffer
			failure := ""
			if err := (&Command{Paths: []string{filepath.Join(dir, "input.yaml")}, Schema: []string{filepath.Join(dir, "crds")}}).RunWith(t.Context(), nil, &stdout, &stderr); err != nil {
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
	c := &Command{Paths: []string{"testdata/all.yaml"}, Schema: []string{"none"}}
	if err := c.RunWith(t.Context(), nil, io.Discard, io.Discard); err == nil || err.Error() != "cannot read none: no such file or directory" {
		t.Error(err)
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

// The role of one Composition leaves that of another alone.
func TestExplainRoleNames(t *testing.T) {
	none := `{apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports, status: [{fieldPath: a, value: "'x'"}]}`
	step := func(name, input string) string { return "{step: " + name + ", input: " + input + "}" }
	composition := func(name string, steps ...string) string {
		return "{apiVersion: apiextensions.crossplane.io/v1, kind: Composition, metadata: {name: " + name + "}, spec: {pipeline: [" + strings.Join(steps, ", ") + "]}}"
	}
	read := sourceInput("Gizmo")
	for name, tc := range map[string]struct {
		reason string
		file   string
		want   []string
	}{
		"One":     {"of the Composition", composition("app.example.org", step("a", read)), []string{"-app.example.org"}},
		"Several": {"and the step, if there are several", composition("app", step("a", read), step("b", read)), []string{"-app-a", "-app-b"}},
		"Needed":  {"a step that needs no role has none", composition("app", step("a", none), step("b", read)), []string{"-app"}},
		"List":    {"of each Composition in a list", "{apiVersion: v1, kind: List, items: [" + composition("left", step("a", read)) + ", " + composition("right", step("a", read)) + "]}", []string{"-left", "-right"}},
		"Steps":   {"of the step, without a Composition", "[" + step("a", read) + "]", []string{"-a"}},
		"Alone":   {"an input alone says no name", read, []string{""}},
		"Strange": {"a name of an object is legal", composition("null", step(`"Export: it #1"`, read)) + "\n---\n" + composition(`"\"A_b\nc."`, step("a", read)), []string{"-export-it-1", "-a-b-c"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "input.yaml")
			if err := os.WriteFile(file, []byte(tc.file), 0o600); err != nil {
				t.Fatal(err)
			}
			text, _, failure := explainedText(t, file, "text")
			var got []string
			for _, m := range regexp.MustCompile(`(?m)^    name: function-export-sources(.*)$`).FindAllStringSubmatch(text, -1) {
				got = append(got, m[1])
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || failure != "" {
				t.Errorf("%s: %s\n%s", tc.reason, failure, diff)
			}
		})
	}
}

// The command line is as its help says.
func TestExplainFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		args   []string
		output string
		schema []string
		fails  bool
	}{
		"Default": {args: []string{"explain", "f.yaml"}, output: "text"},
		"Long":    {args: []string{"explain", "f.yaml", "--output", "mermaid"}, output: "mermaid"},
		"Short":   {args: []string{"explain", "f.yaml", "-o", "json"}, fails: true}, // it means another flag in render
		"Schema":  {args: []string{"explain", "f.yaml", "-s", "a,b", "--schema", "c"}, output: "text", schema: []string{"a,b", "c"}},
		"Unknown": {args: []string{"explain", "f.yaml", "--output", "dot"}, fails: true},
		"NoFile":  {args: []string{"explain"}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			var c struct {
				Explain Command `cmd:""`
			}
			k, err := kong.New(&c, kong.Exit(func(int) {}))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := k.Parse(tc.args); (err != nil) != tc.fails {
				t.Fatal(err)
			}
			if !tc.fails && (c.Explain.Output != tc.output || !slices.Equal(c.Explain.Schema, tc.schema) || !slices.Equal(c.Explain.Paths, []string{"f.yaml"})) {
				t.Errorf("%+v", c.Explain)
			}
		})
	}
}

// Output that cannot be written is an error.
func TestExplainCannotWrite(t *testing.T) {
	for output := range explainOutputs {
		c := &Command{Paths: []string{"testdata/all.yaml"}, Output: output}
		if err := c.RunWith(t.Context(), strings.NewReader(""), failingWriter{}, failingWriter{}); err == nil || !strings.Contains(err.Error(), "cannot write") {
			t.Errorf("%s: %v", output, err)
		}
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }
