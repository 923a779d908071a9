package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func command(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), program, args...)
}

// push pushes one package with all architectures, with the digest that build printed.
func TestPush(t *testing.T) {
	b := builtPackages(t)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	reference := strings.TrimPrefix(server.URL, "http://") + "/crossplane-contrib/function-export:" + testVersion

	var stdout, stderr bytes.Buffer
	c := &pushCmd{output: output{Output: b.dir}, Reference: reference}
	if err := c.Run(t.Context(), &workspace{root: b.root, stdout: &stdout, stderr: &stderr}); err != nil {
		t.Fatal(err)
	}
	if digest := strings.TrimSpace(stdout.String()); !strings.HasPrefix(digest, "sha256:") ||
		!strings.Contains(b.stdout, digest+"  as pushed\n") {
		t.Errorf("want the digest of the build, got %q; the build said\n%s", digest, b.stdout)
	}

	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Errorf("the registry has a package that is not valid: %v", err)
	}
	if d, err := index.Digest(); err != nil || d.String() != strings.TrimSpace(stdout.String()) {
		t.Errorf("want the digest of what the registry has, %s, got %s", d, stdout.String())
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.OS+"/"+m.Platform.Architecture)
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		one, err := img.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		var layers []string
		for _, l := range one.Layers {
			layers = append(layers, l.Annotations["io.crossplane.xpkg"])
		}
		// Crossplane reads the layer that is annotated as base.
		if diff := cmp.Diff([]string{"", "base", "upbound"}, layers); diff != "" {
			t.Errorf("layers of %s: -want, +got:\n%s", m.Platform, diff)
		}
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, slices.Sorted(slices.Values(platforms))); diff != "" {
		t.Errorf("platforms: -want, +got:\n%s", diff)
	}
}

// A registry, or somebody between, that has something else is found out.
func TestPushFindsAnotherPackage(t *testing.T) {
	b := builtPackages(t)
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead && strings.HasSuffix(r.URL.Path, "/manifests/"+testVersion) {
			w.Header().Set("Content-Type", string(types.OCIImageIndex))
			w.Header().Set("Content-Length", "2")
			w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
			return
		}
		inner.ServeHTTP(w, r)
	}))
	defer server.Close()
	var stdout bytes.Buffer
	c := &pushCmd{output: output{Output: b.dir}, Reference: strings.TrimPrefix(server.URL, "http://") +
		"/crossplane-contrib/function-export:" + testVersion}
	err := c.Run(t.Context(), &workspace{root: b.root, stdout: &stdout, stderr: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "cannot trust") || stdout.Len() > 0 {
		t.Errorf("want another digest to be refused, got %v, %q", err, stdout.String())
	}
}
