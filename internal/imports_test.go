// Package internal holds the map of the house, and the test that keeps it.
package internal

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/crossplane-contrib/function-export/"

// A room says what a package may import beside the standard library: rooms of
// this module, and modules from outside. Test files may import more.
type room struct {
	rooms, outside []string
}

// The map. A package that is not on it fails the test.
var rooms = map[string]room{
	"fn": {
		rooms: []string{
			"input/v1beta1", "internal/composition", "internal/document", "internal/expression", "internal/limits", "internal/migrate", "internal/observation",
			"internal/plan", "internal/schema", "internal/suggest", "internal/wire",
		},
		outside: []string{
			"github.com/alecthomas/kong", "github.com/bmatcuk/doublestar", "github.com/posener/complete", "github.com/willabides/kongplete", "golang.org/x/sync/semaphore", "golang.org/x/term", "github.com/crossplane/function-sdk-go", "github.com/google/uuid", "github.com/grpc-ecosystem/go-grpc-middleware",
			"github.com/prometheus/client_golang", "google.golang.org/grpc", "google.golang.org/protobuf", "k8s.io/apimachinery", "sigs.k8s.io/yaml",
		},
	},
	"input":                {},
	"input/v1beta1":        {outside: []string{"k8s.io/apimachinery"}},
	"internal/limits":      {},
	"internal/budget":      {rooms: []string{"internal/limits"}},
	"internal/suggest":     {},
	"internal/document":    {outside: []string{"go.yaml.in/yaml/v2", "go.yaml.in/yaml/v3", "sigs.k8s.io/yaml"}},
	"internal/composition": {outside: []string{"github.com/crossplane/crossplane-runtime"}},
	"internal/schema": {
		rooms: []string{"internal/suggest"},
		outside: []string{
			"github.com/crossplane/crossplane-runtime", "github.com/crossplane/crossplane/apis", "github.com/google/cel-go/common/types", "google.golang.org/protobuf",
			"k8s.io/api", "k8s.io/apiextensions-apiserver/pkg/apis", "k8s.io/apimachinery",
		},
	},
	"internal/migrate": {
		rooms:   []string{"input/v1beta1", "internal/expression", "internal/object", "internal/plan"},
		outside: []string{"github.com/crossplane/crossplane-runtime", "google.golang.org/protobuf/types", "k8s.io/apimachinery", "sigs.k8s.io/yaml"},
	},
	"internal/jsonschema": { // a program, which go generate runs
		rooms:   []string{"internal/limits"},
		outside: []string{"github.com/google/cel-go", "os", "sigs.k8s.io/yaml"},
	},
	"internal/sensitive": {outside: []string{"log/slog"}}, // to redact itself there
	"internal/wire/wiretest": { // for tests
		rooms:   []string{"internal/wire"},
		outside: []string{"github.com/crossplane/function-sdk-go/proto", "google.golang.org/protobuf"},
	},
	"internal/wire": {outside: []string{"github.com/crossplane/function-sdk-go/proto", "google.golang.org/protobuf"}},
	"internal/expression": {
		rooms:   []string{"internal/budget", "internal/limits", "internal/sensitive", "internal/suggest"},
		outside: []string{"github.com/google/cel-go", "google.golang.org/protobuf/types", "sigs.k8s.io/yaml"},
	},
	"internal/observation": {
		rooms:   []string{"internal/expression", "internal/wire"},
		outside: []string{"github.com/google/cel-go"},
	},
	"internal/object": {
		rooms:   []string{"internal/sensitive", "internal/wire"},
		outside: []string{"google.golang.org/protobuf/types", "k8s.io/apimachinery"},
	},
	"internal/environment": {
		rooms:   []string{"input/v1beta1", "internal/budget", "internal/limits", "internal/wire"},
		outside: []string{"github.com/crossplane/crossplane-runtime", "google.golang.org/protobuf/types", "google.golang.org/protobuf/encoding/protojson", "k8s.io/apimachinery"},
	},
	"internal/generator": {
		rooms:   []string{"input/v1beta1", "internal/limits", "internal/object", "internal/sensitive"},
		outside: []string{"github.com/google/uuid", "golang.org/x/crypto/ssh", "k8s.io/apimachinery"},
	},
	"internal/collect": {rooms: []string{"internal/expression", "internal/limits", "internal/object", "internal/sensitive"}},
	"internal/rewrite": {rooms: []string{"internal/budget", "internal/limits", "internal/sensitive", "internal/suggest"}},
	"internal/plan": {
		rooms: []string{
			"input/v1beta1", "internal/budget", "internal/collect", "internal/environment", "internal/expression", "internal/generator", "internal/limits", "internal/object",
			"internal/observation", "internal/rewrite", "internal/schema", "internal/sensitive", "internal/suggest", "internal/wire",
		},
		outside: []string{
			"github.com/crossplane/crossplane-runtime", "github.com/google/cel-go/common/types", "google.golang.org/protobuf",
			"k8s.io/apimachinery", "k8s.io/utils/lru",
		},
	},
	"internal/e2e":              {outside: []string{"github.com/rogpeppe/go-internal/lockedfile"}},
	"internal/figures":          {},
	"internal/attack":           {rooms: []string{"internal/limits"}, outside: []string{"google.golang.org/protobuf/types", "github.com/crossplane/function-sdk-go/proto"}},
	"internal/e2e/build":        {rooms: []string{"internal/e2e"}},
	"internal/e2e/live":         {rooms: []string{"internal/e2e"}, outside: []string{"k8s.io/apimachinery", "k8s.io/client-go"}},
	"internal/e2e/live/compose": {outside: []string{"github.com/crossplane/function-sdk-go", "google.golang.org/protobuf"}},
}

