package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	apiextensionsv1beta1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1beta1"
	apiextensionsv2 "github.com/crossplane/crossplane/apis/v2/apiextensions/v2"
	pkgv1 "github.com/crossplane/crossplane/apis/v2/pkg/v1"
	pkgv1beta1 "github.com/crossplane/crossplane/apis/v2/pkg/v1beta1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/check"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/pages"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// notRun are the programs of commands that no test runs, each with the reason.
var notRun = map[string]string{
	"go":         "another go command would test this one; what it names is looked up",
	"crossplane": "internal/e2e runs it",
	"kubectl":    "internal/e2e/live runs it, on a real control plane",
	"openssl":    "internal/e2e/peers runs it, on the Secret of the example",
	"cosign":     "it needs the signatures of a release",
	"curl":       "it needs a function that serves, or a release",
	"sha256sum":  "it needs the files of a release",
	"sudo":       "it installs a file of a release",
	"git":        "it changes a repository",
	".ci/run":    "it runs this test",
	"npm":        "it builds the extension of VS Code: see .ci/run",
	"code":       "it is VS Code, which is on no registry",
}

// TestPages runs the code blocks of each page of the documentation. With -update, it writes the output of
// commands into the pages.
func TestPages(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	all := readPages(t, root)
	r := newRunner(t, root)
	for _, p := range all {
		t.Run(p.Path, func(t *testing.T) {
			t.Parallel()
			checkLinks(t, root, p, all)
			checkLines(t, p)
			r.in(t).checkBlocks(t, p)
		})
	}
}

func readPages(t *testing.T, root string) []pages.Page {
	t.Helper()
	all, err := pages.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 30 {
		t.Fatalf("want at least 30 pages, got %d", len(all))
	}
	return all
}

func checkLines(t *testing.T, p pages.Page) {
	t.Helper()
	const limit = 120
	for i, line := range strings.Split(p.Prose, "\n") {
		if len([]rune(line)) > limit && !strings.HasPrefix(line, "|") && !strings.Contains(line, "](") &&
			!strings.Contains(line, "://") {
			t.Errorf("%s:%d: want at most %d columns", p.Path, i+1, limit)
		}
	}
}

// checkLinks checks that each linked file and heading exists. Links to other hosts are only parsed.
func checkLinks(t *testing.T, root string, p pages.Page, all []pages.Page) {
	t.Helper()
	for _, l := range linksOf(p) {
		u, err := url.Parse(l.Target)
		if err != nil {
			t.Errorf("%s:%d: %v", p.Path, l.Line, err)
			continue
		}
		if u.Scheme != "" {
			continue
		}
		target := p.Path
		if u.Path != "" {
			target = path.Join(path.Dir(p.Path), u.Path)
		}
		info, err := os.Stat(filepath.Join(root, target))
		if err != nil {
			t.Errorf("%s:%d: the link %q leads nowhere", p.Path, l.Line, l.Target)
			continue
		}
		if u.Fragment == "" {
			continue
		}
		if info.IsDir() {
			target = path.Join(target, "README.md")
		}
		i := slices.IndexFunc(all, func(o pages.Page) bool { return o.Path == target })
		if i < 0 || !slices.Contains(anchorsOf(all[i]), u.Fragment) {
			t.Errorf("%s:%d: there is no heading #%s in %s", p.Path, l.Line, u.Fragment, target)
		}
	}
}

// A runner runs commands in a temporary folder with links to the top level of the repository. Files that a
// command writes are removed with the test.
type runner struct {
	root, bin, dir string
	env            *expression.Environment
	decoder        runtime.Decoder
}

func newRunner(t *testing.T, root string) runner {
	t.Helper()
	r := runner{root: root, bin: programFolder(t)}
	var err error
	if r.env, err = advice.NewEnvironment(); err != nil {
		t.Fatal(err)
	}
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, apiextensionsv1.AddToScheme, apiextensionsv1beta1.AddToScheme, apiextensionsv2.AddToScheme,
		pkgv1.AddToScheme, pkgv1beta1.AddToScheme,
	} {
		if err := add(known); err != nil {
			t.Fatal(err)
		}
	}
	r.decoder = serializer.NewCodecFactory(known, serializer.EnableStrict).UniversalDeserializer()
	return r
}

