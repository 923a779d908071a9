package functiontest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/crossplane-contrib/function-export/internal/engine/function"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Fixed returns a function whose clock does not advance, with the same entropy in each call.
func Fixed(t testing.TB) *function.Function {
	t.Helper()
	f := OneForm(t)
	f.Now = func() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }
	f.Entropy = func() io.Reader { return rand.NewChaCha8([32]byte{}) }
	return f
}

// A Function answers each request twice: decoded, and read in place. Different answers are an
// error, so that each test of the function tests both forms. Tests set the clock and the entropy in
// its Function.
type Function struct {
	*function.Function

	Lazy  *function.Function // with a cache of its own; nil for benchmarks, which call once
	keys  *testing.T         // makes the randomness of keys equal for both forms; nil for other tests
	calls uint64
	Asked *[]*fnv1.RunFunctionRequest // keeps the requests, if it is set
}

// RunFunction returns the common answer of both forms.
func (f *Function) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	if f.Asked != nil {
		*f.Asked = append(*f.Asked, proto.CloneOf(req))
	}
	if f.Lazy == nil {
		return f.Function.RunFunction(ctx, req)
	}
	sent, err := proto.Marshal(req)
	if err != nil { // such a request cannot arrive
		return f.Function.RunFunction(ctx, req)
	}
	at, drawn := f.Now(), &bytes.Buffer{}
	decoded, lazy := *f.Function, *f.Lazy
	decoded.Now = func() time.Time { return at }
	decoded.Entropy = func() io.Reader { return io.TeeReader(f.Entropy(), drawn) }
	lazy.Now, lazy.Entropy = decoded.Now, func() io.Reader { return drawn }
	if f.keys != nil { // then both draw the same bytes, also if a hash draws its salt in between
		decoded.Entropy, lazy.Entropy = f.Entropy, f.Entropy
	}

	f.calls++
	f.sameKeys()
	want, err := decoded.RunFunction(ctx, req)
	if err != nil {
		return nil, err
	}
	f.sameKeys()
	got, gotErr := RunInPlace(ctx, &lazy, sent)
	if err := SameAnswers(want, nil, got, gotErr); err != nil {
		return nil, err
	}
	if drawn.Len() > 0 {
		return nil, fmt.Errorf("%d bytes of entropy are left over", drawn.Len())
	}
	return want, nil
}

// sameKeys makes keys equal: Go's keys differ on each call, because they do not use the function's entropy.
func (f *Function) sameKeys() {
	if f.keys != nil {
		cryptotest.SetGlobalRandom(f.keys, f.calls)
	}
}

// RunInPlace answers bytes, and overwrites them before it reads the answer. If the function keeps
// parts of them, a later answer shows it.
func RunInPlace(ctx context.Context, f *function.Function, sent []byte) (*fnv1.RunFunctionResponse, error) {
	was := bytes.Clone(sent)
	req, err := wire.Decode(sent)
	if err != nil {
		return nil, err
	}
	parts, err := f.Run(ctx, req).Marshal()
	if !bytes.Equal(was, sent) {
		return nil, errors.New("the request's bytes were written to")
	}
	if err != nil {
		return nil, err
	}
	answer := bytes.Join(parts, nil)
	Spoil(sent)
	rsp := &fnv1.RunFunctionResponse{}
	return rsp, proto.Unmarshal(answer, rsp)
}

// Spoil overwrites bytes.
func Spoil(b []byte) {
	for i := range b {
		b[i] = 0xff
	}
}

// RunDecoded answers bytes as a server of the SDK does.
func RunDecoded(ctx context.Context, f *function.Function, sent []byte) (*fnv1.RunFunctionResponse, error) {
	codec, req := encoding.GetCodecV2(grpcproto.Name), &fnv1.RunFunctionRequest{}
	if err := codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(sent)}, req); err != nil {
		return nil, err
	}
	rsp, err := f.RunFunction(ctx, req)
	if err != nil {
		return nil, err
	}
	out, err := codec.Marshal(rsp)
	if err != nil {
		return nil, err
	}
	rsp = &fnv1.RunFunctionResponse{}
	return rsp, proto.Unmarshal(out.Materialize(), rsp)
}

// SameAnswers returns an error that says where two answers, or their errors, differ. It is possible
// that an answer cannot be encoded.
func SameAnswers(want *fnv1.RunFunctionResponse, wantErr error, got *fnv1.RunFunctionResponse, gotErr error) error {
	if want != nil && wantErr == nil {
		sent, err := proto.Marshal(want)
		if want, wantErr = (&fnv1.RunFunctionResponse{}), err; err == nil {
			wantErr = proto.Unmarshal(sent, want)
		}
	}
	if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
		return fmt.Errorf("decoded it is answered with error %w, and in place with %w", wantErr, gotErr)
	}
	if wantErr == nil && !proto.Equal(want, got) {
		return fmt.Errorf("answers differ: -decoded, +in place:\n%s", cmp.Diff(want, got, protocmp.Transform()))
	}
	return nil
}

// New returns a function that answers each request in both of its forms, except in a benchmark.
func New(t testing.TB) *Function {
	t.Helper()
	if _, ok := t.(*testing.B); ok {
		return &Function{Function: OneForm(t)}
	}
	keys, _ := t.(*testing.T)
	return &Function{Function: OneForm(t), Lazy: OneForm(t), keys: keys}
}

// OneForm returns a function as it is served.
func OneForm(t testing.TB) *function.Function {
	t.Helper()
	f, err := function.New(logging.NewNopLogger(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Reconcile calls the function as Crossplane does. found answers requirements, by namespace/name.
func Reconcile(t testing.TB, f fnv1.FunctionRunnerServiceServer, req *fnv1.RunFunctionRequest, found map[string]string) *fnv1.RunFunctionResponse {
	t.Helper()
	return SettleRequirements(t, req, func(req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
		rsp, err := f.RunFunction(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		return rsp
	}, func(s *fnv1.ResourceSelector) *fnv1.Resources {
		text, ok := found[s.GetNamespace()+"/"+s.GetMatchName()]
		if !ok {
			return &fnv1.Resources{}
		}
		return &fnv1.Resources{Items: []*fnv1.Resource{{Resource: Parse(t, text)}}}
	})
}
