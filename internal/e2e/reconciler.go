package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
)

// The program with Crossplane's reconciler: its sources in this repository, and its package in Crossplane's module.
const (
	reconcilerSource  = "testdata/reconciler"
	reconcilerFolder  = "cmd/reconciler"
	crossplaneModule  = "github.com/crossplane/crossplane/v2"
	reconcilerPackage = crossplaneModule + "/" + reconcilerFolder
)

// BuildReconciler builds a program that runs Crossplane's reconciler of composites over an API server in memory, as
// BuildPeers does. The reconciler is internal to Crossplane's module. Its sources are copied, and the program is added
// to the copy. All other modules are those of BuildPeers, so they are compiled once.
func BuildReconciler(ctx context.Context, progress func(text string)) (string, error) {
	tools, err := toolsDir(ctx)
	if err != nil {
		return "", err
	}
	source := filepath.Join(tools, "..", reconcilerSource)
	files, err := filepath.Glob(filepath.Join(source, "*.go"))
	if err != nil {
		return "", err
	}
	var parts [][]byte
	for _, path := range append(files, filepath.Join(tools, "go.mod"), filepath.Join(tools, "go.sum")) {
		b, err := os.ReadFile(path) //nolint:gosec // A path inside this repository.
		if err != nil {
			return "", fmt.Errorf("cannot read the reconciler: %w", err)
		}
		parts = append(parts, b)
	}
	platform, err := goTool(ctx, tools, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cannot find the cache folder: %w", err)
	}
	hash := sha256.Sum256(bytes.Join(append(parts, []byte(platform)), []byte{0}))
	path := filepath.Join(cache, "function-export", fmt.Sprintf("%x", hash[:8]), "reconciler")
	if fileExists(path) {
		return path, nil
	}
	dir, err := os.MkdirTemp("", "function-export-reconciler-")
	if err != nil {
		return "", fmt.Errorf("cannot create a folder for the sources of Crossplane: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // It only uses space.
	modfile, err := copyCrossplane(ctx, tools, source, dir)
	if err != nil {
		return "", err
	}
	p := program{name: "reconciler", pkg: reconcilerPackage, path: &path, takes: "1"}
	return path, build(ctx, progress, tools, p, []string{"-trimpath", "-ldflags", "-s -w", "-modfile", modfile})
}

// copyCrossplane copies Crossplane's module and the program into a folder. It returns a go.mod with which the module
// of the tools uses the copy.
func copyCrossplane(ctx context.Context, tools, source, dir string) (modfile string, err error) {
	module, err := crossplaneSource(ctx, tools)
	if err != nil {
		return "", err
	}
	target := filepath.Join(dir, "crossplane")
	for _, copied := range []struct{ from, to string }{
		{filepath.Join(module, "internal"), "internal"}, {filepath.Join(module, "proto"), "proto"},
		{source, reconcilerFolder},
	} {
		if err := os.CopyFS(filepath.Join(target, copied.to), os.DirFS(copied.from)); err != nil {
			return "", fmt.Errorf("cannot copy the sources of Crossplane: %w", err)
		}
	}
	modfile = filepath.Join(dir, "go.mod")
	for from, to := range map[string]string{
		filepath.Join(module, "go.mod"): filepath.Join(target, "go.mod"),
		filepath.Join(tools, "go.mod"):  modfile,
		filepath.Join(tools, "go.sum"):  filepath.Join(dir, "go.sum"),
	} {
		b, err := os.ReadFile(from) //nolint:gosec // Inside this repository, or the module cache.
		if err != nil {
			return "", fmt.Errorf("cannot copy the modules of Crossplane: %w", err)
		}
		if to == modfile {
			b = fmt.Appendf(b, "\nreplace %s => %s\n", crossplaneModule, target)
		}
		if err := os.WriteFile(to, b, 0o600); err != nil { //nolint:gosec // Inside the new folder.
			return "", fmt.Errorf("cannot copy the modules of Crossplane: %w", err)
		}
	}
	return modfile, nil
}
