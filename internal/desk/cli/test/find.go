package test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/render"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A test is a test of a file, or a folder with an expected.yaml.
type test struct {
	file, name string
	line       int

	in     *exportstest.ExportsTest // nil for a folder
	index  int
	inputs map[string]any // as they are in the file
	step   files.Step     // the file, for positions
	doc    int            // the number of the document in the file

	programs *programs // of other steps, or nil
}

// title is how people and --run name the test.
func (t *test) title() string { return t.file + ": " + t.name }

// An outcome is how a test ended.
type outcome struct {
	*test

	failures []exportstest.Failure
	err      error // the test cannot run
	skipped  bool
	moments  int
	span     time.Duration // in the time of the test
	took     time.Duration

	rendering *render.Rendering // of a folder
}

func (o *outcome) passed() bool { return o.skipped || o.err == nil && len(o.failures) == 0 }

// find finds the tests that the paths select, in order. Diagnostics are about tests that cannot be read.
func find(paths []string) ([]*test, []files.Diagnostic, error) {
	disk := terminal.Disk(nil)
	names, err := disk.Find(paths, files.Below)
	if err != nil {
		return nil, nil, err
	}
	var all []*test
	var unread []files.Diagnostic
	tested := map[string]bool{} // folders with a file of tests
	isTest := func(text string) bool { return strings.Contains(text, exportstest.Group+"/") }
	for i, f := range disk.ReadAll(names, isTest) {
		if slices.Contains(paths, names[i]) { // also without a test, it is read
			f = disk.Read(names[i], files.AnyText)
		}
		found, wrong := read(f)
		wrong = append(wrong, f.Broken()...)
		if len(found)+len(wrong) > 0 {
			tested[filepath.Dir(f.Name)] = true
		} else if slices.Contains(paths, f.Name) {
			return nil, nil, fmt.Errorf("cannot find an object of kind %s in %s", exportstest.Kind, f.Name)
		}
		all, unread = append(all, found...), append(unread, wrong...)
	}
	for _, name := range names {
		if dir := filepath.Dir(name); filepath.Base(name) == expectedFile && !tested[dir] && isFolder(dir) {
			all = append(all, &test{file: name, name: filepath.Base(dir), line: 1})
		}
	}
	slices.SortStableFunc(all, func(a, b *test) int { return strings.Compare(a.file, b.file) })
	return all, unread, nil
}

// expectedFile is in a folder that is a test.
const expectedFile = "expected.yaml"

// isFolder reports whether a folder has what is rendered.
func isFolder(dir string) bool {
	_, xr := os.Stat(filepath.Join(dir, "xr.yaml"))
	_, composition := os.Stat(filepath.Join(dir, "composition.yaml"))
	return cmp.Or(xr, composition) == nil
}

// read returns the tests of a file.
func read(f files.File) (all []*test, unread []files.Diagnostic) {
	for i, o := range f.Objects() {
		fields, _ := o.Value.(map[string]any)
		if !strings.HasPrefix(state.Text(fields, "apiVersion"), exportstest.Group+"/") {
			continue
		}
		step := files.StepAt(o)
		in, wrong := exportstest.Read(fields)
		if len(wrong) == 0 {
			wrong = readRecorded(f.Name, in.Spec.Steps)
		}
		if len(wrong) > 0 {
			unread = append(unread, step.AllInFile(wrong)...)
			continue
		}
		list, _ := state.Field(fields, "spec", "tests").([]any)
		for j, t := range in.Spec.Tests {
			at := step.InFile(&diagnostic.Diagnostic{Path: fmt.Sprintf("spec.tests[%d]", j)})
			of, _ := list[j].(map[string]any)
			inputs, _ := of["inputs"].(map[string]any)
			all = append(all, &test{file: f.Name, name: t.Name, line: at.Line, in: in, index: j, inputs: inputs, step: step,
				doc: i})
		}
	}
	return all, unread
}

// readRecorded replaces the paths of recorded resources with their objects.
func readRecorded(file string, steps map[string]exportstest.Recorded) (wrong diagnostic.List) {
	for step, recorded := range steps {
		for name, v := range recorded.Resources {
			why := "must be an object, or the path of a file with one"
			if path, isPath := v.(string); isPath {
				read := terminal.Disk(nil).Read(filepath.Join(filepath.Dir(file), path), files.AnyText)
				if objects := read.Objects(); read.First() != nil {
					why = read.First().Error()
				} else if len(objects) == 1 {
					recorded.Resources[name] = objects[0].Value
				}
			}
			if _, isObject := recorded.Resources[name].(map[string]any); !isObject {
				at := fmt.Sprintf("spec.steps[%s].resources[%s]", step, name)
				wrong = append(wrong, &diagnostic.Diagnostic{Path: at, Rule: diagnostic.Input, Message: why})
			}
		}
	}
	return wrong
}

// run plays a test.
func (t *test) run(ctx context.Context, runner *exportstest.Runner, engine pipeline.Engine) *outcome {
	began, out := time.Now(), &outcome{test: t}
	defer func() { out.took = time.Since(began) }()
	if t.in == nil {
		out.runFolder(ctx, engine, runner)
		return out
	}
	out.moments = len(t.in.Spec.Tests[t.index].Moments)
	setup, err := t.setup()
	if err != nil {
		out.err = err
		return out
	}
	result, err := runner.Run(ctx, t.in, t.index, setup)
	if err != nil {
		out.err = err
		return out
	}
	out.span, out.failures = result.Elapsed, result.Failures
	for i := range out.failures {
		out.failures[i].Line = t.step.InFile(&diagnostic.Diagnostic{Path: out.failures[i].Field}).Line
	}
	slices.SortStableFunc(out.failures, func(a, b exportstest.Failure) int { return a.Line - b.Line })
	return out
}

