package server

import (
	"github.com/crossplane/function-sdk-go/logging"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Codec reads a request in place, and copies parts of it into the response without decoding
// them. All other messages, those of health and reflection, are encoded by protobuf. Setting the
// codec of a server is experimental in gRPC.
type Codec struct {
	encoding.CodecV2

	log logging.Logger
}

// NewCodec returns a codec that logs panics.
func NewCodec(log logging.Logger) Codec {
	return Codec{encoding.GetCodecV2(grpcproto.Name), log}
}

// recovered converts a panic into an error, because a codec runs outside of all interceptors.
func (c Codec) recovered(err *error) {
	if value := recover(); value != nil {
		logPanic(c.log, "codec", value)
		*err = errPanicked
	}
}

// Unmarshal copies a request once, because gRPC reuses its own buffers when Unmarshal returns.
func (c Codec) Unmarshal(data mem.BufferSlice, v any) (err error) {
	req, ok := v.(*wire.Request)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	defer c.recovered(&err)
	return req.Unmarshal(data.Materialize())
}

// Marshal does not copy the parts of the request in the response.
func (c Codec) Marshal(v any) (out mem.BufferSlice, err error) {
	rsp, ok := v.(*wire.Response)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	defer c.recovered(&err)
	parts, err := rsp.Marshal()
	if err != nil {
		return nil, err
	}
	out = make(mem.BufferSlice, 0, len(parts))
	for _, p := range parts {
		out = append(out, mem.SliceBuffer(p))
	}
	return out, nil
}
