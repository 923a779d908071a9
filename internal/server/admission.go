package server

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

const (
	// windowBytes of a request arrive before anybody reads it: the flow-control window of its
	// stream. It is the least that gRPC has.
	windowBytes = 64<<10 - 1

	// connectionWindowBytes are in flight on a connection. They bound how quickly messages
	// arrive, not how many are kept.
	connectionWindowBytes = 1 << 20

	// maxStreams of one connection: with their windows they have 16 MiB.
	maxStreams = 256

	// transitFactor is what a large request takes until it is answered, in times of its size: it
	// is received, and copied.
	transitFactor = 2

	// Each request takes up to workBytes for its answer, and workFactor times its own size for
	// what protobuf decodes of it: small values take twenty times what they have on the wire.
	workBytes  = 8 << 20
	workFactor = 24

	// receiveTimeout bounds how long a large request takes to arrive once it is admitted. A
	// cluster's network takes a hundredth of it.
	receiveTimeout = 5 * time.Second

	// admissionTimeout bounds the wait of a caller without a deadline, and answerTime is what
	// is left to others to answer in.
	admissionTimeout = 10 * time.Second
	answerTime       = 2 * time.Second

	// writeTimeout bounds how long others wait for an answer to be written.
	writeTimeout = time.Second
)

// An admission bounds the memory of the requests that are in flight.
//
// gRPC receives the message of a unary call before its handler runs. The methods of an
// admission are served as streams, whose handlers receive by themselves. Before they do, a
// client can send no more than the window of the stream. A request that fits into it has
// arrived, and waits for others of its kind only. A larger one is received once there is
// memory for it in transit, and then waits for memory to work in. What works never waits for
// what is in transit.
type admission struct {
	limit      int64  // of the process's memory
	transit    *share // of large requests
	work       *share // on large requests
	smallWork  *share
	maxMessage int
	codec      encoding.CodecV2
}

// A share of the memory, which requests have in the order in which they come.
type share struct {
	*semaphore.Weighted

	bytes int64
}

func newShare(bytes int64) *share { return &share{semaphore.NewWeighted(bytes), bytes} }

// newAdmission of messages that a codec reads. A quarter of the memory is for large requests
// in transit, three eighths for work on them, and an eighth for work on small ones. What is
// left is for the process itself, and for garbage.
func newAdmission(limit int64, maxMessage int, codec encoding.CodecV2) *admission {
	const least = 32 << 20
	limit = max(limit, least)
	return &admission{
		limit: limit, transit: newShare(limit / 4), work: newShare(limit / 8 * 3), smallWork: newShare(limit / 8),
		maxMessage: maxMessage, codec: codec,
	}
}

// options of a server whose methods are admitted.
func (a *admission) options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.StaticStreamWindowSize(windowBytes),
		grpc.StaticConnWindowSize(connectionWindowBytes),
		grpc.ForceServerCodecV2(sendingCodec{a.codec}),
	}
}

// register a service whose unary methods are admitted.
func (a *admission) register(
	s *grpc.Server, service grpc.ServiceDesc, impl any, intercept grpc.UnaryServerInterceptor,
) {
	for _, m := range service.Methods {
		info := &grpc.UnaryServerInfo{Server: impl, FullMethod: "/" + service.ServiceName + "/" + m.MethodName}
		handle := func(_ any, stream grpc.ServerStream) error {
			in := &incoming{admission: a, stream: stream, arrived: func() {}, worked: func() {}}
			defer func() { in.arrived(); in.worked() }()
			ctx := stream.Context()
			rsp, err := m.Handler(impl, ctx, in.receive, intercept)
			if in.err != nil { // it is counted as what it is answered with
				_, err = intercept(ctx, nil, info, func(context.Context, any) (any, error) { return nil, in.err })
			}
			if err != nil {
				return err
			}
			return in.send(rsp)
		}
		service.Streams = append(service.Streams, grpc.StreamDesc{StreamName: m.MethodName, Handler: handle})
	}
	service.Methods = nil
	s.RegisterService(&service, impl)
}

// reserve bytes of a share, or refuse. What is reserved must be given back.
func (a *admission) reserve(ctx context.Context, of *share, bytes int64) (give func(), err error) {
	bytes, give = min(bytes, of.bytes), func() {}
	wait, cancel := context.WithTimeout(ctx, patience(ctx))
	defer cancel()
	if of.Acquire(wait, bytes) == nil {
		return sync.OnceFunc(func() { of.Release(bytes) }), nil
	}
	if ctx.Err() != nil {
		return give, status.FromContextError(ctx.Err()).Err()
	}
	return give, status.Errorf(codes.ResourceExhausted, "too many requests at once for a memory limit of %d MiB: "+
		"raise the memory limit and GOMEMLIMIT of the function, or its replicas", a.limit>>20)
}

// patience is how long a caller waits to be admitted.
func patience(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return admissionTimeout
	}
	left := time.Until(deadline)
	return max(left/2, left-answerTime)
}

