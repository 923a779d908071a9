package e2e

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestPackage builds the package as a release does, except its image. Missing parts of a package are no error: a folder
// that is a symlink is skipped, and a package without the input's schema is valid.
func TestPackage(t *testing.T) {
	p := PeersForTest(t)

	path := filepath.Join(t.TempDir(), "function-export.xpkg")
	mustRun(t, p.CLI, "xpkg", "build", "-f", root+"/package", "-e", example, "-o", path)

	files := layers(t, path)

	want := []string{"CustomResourceDefinition exports.export.fn.crossplane.io", "Function function-export"}
	if diff := cmp.Diff(want, named(parseObjects(t, files["package.yaml"]))); diff != "" {
		t.Errorf("the package: -want, +got:\n%s", diff)
	}

	compositions := map[string]bool{}

	for _, dir := range examples(t) {
		for _, name := range named(readObjects(t, filepath.Join(dir, "composition.yaml"))) {
			compositions[name] = true
		}
	}

	for _, name := range named(parseObjects(t, files[".up/examples.yaml"])) {
		delete(compositions, name)
	}

	if len(compositions) > 0 {
		t.Errorf("the package lacks %v of the examples", compositions)
	}
}

// named returns the kinds and names of objects, sorted.
func named(objects []*unstructured.Unstructured) (out []string) {
	for _, o := range objects {
		out = append(out, o.GetKind()+" "+o.GetName())
	}

	slices.Sort(out)

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
