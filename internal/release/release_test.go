package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const testVersion = "v9.8.7"

// A built package is made once, by the first test that asks for it, from a copy
// of the repository: somebody may be at work in there.
type built struct {
	root, dir string
	stdout    string
}

var temp string // removed when all tests have run

func TestMain(m *testing.M) {
	// The tests build the programs of the packages, and one for another system: each takes minutes.
	platforms = slices.DeleteFunc(platforms, func(p platform) bool {
		return p.system != "linux" && p != platform{"windows", "amd64"}
	})
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	temp = dir
	code := m.Run()
	os.RemoveAll(temp) //nolint:errcheck,gosec // Nothing depends on it.
	os.Exit(code)
}

var buildOnce = sync.OnceValues(func() (built, error) {
	root, err := repository(context.Background())
	if err != nil {
		return built{}, err
	}
	copied := filepath.Join(temp, "repository")
	if err := copyRepository(root, copied); err != nil {
		return built{}, err
	}
	return build(copied, filepath.Join(temp, "built"))
})

func build(root, dir string) (built, error) {
	var stdout, stderr bytes.Buffer
	c := &buildCmd{output: output{Output: dir}, Version: testVersion}
	err := c.Run(context.Background(), &workspace{root: root, stdout: &stdout, stderr: &stderr})
	return built{root: root, dir: dir, stdout: stdout.String()}, err
}

func builtPackages(t *testing.T) built {
	t.Helper()
	if testing.Short() {
		t.Skip("with -short no package is built")
	}
	b, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// image is the image in the package of an architecture.
func (b built) image(t *testing.T, arch string) v1.Image {
	t.Helper()
	img, err := tarball.ImageFromPath(packageFile(b.dir, arch), nil)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func config(t *testing.T, img v1.Image) *v1.ConfigFile {
	t.Helper()
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A file of a layer.
type file struct {
	header  *tar.Header
	content []byte
}

// files are those of all layers, by name. A file that is there twice is an error.
func files(t *testing.T, img v1.Image) map[string]file {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]file{}
	for _, l := range layers {
		content, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(content); ; {
			header, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := out[header.Name]; ok {
				t.Errorf("%s is in the image twice", header.Name)
			}
			b, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			out[header.Name] = file{header: header, content: b}
		}
		if err := content.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// copyRepository copies what is checked out to another folder, git included, with
// other file times, as in a fresh clone.
func copyRepository(root, out string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		to := filepath.Join(out, rel)
		switch {
		case d.IsDir() && strings.HasPrefix(d.Name(), "_"):
			return filepath.SkipDir // products of earlier builds
		case d.IsDir():
			return os.MkdirAll(to, 0o755) //nolint:gosec // As git does it.
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, to)
		}
		b, err := os.ReadFile(path) //nolint:gosec // A file of this repository.
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(to, b, info.Mode())
	})
}
