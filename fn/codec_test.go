package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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

	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A bothForms answers each request twice: decoded, and as bytes where they lie. It is an
// error if the answers differ, so that each test of the function is one of both. What
// tests set, the clock and the entropy, is that of the Function in it.
type bothForms struct {
	*Function

	lazy  *Function  // with a cache of its own; nil for benchmarks, which ask once
	keys  *testing.T // has the randomness of keys be the same for both forms; nil for other tests than these
	calls uint64
	asked *[]*fnv1.RunFunctionRequest // keeps what is asked, if it is set
}

func (f *bothForms) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	if f.asked != nil {
		*f.asked = append(*f.asked, proto.CloneOf(req))
	}
	if f.lazy == nil {
		return f.Function.RunFunction(ctx, req)
	}
	sent, err := proto.Marshal(req)
	if err != nil { // it could not have come
		return f.Function.RunFunction(ctx, req)
	}
	at, drawn := f.now(), &bytes.Buffer{}
	decoded, lazy := *f.Function, *f.lazy
	decoded.now = func() time.Time { return at }
	decoded.entropy = func() io.Reader { return io.TeeReader(f.entropy(), drawn) }
	lazy.now, lazy.entropy = decoded.now, func() io.Reader { return drawn }

	f.calls++
	f.sameKeys()
	want, err := decoded.RunFunction(ctx, req)
	if err != nil {
		return nil, err
	}
	f.sameKeys()
	got, gotErr := runWhereItLies(ctx, &lazy, sent)
	if err := sameAnswers(want, nil, got, gotErr); err != nil {
		return nil, err
	}
	if drawn.Len() > 0 {
		return nil, fmt.Errorf("%d bytes of entropy are left over", drawn.Len())
	}
	return want, nil
}

// sameKeys are others with each call: Go's keys are made from no entropy of ours.
func (f *bothForms) sameKeys() {
	if f.keys != nil {
		cryptotest.SetGlobalRandom(f.keys, f.calls)
	}
}

// runWhereItLies answers bytes, and spoils them before it reads the answer's own: what
// the function keeps of them shows in a later one.
func runWhereItLies(ctx context.Context, f *Function, sent []byte) (*fnv1.RunFunctionResponse, error) {
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
	spoil(sent)
	rsp := &fnv1.RunFunctionResponse{}
	return rsp, proto.Unmarshal(answer, rsp)
}

func spoil(b []byte) {
	for i := range b {
		b[i] = 0xff
	}
}

// runLazily answers bytes as the server does: with the codec, which gets gRPC's buffers,
// one or two of them, and gives them back before the function runs.
func runLazily(ctx context.Context, f *Function, sent []byte) (*fnv1.RunFunctionResponse, error) {
	buffer, req := bytes.Clone(sent), &wire.Request{}
	buffers := mem.BufferSlice{mem.SliceBuffer(buffer)}
	if half := len(buffer) / 2; len(buffer)%2 == 1 {
		buffers = mem.BufferSlice{mem.SliceBuffer(buffer[:half]), mem.SliceBuffer(buffer[half:])}
	}
	err := newLazyCodec(logging.NewNopLogger()).Unmarshal(buffers, req)
	spoil(buffer)
	if err != nil {
		return nil, err
	}
	out, err := newLazyCodec(logging.NewNopLogger()).Marshal(f.Run(ctx, req))
	if err != nil {
		return nil, err
	}
	rsp := &fnv1.RunFunctionResponse{}
	return rsp, proto.Unmarshal(out.Materialize(), rsp)
}

