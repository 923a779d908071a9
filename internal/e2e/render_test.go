package e2e

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write what is rendered as expected.yaml of each example, and compare nothing")

// unreadyEvent is the event by which Crossplane says that a resource is not
// ready.
var unreadyEvent = regexp.MustCompile(`(?m)^kind: Result\nmessage: Composed resource .* is not yet ready$`)

// TestRender runs every example through the real reconciler of Crossplane, by
// its own command line tool, with the function as a process of its own.
func TestRender(t *testing.T) {
	p := PeersForTest(t)

	if *update && os.Getenv("CI") != "" {
		t.Fatal("-update in CI would make every example expect whatever it gives")
	}

	clock := newClock(t)
	program := buildFunction(t, overlay(t, rehearsal))
	address, logged := serveFunction(t, program, clock.env()...)
	targets := map[string]string{
		"function-export":              address,
		"function-patch-and-transform": servePatchAndTransform(t),
	}

	all := examples(t)

	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			dir := all[name]

			clock.set(t, dir)
			before := logged.String()
			got := render(t, p, renderArgs(t, p, targets, dir))

			again := render(t, p, renderArgs(t, p, targets, dir))
			if diff := cmp.Diff(got.stdout+got.context, again.stdout+again.context); diff != "" {
				t.Errorf("a second run gives another result: -first, +second:\n%s", diff)
			}

			checkNoLeak(t, dir, got.stdout, map[string]string{
				"the context":          got.context,
				"stderr of crossplane": got.stderr,
				"the function's log":   strings.TrimPrefix(logged.String(), before),
			})
			checkGolden(t, filepath.Join(dir, "expected.yaml"), got.stdout+leftBy(t, dir, got.context))
		})
	}
}

// A rendering is the output of crossplane, with the context of its steps for later steps, which is
// not part of stdout.
type rendering struct {
	output

	context string
}

// render renders an example.
func render(t *testing.T, p Peers, args []string) rendering {
	t.Helper()

	const start = "---\n"

	out := mustRun(t, p.CLI, args...)
	docs := strings.Split(strings.TrimPrefix(out.stdout, start), start)

	last := len(docs) - 1 // where the context is
	context := docs[last]
	docs = docs[:last]

	if o := parseObjects(t, context); len(o) != 1 || o[0].GetKind() != "Context" {
		t.Fatalf("crossplane did not end with the context:\n%s", out.stdout)
	}

	sortUnready(docs)

	out.stdout = start + strings.Join(docs, start)

	return rendering{output: out, context: start + context}
}

// sortUnready puts Crossplane's own events in order: it says which resources are
// not ready in that of a Go map.
func sortUnready(docs []string) {
	var unready []string

	for _, doc := range docs {
		if unreadyEvent.MatchString(doc) {
			unready = append(unready, doc)
		}
	}

	slices.Sort(unready)

	for i, doc := range docs {
		if unreadyEvent.MatchString(doc) {
			docs[i], unready = unready[0], unready[1:]
		}
	}
}

// leftBy returns the context of an example for later steps, as crossplane prints it: the
// environment, if its input creates one, and the state of generators. Revisions are left out, because the
// observed objects have them. The other context keys of the function are only for itself.
func leftBy(t *testing.T, dir, context string) string {
	t.Helper()

	o := parseObjects(t, context)[0].Object
	fields, _ := o["fields"].(map[string]any)
	environment := exportsInput(t, dir).Object["environment"] != nil

	maps.DeleteFunc(fields, func(key string, _ any) bool {
		return key != generatorStateKey && (!environment || strings.HasPrefix(key, "export.fn.crossplane.io/"))
	})

	if len(fields) == 0 && !environment {
		return ""
	}

	b, err := yaml.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}

	return "---\n" + string(b)
}

// renderArgs are the arguments of crossplane that render an example.
func renderArgs(t *testing.T, p Peers, targets map[string]string, dir string) []string {
	t.Helper()

	functions := readObjects(t, filepath.Join(dir, "functions.yaml"))
	for _, f := range functions {
		target, ok := targets[f.GetName()]
		if !ok {
			t.Fatalf("there is nobody to play the function %q", f.GetName())
		}

		f.SetAnnotations(map[string]string{
			"render.crossplane.io/runtime":                    "Development",
			"render.crossplane.io/runtime-development-target": target,
		})
	}

	path := filepath.Join(t.TempDir(), "functions.yaml")
	writeObjects(t, path, functions)

	args := []string{
		"composition", "render",
		filepath.Join(dir, "xr.yaml"), filepath.Join(dir, "composition.yaml"), path,
		"--crossplane-binary=" + p.Core, "--include-function-results", "--include-context",
	}

	for file, flag := range map[string]string{
		"observed.yaml":    "--observed-resources=",
		"required.yaml":    "--required-resources=",
		"environment.yaml": "--context-files=apiextensions.crossplane.io/environment=",
		"xrd.yaml":         "--xrd=",
	} {
		if path := filepath.Join(dir, file); exists(path) {
			args = append(args, flag+path)
		}
	}

	return args
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// checkGolden compares what was rendered with what is expected, or with -update
// makes it so.
func checkGolden(t *testing.T, path, got string) {
	t.Helper()

	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}

		return
	}

	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: write it with -update, and read it before you believe it", err)
	}

	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// checkNoLeak looks for values of Secrets where none may be: in texts for people,
// in events, in the composite and in ConfigMaps. Values are those of the files
// and those that were made of them.
func checkNoLeak(t *testing.T, dir, stdout string, texts map[string]string) {
	t.Helper()

	rendered := parseObjects(t, stdout)
	values := secretValues(t, slices.Concat(
		readObjects(t, filepath.Join(dir, "observed.yaml")),
		readObjects(t, filepath.Join(dir, "required.yaml")),
		rendered,
	))
	public := maps.Clone(texts)

	for i, o := range rendered {
		// The composite comes first. Of the others, the specs of composed
		// resources may say of a database's user name what its Secret says.
		if i == 0 || o.GetKind() == "Result" || o.GetKind() == "ConfigMap" {
			b, err := yaml.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}

			public["the rendered "+o.GetKind()+" "+o.GetName()] = string(b)
		}
	}

	for where, text := range public {
		for value, key := range values {
			if strings.Contains(text, value) {
				t.Errorf("%s holds the value of Secret key %s", where, key)
			}
		}
	}
}

// exportNames are the composition resource names of an example's exports.
func exportNames(t *testing.T, dir string) []string {
	t.Helper()

	var names []string

	for _, list := range []string{"secrets", "configMaps"} {
		exports, _, err := unstructured.NestedSlice(exportsInput(t, dir).Object, list)
		if err != nil {
			t.Fatal(err)
		}

		for _, e := range exports {
			m, _ := e.(map[string]any)
			name, _ := m["name"].(string)
			names = append(names, name)
		}
	}

	return names
}
