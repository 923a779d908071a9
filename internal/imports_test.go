// Package internal holds tests of the whole module: which package may import which, and that no
// test is skipped.
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

// The packages that a package may import besides the standard library: of this module, without
// "internal/", and of other modules, with what is below them. Tests may import more.
type imports struct{ own, other string }

// The map. A package that is not on it fails the test.
var mayImport = map[string]imports{
	"fn": {
		own:   "cli/check cli/completions cli/explain cli/help cli/migrate cli/render cli/serve cli/terminal credential function metrics",
		other: "github.com/alecthomas/kong github.com/crossplane/function-sdk-go",
	},
	"internal/cli/check": {
		own:   "cli/files cli/terminal diagnostic expression inspect plan",
		other: "github.com/alecthomas/kong",
	},
	"internal/cli/completions": {own: "cli/terminal", other: "github.com/alecthomas/kong"},
	"internal/cli/explain":     {own: "cli/files cli/terminal expression inspect vocabulary", other: "github.com/alecthomas/kong"},
	"internal/cli/files": {
		own:   "input/v1beta1 cli/terminal composition diagnostic document expression inspect limits plan schema suggest",
		other: "github.com/bmatcuk/doublestar google.golang.org/protobuf",
	},
	"internal/cli/help":    {own: "cli/terminal", other: "github.com/alecthomas/kong"},
	"internal/cli/migrate": {own: "cli/files cli/terminal expression migrate", other: "github.com/alecthomas/kong"},
	"internal/cli/render": {
		own: "input/v1beta1 cli/files cli/terminal advice composition decode diagnostic expression observation plan reconcile rotation schema seal",
		other: "github.com/alecthomas/kong github.com/crossplane/function-sdk-go github.com/google/uuid " +
			"google.golang.org/protobuf k8s.io/apimachinery sigs.k8s.io/yaml",
	},
	"internal/cli/serve": {
		own:   "cli/terminal metrics server",
		other: "github.com/alecthomas/kong github.com/crossplane/function-sdk-go google.golang.org/grpc/credentials",
	},
	"internal/cli/terminal": {own: "suggest", other: "github.com/alecthomas/kong golang.org/x/term"},
	"internal/server": { // which knows the function by its interface only
		own: "metrics wire",
		other: "github.com/crossplane/function-sdk-go github.com/grpc-ecosystem/go-grpc-middleware " +
			"github.com/prometheus/client_golang golang.org/x/sync/semaphore google.golang.org/grpc google.golang.org/protobuf",
	},
	"internal/function": {
		own:   "diagnostic expression limits metrics observation plan reconcile wire",
		other: "github.com/crossplane/function-sdk-go google.golang.org/grpc/status google.golang.org/protobuf",
	},
	"internal/function/functiontest": { // for tests
		own: "credential function rotation seal sensitive wire",
		other: "flag os github.com/crossplane/crossplane-runtime/v2/pkg/logging github.com/crossplane/function-sdk-go " +
			"github.com/google/go-cmp google.golang.org/grpc/encoding google.golang.org/grpc/mem google.golang.org/protobuf " +
			"sigs.k8s.io/yaml",
	},
	"internal/metrics":     {other: "github.com/prometheus/client_golang"},
	"input":                {},
	"input/v1beta1":        {other: "k8s.io/apimachinery"},
	"internal/lifecycle":   {},
	"internal/limits":      {},
	"internal/diagnostic":  {},
	"internal/definition":  {own: "diagnostic", other: "github.com/google/cel-go google.golang.org/protobuf/types"},
	"internal/advice":      {own: "expression suggest"},
	"internal/budget":      {own: "limits"},
	"internal/suggest":     {},
	"internal/pem":         {own: "limits"},
	"internal/format":      {other: "github.com/BurntSushi/toml net net/netip"}, // net to write the address of a host
	"internal/document":    {other: "go.yaml.in/yaml/v2 go.yaml.in/yaml/v3 sigs.k8s.io/yaml"},
	"internal/decode":      {},
	"internal/composition": {own: "decode", other: "github.com/crossplane/crossplane-runtime"},
	"internal/schema": {
		own: "decode suggest",
		other: "github.com/crossplane/crossplane-runtime github.com/crossplane/crossplane/apis " +
			"github.com/google/cel-go/common/types google.golang.org/protobuf k8s.io/api " +
			"k8s.io/apiextensions-apiserver/pkg/apis k8s.io/apimachinery",
	},
	"internal/migrate": {
		own: "input/v1beta1 composition decode diagnostic expression migrate/celtext migrate/gotemplate object plan schema",
		other: "github.com/crossplane/crossplane-runtime google.golang.org/protobuf/types k8s.io/apimachinery " +
			"sigs.k8s.io/yaml",
	},
	"internal/migrate/celtext":    {own: "plan"},
	"internal/migrate/gotemplate": {own: "migrate/celtext", other: "sigs.k8s.io/yaml"},
	"internal/jsonschema": { // a program, which go generate runs
		own:   "definition limits",
		other: "os sigs.k8s.io/yaml",
	},
	"internal/reference": { // a program, which go generate runs
		own: "input/v1beta1 definition diagnostic expression limits plan vocabulary wire",
		other: "os github.com/google/cel-go google.golang.org/protobuf/encoding/protojson " +
			"google.golang.org/protobuf/types/known/structpb sigs.k8s.io/yaml",
	},
	"internal/vocabulary": {own: "budget expression", other: "github.com/google/cel-go sigs.k8s.io/yaml"},
	"internal/sensitive":  {other: "log/slog"}, // to redact itself there
	"internal/wire/wiretest": { // for tests
		own:   "wire",
		other: "github.com/crossplane/function-sdk-go/proto google.golang.org/protobuf",
	},
	"internal/wire": {other: "github.com/crossplane/function-sdk-go/proto google.golang.org/protobuf"},
	"internal/expression": {
		own:   "budget diagnostic format kubernetes limits pem sensitive suggest",
		other: "github.com/google/cel-go google.golang.org/protobuf/types sigs.k8s.io/yaml",
	},
	"internal/kubernetes": {
		other: "github.com/blang/semver/v4 github.com/google/cel-go k8s.io/apimachinery/pkg/api/resource " +
			"k8s.io/apimachinery/pkg/util/validation k8s.io/kube-openapi/pkg/validation/strfmt",
	},
	"internal/observation": {own: "expression wire", other: "github.com/google/cel-go"},
	"internal/object":      {own: "sensitive wire", other: "google.golang.org/protobuf/types k8s.io/apimachinery"},
	"internal/environment": {
		own: "input/v1beta1 budget diagnostic limits wire",
		other: "github.com/crossplane/crossplane-runtime google.golang.org/protobuf/types " +
			"google.golang.org/protobuf/encoding/protojson k8s.io/apimachinery",
	},
	"internal/seal":     {own: "credential object sensitive"},
	"internal/rotation": {own: "input/v1beta1 limits object", other: "github.com/robfig/cron/v3"},
	"internal/credential": { // which knows nothing of generations
		own: "input/v1beta1 limits object pem sensitive",
		other: "github.com/google/uuid github.com/pavlo-v-chernykh/keystore-go/v4 " +
			"golang.org/x/crypto/bcrypt golang.org/x/crypto/blowfish golang.org/x/crypto/ssh " +
			"k8s.io/apimachinery k8s.io/utils/ptr software.sslmate.com/src/go-pkcs12",
	},
	"internal/collect": {own: "expression limits object sensitive"},
	"internal/rewrite": {own: "budget diagnostic limits sensitive suggest"},
	"internal/plan": {
		own: "input/v1beta1 budget credential definition diagnostic environment expression rotation limits object observation " +
			"rewrite schema suggest wire",
		other: "github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath google.golang.org/protobuf/types/known/structpb " +
			"k8s.io/apimachinery k8s.io/utils/lru",
	},
	"internal/plan/plantest": { // for tests
		own:   "expression plan wire",
		other: "google.golang.org/protobuf sigs.k8s.io/yaml",
	},
	"internal/inspect": {
		own: "input/v1beta1 advice budget diagnostic environment expression limits object plan schema suggest wire",
		other: "github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath github.com/google/cel-go/common/types " +
			"google.golang.org/protobuf/types/known/structpb k8s.io/apimachinery",
	},
	"internal/reconcile": {
		own: "input/v1beta1 advice budget collect credential diagnostic environment expression inspect lifecycle limits object " +
			"observation plan rewrite rotation seal sensitive suggest wire",
		other: "github.com/google/cel-go/common/types google.golang.org/protobuf k8s.io/apimachinery",
	},
	"internal/pages": {other: "os"}, // for tests
	"internal/proof": {other: "os"}, // for tests
}