// runDecoded answers bytes as the server does with --codec=proto.
func runDecoded(ctx context.Context, f *Function, sent []byte) (*fnv1.RunFunctionResponse, error) {
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

// sameAnswers is an error that says where two answers differ, or their refusals. An
// answer that was not encoded yet may be one that cannot be.
func sameAnswers(want *fnv1.RunFunctionResponse, wantErr error, got *fnv1.RunFunctionResponse, gotErr error) error {
	if want != nil && wantErr == nil {
		sent, err := proto.Marshal(want)
		if want, wantErr = (&fnv1.RunFunctionResponse{}), err; err == nil {
			wantErr = proto.Unmarshal(sent, want)
		}
	}
	if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
		return fmt.Errorf("decoded it is answered with error %v, and where it lies with %v", wantErr, gotErr)
	}
	if wantErr == nil && !proto.Equal(want, got) {
		return fmt.Errorf("answers differ: -decoded, +where it lies:\n%s", cmp.Diff(want, got, protocmp.Transform()))
	}
	return nil
}

// The codec is protobuf's for all that is no request and no response of ours.
func TestCodecLeavesOthersToProtobuf(t *testing.T) {
	codec, whole := newLazyCodec(logging.NewNopLogger()), encoding.GetCodecV2(grpcproto.Name)
	if codec.Name() != whole.Name() {
		t.Errorf("want the name %q, got %q", whole.Name(), codec.Name())
	}
	want := request(t, observedDatabase+environmentInput)
	sent, err := codec.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got := &fnv1.RunFunctionRequest{}
	if err := codec.Unmarshal(sent, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	for name, v := range map[string]any{"Nothing": nil, "Text": "text"} {
		_, wantErr := whole.Marshal(v)
		if _, err := codec.Marshal(v); err == nil || err.Error() != wantErr.Error() {
			t.Errorf("%s: want error %v, got %v", name, wantErr, err)
		}
		wantErr = whole.Unmarshal(sent, v)
		if err := codec.Unmarshal(sent, v); err == nil || err.Error() != wantErr.Error() {
			t.Errorf("%s: want error %v, got %v", name, wantErr, err)
		}
	}
}

// A test of the tests: what differs is an error, and what cannot be encoded, too.
func TestBothFormsTellDifferences(t *testing.T) {
	f := newFunction(t)
	req := request(t, observedDatabase+secretInput+"    - {key: username, value: secret.username}")
	if _, err := f.RunFunction(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	other := newFunction(t)
	other.lazy.plans = nil
	func() {
		defer func() { _ = recover() }()
		if _, err := other.RunFunction(t.Context(), req); err == nil {
			t.Error("the request's bytes are not looked at")
		}
	}()
	a := &fnv1.RunFunctionResponse{Results: []*fnv1.Result{{Message: "a"}}}
	cases := map[string]struct {
		want, got *fnv1.RunFunctionResponse
		err       error
	}{
		"Answer":  {a, &fnv1.RunFunctionResponse{}, nil},
		"Error":   {a, nil, errors.New("refused")},
		"Encoded": {&fnv1.RunFunctionResponse{Results: []*fnv1.Result{{Message: "\xff"}}}, a, nil},
	}
	for name, tc := range cases {
		if sameAnswers(tc.want, nil, tc.got, tc.err) == nil {
			t.Errorf("%s: want a difference", name)
		}
	}
	if err := sameAnswers(a, nil, proto.CloneOf(a), nil); err != nil {
		t.Error(err)
	}
}

// A panic in the codec, which no interceptor sees, is an error without what it holds.
func TestCodecRecovers(t *testing.T) {
	logged := &testLog{}
	codec := newLazyCodec(logged)
	if err := codec.Unmarshal(mem.BufferSlice{nil}, &wire.Request{}); err != errPanicked { //nolint:errorlint // just this one
		t.Errorf("Unmarshal: want %q, got %v", errPanicked, err)
	}
	if _, err := codec.Marshal(&wire.Response{}); err != errPanicked { //nolint:errorlint // just this one
		t.Errorf("Marshal: want %q, got %v", errPanicked, err)
	}
	if got := len(logged.lines); got != 2 {
		t.Errorf("want a line in the log for each, got %d", got)
	}
}
