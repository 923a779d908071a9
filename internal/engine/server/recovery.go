package server

import (
	"context"
	"fmt"
	"runtime"

	"github.com/crossplane/function-sdk-go/logging"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// maxFrames of a stack are logged. They show where a deep CEL evaluation started.
const maxFrames = 64

// run answers the bytes of a request to a method. The response is encoded. It converts a panic in a request into an
// Internal error with a fixed text, so that one input cannot end the function for all others. The value of a panic can
// contain any part of the request, including a secret, so only its type is logged. It cannot recover goroutines that
// the function started.
func (s *Server) run(ctx context.Context, method string, sent []byte) (rsp *wire.Response, err error) {
	defer func() {
		if value := recover(); value != nil {
			logPanic(s.Log, method, value)
			rsp, err = nil, errPanicked
		}
	}()
	req := &wire.Request{}
	if err := req.Unmarshal(sent); err != nil {
		return nil, status.Errorf(codes.Internal, "grpc: error unmarshalling request: %v", err)
	}
	rsp = s.Function.Run(ctx, req)
	if err := ctx.Err(); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	_, err = rsp.Marshal()
	return rsp, err
}

// errPanicked is the error for the caller after a panic.
var errPanicked = status.Error(codes.Internal, "the function panicked; its log has the stack")

func logPanic(log logging.Logger, method string, value any) {
	log.Info("Recovered from a panic", "method", method, "type", fmt.Sprintf("%T", value), "stack", panicStack())
}

// panicStack returns the stack of the panicking goroutine, innermost frame first. debug.Stack would
// also print arguments, and an array or number passed by value is data.
func panicStack() []string {
	const own = 4 // this function, logPanic, the function that recovered, and those of the runtime
	pcs := make([]uintptr, maxFrames)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(own, pcs)])
	var lines []string
	for {
		frame, more := frames.Next()
		lines = append(lines, fmt.Sprintf("%s %s:%d", frame.Function, frame.File, frame.Line))
		if !more {
			return lines
		}
	}
}
