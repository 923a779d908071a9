package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Labels of an image, as the OCI image specification names them.
const (
	labelSource   = "org.opencontainers.image.source"
	labelLicenses = "org.opencontainers.image.licenses"
	labelRevision = "org.opencontainers.image.revision"
	labelVersion  = "org.opencontainers.image.version"
	labelTitle    = "org.opencontainers.image.title"
	labelDescribe = "org.opencontainers.image.description"
	labelDocs     = "org.opencontainers.image.documentation"
)

const repositoryURL = "https://github.com/crossplane-contrib/function-export"

// versionVariable is the variable of the function that holds its version.
const versionVariable = "github.com/crossplane-contrib/function-export/internal/desk/cli/terminal.Version"

// The architectures that a package is built for, all of them with Linux.
var architectures = []string{"amd64", "arm64"}

// compile builds the program for a platform. It sets everything that may differ between
// machines: the level of the architecture, cgo, and flags. Only Go's own version remains, which the
// binary names.
func compile(ctx context.Context, src source, p platform, path string) error {
	env := []string{
		"GOOS=" + p.system, "GOARCH=" + p.arch, "GOAMD64=v1", "GOARM64=v8.0", "CGO_ENABLED=0", "GOFIPS140=off",
		"GOFLAGS=-mod=readonly", "GOWORK=off",
	}
	// Without debugging information, which is useless in an image with only one file, and with the
	// symbols, which govulncheck -mode=binary reads. The tag leaves out gRPC's pages about its requests in progress,
	// which the server does not offer.
	_, err := run(ctx, src.root, env, "go", "build", "-tags", "grpcnotrace", "-trimpath", "-buildvcs=false",
		"-ldflags", "-w -X "+versionVariable+"="+src.version, "-o", path, "./fn")
	return err
}

// runtimeImage returns an image with only the function: no shell, no libraries, no user database.
// The layer depends only on the binary, so that a registry stores it once even if it is released
// several times.
func runtimeImage(src source, arch, binary string) (v1.Image, error) {
	layer, err := functionLayer(binary)
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: src.time}
	img, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: created, CreatedBy: "function-export " + src.version},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot make image: %w", err)
	}
	base, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("cannot make image: %w", err)
	}
	// Without a variant of the architecture, because the CLI's index has none.
	config := base.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, created
	config.Config = v1.Config{
		User:         "65532:65532",
		Entrypoint:   []string{"/function"},
		ExposedPorts: map[string]struct{}{"9443/tcp": {}},
		Labels: map[string]string{
			labelSource: repositoryURL, labelLicenses: "Apache-2.0", labelVersion: src.version,
			labelTitle:    "function-export",
			labelDescribe: "Exports values of a Crossplane composition as Secrets and ConfigMaps.",
			labelDocs:     repositoryURL + "#readme",
		},
	}
	if src.revision != "" {
		config.Config.Labels[labelRevision] = src.revision
	}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return nil, fmt.Errorf("cannot make image: %w", err)
	}
	return img, nil
}

// functionLayer has one file, /function, that every user can run and no user can write.
func functionLayer(binary string) (v1.Layer, error) {
	content, err := os.ReadFile(binary) //nolint:gosec // The file was just built.
	if err != nil {
		return nil, fmt.Errorf("cannot read the function: %w", err)
	}
	buf := &bytes.Buffer{}
	w := tar.NewWriter(buf)
	header := &tar.Header{Name: "function", Typeflag: tar.TypeReg, Mode: 0o555, Size: int64(len(content)),
		ModTime: time.Unix(0, 0)}
	if err := w.WriteHeader(header); err != nil {
		return nil, fmt.Errorf("cannot write layer: %w", err)
	}
	if _, err := w.Write(content); err != nil {
		return nil, fmt.Errorf("cannot write layer: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("cannot write layer: %w", err)
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(buf.Bytes())), nil
	}, tarball.WithMediaType(types.DockerLayer))
}
