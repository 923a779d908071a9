package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// The commands of the README that build the package and push it work, with a registry on loopback. The manifest after
// them installs the package that they push.
func TestReadmePush(t *testing.T) {
	b := builtPackages(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?m)^go -C internal/release run \. (build .*)\ngo -C internal/release run \. ` +
		`(push (\S+))\n`).
		FindSubmatch(text)
	if shown == nil {
		t.Fatal("the README has no commands that build and push the package")
	}
	if want := "\n  package: " + string(shown[3]) + "\n"; !bytes.Contains(text, []byte(want)) {
		t.Errorf("the README pushes %s, but installs another package", shown[3])
	}

	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host, repository, _ := strings.Cut(string(shown[3]), "/")
	reference := strings.TrimPrefix(server.URL, "http://") + "/" + repository
	dir := t.TempDir()
	for _, command := range []string{string(shown[1]),
		strings.Replace(string(shown[2]), host, strings.TrimPrefix(server.URL, "http://"), 1)} {
		var c cli
		parser, err := kong.New(&c)
		if err != nil {
			t.Fatal(err)
		}
		k, err := parser.Parse(append(strings.Fields(command), "--output", dir))
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		k.BindTo(t.Context(), (*context.Context)(nil))
		if err := k.Run(&workspace{root: b.root, stdout: io.Discard, stderr: io.Discard}); err != nil {
			t.Fatalf("%s: %v", command, err)
		}
	}
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Index(ref); err != nil {
		t.Errorf("the registry has no package: %v", err)
	}
}
