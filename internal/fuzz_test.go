package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/google/go-cmp/cmp"
)

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

// The weekly run fuzzes what .ci/fuzz lists.
func TestFuzzTargetsAreListed(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "../.ci/fuzz", "--list").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	listed, want := strings.Split(strings.TrimSpace(string(out)), "\n"), fuzzTargets(t)
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("targets: -want, +got:\n%s", diff)
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
