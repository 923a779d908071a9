package functiontest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// LargeMessage is a request of 3.5 MiB.
const LargeMessage = 3<<20 + 512<<10

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

// Filler returns a value of about so many bytes, with the form of a status.
func Filler(bytes int) *structpb.Value {
	list := &structpb.ListValue{}
	for i := 0; i*64 < bytes; i++ {
		list.Values = append(list.Values, structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			"name":  structpb.NewStringValue(fmt.Sprintf("condition-%06d", i)),
			"ready": structpb.NewBoolValue(true),
			"port":  structpb.NewNumberValue(float64(8000 + i)),
		}}))
	}
	return structpb.NewListValue(list)
}

// FitInput returns an input with exports of one value each, and with generators and author's objects.
func FitInput(exports int, more string) string {
	var b strings.Builder
	b.WriteString("input:\n  apiVersion: export.fn.crossplane.io/v1beta1\n  kind: Exports\n" + more + "  secrets:\n")
	for i := range exports {
		fmt.Fprintf(&b, "  - {name: e%02d, from: db, data: [{key: k, value: secret.large}]}\n", i)
	}
	return b.String()
}

// FitRequest returns ObservedDatabase with a connection detail of so many bytes. No looked up
// object exists.
func FitRequest(t testing.TB, input string, large int) *fnv1.RunFunctionRequest {
	t.Helper()
	req := Request(t, ObservedDatabase+input)
	req.Observed.Resources["db"].ConnectionDetails["large"] = bytes.Repeat([]byte("canary-7f3a"), large/11+1)[:large]
	req.Observed.Resources["db"].ConnectionDetails["medium"] = req.GetObserved().GetResources()["db"].GetConnectionDetails()["large"][:large/4*3]
	return req
}

// LookedUp adds the answers to the function's requirements.
func LookedUp(t testing.TB, req *fnv1.RunFunctionRequest) *fnv1.RunFunctionRequest {
	t.Helper()
	small := proto.CloneOf(req)
	small.Observed.Resources["db"].ConnectionDetails["large"] = []byte("x")
	small.Desired, small.Context = nil, nil
	if req.GetRequiredResources() == nil {
		req.RequiredResources = map[string]*fnv1.Resources{}
	}
	for key := range Reconcile(t, New(t), small, nil).GetRequirements().GetResources() {
		req.RequiredResources[key] = &fnv1.Resources{}
	}
	return req
}

// Earlier returns an earlier step's ConfigMap of so many bytes.
func Earlier(req *fnv1.RunFunctionRequest, size int) *fnv1.RunFunctionRequest {
	o := &structpb.Struct{Fields: map[string]*structpb.Value{"x": structpb.NewStringValue(strings.Repeat("x", size))}}
	req.Desired = &fnv1.State{Resources: map[string]*fnv1.Resource{"earlier": {Resource: o}}}
	return req
}

// RunV1 is the method that Crossplane calls.
const RunV1 = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction"
