package reconciler_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e"
	"github.com/crossplane-contrib/function-export/internal/engine/function"
)

// The commands and answers of the program in internal/e2e/testdata/reconciler, which documents them.
type (
	command struct {
		Op     string          `json:"op"`
		Now    time.Time       `json:"now"`
		Object map[string]any  `json:"object,omitempty"`
		Patch  json.RawMessage `json:"patch,omitempty"`
		Faults []fault         `json:"faults,omitempty"`
		Late   map[string]bool `json:"late,omitempty"`
	}

	fault struct {
		At   int    `json:"at"`
		Call string `json:"call,omitempty"`
		Kind string `json:"kind"`
	}

	call struct {
		Verb   string `json:"verb"`
		Object string `json:"object"`
		Fault  string `json:"fault,omitempty"`
		Error  string `json:"error,omitempty"`
	}

	event struct {
		Type   string         `json:"type"`
		Object map[string]any `json:"object"`
	}

	answer struct {
		Events  []event `json:"events,omitempty"`
		Calls   []call  `json:"calls,omitempty"`
		Crashed bool    `json:"crashed,omitempty"`
		Error   string  `json:"error,omitempty"`
		Refused string  `json:"refused,omitempty"`
		Requeue string  `json:"requeue,omitempty"`
	}
)

// A runner answers requests of Crossplane.
type runner interface {
	RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error)
}

// A crossplane is the program, with the function that it calls. The function has the clock of the test.
type crossplane struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	t        *testing.T
	function runner
	fault    func(runner) runner // plants a mistake, or is nil
	runner   runner              // of this history
	in       io.Writer
	out      *bufio.Scanner

	mu    sync.Mutex // guards the fields below, which the program's calls of the function use
	now   time.Time
	slow  time.Duration // how long the next call of the function takes
	trace *trace        // nil keeps nothing
}

// start starts the program until the test ends.
func start(t *testing.T, path string) *crossplane {
	t.Helper()
	c := &crossplane{t: t}
	f, err := function.New(logging.NewNopLogger(), nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Now = c.clock
	c.function = f
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	fnv1.RegisterFunctionRunnerServiceServer(server, c)
	go server.Serve(l)
	t.Cleanup(server.Stop)

	cmd := exec.CommandContext(t.Context(), path, l.Addr().String())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, bufio.NewScanner(out)
	c.out.Buffer(nil, 64<<20)
	t.Cleanup(func() {
		_ = in.Close() // the program ends with its input
		_ = cmd.Wait()
	})
	return c
}

// programForTest builds the program within the time limit of the test.
func programForTest(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("with -short the real Crossplane is not built")
	}
	path, err := e2e.BuildReconciler(t.Context(), func(text string) { t.Log(text) })
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// do sends a command to the program, and returns its answer.
func (c *crossplane) do(cmd command) answer {
	c.t.Helper()
	cmd.Now = c.clock()
	text, err := json.Marshal(cmd)
	if err != nil {
		c.t.Fatal(err)
	}
	name := (&unstructured.Unstructured{Object: cmd.Object}).GetName()
	c.trace.sayf("%s %s %s, faults %v, late %v", cmd.Now.Format(time.TimeOnly), cmd.Op, name, cmd.Faults, cmd.Late)
	if _, err := fmt.Fprintf(c.in, "%s\n", text); err != nil {
		c.t.Fatal(err)
	}
	if !c.out.Scan() {
		c.t.Fatalf("the program ended: %v", c.out.Err())
	}
	var a answer
	if err := json.Unmarshal(c.out.Bytes(), &a); err != nil {
		c.t.Fatal(err)
	}
	for _, made := range a.Calls {
		c.trace.sayf("    %v", made)
	}
	return a
}

func (c *crossplane) clock() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *crossplane) wait(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// RunFunction answers the program.
func (c *crossplane) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp, err := c.runner.RunFunction(ctx, req)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trace.sayf("the function answers in %s", c.slow)
	c.now, c.slow = c.now.Add(c.slow), 0
	return rsp, err
}

// A trace has the commands and the calls of a history, in their order. It has no values.
type trace struct {
	mu    sync.Mutex
	lines []string
}

func (t *trace) sayf(format string, args ...any) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, fmt.Sprintf(format, args...))
}
