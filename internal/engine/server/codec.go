package server

import (
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A codec sends the parts of an encoded response. Other messages, those of health and reflection, are encoded by
// protobuf. Setting the codec of a server is experimental in gRPC.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(grpcproto.Name)} }

// Marshal does not copy the parts of the request in a response.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	rsp, ok := v.(*wire.Response)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	parts, err := rsp.Marshal()
	if err != nil {
		return nil, err
	}
	out := make(mem.BufferSlice, 0, len(parts))
	for _, p := range parts {
		out = append(out, mem.SliceBuffer(p))
	}
	return out, nil
}
