// Package e2e runs the function inside the real Crossplane: the reconciler and
// the command line tool that a user of it has, built from their Go modules. The
// modules are those of tools/go.mod, so that the product depends on none of it.
package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
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

// versionVariable is the variable with Crossplane's version. Without it Crossplane refuses every
// package that requires a version.
const versionVariable = "github.com/crossplane/crossplane-runtime/v2/pkg/version.version"

var coreVersion = regexp.MustCompile(`(?m)^\s*github\.com/crossplane/crossplane/v2 (v\S+)`)

// Peers has the paths of the programs that the function is tested with.
type Peers struct {
	CLI  string // crossplane, the command line tool
	Core string // crossplane, the reconciler
}

// A ControlPlane has the programs of a control plane, in addition to Peers.
type ControlPlane struct {
	Etcd, APIServer, ControllerManager, Kubectl string

	Registry string // of OCI packages, on loopback
	Chart    string // prints what a Helm chart installs
	Sigstore string // signs packages without the network

	// CrossplaneSource is the folder of Crossplane's module, with its chart and its CRDs.
	CrossplaneSource string
}

// A program is built from a Go package of a module below tools.
type program struct {
	name, module, pkg string
	path              *string
	takes             string // minutes on two cores, without a cache
}

// BuildPeers builds the programs, or returns existing ones. They are kept in the user's cache
// folder, under a hash of their modules and of the Go version. To remove them, delete the folder
// function-export there.
//
// The first build takes minutes and downloads a gigabyte. It calls progress with what is built, and
// how long that takes on two idle cores. If the context ends it returns an error, and the next
// build continues where this one stopped. If several processes build at the same time, one builds
// and the others wait. It must run inside this module.
func BuildPeers(ctx context.Context, progress func(text string)) (Peers, error) {
	var p Peers

	err := buildAll(ctx, progress, []program{
		{"crossplane-cli", ".", cliPackage, &p.CLI, "4"},
		{"crossplane", ".", corePackage, &p.Core, "2"},
	})

	return p, err
}

// BuildControlPlane builds the programs of a control plane, as BuildPeers does.
func BuildControlPlane(ctx context.Context, progress func(text string)) (ControlPlane, error) {
	var c ControlPlane

	err := buildAll(ctx, progress, []program{
		{"etcd", "etcd", "go.etcd.io/etcd/server/v3", &c.Etcd, "1"},
		{"kube-apiserver", "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver", &c.APIServer, "3"},
		{"kube-controller-manager", "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager", &c.ControllerManager,
			"1"},
		{"kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl", &c.Kubectl, "1"},
		{"registry", ".", "./registry", &c.Registry, "1"},
		{"chart", ".", "./chart", &c.Chart, "1"},
		{"sigstore", ".", "./sigstore", &c.Sigstore, "1"},
	})
	if err != nil {
		return ControlPlane{}, err
	}

	tools, err := toolsDir(ctx)
	if err != nil {
		return ControlPlane{}, err
	}

	c.CrossplaneSource, err = crossplaneSource(ctx, tools)

	return c, err
}

// crossplaneSource returns the folder of Crossplane's module. It downloads the module if only the programs are cached.
func crossplaneSource(ctx context.Context, tools string) (string, error) {
	folder, err := goTool(ctx, tools, "list", "-m", "-f", "{{.Dir}}", crossplaneModule)
	if err != nil || folder != "" {
		return folder, err
	}

	if _, err := goTool(ctx, tools, "mod", "download", crossplaneModule); err != nil {
		return "", err
	}

	return goTool(ctx, tools, "list", "-m", "-f", "{{.Dir}}", crossplaneModule)
}

func buildAll(ctx context.Context, progress func(text string), programs []program) error {
	tools, err := toolsDir(ctx)
	if err != nil {
		return err
	}

	for _, p := range programs {
		if err := buildProgram(ctx, progress, tools, p); err != nil {
			return err
		}
	}

	return nil
}

