package live_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// enabled is the environment variable that enables these tests. The first run builds Kubernetes, and each run
// takes minutes.
const enabled = "FUNCTION_EXPORT_LIVE"

const root = "../../.."

// functionName is the name of the function in Compositions.
const functionName = "function-export"

// All tests share one control plane, with one function that has two replicas.
var (
	plane    *live.ControlPlane
	function *live.Function
)

func TestMain(m *testing.M) {
	if os.Getenv(enabled) == "" {
		fmt.Printf("skipped: set %s=1 to run the function on a real control plane\n", enabled)
		return
	}

	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	dir, err := os.MkdirTemp("", "function-export-live-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)

	plane, function, err = setUp(ctx, dir)
	if plane != nil {
		defer plane.Stop()
	}

	if function != nil {
		defer function.Stop()
	}

	if err != nil {
		fmt.Fprintln(os.Stderr, err)

		if plane != nil {
			fmt.Fprintln(os.Stderr, plane.Logs()) // the cluster does not contain secret data yet
		}

		return 1
	}

	finished := make(chan struct{})
	defer close(finished)

	go func() { // an interrupted test must not leave a control plane running
		select {
		case <-finished:
		case <-ctx.Done():
			function.Stop()
			plane.Stop()
			os.Exit(1)
		}
	}()

	return m.Run()
}

// say prints the progress and the elapsed time.
func say() func(text string) {
	start := time.Now()

	return func(text string) { fmt.Printf("%6.1fs %s\n", time.Since(start).Seconds(), text) }
}

func setUp(ctx context.Context, dir string) (*live.ControlPlane, *live.Function, error) {
	progress := say()

	programs, err := e2e.BuildControlPlane(ctx, progress)
	if err != nil {
		return nil, nil, err
	}

	peers, err := e2e.BuildPeers(ctx, progress)
	if err != nil {
		return nil, nil, err
	}

	progress("building the function")

	program := filepath.Join(dir, "function-export")
	if err := command(ctx, root, "go", "build", "-o", program, "./fn"); err != nil {
		return nil, nil, err
	}

	plane, err := live.Start(ctx, dir, peers, programs, progress)
	if err != nil {
		return plane, nil, err
	}

	progress("installing the function")

	reference, err := push(ctx, peers, plane.RegistryAddress, dir)
	if err != nil {
		return plane, nil, err
	}

	function, err := plane.Install(ctx, functionName, reference, 2, program, nil)
	if err != nil {
		return plane, function, err
	}

	progress("up")

	return plane, function, nil
}

// push pushes the package to the registry in its published form.
func push(ctx context.Context, peers e2e.Peers, registry, dir string) (string, error) {
	xpkg, reference := filepath.Join(dir, "function-export.xpkg"), registry+"/crossplane-contrib/function-export:v0.0.0"
	if err := command(ctx, root, peers.CLI, "xpkg", "build", "-f", "package", "-e", "example", "-o", xpkg); err != nil {
		return "", err
	}

	return reference, command(ctx, root, peers.CLI, "xpkg", "push", "-f", xpkg, reference)
}

func command(ctx context.Context, dir, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir

	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot run %s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}

	return nil
}
