package server

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

const (
	// windowBytes of a request arrive before the server reads it: the flow-control window of its
	// stream. It is gRPC's minimum.
	windowBytes = 64<<10 - 1

	// connectionWindowBytes are in flight on a connection. They bound how quickly messages arrive,
	// not how many are kept.
	connectionWindowBytes = 1 << 20

	// maxStreams is the number of streams of one connection. Their windows have 16 MiB together.
	maxStreams = 256

	// streamWorkers is the number of goroutines per CPU that answer requests. If all of them are busy, a request has a
	// goroutine of its own.
	streamWorkers = 4

	// Each request takes up to workBytes for its response, and workFactor times its own size for the received and for
	// the decoded request, because small values take twenty times their size on the wire.
	workBytes  = 8 << 20
	workFactor = 26

	// admissionTimeout bounds the wait of a caller without a deadline. For callers with a deadline,
	// answerTime is kept for the response.
	admissionTimeout = 10 * time.Second

	// receiveTimeout bounds how long a large request takes to arrive once it is admitted. In the network of a cluster, it
	// takes a hundredth of this time.
	receiveTimeout = 5 * time.Second
	answerTime     = 2 * time.Second
)

// An admission bounds the memory of the requests in flight.
//
// gRPC receives the message of a unary call before its handler runs. The method of an admission is served as a stream,
// whose handler receives the message itself. Before that, a client can send at most the window of the stream. A request
// that fits into the window has arrived, and waits only for other small requests. A larger request is received once
// there is memory for it.
type admission struct {
	limit        int64 // of the process's memory
	large, small *share
	maxMessage   int
}

// A share is a part of the memory, which requests get in the order in which they arrive.
type share struct {
	*semaphore.Weighted

	bytes int64
}

func newShare(bytes int64) *share { return &share{semaphore.NewWeighted(bytes), bytes} }

// newAdmission returns an admission for messages of a maximum size. Half of the memory is for large requests, and an
// eighth for small ones. The rest is for the process itself and for garbage.
func newAdmission(limit int64, maxMessage int) *admission {
	const least = 32 << 20
	limit = max(limit, least)
	return &admission{limit: limit, large: newShare(limit / 2), small: newShare(limit / 8), maxMessage: maxMessage}
}

// options returns the options of a server whose methods are admitted.
func (a *admission) options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.StaticStreamWindowSize(windowBytes),
		grpc.StaticConnWindowSize(connectionWindowBytes),
		grpc.ForceServerCodecV2(newCodec()),
		// A goroutine of its own for each stream would grow its stack anew for each request.
		grpc.NumStreamWorkers(uint32(runtime.GOMAXPROCS(0) * streamWorkers)), //nolint:gosec // a small number
	}
}

// A runner answers the bytes of a request to a method.
type runner func(ctx context.Context, method string, sent []byte) (*wire.Response, error)

// register registers the FunctionRunnerService of v1 or v1beta1, whose messages are the same on the wire. All requests
// are counted.
func (a *admission) register(
	s *grpc.Server, file protoreflect.FileDescriptor, count grpc.UnaryServerInterceptor, run runner,
) {
	service := file.Services().Get(0)
	method := service.Methods().Get(0)
	info := &grpc.UnaryServerInfo{FullMethod: "/" + string(service.FullName()) + "/" + string(method.Name())}
	handle := func(_ any, stream grpc.ServerStream) error {
		_, err := count(stream.Context(), nil, info, func(ctx context.Context, _ any) (any, error) {
			sent, release, err := a.receive(ctx)
			if err != nil {
				return nil, err
			}
			defer release()
			rsp, err := run(ctx, info.FullMethod, sent)
			if err != nil {
				return nil, err
			}
			return nil, stream.SendMsg(rsp)
		})
		return err
	}
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: string(service.FullName()),
		HandlerType: (*any)(nil),
		Streams:     []grpc.StreamDesc{{StreamName: string(method.Name()), Handler: handle}},
		Metadata:    file.Path(),
	}, nil)
}

// reserve reserves bytes of a share, and returns what releases them.
func (a *admission) reserve(ctx context.Context, of *share, bytes int64) (release func(), err error) {
	bytes = min(bytes, of.bytes)
	if !of.TryAcquire(bytes) {
		wait, cancel := context.WithTimeout(ctx, patience(ctx))
		defer cancel()
		err = of.Acquire(wait, bytes)
	}
	switch {
	case err == nil:
		return func() { of.Release(bytes) }, nil
	case ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return nil, status.Errorf(codes.ResourceExhausted, "too many requests at once for a memory limit of %d MiB: "+
		"raise the memory limit and GOMEMLIMIT of the function, or its replicas", a.limit>>20)
}

// patience returns how long a caller waits to be admitted.
func patience(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return admissionTimeout
	}
	left := time.Until(deadline)
	return max(left/2, left-answerTime)
}

// transportStream is the stream that a ServerStream reads from. It is internal to gRPC:
// TestAdmission fails if an update changes it.
type transportStream interface {
	ReadMessageHeader(header []byte) error
	Read(bytes int) (mem.BufferSlice, error)
	RecvCompress() string
}

// receive receives the bytes of a request, once it is admitted. They are a copy, because gRPC uses its buffers again.
// The memory is reserved until release is called.
func (a *admission) receive(ctx context.Context) (sent []byte, release func(), err error) {
	stream, ok := grpc.ServerTransportStreamFromContext(ctx).(transportStream)
	if !ok {
		return nil, nil, status.Error(codes.Internal, "cannot receive from a stream of this gRPC")
	}
	var header [5]byte // whether it is compressed, and its length
	if err := stream.ReadMessageHeader(header[:]); err != nil {
		return nil, nil, unreceived(err)
	}
	length := int64(binary.BigEndian.Uint32(header[1:]))
	switch {
	case header[0] != 0: // the server has no compressor, so Crossplane compresses nothing
		const text = "grpc: Decompressor is not installed for grpc-encoding %q"
		return nil, nil, status.Errorf(codes.Unimplemented, text, stream.RecvCompress())
	case length > int64(a.maxMessage):
		const text = "grpc: received message larger than max (%d vs. %d)"
		return nil, nil, status.Errorf(codes.ResourceExhausted, text, length, a.maxMessage)
	}
	data, release, err := a.read(ctx, stream, length)
	if err != nil {
		return nil, nil, err
	}
	defer data.Free()
	return data.Materialize(), release, nil
}

// read reads a message of so many bytes, and reserves memory for it. A small message has arrived, or arrives within its
// window, so that a sender that stalls holds no memory of others. A large one must arrive within a time.
func (a *admission) read(
	ctx context.Context, stream transportStream, length int64,
) (data mem.BufferSlice, release func(), err error) {
	of, small := a.large, length <= windowBytes
	if small {
		of = a.small
		if data, err = stream.Read(int(length)); err != nil {
			return nil, nil, unreceived(err)
		}
	}
	if release, err = a.reserve(ctx, of, workBytes+length*workFactor); err != nil {
		data.Free()
		return nil, nil, err
	}
	if !small {
		if data, err = readWithin(receiveTimeout, stream, int(length)); err != nil {
			release()
			return nil, nil, err
		}
	}
	return data, release, nil
}

// readWithin reads within a time. After that time the handler ends without the message.
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

// unreceived returns the error of a stream as a handler returns it.
func unreceived(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return status.Error(codes.Internal, io.ErrUnexpectedEOF.Error())
	}
	return err // a status
}