// buildProgram keeps a program under a hash of its sources.
func buildProgram(ctx context.Context, progress func(text string), tools string, p program) error {
	module := filepath.Join(tools, p.module)

	ldflags := "-s -w"

	var parts [][]byte

	for _, name := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(filepath.Join(module, name)) //nolint:gosec // A path inside this repository.
		if err != nil {
			return fmt.Errorf("cannot read the modules of %s: %w", p.name, err)
		}

		parts = append(parts, b)
	}

	if v := coreVersion.FindSubmatch(parts[0]); v != nil {
		ldflags += fmt.Sprintf(" -X %s=%s", versionVariable, v[1])
	}

	flags := []string{"-trimpath", "-ldflags", ldflags}

	if strings.HasPrefix(p.pkg, "./") { // a program of this repository, which has no module version
		path := filepath.Join(module, p.pkg, "main.go")

		source, err := os.ReadFile(path) //nolint:gosec // A path inside this repository.
		if err != nil {
			return fmt.Errorf("cannot read %s: %w", p.name, err)
		}

		parts = append(parts, source)
	}

	platform, err := goTool(ctx, module, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return err
	}

	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("cannot find the cache folder: %w", err)
	}

	hash := sha256.Sum256(bytes.Join(append(parts, []byte(platform), []byte(strings.Join(flags, " "))), []byte{0}))
	*p.path = filepath.Join(cache, "function-export", fmt.Sprintf("%x", hash[:8]), p.name)

	return build(ctx, progress, module, p, flags)
}

// build builds a program at its path, unless it exists. If several processes build it at the same
// time, one builds it and the others wait.
func build(ctx context.Context, progress func(text string), dir string, p program, flags []string) error {
	path := *p.path
	if fileExists(path) {
		return nil
	}

	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("cannot create cache folder: %w", err)
	}

	unlock, err := lock(ctx, path+".lock", func() { progress("waiting for another process, which builds " + p.name) })
	if err != nil {
		return fmt.Errorf("cannot wait for another process, which builds %q: %w", p.name, err)
	}
	defer unlock()

	if fileExists(path) { // built by the process that held the lock
		return nil
	}

	progress(fmt.Sprintf("building %s, which takes about %s min on two idle cores the first time", p.name, p.takes))

	return buildLocked(ctx, dir, p, flags)
}

func fileExists(path string) bool {
	_, err := os.Stat(path) //nolint:gosec // A path in the cache of the user.

	return err == nil
}

// buildLocked builds a program in a folder of its own, so that only a complete program appears at
// its path. Folders of killed processes are removed.
func buildLocked(ctx context.Context, dir string, p program, flags []string) error {
	path, folder := *p.path, p.name+"-build-*"

	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), folder))
	if err != nil {
		return err
	}

	for _, l := range left {
		_ = os.RemoveAll(l) // It is a cache: a folder that stays only uses space.
	}

	tmp, err := os.MkdirTemp(filepath.Dir(path), folder)
	if err != nil {
		return fmt.Errorf("cannot create folder to build in: %w", err)
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // See above.

	out := filepath.Join(tmp, filepath.Base(path))
	if _, err := goTool(ctx, dir, append(append([]string{"build", "-o", out}, flags...), p.pkg)...); err != nil {
		return err
	}

	if err := os.Rename(out, path); err != nil {
		return fmt.Errorf("cannot keep %q: %w", p.pkg, err)
	}

	return nil
}

// toolsDir returns the folder of the module that the peers are built from.
func toolsDir(ctx context.Context) (string, error) {
	mod, err := goTool(ctx, "", "env", "GOMOD")
	if err != nil {
		return "", err
	}

	return filepath.Join(filepath.Dir(mod), "tools"), nil
}

// goTool runs the go command, always with the same settings, because other settings would compile
// everything again. It is interrupted when the context ends, because a killed go command leaves its
// compilers running.
func goTool(ctx context.Context, dir string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer

	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // Its arguments are in this file.
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off")
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
