package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

type sbomCmd struct {
	output
}

// Run writes a CycloneDX file next to each package. It reads the function in the package itself,
// not the repository, so that the file lists the content of the package.
func (c *sbomCmd) Run(_ context.Context, w *workspace) error {
	dir := c.dir(w.root)
	for _, arch := range architectures {
		f, err := readFunction(packageFile(dir, arch))
		if err != nil {
			return err
		}
		bom, err := f.bom()
		if err != nil {
			return err
		}
		buf := &bytes.Buffer{}
		// Not the latest version of the format, but one that most readers support.
		if err := cyclonedx.NewBOMEncoder(buf, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom,
			cyclonedx.SpecVersion1_6); err != nil {
			return fmt.Errorf("cannot write SBOM: %w", err)
		}
		path := strings.TrimSuffix(packageFile(dir, arch), filepath.Ext(packageFile(dir, arch))) + ".cdx.json"
		if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil { //nolint:gosec // It is published.
			return fmt.Errorf("cannot write SBOM: %w", err)
		}
		fmt.Fprintln(w.stdout, path)
	}
	return nil
}

// A function is the binary in a package, with the labels of its image.
type function struct {
	binary  []byte
	version string
	created time.Time
	info    *debug.BuildInfo
}

// readFunction finds the function in a package.
func readFunction(path string) (function, error) {
	img, err := tarball.ImageFromPath(path, nil)
	if err != nil {
		return function{}, fmt.Errorf("cannot read package %q: build it first: %w", path, err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return function{}, fmt.Errorf("cannot read package %q: %w", path, err)
	}
	files := mutate.Extract(img)
	defer files.Close() //nolint:errcheck // Only read.
	for r := tar.NewReader(files); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return function{}, fmt.Errorf("cannot find the function in package %q", path)
		}
		if err != nil {
			return function{}, fmt.Errorf("cannot read package %q: %w", path, err)
		}
		if header.Name != "function" {
			continue
		}
		f := function{version: config.Config.Labels[labelVersion], created: config.Created.Time}
		if f.binary, err = io.ReadAll(r); err != nil {
			return function{}, fmt.Errorf("cannot read package %q: %w", path, err)
		}
		if f.info, err = buildinfo.Read(bytes.NewReader(f.binary)); err != nil {
			return function{}, fmt.Errorf("cannot read what the function in %q is made of: %w", path, err)
		}
		return f, nil
	}
}

// bom lists the modules that the linker included in the binary, and Go's standard library. The same
// package always has the same file: its number comes from the binary, and its time from the commit.
func (f function) bom() (*cyclonedx.BOM, error) {
	sum := sha256.Sum256(f.binary)
	self := module(f.info.Main.Path, f.version)
	self.Type = cyclonedx.ComponentTypeApplication
	self.Description = "The binary at /function, " + f.setting("GOOS") + "/" + f.setting("GOARCH")
	self.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sum)}}
	self.Licenses = &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}}

	components := []cyclonedx.Component{module("std", strings.TrimPrefix(f.info.GoVersion, "go"))}
	for _, m := range f.info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := module(m.Path, m.Version)
		if m.Sum != "" {
			hash, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
			if err != nil {
				return nil, fmt.Errorf("cannot read the sum of module %q: %w", m.Path, err)
			}
			c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: fmt.Sprintf("%x", hash)}}
		}
		components = append(components, c)
	}
	refs := make([]string, 0, len(components))
	for _, c := range components {
		refs = append(refs, c.BOMRef)
	}

	// A UUID of version 8, whose content the creator defines.
	id := sha256.Sum256(append(sum[:], f.version...))
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80

	bom := cyclonedx.NewBOM()
	bom.SerialNumber = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])
	bom.Metadata = &cyclonedx.Metadata{Timestamp: f.created.UTC().Format(time.RFC3339), Component: &self}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: self.BOMRef, Dependencies: &refs}}
	return bom, nil
}

// setting returns a setting of the build, as go version -m shows it.
func (f function) setting(key string) string {
	for _, s := range f.info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// module returns a Go module as a component. Go's hash of a module, which covers all its files, is
// in the same field as in the files of other tools.
func module(path, version string) cyclonedx.Component {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return cyclonedx.Component{BOMRef: purl, Type: cyclonedx.ComponentTypeLibrary, Name: path, Version: version,
		PackageURL: purl}
}
