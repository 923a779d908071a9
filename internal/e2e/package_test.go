package e2e

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestPackage builds the package as a release does, except its image. Missing parts of a package
// are no error: a folder that is a symlink is skipped, and a package without the input's schema is
// valid.
func TestPackage(t *testing.T) {
	p := PeersForTest(t)

	path := filepath.Join(t.TempDir(), "function-export.xpkg")
	mustRun(t, p.CLI, "xpkg", "build", "-f", root+"/package", "-e", example, "-o", path)

	files := layers(t, path)

	want := map[string]int{"Function function-export": 1, "CustomResourceDefinition exports.export.fn.crossplane.io": 1}
	if diff := cmp.Diff(want, counted(parseObjects(t, files["package.yaml"]))); diff != "" {
		t.Errorf("the package: -want, +got:\n%s", diff)
	}

	wanted, compositions := 0, 0

	err := filepath.WalkDir(example, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}

		text, err := os.ReadFile(path)
		wanted += strings.Count("\n"+string(text), "\nkind: Composition\n")

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	for _, o := range parseObjects(t, files[".up/examples.yaml"]) {
		if o.GetKind() == "Composition" {
			compositions++
		}
	}

	if diff := cmp.Diff(wanted, compositions); diff != "" || wanted == 0 {
		t.Errorf("Compositions among the examples of the package: -want, +got:\n%s", diff)
	}
}

// counted counts objects by kind and name.
func counted(objects []*unstructured.Unstructured) map[string]int {
	out := map[string]int{}
	for _, o := range objects {
		out[o.GetKind()+" "+o.GetName()]++
	}

	return out
}

// layers reads the files in all layers of an image's tarball.
func layers(t *testing.T, path string) map[string]string {
	t.Helper()

	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	out := map[string]string{}

	eachFile(t, f, func(name string, layer io.Reader) {
		if !strings.HasSuffix(name, ".tar.gz") {
			return
		}

		unzipped, err := gzip.NewReader(layer)
		if err != nil {
			t.Fatal(err)
		}

		eachFile(t, unzipped, func(name string, file io.Reader) {
			b, err := io.ReadAll(file)
			if err != nil {
				t.Fatal(err)
			}

			out[name] = string(b)
		})
	})

	return out
}

// eachFile calls a function with every file of a tarball.
func eachFile(t *testing.T, r io.Reader, fn func(name string, file io.Reader)) {
	t.Helper()

	for tarball := tar.NewReader(r); ; {
		header, err := tarball.Next()
		if errors.Is(err, io.EOF) {
			return
		}

		if err != nil {
			t.Fatal(err)
		}

		fn(header.Name, tarball)
	}
}
