package internal

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/google/go-cmp/cmp"
)

// Limits of the inputs of a fuzz target that are kept in testdata/fuzz. All of them run with each go test.
const (
	mostInputs    = 40
	largestInput  = 4 << 10
	largestCorpus = 1 << 20
)

// The corpus of a fuzz target is small, and contains nothing that a scanner takes for a credential.
func TestFuzzCorporaAreSmall(t *testing.T) {
	secret := regexp.MustCompile(`PRIVATE KEY|AKIA[0-9A-Z]{16}|gh[pousr]_\w{36}|xox[abprs]-|eyJ[\w-]{8,}\.eyJ`)
	total := int64(0)

	for _, target := range fuzzTargets(t) {
		pkg, name, _ := strings.Cut(target, " ")
		dir := filepath.Join("..", pkg, "testdata", "fuzz", name)

		inputs, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) || len(inputs) > mostInputs {
			t.Errorf("%s: want at most %d inputs in %s, got %d: %v", target, mostInputs, dir, len(inputs), err)
		}

		for _, input := range inputs {
			b, err := os.ReadFile(filepath.Join(dir, input.Name()))
			if err != nil {
				t.Fatal(err)
			}

			if total += int64(len(b)); len(b) > largestInput {
				t.Errorf("%s/%s has %d bytes: make it smaller", dir, input.Name(), len(b))
			}

			if secret.Match(b) {
				t.Errorf("%s/%s looks like a credential", dir, input.Name())
			}
		}
	}

	if total > largestCorpus {
		t.Errorf("all inputs together have %d bytes: remove some", total)
	}
}

// A folder of inputs without its target is never read.
func TestFuzzCorporaHaveATarget(t *testing.T) {
	targets := fuzzTargets(t)

	dirs, err := doublestar.FilepathGlob("../**/testdata/fuzz/*")
	if err != nil {
		t.Fatal(err)
	}

	for _, dir := range dirs {
		pkg, name, _ := strings.Cut(strings.TrimPrefix(filepath.ToSlash(dir), "../"), "/testdata/fuzz/")
		if !slices.Contains(targets, pkg+" "+name) {
			t.Errorf("%s has inputs of a fuzz target that does not exist", dir)
		}
	}
}

// The weekly run fuzzes what .ci/fuzz lists. It lists each target, and each line of the list selects only one target.
func TestFuzzTargetsAreListed(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "../.ci/fuzz", "--list").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	listed, want := strings.Split(strings.TrimSpace(string(out)), "\n"), fuzzTargets(t)
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("targets: -want, +got:\n%s", diff)
	}

	if len(listed) > 256 {
		t.Error("a matrix of GitHub has at most 256 jobs")
	}

	for _, line := range listed {
		selects := regexp.MustCompile(`(^|\W)` + regexp.QuoteMeta(line) + `(\W|$)`)
		if n := len(slices.DeleteFunc(slices.Clone(listed), func(other string) bool { return !selects.MatchString(other) })); n != 1 {
			t.Errorf("%q selects %d targets", line, n)
		}
	}

	workflow, err := os.ReadFile("../.github/workflows/fuzz.yml")
	if err != nil {
		t.Fatal(err)
	}

	for _, run := range []string{".ci/fuzz --list", `.ci/fuzz "$TARGET"`} {
		if !strings.Contains(string(workflow), run) {
			t.Errorf("fuzz.yml does not run %s", run)
		}
	}
}

// fuzzTargets returns the package and the name of each fuzz target, sorted.
func fuzzTargets(t *testing.T) []string {
	t.Helper()

	var out []string

	err := filepath.WalkDir("..", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}

		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}

		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
				out = append(out, strings.TrimPrefix(path.Dir(filepath.ToSlash(file)), "../")+" "+f.Name.Name)
			}
		}

		return nil
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("want fuzz targets, got %d: %v", len(out), err)
	}

	slices.Sort(out)

	return out
}
