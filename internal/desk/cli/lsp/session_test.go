package lsp

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/crossplane-contrib/function-export/internal/desk/files"
)

// A request that is cancelled while it waits has an error as its answer. The others have their answers, in their order.
func TestCancel(t *testing.T) {
	s, err := newSession(&files.System{FS: fstest.MapFS{}})
	if err != nil {
		t.Fatal(err)
	}
	request := func(id uint64, method, params string) *jsonrpc2.Request {
		raw := json.RawMessage(params)
		return &jsonrpc2.Request{ID: jsonrpc2.ID{Num: id}, Method: method, Params: &raw, Notif: id == 0}
	}
	for _, r := range []*jsonrpc2.Request{
		request(1, "initialize", `{}`),
		request(0, "textDocument/didOpen", `{"textDocument": {"uri": "file:///a.yaml", "text": "a: b\n"}}`),
		request(2, "textDocument/hover", `{"textDocument": {"uri": "file:///a.yaml"}}`),
		request(3, "textDocument/documentSymbol", `{"textDocument": {"uri": "file:///a.yaml"}}`),
		request(0, "$/cancelRequest", `{"id": 2}`),
		request(0, "$/cancelRequest", `{"id": 99}`),
		request(4, "shutdown", `null`),
		request(0, "exit", `null`),
	} {
		s.Handle(t.Context(), nil, r)
	}
	var out bytes.Buffer
	if err := s.serve(t.Context(), struct {
		io.Reader
		io.Writer
	}{strings.NewReader(""), &out}); err != nil {
		t.Errorf("the session ends with %v", err)
	}
	at := 0
	for _, want := range []string{`"id":1`, `{"id":2,"error":{"code":-32800`, `"id":3,"result":[]`, `"id":4,"result":null`} {
		i := strings.Index(out.String()[at:], want)
		if i < 0 {
			t.Fatalf("want %s in\n%s", want, out.String()[at:])
		}
		at += i
	}
}

// A message that is not one of the protocol ends the session, and is not quoted.
func TestNoMessage(t *testing.T) {
	err := Serve(t.Context(), &files.System{FS: fstest.MapFS{}}, struct {
		io.Reader
		io.Writer
	}{strings.NewReader("password: hunter2\r\n\r\n"), io.Discard})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}
