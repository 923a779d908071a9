package check

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// checkFiles returns the diagnostics of files, as text.
func checkFiles(t *testing.T, cmd Command) (*checked, string) {
	t.Helper()
	result, err := cmd.check(context.Background(), terminal.Disk(nil))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := terminal.PrintText(&text, result.Diagnostics); err != nil {
		t.Fatal(err)
	}
	return result, text.String()
}

// TestExamplesAreRight checks all examples at once, with the types that they declare.
func TestExamplesAreRight(t *testing.T) {
	result, text := checkFiles(t, Command{Paths: []string{"../../../../example"}})
	if text != "" || len(result.unreadable()) > 0 {
		t.Errorf("want no faults, got:\n%s", text)
	}
	compositions, err := filepath.Glob("../../../../example/*/composition.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Steps) < len(compositions) {
		t.Errorf("want an input of each of %d Compositions, got %d", len(compositions), len(result.Steps))
	}
}

// TestMigratedIsRight checks the output of migrate, as its users would. A public template writes a connection detail,
// which is Base64 in a template, as a text. The migration keeps that, and the check warns of it.
func TestMigratedIsRight(t *testing.T) {
	files, err := filepath.Glob("../../migrate/testdata/*.golden.yaml")
	if err != nil {
		t.Fatal(err)
	}
	result, text := checkFiles(t, Command{Paths: files})
	if text != "" && !strings.Contains(text, "[encoded-twice]") || len(result.unreadable()) > 0 ||
		strings.Count(text, "warning: ") > 1 {
		t.Errorf("want no faults, got:\n%s", text)
	}
	if len(result.Files) < len(files) || len(files) == 0 {
		t.Errorf("want an input in each of %d files, got %d", len(files), len(result.Files))
	}
}

// TestCheckKinds has composed resources whose kind, or name, is not known for sure.
func TestCheckKinds(t *testing.T) {
	const objects = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: apps}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: App}
  mode: Pipeline
  pipeline:
  - step: one
    functionRef: {name: function-conditional-patch-and-transform}
    input: {apiVersion: conditional-pt.fn.crossplane.io/v1beta1, kind: Resources,
      condition: observed.composite.resource.spec.a, resources: [{name: db, base: {apiVersion: v1, kind: ConfigMap}}]}
  - step: two
    functionRef: {name: function-conditional-patch-and-transform}
    input: {apiVersion: conditional-pt.fn.crossplane.io/v1beta1, kind: Resources,
      MORE resources: [{name: db, base: {apiVersion: v1, kind: KIND}}]}
  - step: export
    functionRef: {name: function-export}
    input:
      apiVersion: export.fn.crossplane.io/v1beta1
      kind: Exports
      configMaps:
      - name: settings
        data:
        - {key: region, value: VALUE}
`
	for name, c := range map[string]struct{ reason, kind, more, value, want string }{
		"Same": {"Both are one kind, which has no such field.", "ConfigMap", "", "resources.db.spec.x", "ConfigMap " +
			"of v1 has no field spec"},
		"Two": {"Of two kinds it is one or the other.", "Service", "", "resources.db.data.x", ""},
		"Closed": {"All that is composed is known.", "ConfigMap", "", "resources.bd.data.x", "no step of the " +
			"pipeline composes a resource named bd"},
		"Secret": {"The connection Secret has a name of its own.", "ConfigMap", "writeConnectionSecretToRef: {name: " +
			"x},", "resources.bd.data.x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.NewReplacer("KIND", c.kind, "MORE", c.more, "VALUE", c.value).Replace(objects)
			dir := functiontest.Folder(t, functiontest.Files{"xr.yaml": "-", "composition.yaml": text})
			if _, got := checkFiles(t, Command{Paths: []string{dir}}); (got != "") != (c.want != "") ||
				!strings.Contains(got, c.want) {
				t.Errorf("%s\nwant %q, got:\n%s", c.reason, c.want, got)
			}
		})
	}
}
