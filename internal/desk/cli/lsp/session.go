package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/crossplane-contrib/function-export/internal/desk/lsp"
)

// codeNotInitialized is an error of the protocol that JSON-RPC does not have.
const codeNotInitialized = -32002

// A session is the connection to one client. Messages are answered one after the other, in their order. Diagnostics are
// sent between them, so that several changes that arrive at once need one check.
type session struct {
	mu                    sync.Mutex // one message is answered, or one set of diagnostics is found, at a time
	server                *lsp.Server
	initialized, shutdown bool

	changed chan struct{} // has an item if diagnostics can have changed
	end     chan error
}

// silent logs nothing, because an editor shows all of standard error as errors.
type silent struct{}

func (silent) Printf(string, ...any) {}

// serve answers messages until the client exits, or the connection ends.
func (s *session) serve(ctx context.Context, c io.ReadWriteCloser) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stream := jsonrpc2.NewBufferedStream(c, jsonrpc2.VSCodeObjectCodec{})
	conn := jsonrpc2.NewConn(ctx, stream, jsonrpc2.HandlerWithError(s.handle),
		jsonrpc2.SetLogger(silent{}))
	for {
		select {
		case err := <-s.end:
			return err
		case <-s.changed:
			s.publish(ctx, conn)
		case <-conn.DisconnectNotify(): // all messages before it have an answer
			select {
			case err := <-s.end:
				return err
			default:
				return errors.New("the editor closed the connection without exit, or speaks another protocol")
			}
		}
	}
}

// publish sends the diagnostics that changed.
func (s *session) publish(ctx context.Context, conn *jsonrpc2.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.initialized && !s.shutdown {
		send(ctx, conn, s.server.Publish(ctx))
	}
}

func send(ctx context.Context, conn *jsonrpc2.Conn, messages []lsp.Message) {
	for _, m := range messages {
		_ = conn.Notify(ctx, m.Method, m.Params) // the end of the connection is noticed elsewhere
	}
}

// handle answers a message, as far as the state of the session allows it. It is called for one after the other.
func (s *session) handle(ctx context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request) (result any, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { // a defect must not end the session with unsaved thoughts
		if p := recover(); p != nil {
			err = &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: "cannot answer " + r.Method +
				": this is a defect of function-export: please report it"}
		}
		if r.Notif {
			select {
			case s.changed <- struct{}{}:
			default:
			}
		}
	}()
	switch {
	case r.Method == "exit":
		if !s.shutdown {
			err = errors.New("exit without shutdown")
		}
		s.end <- err
		return nil, nil
	case s.shutdown, s.initialized && r.Method == "initialize":
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: "not expected now: " + r.Method}
	case !s.initialized && r.Method != "initialize":
		return nil, &jsonrpc2.Error{Code: codeNotInitialized, Message: "the first request must be initialize"}
	case r.Method == "shutdown":
		s.shutdown = true
		send(ctx, conn, s.server.Publish(ctx)) // which may still wait
		return nil, nil
	}
	s.initialized = true
	var params json.RawMessage
	if r.Params != nil {
		params = *r.Params
	}
	result, out, err := s.server.Handle(ctx, r.Method, params)
	send(ctx, conn, out)
	if known := (*lsp.Error)(nil); errors.As(err, &known) {
		err = &jsonrpc2.Error{Code: known.Code, Message: known.Message}
	}
	return result, err
}
