package test_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/test"
)

// A writer keeps what a command prints while it runs.
type writer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Buffer.Write(p)
}

func (w *writer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Buffer.String()
}

func (w *writer) watch(ctx context.Context, t *testing.T, dir string) {
	c := &test.Command{Paths: []string{dir}, Output: "text", Watch: true}
	err := c.Run(ctx, &kong.Kong{Stdout: w, Stderr: w}, engine(t))
	if err != nil {
		t.Errorf("the watch ends with %v", err)
	}
}

// wait waits until the tests have run n times.
func (w *writer) wait(t *testing.T, n int) {
	t.Helper()
	for range 600 {
		if strings.Count(w.String(), "waiting for a change") >= n {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("the tests have not run %d times:\n%s", n, w.String())
}
