// Package internal holds tests of the whole module: which package may import which.
package internal

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/crossplane-contrib/function-export/"

// The packages of the engine, in layers: a package imports only packages of lines above its own. So none of them
// imports the desk.
const engine = `
	limits diagnostic suggest sensitive decode fieldpath lifecycle metrics lazy
	budget pem format kubernetes wire celast
	functions
	expression object rewrite schema definition
	observation environment credential strict
	rotation
	seal plan
	mention evaluate
	collect lookup
	outcome
	misspelt composite
	generations
	reconcile
	advice/fields
	advice
	plan/plantest
	function
	server
`

// The packages of the desk, in layers like those of the engine. They import all of the engine, except the server.
const desk = `
	document migrate/celtext pages catalog world
	migrate/gotemplate
	composition
	pipeline
	inspect vocabulary typecheck exportstest state
	migrate reference rules
	diff
	files
	lsp
	cli
`

// The packages that meet the outside, with those below them. All others depend only on their arguments: on no
// file, connection, flag or log.
var outermost = []string{
	"fn", "internal/engine/server",
	"internal/desk/cli/terminal", "internal/desk/cli/serve", "internal/desk/cli/completions", "internal/desk/cli/test",
	"internal/desk/reference",                            // a program, which go generate runs
	testHelpers, "internal/desk/pages", "internal/proof", // for tests
	"internal/engine/sensitive", // to redact itself in a log
	"internal/engine/format",    // to write the address of a host
}

// The packages that are in no half: the program, the input, and what the guarantees and the function are tested with.
var outside = []string{"fn", "input", "input/crd", "input/v1beta1", "internal/proof", testHelpers}

// testHelpers is only imported by tests, so it may import both halves.
const testHelpers = "internal/engine/function/functiontest"

// Only the outermost packages may import these.
var onlyOutermost = []string{"log", "log/slog", "flag", "os", "os/exec", "os/signal", "net", "net/http", "syscall"}

// Only the outermost packages may call these functions of path/filepath, because they read the disk.
var readsDisk = regexp.MustCompile(`\bfilepath\.(Abs|EvalSymlinks|Glob|Walk|WalkDir)\(`)

// It parses the files itself: the test cache does not see what a go command reads.
func TestImports(t *testing.T) {
	layers := map[string]int{}
	for half, lines := range map[string]string{"engine": engine, "desk": desk} {
		for i, line := range strings.Split(lines, "\n") {
			for _, name := range strings.Fields(line) {
				layers[half+"/"+name] = i + map[string]int{"engine": 0, "desk": 100}[half]
			}
		}
	}
	found := map[string]bool{}
	for dir, files := range packages(t) {
		name := layerOf(layers, strings.TrimPrefix(dir, "internal/"))
		found[name] = true
		if _, ok := layers[name]; !ok && !slices.Contains(outside, dir) {
			t.Errorf("package %s is in no layer: say where it belongs", dir)
		}
		for _, file := range files {
			if text, err := os.ReadFile(file); err != nil || readsDisk.Match(text) && !isOutermost(dir) {
				t.Errorf("%s calls %s, which only the outermost packages may call: %v", file, readsDisk.Find(text), err)
			}
			for _, path := range importsOf(t, file) {
				if slices.Contains(onlyOutermost, path) && !isOutermost(dir) {
					t.Errorf("%s imports %s, which only the outermost packages may import", file, path)
				}
				own, isOwn := strings.CutPrefix(path, module+"internal/")
				of := layerOf(layers, own)
				if layer, ok := layers[name]; ok && isOwn && of != name && layers[of] >= layer {
					t.Errorf("%s imports %s, which is in the same layer or in one below it", file, path)
				}
			}
		}
	}
	for name := range layers {
		if !found[name] {
			t.Errorf("package %s is in a layer and does not exist", name)
		}
	}
}

// layerOf returns the name under which a package, or the package that it is below, is in a layer.
func layerOf(layers map[string]int, dir string) string {
	for name := dir; strings.Contains(name, "/") && "internal/"+name != testHelpers; name = path.Dir(name) {
		if _, ok := layers[name]; ok {
			return name
		}
	}
	return dir
}

func isOutermost(dir string) bool {
	return slices.ContainsFunc(outermost, func(o string) bool { return strings.HasPrefix(dir+"/", o+"/") })
}

// packages returns the files of each package, without tests.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != ".." {
			if strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") || d.Name() == "testdata" ||
				d.Name() == "node_modules" {
				return filepath.SkipDir // no code
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				return filepath.SkipDir // a nested module, which no package imports
			}
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			dir, err := filepath.Rel("..", filepath.Dir(path))
			if err != nil {
				return err
			}
			out[filepath.ToSlash(dir)] = append(out[filepath.ToSlash(dir)], path)
		}
		return nil
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("cannot find packages: %v", err)
	}
	return out
}

func importsOf(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, 0, len(f.Imports))
	for _, i := range f.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, path)
	}
	return out
}
