// Package e2e runs the function inside the real Crossplane: the reconciler and
// the command line tool that a user of it has, built from their Go modules. The
// modules are those of tools/go.mod, so that the product depends on none of it.
package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// The programs, as Go packages of the module in tools.
const (
	cliPackage  = "github.com/crossplane/cli/v2/cmd/crossplane"
	corePackage = "github.com/crossplane/crossplane/v2/cmd/crossplane"
)

// versionVariable is what Crossplane takes for its version. Without it every
// package that asks for a Crossplane version is refused.
const versionVariable = "github.com/crossplane/crossplane-runtime/v2/pkg/version.version"

var coreVersion = regexp.MustCompile(`(?m)^\s*github\.com/crossplane/crossplane/v2 (v\S+)`)

// Peers are the paths of the programs that the function is tested with.
type Peers struct {
	CLI  string // crossplane, the command line tool
	Core string // crossplane, the reconciler
}

// BuildPeers builds the programs, or returns those it built before. They are
// kept in the user's cache folder, under a hash of the modules they are made of
// and of the Go version: delete function-export there to be rid of them.
//
// The first build takes minutes and downloads a gigabyte. If the context ends it
// returns an error, and what was compiled is not compiled again the next time.
// It may run in several processes at once. It must run inside this repository.
func BuildPeers(ctx context.Context) (Peers, error) {
	tools, err := toolsDir(ctx)
	if err != nil {
		return Peers{}, err
	}

	mod, err := os.ReadFile(filepath.Join(tools, "go.mod")) //nolint:gosec // A path inside this repository.
	if err != nil {
		return Peers{}, fmt.Errorf("cannot read the modules of the peers: %w", err)
	}

	sum, err := os.ReadFile(filepath.Join(tools, "go.sum")) //nolint:gosec // A path inside this repository.
	if err != nil {
		return Peers{}, fmt.Errorf("cannot read the modules of the peers: %w", err)
	}

	version := coreVersion.FindSubmatch(mod)
	if version == nil {
		return Peers{}, errors.New("cannot find Crossplane's version in the modules of the peers")
	}

	flags := []string{"-trimpath", "-ldflags", fmt.Sprintf("-s -w -X %s=%s", versionVariable, version[1])}

	platform, err := goTool(ctx, tools, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return Peers{}, err
	}

	cache, err := os.UserCacheDir()
	if err != nil {
		return Peers{}, fmt.Errorf("cannot find the cache folder: %w", err)
	}

	hash := sha256.Sum256(bytes.Join([][]byte{mod, sum, []byte(platform), []byte(strings.Join(flags, " "))}, []byte{0}))
	dir := filepath.Join(cache, "function-export", fmt.Sprintf("%x", hash[:8]))
	p := Peers{CLI: filepath.Join(dir, "crossplane-cli"), Core: filepath.Join(dir, "crossplane")}

	for path, pkg := range map[string]string{p.CLI: cliPackage, p.Core: corePackage} {
		if err := build(ctx, tools, path, pkg, flags); err != nil {
			return Peers{}, err
		}
	}

	return p, nil
}

// build puts the program of a Go package at a path, unless there is one. It
// appears there whole or not at all.
func build(ctx context.Context, dir, path, pkg string, flags []string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}

	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("cannot create cache folder: %w", err)
	}

	tmp, err := os.MkdirTemp(filepath.Dir(path), "build-")
	if err != nil {
		return fmt.Errorf("cannot create folder to build in: %w", err)
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // It is a cache: what stays harms nobody.

	out := filepath.Join(tmp, filepath.Base(path))
	if _, err := goTool(ctx, dir, append(append([]string{"build", "-o", out}, flags...), pkg)...); err != nil {
		return err
	}

	if err := os.Rename(out, path); err != nil {
		return fmt.Errorf("cannot keep %q: %w", pkg, err)
	}

	return nil
}

// toolsDir is the folder of the module that the peers are built from.
func toolsDir(ctx context.Context) (string, error) {
	mod, err := goTool(ctx, "", "env", "GOMOD")
	if err != nil {
		return "", err
	}

	return filepath.Join(filepath.Dir(mod), "internal", "e2e", "tools"), nil
}

// goTool runs the go command, always with the same settings: others would
// compile everything anew. It is interrupted when the context ends, since a
// killed one leaves its compilers behind.
func goTool(ctx context.Context, dir string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer

	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second

	err := cmd.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}

	if err != nil {
		return "", fmt.Errorf("cannot run go %s: %w\n%s", args[0], err, stderr.Bytes())
	}

	return strings.TrimSpace(stdout.String()), nil
}