// Modules of their own are not on the map: no room can import them, and the
// product's go.mod knows nothing of what they need. Each is here with its reason,
// so that no room leaves the map by having a go.mod.
var modules = map[string]string{
	"internal/e2e/tools": "the real Crossplane and what it runs on",
	"internal/release":   "images, registries and SBOMs",
}

// Below fn nothing knows gRPC, requests, the clock, logs or flags; but for the room of the
// requests.
var onlyInFn = []string{"google.golang.org/grpc", "github.com/crossplane/function-sdk-go", "log", "log/slog", "flag", "os", "net", "net/http"}

// It parses the files in process: a go command run by the test would be outside
// of what the test cache looks at.
func TestImports(t *testing.T) {
	for dir, files := range packages(t) {
		r, ok := rooms[dir]
		if !ok {
			t.Errorf("package %s is not on the map: say what it may import", dir)
			continue
		}
		for _, file := range files {
			for _, path := range imports(t, file) {
				if why := r.refuse(dir, path); why != "" {
					t.Errorf("%s imports %s: %s", file, path, why)
				}
			}
		}
	}
}

func (r room) refuse(dir, path string) string {
	known := slices.ContainsFunc(r.outside, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
	below := strings.HasPrefix(dir, "internal/") && !strings.HasPrefix(dir, "internal/e2e") && dir != "internal/figures"
	switch own, isOwn := strings.CutPrefix(path, module); {
	case below && slices.Contains(onlyInFn, path) && !slices.Contains(r.outside, path):
		return "only fn may know of it"
	case isOwn && !slices.Contains(r.rooms, own):
		return "that room is not below this one"
	case !isOwn && strings.Contains(strings.SplitN(path, "/", 2)[0], ".") && !known:
		return "the map does not have it for this room"
	}
	return ""
}

// packages are the product's files by folder, tests left out.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != ".." {
			if strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") || d.Name() == "testdata" {
				return filepath.SkipDir // no code
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				dir, err := filepath.Rel("..", path)
				if err != nil {
					return err
				}
				if _, ok := modules[filepath.ToSlash(dir)]; !ok {
					t.Errorf("%s is a module of its own: put it on the map, or say why it is one", dir)
				}
				return filepath.SkipDir
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

func imports(t *testing.T, file string) []string {
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
