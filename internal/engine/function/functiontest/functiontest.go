// Package functiontest has helpers for tests of the function, and of the commands that serve or render
// it: functions that answer each request in both of its forms, a small control plane, and shared
// inputs. Only tests import it.
package functiontest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	rtlogging "github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/function"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Request parses a RunFunctionRequest from the YAML of its JSON.
func Request(t testing.TB, text string) *fnv1.RunFunctionRequest {
	t.Helper()
	b, err := Parse(t, text).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	out := &fnv1.RunFunctionRequest{}
	if err := protojson.Unmarshal(b, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// UpdateGolden is the flag -update.
var UpdateGolden = flag.Bool("update", false, "write golden files, and the messages of each broken input")

// CheckGolden compares a text with a golden file.
func CheckGolden(t *testing.T, path, got string) {
	t.Helper()
	if *UpdateGolden {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: -want +got, or -update:\n%s", path, diff)
	}
}

// Parse parses an object from YAML.
func Parse(t testing.TB, text string) *structpb.Struct {
	t.Helper()
	return plantest.Parse(t, text)
}

// Marshal marshals a message, each time with the same bytes.
func Marshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// RawCodec sends and receives bytes, so that the client costs almost nothing.
type RawCodec struct{}

// Name returns the name of protobuf.
func (RawCodec) Name() string { return "proto" }

// Marshal expects a *[]byte.
func (RawCodec) Marshal(v any) ([]byte, error) {
	if b, ok := v.(*[]byte); ok {
		return *b, nil
	}
	return nil, errors.New("not bytes")
}

// Unmarshal expects a *[]byte.
func (RawCodec) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = b
	return nil
}

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

// A Function answers requests as the server does. Tests set the clock and the entropy in its Function.
type Function struct{ *function.Function }

// New returns a function as it is served.
func New(t testing.TB) *Function {
	t.Helper()
	f, err := function.New(logging.NewNopLogger(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Function{Function: f}
}

// Fixed returns a function whose clock does not advance, with the same entropy in each call.
func Fixed(t testing.TB) *Function {
	t.Helper()
	f := New(t)
	f.Now = func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
	f.Entropy = func() io.Reader { return rand.NewChaCha8([32]byte{}) }
	return f
}

// RunFunction answers a request, and overwrites its bytes before it reads the answer. If the function keeps parts of
// them, a later answer shows it.
func (f *Function) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	sent, err := proto.Marshal(req)
	if err != nil {
		return nil, err
	}
	was := bytes.Clone(sent)
	in := &wire.Request{}
	if err := in.Unmarshal(sent); err != nil {
		return nil, err
	}
	parts, err := f.Run(ctx, in).Marshal()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(was, sent) {
		return nil, errors.New("the request's bytes were written to")
	}
	answer, rsp := bytes.Join(parts, nil), &fnv1.RunFunctionResponse{}
	for i := range sent {
		sent[i] = 0xff
	}
	return rsp, proto.Unmarshal(answer, rsp)
}

// Reconcile calls the function as Crossplane does. found answers requirements, by namespace/name.
func Reconcile(
	t testing.TB, f fnv1.FunctionRunnerServiceServer, req *fnv1.RunFunctionRequest, found map[string]string,
) *fnv1.RunFunctionResponse {
	t.Helper()
	lookUp := func(s *fnv1.ResourceSelector) *fnv1.Resources {
		text, ok := found[s.GetNamespace()+"/"+s.GetMatchName()]
		if !ok {
			return &fnv1.Resources{}
		}
		return &fnv1.Resources{Items: []*fnv1.Resource{{Resource: Parse(t, text)}}}
	}
	rsp, err := world.SettleRequirements(context.Background(), req, f.RunFunction, lookUp, nil)
	if err != nil {
		t.Fatal(err)
	}
	return rsp
}
