package test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// Annotations of a Function. The first two are those of crossplane composition render.
const (
	annotationRuntime = "render.crossplane.io/runtime"
	annotationTarget  = "render.crossplane.io/runtime-development-target"
	annotationBinary  = exportstest.Group + "/binary"
)

// defaultTarget is where a Function listens that names no target.
const defaultTarget = "localhost:9443"

// callTimeout is how long a call of a Function may take, with the start of its program.
const callTimeout = time.Minute

// startBackoff is how often a connection is tried while a program starts.
var startBackoff = backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.5,
	MaxDelay: time.Second} //nolint:gochecknoglobals // a constant

// programs are the Functions of a file by their names. They run other steps of pipelines.
type programs struct {
	file    string
	known   map[string]*program
	running sync.WaitGroup
}

// A program is a Function that runs.
type program struct {
	name, at       string // at is its position in the file
	runtime        string
	target, binary string
	client         fnv1.FunctionRunnerServiceClient
	ended          context.Context // with the cause, if the program has ended
}

// readPrograms reads the Functions of a file, or of the files in a folder. Without a path, there are none. Their
// programs run until the context ends.
func readPrograms(ctx context.Context, path string) (*programs, error) {
	out := &programs{file: path, known: map[string]*program{}}
	if path == "" {
		return out, nil
	}
	read, err := terminal.Disk(nil).Objects([]string{path}, files.In)
	for _, o := range read {
		if err := out.add(ctx, o); err != nil {
			return out, err
		}
	}
	return out, err
}

func (p *programs) add(ctx context.Context, o files.Object) error {
	fields, _ := o.Value.(map[string]any)
	name, at := state.Text(fields, "metadata", "name"), fmt.Sprintf("%s:%d", o.File, o.Line("metadata", "name"))
	isPackage := strings.HasPrefix(state.Text(fields, "apiVersion"), "pkg.crossplane.io/")
	switch {
	case !isPackage || fields["kind"] != "Function" || name == "":
		return fmt.Errorf("%s: must be a Function of pkg.crossplane.io with a name", at)
	case p.known[name] != nil:
		return fmt.Errorf("%s: the Function %q is also at %s: remove one of them", at, name, p.known[name].at)
	}
	text := func(key string) string { return state.Text(fields, "metadata", "annotations", key) }
	out := &program{
		name: name, at: at, runtime: text(annotationRuntime), target: cmp.Or(text(annotationTarget), defaultTarget),
		binary: text(annotationBinary), ended: ctx,
	}
	if out.binary != "" && !filepath.IsAbs(out.binary) {
		out.binary = filepath.Join(filepath.Dir(o.File), out.binary)
	}
	if out.binary != "" {
		if err := out.start(ctx, &p.running); err != nil {
			return fmt.Errorf("%s: the Function %q: %w", at, name, err)
		}
	}
	conn, err := grpc.NewClient(out.target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: startBackoff, MinConnectTimeout: time.Second}))
	if err != nil {
		return fmt.Errorf("%s: cannot connect to %s: %w", at, out.target, err)
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	out.client, p.known[name] = fnv1.NewFunctionRunnerServiceClient(conn), out
	return nil
}

// of returns the Functions that run the steps of pipelines, by their names. Recorded steps, and those of this function,
// need none.
func (p *programs) of(pipelines []*pipeline.Pipeline, recorded map[string]exportstest.Recorded) (
	map[string]world.Function, error) {
	out := map[string]world.Function{}
	if p.file == "" {
		return out, nil
	}
	var steps []composition.Step
	for _, of := range pipelines {
		steps = append(steps, of.Steps...)
	}
	for _, step := range steps {
		if _, ok := recorded[step.Name]; ok || pipeline.IsExports(step) {
			continue
		}
		known := p.known[step.Function]
		switch {
		case known == nil:
			return nil, fmt.Errorf("%s has no Function %q, which runs the step %q%s", p.file, step.Function, step.Name,
				suggest.ThereAre(step.Function, slices.Sorted(maps.Keys(p.known)), "there are none"))
		case known.binary == "" && known.runtime != "Development":
			return nil, fmt.Errorf("%s: the Function %q would run in Docker: start it with --insecure and annotate it with "+
				"%s: Development, or annotate it with %s: PATH of its program, or write what it returns in spec.steps.%s of "+
				"the test", known.at, known.name, annotationRuntime, annotationBinary, step.Name)
		}
		out[step.Function] = known.call
	}
	return out, nil
}

// start starts the binary of a Function at a free address of this machine, with the flags that each function has.
func (p *program) start(ctx context.Context, running *sync.WaitGroup) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("cannot find a free port: %w", err)
	}
	p.target = listener.Addr().String()
	_ = listener.Close()                                                           // the binary listens there
	cmd := exec.CommandContext(ctx, p.binary, "--insecure", "--address", p.target) //nolint:gosec // the user names it
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start %s: %w", p.binary, files.WithoutPath(err))
	}
	var end context.CancelCauseFunc
	p.ended, end = context.WithCancelCause(ctx)
	running.Go(func() {
		_ = cmd.Wait() // its state is told
		end(fmt.Errorf("%s has ended (%s): run it with --insecure to see why", p.binary, cmd.ProcessState))
	})
	return nil
}

// call calls the Function. An error does not quote the answer, which may have values.
func (p *program) call(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	defer context.AfterFunc(p.ended, cancel)() //nolint:contextcheck // of the program, not of the call
	rsp, err := p.client.RunFunction(ctx, req, grpc.WaitForReady(p.binary != ""))
	switch why := context.Cause(p.ended); { //nolint:contextcheck // see above
	case err == nil:
		return rsp, nil
	case why != nil && !errors.Is(why, context.Canceled):
		return nil, fmt.Errorf("%s: the Function %q: %w", p.at, p.name, why)
	}
	return nil, fmt.Errorf("%s: cannot call the Function %q at %s (%s): start it there with --insecure, or set its "+
		"annotation %s", p.at, p.name, p.target, status.Code(err), annotationTarget)
}