// Nested modules are not on the map: no package imports them, and they keep what they need out of
// the product's go.mod. Each one needs a reason, so that no package leaves the map with a go.mod.
var modules = map[string]string{
	"internal/e2e":     "the real Crossplane, Kubernetes and etcd, and the readers of other languages",
	"internal/lint":    "golangci-lint and govulncheck, which need two hundred modules",
	"internal/release": "images, registries and SBOMs",
}

// The packages that meet the outside, with those below them. All others see only what they are
// handed: what they do depends on no file, no connection, no flag and no log.
var outermost = []string{"fn", "internal/cli", "internal/server"}

// Only the outermost packages may import these, and a package that names them on the map.
var onlyOutermost = []string{"log", "log/slog", "flag", "os", "net", "net/http"}

// It parses the files itself: the test cache does not see what a go command reads.
func TestImports(t *testing.T) {
	for dir, files := range packages(t) {
		may, ok := mayImport[dir]
		if !ok {
			t.Errorf("package %s is not on the map: say what it may import", dir)
			continue
		}
		for _, file := range files {
			for _, path := range importsOf(t, file) {
				if why := may.refuse(dir, path); why != "" {
					t.Errorf("%s imports %s: %s", file, path, why)
				}
			}
		}
	}
	for dir := range mayImport {
		if _, ok := packages(t)[dir]; !ok {
			t.Errorf("package %s is on the map and does not exist", dir)
		}
	}
}

func (i imports) refuse(dir, path string) string {
	named := slices.ContainsFunc(strings.Fields(i.other), func(p string) bool { return strings.HasPrefix(path+"/", p+"/") })
	own, isOwn := strings.CutPrefix(path, module)
	host, _, _ := strings.Cut(path, "/")
	switch {
	case isOwn && !slices.Contains(strings.Fields(i.own), strings.TrimPrefix(own, "internal/")):
		return "the map does not allow this package"
	case isOwn || named:
		return ""
	case strings.Contains(host, "."):
		return "the map does not allow this module"
	case slices.Contains(onlyOutermost, path) && !slices.ContainsFunc(outermost, func(o string) bool { return strings.HasPrefix(dir+"/", o+"/") }):
		return "only the outermost packages may import it"
	}
	return ""
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
			if strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") || d.Name() == "testdata" {
				return filepath.SkipDir // no code
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				dir, err := filepath.Rel("..", path)
				if err != nil {
					return err
				}
				if _, ok := modules[filepath.ToSlash(dir)]; !ok {
					t.Errorf("%s is a nested module without a reason", dir)
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
