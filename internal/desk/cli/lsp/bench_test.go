package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/crossplane-contrib/function-export/internal/desk/files"
)

// benchExpressions is how many expressions the Composition of the benchmark has.
const benchExpressions = 50

// benchComposition reads what a CRD with 200 fields describes.
func benchComposition() string {
	var b strings.Builder
	b.WriteString(`apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: app}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: App}
  mode: Pipeline
  pipeline:
  - step: compose
    functionRef: {name: function-patch-and-transform}
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
      resources:
      - name: db
        base: {apiVersion: db.example.org/v1, kind: Instance}
  - step: export
    functionRef: {name: function-export}
    input:
      apiVersion: export.fn.crossplane.io/v1beta1
      kind: Exports
      secrets:
      - name: connection
        from: db
        data:
`)
	for i := range benchExpressions {
		fmt.Fprintf(&b, "        - key: key-%d\n          value: \"'postgres://%%s:%%s@%%s/app'.format([secret.username, url.queryEscape(secret.password), "+
			"resource.status.atProvider.field%d])\"\n", i, i)
	}
	return b.String()
}

func benchCRD() string {
	out := `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: instances.db.example.org}
spec:
  group: db.example.org
  names: {kind: Instance, plural: instances}
  scope: Namespaced
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status:
            type: object
            properties:
              atProvider:
                type: object
                properties:
`
	for i := range 200 {
		out += fmt.Sprintf("                  field%d: {type: string, description: One of many fields.}\n", i)
	}
	return out
}

// A typist sends messages, and gets what is published.
type typist struct{ published chan struct{} }

func (t typist) Handle(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) {
	if r.Method == "textDocument/publishDiagnostics" {
		t.published <- struct{}{}
	}
}

type pipe struct {
	io.Reader
	io.Writer
}

func (pipe) Close() error { return nil }

// BenchmarkKeystroke measures how long the diagnostics after a keystroke take, and a completion after one, from the
// message of the client to that of the server.
func BenchmarkKeystroke(b *testing.B) {
	text := benchComposition()
	system := &files.System{FS: fstest.MapFS{"composition.yaml": {Data: []byte(text)}, "crd.yaml": {Data: []byte(benchCRD())}}}
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	go func() { _ = Serve(b.Context(), system, pipe{fromClient, toClient}) }()
	t := typist{make(chan struct{}, 100)}
	conn := jsonrpc2.NewConn(b.Context(), jsonrpc2.NewBufferedStream(pipe{fromServer, toServer}, jsonrpc2.VSCodeObjectCodec{}), t)
	call := func(method string, params any, result any) {
		if err := conn.Call(b.Context(), method, params, result); err != nil {
			b.Fatal(err)
		}
	}
	const uri = "file:///composition.yaml"
	call("initialize", map[string]any{"rootUri": "file:///"}, nil)
	line := strings.Count(text[:strings.Index(text, "field25")], "\n")
	character := strings.Index(strings.Split(text, "\n")[line], "field25")
	version := 1
	document := func() map[string]any { return map[string]any{"uri": uri, "version": version, "text": text} }
	if err := conn.Notify(b.Context(), "textDocument/didOpen", map[string]any{"textDocument": document()}); err != nil {
		b.Fatal(err)
	}
	<-t.published
	at := func(character int) map[string]any { return map[string]any{"line": line, "character": character} }
	typed := func() { // a letter, or its removal
		version++
		in, with := map[string]any{"start": at(character), "end": at(character)}, "x"
		if version%2 == 1 {
			in["end"], with = at(character+1), ""
		}
		err := conn.Notify(b.Context(), "textDocument/didChange", map[string]any{"textDocument": document(),
			"contentChanges": []any{map[string]any{"range": in, "text": with}}})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.Run("Diagnostics", func(b *testing.B) {
		measure(b, func() { typed(); <-t.published })
	})
	b.Run("Completion", func(b *testing.B) {
		var items []json.RawMessage
		measure(b, func() {
			call("textDocument/completion", map[string]any{"textDocument": document(), "position": at(character)}, &items)
		})
		if len(items) < 200 {
			b.Errorf("there are %d completions", len(items))
		}
	})
	b.Run("CompletionAfterKeystroke", func(b *testing.B) {
		var items []json.RawMessage
		measure(b, func() {
			typed()
			call("textDocument/completion", map[string]any{"textDocument": document(), "position": at(character)}, &items)
			<-t.published
		})
	})
}

// measure reports how long half of the calls take, and 99 of 100.
func measure(b *testing.B, do func()) {
	b.Helper()
	took := make([]time.Duration, 0, b.N)
	cpu := cpuTime(b)
	for b.Loop() {
		start := time.Now()
		do()
		took = append(took, time.Since(start))
	}
	b.ReportMetric(float64((cpuTime(b)-cpu).Microseconds())/1000/float64(len(took)), "cpu-ms/op")
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// cpuTime of this process so far, of the client and the server.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