// setup reads the inputs of a test.
func (t *test) setup() (*exportstest.Setup, error) {
	r := inputReader{t: t, disk: terminal.Disk(nil)}
	xr, composition := r.one("xr"), r.one("composition")
	c := &render.Command{
		Paths: []string{xr, composition}, XRD: r.one("xrd"),
		ObservedResources: append(r.all("observed"), r.all("observedResources")...),
		RequiredResources: append(r.all("extraResources"), r.all("environmentConfigs")...),
		RequiredSchemas:   r.all("schemas"),
	}
	if r.err != nil {
		return nil, r.err
	}
	for name, path := range map[string]string{"xr": xr, "composition": composition} {
		if path == "" {
			return nil, fmt.Errorf("%s:%d: spec.inputs.%s must be set: the path of a file, or the object", t.file, t.line, name)
		}
	}
	values := t.in.Spec.Tests[t.index].Inputs.Context
	if values == nil {
		values = t.in.Spec.Inputs.Context
	}
	read, err := c.Setup(r.disk, values)
	if err != nil {
		return nil, err
	}
	setup := &exportstest.Setup{Setup: read, Later: map[int]*pipeline.Pipeline{}}
	for i, m := range t.in.Spec.Tests[t.index].Moments {
		if path := r.path(m.Composition, "spec", "tests", t.index, "moments", i, "composition"); path != "" && err == nil {
			setup.Later[i], err = c.Pipeline(r.disk, path)
		}
	}
	if err = cmp.Or(r.err, err); err == nil {
		setup.Functions, err = t.programs.of(setup.Pipelines(), t.in.Spec.Steps)
	}
	return setup, err
}

// An inputReader turns inputs into paths.
type inputReader struct {
	t    *test
	disk *files.System
	err  error
}

// one returns the path of an input, or nothing.
func (r *inputReader) one(name string) string { return append(r.all(name), "")[0] }

// all returns the paths of an input: of the test, or else of all tests.
func (r *inputReader) all(name string) (out []string) {
	at, value := []any{"spec", "tests", r.t.index, "inputs", name}, r.t.inputs[name]
	if value == nil {
		at, value = []any{"spec", "inputs", name}, state.Field(r.t.step.Input, "spec", "inputs", name)
	}
	list, isList := value.([]any)
	for i, v := range list {
		out = append(out, r.path(v, append(slices.Clone(at), i)...))
	}
	if value != nil && !isList {
		out = append(out, r.path(value, at...))
	}
	return out
}

// path returns the path of an input: of a file, or of an object in the file of the test.
func (r *inputReader) path(v any, at ...any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return filepath.Join(filepath.Dir(r.t.file), v)
	case map[string]any:
		if path, ok := v["path"].(string); ok && len(v) == 1 {
			return filepath.Join(filepath.Dir(r.t.file), path)
		}
		if v["raw"] != nil && len(v) == 1 {
			at = append(slices.Clone(at), "raw")
		}
		return r.disk.Part(r.t.file, r.t.doc, at...)
	}
	r.err = fmt.Errorf("%s:%d: %v must be the path of a file, or an object", r.t.file, r.t.line, at)
	return ""
}

// folderTime is the time of a folder without a now.txt.
var folderTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// runFolder renders a folder, and compares the objects with its expected.yaml.
func (o *outcome) runFolder(ctx context.Context, engine pipeline.Engine, runner *exportstest.Runner) {
	c := &render.Command{Paths: []string{filepath.Dir(o.file)}}
	if o.rendering, o.err = c.Render(ctx, terminal.Disk(nil), folderTime, engine); o.err != nil {
		return
	}
	read := terminal.Disk(nil).Read(o.file, files.AnyText)
	if o.err = read.First(); o.err != nil {
		return
	}
	var want []map[string]any
	for _, object := range read.Objects() {
		fields, _ := object.Value.(map[string]any)
		want = append(want, fields)
	}
	o.failures = runner.Compare(want, o.rendering.Objects, o.rendering.Observed)
}

// realCredential matches values with the form of a credential of a well-known issuer, or of a private key.
var realCredential = lazy.MustCompile(
	`\b(AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{22,}|glpat-[\w-]{20}|` +
		`xox[abprs]-[\w-]{10,}|sk_live_\w{16,}|AIza[\w-]{35}|hvs\.\w{24,})\b|-----BEGIN [A-Z ]*PRIVATE KEY-----|` +
		`\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}`)

// notReal marks a fixture.
const notReal = "not-real-"

// warnings returns a warning for each line with a real credential in the files beside the tests.
func warnings(all []*test) (out []string) {
	seen := map[string]bool{}
	for _, t := range all {
		dir := filepath.Dir(t.file)
		if t.in == nil || seen[dir] {
			continue
		}
		seen[dir] = true
		names, _ := filepath.Glob(filepath.Join(dir, "*.yaml")) // the pattern is valid unless the folder has brackets
		for _, name := range names {
			text, _ := os.ReadFile(name) //nolint:gosec // files of the user; a missing one is an error of the test
			for i, line := range strings.Split(string(text), "\n") {
				if realCredential().MatchString(line) && !strings.Contains(line, notReal) {
					out = append(out, fmt.Sprintf("%s:%d: warning: looks like a real credential: "+
						"write a made-up value that begins with %s", name, i+1, notReal))
				}
			}
		}
	}
	return out
}
