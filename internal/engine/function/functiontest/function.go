package functiontest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/function"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

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
