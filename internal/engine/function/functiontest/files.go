package functiontest

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Indented adds blanks before each line except the first.
func Indented(text string, by int) string {
	return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", by))
}

// ModuleRoot returns the relative path of the folder with the Dockerfile, which is the root of the repository.
func ModuleRoot(t testing.TB) string {
	t.Helper()
	for dir := "."; len(dir) < 100; dir = filepath.Join(dir, "..") {
		if _, err := os.Stat(filepath.Join(dir, "Dockerfile")); err == nil {
			return dir
		}
	}
	t.Fatal("no Dockerfile")
	return ""
}

// Files is a folder to render, by file name.
type Files map[string]string

// The smallest files that render.
const (
	XR = `
apiVersion: example.org/v1
kind: App
metadata: {name: demo, namespace: default, uid: 11111111-1111-1111-1111-111111111111}
spec: {size: 3}
`
	Composition = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: apps}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: App}
  mode: Pipeline
  pipeline:
  - step: export
    functionRef: {name: function-export}
    input: {apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports}
`
)

// Folder writes the files, and the smallest files that render for those that are missing. A file
// whose text is "-" is omitted.
func Folder(t *testing.T, files Files) string {
	t.Helper()
	dir := t.TempDir()
	all := Files{"xr.yaml": XR, "composition.yaml": Composition}
	maps.Copy(all, files)
	for name, text := range all {
		if text == "-" {
			continue
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ExampleDirs returns the folders of the examples, and of their moments.
func ExampleDirs(t testing.TB) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(filepath.Join(ModuleRoot(t), "example"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "xr.yaml" {
			dirs = append(dirs, filepath.Dir(path))
		}
		return err
	})
	if err != nil || len(dirs) == 0 {
		t.Fatal("no examples", err)
	}
	return dirs
}

// ExampleFunction returns the function at the time of an example, with the same randomness in each
// call.
func ExampleFunction(t testing.TB, dir string) *Function {
	t.Helper()
	f := Fixed(t)
	if text, err := os.ReadFile(filepath.Join(dir, "now.txt")); err == nil {
		at, err := time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		f.Now = func() time.Time { return at }
	}
	return f
}

// An observed database, and its Secret.
const (
	Database = `
apiVersion: example.org/v1
kind: Database
metadata: {name: demo-db, namespace: default, annotations: {crossplane.io/composition-resource-name: db}}
`
	DatabaseSecret = `
apiVersion: v1
kind: Secret
metadata: {name: conn, namespace: default}
`
)
