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

// The errors of the protocol that JSON-RPC does not have.
const (
	codeNotInitialized = -32002
	codeCancelled      = -32800
)

// A session is the connection to one client. Messages are read at once, so that a request can be cancelled while an
// earlier one runs, and are answered one after the other, in their order. Diagnostics are sent when no message waits,
// so that fast typing does not wait for those of each key.
type session struct {
	server *lsp.Server

	mu      sync.Mutex
	waiting []message
	cancel  map[jsonrpc2.ID]context.CancelFunc // of requests without an answer
	arrived chan struct{}                      // has an item if something waits

	initialized, shutdown bool
	end                   chan error
}

// A message is a request or a notification that waits.
type message struct {
	*jsonrpc2.Request

	ctx context.Context //nolint:containedctx // it lives as long as the request
}

func newSession(system *files.System) (*session, error) {
	server, err := lsp.NewServer(system)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what failed
	}
	return &session{
		server: server, cancel: map[jsonrpc2.ID]context.CancelFunc{},
		arrived: make(chan struct{}, 1), end: make(chan error, 1),
	}, nil
}

// serve answers messages until the client exits, or the connection ends.
func (s *session) serve(ctx context.Context, connection io.ReadWriter) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	in := &input{connection, make(chan struct{}), ctx}
	stream := jsonrpc2.NewBufferedStream(in, jsonrpc2.VSCodeObjectCodec{})
	conn := jsonrpc2.NewConn(ctx, stream, s, jsonrpc2.SetLogger(quiet{}))
	for ended := false; ; {
		select {
		case <-s.arrived:
			s.work(ctx, conn)
		case <-in.ended:
			ended = true
			s.work(ctx, conn) // what arrived before the end
		case <-conn.DisconnectNotify():
			return errors.New("the messages are not those of the protocol")
		}
		select {
		case err := <-s.end:
			return err
		default:
		}
		if ended {
			return errors.New("the editor closed the connection without exit")
		}
	}
}

// An input is a connection whose end is only noticed when all messages before it have an answer.
type input struct {
	io.ReadWriter

	ended chan struct{}
	ctx   context.Context //nolint:containedctx // of the session
}

// Read reads a part of a message. At the end, it waits for the end of the session.
func (i *input) Read(p []byte) (int, error) {
	n, err := i.ReadWriter.Read(p)
	if err != nil && n == 0 {
		close(i.ended)
		<-i.ctx.Done()
	}
	return n, err //nolint:wrapcheck // of a reader
}

// Close does nothing, because the connection ends with the process.
func (*input) Close() error { return nil }

// Handle puts a message in the queue. It is called for one message after the other.
func (s *session) Handle(ctx context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == "$/cancelRequest" {
		var p struct {
			ID jsonrpc2.ID `json:"id"`
		}
		if r.Params != nil && json.Unmarshal(*r.Params, &p) == nil && s.cancel[p.ID] != nil {
			s.cancel[p.ID]()
		}
		return
	}
	m := message{Request: r, ctx: ctx}
	if !r.Notif {
		m.ctx, s.cancel[r.ID] = context.WithCancel(ctx)
	}
	s.waiting = append(s.waiting, m)
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

// next returns the message that waits longest.
func (s *session) next() (message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return message{}, false
	}
	m := s.waiting[0]
	s.waiting = s.waiting[1:]
	return m, true
}

// work answers all messages that wait, and then sends the diagnostics that changed.
func (s *session) work(ctx context.Context, conn *jsonrpc2.Conn) {
	for {
		m, ok := s.next()
		if !ok {
			break
		}
		s.answer(conn, m) //nolint:contextcheck // it has its own
	}
	if s.initialized && !s.shutdown {
		s.send(ctx, conn, s.server.Publish(ctx))
	}
}

func (s *session) send(ctx context.Context, conn *jsonrpc2.Conn, messages []lsp.Message) {
	for _, m := range messages {
		if m.Request { // its result says nothing
			_, _ = conn.DispatchCall(ctx, m.Method, m.Params)
			continue
		}
		_ = conn.Notify(ctx, m.Method, m.Params) // the end of the connection is noticed elsewhere
	}
}

// answer answers a message.
func (s *session) answer(conn *jsonrpc2.Conn, m message) {
	result, out, err := s.result(m)
	s.send(m.ctx, conn, out)
	if m.Notif {
		return
	}
	if m.ctx.Err() != nil {
		err = &jsonrpc2.Error{Code: codeCancelled, Message: "the request was cancelled"}
	}
	s.mu.Lock()
	s.cancel[m.ID]()
	delete(s.cancel, m.ID)
	s.mu.Unlock()
	ctx := context.WithoutCancel(m.ctx)
	if err != nil {
		_ = conn.ReplyWithError(ctx, m.ID, errorOf(err))
		return
	}
	_ = conn.Reply(ctx, m.ID, result)
}

// result returns the result of a message, as far as the state of the session allows it.
func (s *session) result(m message) (result any, out []lsp.Message, err error) {
	defer func() { // a defect must not end the session with unsaved thoughts
		if r := recover(); r != nil {
			err = fmt.Errorf("cannot answer %s: this is a defect of function-export: please report it", m.Method)
		}
	}()
	var raw json.RawMessage
	if m.Params != nil {
		raw = *m.Params
	}
	switch {
	case m.Method == "exit":
		if !s.shutdown {
			err = errors.New("exit without shutdown")
		}
		s.end <- err
		return nil, nil, nil
	case s.shutdown, s.initialized && m.Method == "initialize":
		return nil, nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: "not expected now: " + m.Method}
	case !s.initialized && m.Method != "initialize":
		return nil, nil, &jsonrpc2.Error{Code: codeNotInitialized, Message: "the first request must be initialize"}
	case m.Method == "shutdown":
		s.shutdown = true
		return nil, nil, nil
	case m.ctx.Err() != nil:
		return nil, nil, nil
	}
	s.initialized = true
	return s.server.Handle(m.ctx, m.Method, raw)
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
