package functiontest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	rtlogging "github.com/crossplane/crossplane-runtime/v2/pkg/logging"
)

// Log keeps the logged lines, in the most verbose encoding.
type Log struct {
	mu    sync.Mutex
	Lines []string // read them after the last line is logged
}

// Info keeps a line.
func (l *Log) Info(msg string, kv ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.Lines = append(l.Lines, fmt.Sprintf("%s %+v", msg, kv))
}

// Debug keeps a line.
func (l *Log) Debug(msg string, kv ...any) { l.Info(msg, kv...) }

// WithValues keeps a line.
func (l *Log) WithValues(kv ...any) rtlogging.Logger { l.Info("values", kv...); return l }

// String returns all logged lines.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.Lines, "\n")
}

// Limited returns a context with far more time than any test needs: a test that reaches the limit
// hangs.
func Limited(t *testing.T) context.Context {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)

	return ctx
}

// Receive receives a value that another goroutine sends.
func Receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()

	select {
	case v := <-from:
		return v
	case <-Limited(t).Done():
		t.Fatal("nothing was sent")
		panic("unreachable")
	}
}
