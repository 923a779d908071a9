package server

import (
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// The codec is protobuf's for all that is no request and no response of ours.
func TestCodecLeavesOthersToProtobuf(t *testing.T) {
	codec, whole := newCodec(), encoding.GetCodecV2(grpcproto.Name)
	if codec.Name() != whole.Name() {
		t.Errorf("want the name %q, got %q", whole.Name(), codec.Name())
	}
	want := functiontest.Request(t, functiontest.ObservedDatabase+functiontest.EnvironmentInput)
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
