// Command release builds the function's package and the programs for users, publishes the package, and lists its
// content:
//
//	go -C internal/release run . build
//	go -C internal/release run . push ghcr.io/crossplane-contrib/function-export:v0.1.0
//	go -C internal/release run . sbom
//
// It needs Go and no container engine. It is a module of its own, so that the
// product depends on nothing that only a release needs.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

// cli is the command line.
type cli struct {
	Build buildCmd `cmd:"" help:"Build the packages and the programs, and print the digests of the packages."`
	Push  pushCmd  `cmd:"" help:"Push what was built as one package, and print its digest."`
	SBOM  sbomCmd  `cmd:"" help:"Write what the function in each package is made of." name:"sbom"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	k := kong.Parse(&cli{}, kong.Name("release"),
		kong.Description("Builds and publishes the package of function-export."))
	root, err := repository(ctx)
	k.FatalIfErrorf(err)
	k.BindTo(ctx, (*context.Context)(nil))
	k.FatalIfErrorf(k.Run(&workspace{root: root, stdout: os.Stdout, stderr: os.Stderr}))
}

// A workspace holds the repository and the outputs of a command. Results go to stdout, and progress
// to stderr.
type workspace struct {
	root           string
	stdout, stderr io.Writer
}

// repository is the root of the repository that this program is part of. The go command has changed
// the working folder to that of this module.
func repository(ctx context.Context) (string, error) {
	mod, err := run(ctx, "", nil, "go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(mod), "..", ".."), nil
}

// output returns a folder for products, relative to the repository, because the command is run
// there.
type output struct {
	Output string `default:"_output" help:"The folder for the results, below the repository's root." placeholder:"DIR"`
}

func (o output) dir(root string) string {
	if filepath.IsAbs(o.Output) {
		return o.Output
	}
	return filepath.Join(root, o.Output)
}

// packageFile returns the path of one architecture's package in a folder.
func packageFile(dir, arch string) string {
	return filepath.Join(dir, "function-export-linux-"+arch+".xpkg")
}

// run runs a program, with more in its environment, and returns what it prints, without the white
// space around it. It is interrupted when the context ends, because a killed go command leaves its
// compilers running.
func run(ctx context.Context, dir string, env []string, program string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("cannot run %s %s: %w\n%s", filepath.Base(program), args[0], err, stderr.Bytes())
	}
	return strings.TrimSpace(stdout.String()), nil
}

// crossplane returns the path of the Crossplane CLI that the end-to-end tests use. The first call
// builds it, which takes minutes.
func (w *workspace) crossplane(ctx context.Context) (string, error) {
	fmt.Fprintln(w.stderr, "building the Crossplane CLI, unless that was done before")
	peers, err := run(ctx, w.root, nil, "go", "-C", "internal/e2e", "run", "./build")
	if err != nil {
		return "", err
	}
	path, _, _ := strings.Cut(peers, "\n") // the first line; see internal/e2e/build
	return path, nil
}
