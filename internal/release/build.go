package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

type buildCmd struct {
	output
	Version string `help:"The version. The default is v0.0.0-<time>-<commit>." placeholder:"VERSION"`
}

// Run writes a package for each architecture, a program for each platform, and their checksums into
// the output folder: all or none. It prints the SHA-256 of each package as sha256sum does, and the
// digest that the registry will have once they are pushed.
func (c *buildCmd) Run(ctx context.Context, w *workspace) error {
	src, err := readSource(ctx, w.root, c.Version)
	if err != nil {
		return err
	}
	crossplane, err := w.crossplane(ctx)
	if err != nil {
		return err
	}
	dir := c.dir(w.root)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // There is no secret in it.
		return fmt.Errorf("cannot create output folder: %w", err)
	}
	work, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return fmt.Errorf("cannot create folder to build in: %w", err)
	}
	defer os.RemoveAll(work) //nolint:errcheck // A folder that stays does no harm.

	if err := buildPrograms(ctx, w, src, work); err != nil {
		return err
	}
	for _, arch := range architectures {
		if err := buildPackage(ctx, src, crossplane, arch, work); err != nil {
			return err
		}
	}
	digest, err := rehearse(ctx, crossplane, work)
	if err != nil {
		return err
	}
	if err := writeChecksums(work); err != nil {
		return err
	}
	for _, path := range append(products(work), filepath.Join(work, checksums)) {
		if err := os.Rename(path, filepath.Join(dir, filepath.Base(path))); err != nil {
			return fmt.Errorf("cannot keep what was built: %w", err)
		}
	}
	for _, arch := range architectures {
		path := packageFile(dir, arch)
		sum, err := fileSum(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(w.stdout, "%s  %s\n", sum, path)
	}
	fmt.Fprintf(w.stdout, "%s  as pushed\n", digest)
	return nil
}

// buildPackage writes the package of an architecture into a folder with the programs. The CLI adds the package's
// metadata, the input's schema and the examples to the image. The CLI adds no times of its own, and
// reads files in the order of their names.
func buildPackage(ctx context.Context, src source, crossplane, arch, dir string) error {
	runtime := filepath.Join(dir, "runtime-"+arch+".tar")
	img, err := runtimeImage(src, arch, program(dir, platform{"linux", arch}))
	if err != nil {
		return err
	}
	tag, err := name.NewTag("function-export:" + arch)
	if err != nil {
		return fmt.Errorf("cannot name image: %w", err)
	}
	if err := tarball.WriteToFile(runtime, tag, img); err != nil {
		return fmt.Errorf("cannot write image: %w", err)
	}
	_, err = run(ctx, src.root, nil, crossplane, "xpkg", "build", "--package-root=package", "--examples-root=example",
		"--embed-runtime-image-tarball="+runtime, "--package-file="+packageFile(dir, arch))
	return err
}

// fileSum returns the SHA-256 of a file, in hexadecimal.
func fileSum(path string) (string, error) {
	f, err := os.Open(path) //nolint:gosec // It was just built.
	if err != nil {
		return "", fmt.Errorf("cannot read what was built: %w", err)
	}
	defer f.Close() //nolint:errcheck // Only read.
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("cannot read what was built: %w", err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}