func (r runner) in(t *testing.T) runner {
	t.Helper()
	r.dir = t.TempDir()
	entries, err := os.ReadDir(r.root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.Symlink(filepath.Join(r.root, e.Name()), filepath.Join(r.dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r runner) checkBlocks(t *testing.T, p pages.Page) {
	t.Helper()
	printed := "" // by the command of the previous block
	ran, elsewhere := false, false
	for _, b := range p.Blocks {
		place := fmt.Sprintf("%s:%d", p.Path, b.Line)
		switch {
		case b.Output && ran:
			if pages.Matches(b.Text, printed) {
				break
			}
			if *functiontest.UpdateGolden && !strings.Contains(b.Text, "...\n") {
				replace(t, filepath.Join(r.root, p.Path), b.Text, printed)
				break
			}
			t.Errorf("%s: -page, +printed:\n%s", place, cmp.Diff(b.Text, printed))
		case b.Output && elsewhere:
			// This is the output of a command that another test runs.
		case b.Output:
			t.Errorf("%s: an output must follow a shell block with one command", place)
		case b.Lang == "shell":
			commands := pages.Commands(b)
			for _, c := range commands {
				printed, ran = r.run(t, p.Path, c)
			}
			ran, elsewhere = ran && len(commands) == 1, !ran && len(commands) == 1
			continue
		case b.Lang == "yaml":
			if err := r.checkYAML(t.Context(), b.Text); err != nil {
				t.Errorf("%s: %v", place, err)
			}
		case b.Lang == "cel":
			for line := range strings.Lines(b.Text) {
				if err := r.compile(t.Context(), fmt.Sprintf("{apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports, "+
					"secrets: [{name: a, data: [{key: k, value: %q}]}]}",
					"string(dyn("+strings.TrimSpace(line)+"))")); err != nil {
					t.Errorf("%s: %v", place, err)
				}
			}
		case slices.Contains([]string{"text", "mermaid", "go", "json", "diff", "lua", "toml"}, b.Lang):
		default:
			t.Errorf("%s: a code block of the language %q: use shell, yaml, text output, yaml output, cel or mermaid", place,
				b.Lang)
		}
		ran, elsewhere = false, false
	}
}

// replace replaces the first block that has the text.
func replace(t *testing.T, file, from, to string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(b, []byte(" output\n"+from+"```"), []byte(" output\n"+to+"```"), 1),
		0o600); err != nil {
		t.Fatal(err)
	}
}

// ownProgram is this program at the beginning of a command.
var ownProgram = regexp.MustCompile(`(^|[|&(;]\s*|=\S*\s+)function-export\s`)

// run runs a command if it belongs to this program. It returns its output.
func (r runner) run(t *testing.T, page string, c pages.Command) (string, bool) {
	t.Helper()
	place := fmt.Sprintf("%s:%d", page, c.Line)
	text := regexp.MustCompile(`\bgo run \./fn\b`).ReplaceAllString(c.Text, "function-export")
	if !ownProgram.MatchString(text) {
		if _, ok := notRun[c.Program]; !ok {
			t.Errorf("%s: no test runs %q", place, c.Program)
		}
		if c.Program == "go" {
			r.checkGo(t, place, c.Text)
		}
		return "", false
	}
	if strings.Contains(text, " --cluster") {
		return "", false // internal/e2e/live runs it
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", text)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "PATH="+r.bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	code := 0
	if err := cmd.Run(); err != nil {
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			t.Fatalf("%s: cannot run %s: %v", place, text, err)
		}
		code = ended.ExitCode()
	}
	if code != c.ExitCode {
		t.Errorf("%s: %s: want exit code %d, got %d:\n%s%s", place, text, c.ExitCode, code, out.String(), errs.String())
	}
	return out.String(), true
}

// checkGo checks that the packages, tests and benchmarks of a go command exist.
func (r runner) checkGo(t *testing.T, place, text string) {
	t.Helper()
	var folders, names []string
	flag, module := "", ""
	for _, word := range strings.Fields(strings.ReplaceAll(text, "'", "")) {
		name, value, assigned := strings.Cut(word, "=")
		switch {
		case assigned && (name == "-run" || name == "-bench"):
			names = append(names, value)
		case flag == "-run" || flag == "-bench":
			names = append(names, word)
		case flag == "-C":
			module = word
		case strings.HasPrefix(word, "./") || word == ".":
			folders = append(folders, filepath.Join(module, strings.TrimSuffix(word, "...")))
		}
		flag = word
	}
	var tests strings.Builder
	for _, folder := range folders {
		if _, err := os.Stat(filepath.Join(r.root, folder)); err != nil {
			t.Errorf("%s: %v", place, err)
		}
		for _, depth := range []string{"*_test.go", "*/*_test.go", "*/*/*_test.go"} {
			files, err := filepath.Glob(filepath.Join(r.root, folder, depth))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				b, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				tests.Write(b)
			}
		}
	}
	functions := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz|Example)\w*)\(`).FindAllStringSubmatch(
		tests.String(), -1)
	for _, pattern := range names {
		pattern, _, _ = strings.Cut(pattern, "/")
		alternatives := strings.Split(pattern, "|")
		if strings.ContainsAny(pattern, "()") {
			alternatives = []string{pattern}
		}
		for _, one := range alternatives {
			re, err := regexp.Compile(one)
			if err != nil {
				t.Errorf("%s: %v", place, err)
				continue
			}
			if one != "^$" && !slices.ContainsFunc(functions, func(f []string) bool { return re.MatchString(f[1]) }) {
				t.Errorf("%s: no test or benchmark is named %s", place, one)
			}
		}
	}
}

// checkYAML checks that a block consists of complete documents. Inputs must compile. Objects of kinds of
// Kubernetes and Crossplane must decode. The kinds of other projects are not decoded.
func (r runner) checkYAML(ctx context.Context, text string) error {
	if strings.HasPrefix(withoutComments(text), "- step:") {
		var steps []struct {
			Input map[string]any `json:"input"`
		}
		if err := yaml.UnmarshalStrict([]byte(text), &steps, yaml.DisallowUnknownFields); err != nil && len(steps) == 0 {
			return err
		}
		for _, s := range steps {
			input, err := yaml.Marshal(s.Input)
			if err != nil {
				return err
			}
			if s.Input["kind"] != "Exports" {
				continue
			}
			if err := r.compile(ctx, string(input)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, document := range regexp.MustCompile(`(?m)^---\n`).Split(text, -1) {
		if strings.TrimSpace(withoutComments(document)) == "" {
			continue
		}
		if err := r.checkDocument(ctx, document); err != nil {
			return err
		}
	}
	return nil
}

func withoutComments(text string) string {
	return strings.TrimLeft(regexp.MustCompile(`(?m)^\s*#.*\n`).ReplaceAllString(text, ""), "\n")
}

