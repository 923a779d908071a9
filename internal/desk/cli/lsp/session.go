package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/crossplane-contrib/function-export/internal/desk/files"
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

func newSession(system *files.System) (*session, error) {
	server, err := lsp.NewServer(system)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what failed
	}
	return &session{server: server, changed: make(chan struct{}, 1), end: make(chan error, 1)}, nil
}

// connection has a Close that does nothing, because the connection ends with the process.
type connection struct{ io.ReadWriter }

func (connection) Close() error { return nil }

// serve answers messages until the client exits, or the connection ends.
func (s *session) serve(ctx context.Context, c io.ReadWriter) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stream := jsonrpc2.NewBufferedStream(connection{c}, jsonrpc2.VSCodeObjectCodec{})
	conn := jsonrpc2.NewConn(ctx, stream, s, jsonrpc2.SetLogger(quiet{}))
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

// Handle answers a message. It is called for one after the other.
func (s *session) Handle(ctx context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	result, out, err := s.result(ctx, r)
	if r.Method == "shutdown" && err == nil {
		out = s.server.Publish(ctx) // which may still wait
	}
	send(ctx, conn, out)
	switch {
	case r.Notif:
		select {
		case s.changed <- struct{}{}:
		default:
		}
	case err != nil:
		_ = conn.ReplyWithError(ctx, r.ID, errorOf(err))
	default:
		_ = conn.Reply(ctx, r.ID, result)
	}
}

// result returns the result of a message, as far as the state of the session allows it.
func (s *session) result(ctx context.Context, r *jsonrpc2.Request) (result any, out []lsp.Message, err error) {
	defer func() { // a defect must not end the session with unsaved thoughts
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot answer %s: this is a defect of function-export: please report it", r.Method)
		}
	}()
	var raw json.RawMessage
	if r.Params != nil {
		raw = *r.Params
	}
	switch {
	case r.Method == "exit":
		if !s.shutdown {
			err = errors.New("exit without shutdown")
		}
		s.end <- err
		return nil, nil, nil
	case s.shutdown, s.initialized && r.Method == "initialize":
		return nil, nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: "not expected now: " + r.Method}
	case !s.initialized && r.Method != "initialize":
		return nil, nil, &jsonrpc2.Error{Code: codeNotInitialized, Message: "the first request must be initialize"}
	case r.Method == "shutdown":
		s.shutdown = true
		return nil, nil, nil
	}
	s.initialized = true
	return s.server.Handle(ctx, r.Method, raw)
}

// errorOf returns an error as the protocol has it.
func errorOf(err error) *jsonrpc2.Error {
	var known *jsonrpc2.Error
	var invalid *lsp.InvalidError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &invalid):
		return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
	case errors.Is(err, lsp.ErrUnknownMethod):
		return &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: err.Error()}
	}
	return &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: err.Error()}
}

// quiet prints no logs, because an editor shows all of standard error as errors.
type quiet struct{}

// Printf does nothing.
func (quiet) Printf(string, ...any) {}
