package wire_test

import (
	"bytes"
	"fmt"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A request is read in place, and its desired state is copied into the response.
func ExampleDecode() {
	spec := &structpb.Struct{Fields: map[string]*structpb.Value{"size": structpb.NewStringValue("small")}}
	sent, err := proto.Marshal(&fnv1.RunFunctionRequest{
		Input:   &structpb.Struct{Fields: map[string]*structpb.Value{"spec": structpb.NewStructValue(spec)}},
		Desired: &fnv1.State{Resources: map[string]*fnv1.Resource{"db": {Resource: spec}, "cache": {Resource: spec}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	req, err := wire.Decode(sent)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(req.Input.At("spec", "size").Text())

	rsp := req.Respond(&fnv1.RunFunctionResponse{Desired: &fnv1.State{Resources: map[string]*fnv1.Resource{"ours": {}}}})
	rsp.Drop = []string{"cache"}
	parts, err := rsp.Marshal()
	if err != nil {
		fmt.Println(err)
		return
	}
	got := &fnv1.RunFunctionResponse{}
	fmt.Println(proto.Unmarshal(bytes.Join(parts, nil), got), len(got.GetDesired().GetResources()))
	// Output:
	// small
	// <nil> 2
}