// An incoming request.
type incoming struct {
	*admission

	stream          grpc.ServerStream
	arrived, worked func() // give back what is reserved for it
	err             error  // of what could not be received
}

// transportStream is what a ServerStream reads from. It is gRPC's own, and internal there:
// TestAdmission fails if an update changes it.
type transportStream interface {
	ReadMessageHeader(header []byte) error
	Read(bytes int) (mem.BufferSlice, error)
	RecvCompress() string
}

// receive the message of a unary call, once it is admitted.
func (in *incoming) receive(v any) error {
	in.err = in.receiveAdmitted(v)
	return in.err
}

func (in *incoming) receiveAdmitted(v any) error {
	stream, ok := grpc.ServerTransportStreamFromContext(in.stream.Context()).(transportStream)
	if !ok {
		return status.Error(codes.Internal, "cannot receive from a stream of this gRPC")
	}
	var header [5]byte // whether it is compressed, and its length
	if err := stream.ReadMessageHeader(header[:]); err != nil {
		return unreceived(err)
	}
	length := int64(binary.BigEndian.Uint32(header[1:]))
	switch {
	case header[0] != 0: // the server has no compressor, so Crossplane compresses nothing
		const text = "grpc: Decompressor is not installed for grpc-encoding %q"
		return status.Errorf(codes.Unimplemented, text, stream.RecvCompress())
	case length > int64(in.maxMessage):
		const text = "grpc: received message larger than max (%d vs. %d)"
		return status.Errorf(codes.ResourceExhausted, text, length, in.maxMessage)
	}
	data, err := in.read(stream, length)
	if err != nil {
		return err
	}
	defer data.Free()
	if err := in.codec.Unmarshal(data, v); err != nil {
		return status.Errorf(codes.Internal, "grpc: failed to unmarshal the received message: %v", err)
	}
	return nil
}

// read a message of so many bytes, and reserve what it takes.
func (in *incoming) read(stream transportStream, size int64) (data mem.BufferSlice, err error) {
	ctx, work := in.stream.Context(), in.smallWork
	if size > windowBytes {
		work = in.work
		if in.arrived, err = in.reserve(ctx, in.transit, size*transitFactor); err != nil {
			return nil, err
		}
	}
	if data, err = readWithin(receiveTimeout, stream, int(size)); err != nil {
		return nil, err
	}
	in.worked, err = in.reserve(ctx, work, workBytes+size*workFactor)
	return data, err
}

// readWithin a time. What is not read by then is given up with the handler.
func readWithin(limit time.Duration, stream transportStream, length int) (mem.BufferSlice, error) {
	type result struct {
		data mem.BufferSlice
		err  error
	}
	received := make(chan result, 1)
	go func() { // which ends with the stream
		data, err := stream.Read(length)
		received <- result{data, err}
	}()
	select {
	case r := <-received:
		return r.data, unreceived(r.err)
	case <-time.After(limit):
		return nil, status.Errorf(codes.DeadlineExceeded, "the request of %d bytes did not arrive within %s", length, limit)
	}
}

// unreceived is the error of a stream as a handler returns it.
func unreceived(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return status.Error(codes.Internal, io.ErrUnexpectedEOF.Error())
	}
	return err // a status
}

// send the answer, and wait until it is written: it takes memory as long as that. A caller
// that reads slowly keeps no other from work.
func (in *incoming) send(rsp any) error {
	s := &sending{message: rsp}
	if err := in.stream.SendMsg(s); err != nil || s.written == nil {
		return err
	}
	select {
	case <-s.written:
		return nil
	case <-time.After(writeTimeout):
		in.worked()
	case <-in.stream.Context().Done():
	}
	select {
	case <-s.written:
	case <-in.stream.Context().Done():
	}
	return nil
}

// A sending is an answer that says when it is written.
type sending struct {
	message any
	written chan struct{} // nil for what gRPC takes at once
}

// Get is not asked for.
func (s *sending) Get(n int) *[]byte { b := make([]byte, n); return &b }

// Put is called once with the part that is watched, when it is written.
func (s *sending) Put(*[]byte) { close(s.written) }

// watch the last part of what is sent that gRPC counts the users of.
func (s *sending) watch(parts mem.BufferSlice) {
	for i := len(parts) - 1; i >= 0 && parts.Len() > windowBytes; i-- {
		if b := parts[i].ReadOnlyData(); !mem.IsBelowBufferPoolingThreshold(cap(b)) {
			s.written = make(chan struct{})
			parts[i] = mem.NewBuffer(&b, s)
			return
		}
	}
}

// sendingCodec is a codec that also marshals sendings.
type sendingCodec struct{ encoding.CodecV2 }

// Marshal a message.
func (c sendingCodec) Marshal(v any) (mem.BufferSlice, error) {
	s, ok := v.(*sending)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	out, err := c.CodecV2.Marshal(s.message)
	if err == nil {
		s.watch(out)
	}
	return out, err
}