func (r runner) checkDocument(ctx context.Context, text string) error {
	var o struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct{ Name string }
		Jobs       map[string]any `json:"jobs"`
		Repos      []any          `json:"repos"`
	}
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	switch {
	case o.Kind == "Exports":
		return r.compile(ctx, text)
	case o.Jobs != nil || o.Repos != nil: // a GitHub workflow, or hooks of pre-commit
		return nil
	case o.APIVersion == "" || o.Kind == "" || o.Metadata.Name == "":
		return errors.New("want a complete document, with apiVersion, kind and metadata.name")
	}
	if _, _, err := r.decoder.Decode([]byte(text), nil, nil); err != nil && !runtime.IsNotRegisteredError(err) {
		return fmt.Errorf("%s: %w", o.Kind, err)
	}
	if o.Kind == "Composition" && strings.Contains(text, "kind: Exports") {
		return r.check(ctx, text)
	}
	return nil
}

// check checks a Composition as the command check does.
func (r runner) check(ctx context.Context, text string) error {
	file := filepath.Join(r.dir, "shown.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	cmd := check.Command{Paths: []string{file}}
	var out strings.Builder
	if err := cmd.RunWith(ctx, terminal.Disk(nil), &out, io.Discard); err != nil {
		return fmt.Errorf("%w: %s", err, out.String())
	}
	return nil
}

// compile compiles an input.
func (r runner) compile(ctx context.Context, text string) error {
	j, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return err
	}
	input := &structpb.Struct{}
	if err := protojson.Unmarshal(j, input); err != nil {
		return err
	}
	if _, faults := plan.Compile(ctx, r.env, input); len(faults) > 0 {
		return fmt.Errorf("%v", faults)
	}
	return nil
}
