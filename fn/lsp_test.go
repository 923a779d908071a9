package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/lsp"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

// An editor is a scripted client of the language server, which runs as a process.
type editor struct {
	t         *testing.T
	process   *exec.Cmd
	conn      *jsonrpc2.Conn
	stderr    bytes.Buffer
	published chan published
}

// published are the diagnostics of a file.
type published struct {
	URI         string           `json:"uri"`
	Version     *int             `json:"version"`
	Diagnostics []lsp.Diagnostic `json:"diagnostics"`
}

type pipes struct {
	io.Reader
	io.WriteCloser
}

// startEditor starts the server for a folder.
func startEditor(t *testing.T, folder string) *editor {
	t.Helper()
	fn, err := builtFunction.path()
	if err != nil {
		t.Fatal(err)
	}
	e := &editor{t: t, process: exec.CommandContext(t.Context(), fn, "lsp", "--stdio"), published: make(chan published,
		1000)}
	stdin, inErr := e.process.StdinPipe()
	stdout, outErr := e.process.StdoutPipe()
	e.process.Stderr = &e.stderr
	if inErr != nil || outErr != nil || e.process.Start() != nil {
		t.Fatal("cannot start the server")
	}
	stream := jsonrpc2.NewBufferedStream(pipes{stdout, stdin}, jsonrpc2.VSCodeObjectCodec{})
	e.conn = jsonrpc2.NewConn(t.Context(), stream, e, jsonrpc2.SetLogger(discard{}))
	e.call("initialize", map[string]any{"rootUri": "file://" + folder, "capabilities": map[string]any{}}, nil)
	e.notify("initialized", map[string]any{})
	return e
}

type discard struct{}

func (discard) Printf(string, ...any) {}

// Handle keeps what the server publishes.
func (e *editor) Handle(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) {
	var p published
	if r.Method == "textDocument/publishDiagnostics" && json.Unmarshal(*r.Params, &p) == nil {
		e.published <- p
	}
}

func (e *editor) call(method string, params, result any) {
	e.t.Helper()
	if err := e.conn.Call(e.t.Context(), method, params, result); err != nil {
		e.t.Fatalf("%s: %v, %s", method, err, e.stderr.String())
	}
}

func (e *editor) notify(method string, params any) {
	e.t.Helper()
	if err := e.conn.Notify(e.t.Context(), method, params); err != nil {
		e.t.Fatalf("%s: %v, %s", method, err, e.stderr.String())
	}
}

// open opens files, and returns the diagnostics of all of them.
func (e *editor) open(names ...string) map[string][]lsp.Diagnostic {
	e.t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			e.t.Fatal(err)
		}
		e.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": "file://" + name, "version": 1,
			"text": string(text)}})
	}
	out := map[string][]lsp.Diagnostic{}
	for len(out) < len(names) {
		p := e.await()
		out[strings.TrimPrefix(p.URI, "file://")] = p.Diagnostics
	}
	return out
}

func (e *editor) await() published {
	e.t.Helper()
	select {
	case p := <-e.published:
		return p
	case <-e.conn.DisconnectNotify():
		e.t.Fatalf("the server ended: %s", e.stderr.String())
	case <-time.After(time.Minute):
		e.t.Fatalf("the server does not answer: %s", e.stderr.String())
	}
	return published{}
}

// end ends the server as the protocol says.
func (e *editor) end() {
	e.t.Helper()
	e.call("shutdown", nil, nil)
	e.notify("exit", nil)
	if err := e.process.Wait(); err != nil || e.stderr.Len() > 0 {
		e.t.Errorf("%v: %s", err, e.stderr.String())
	}
}

// compareWithCheck compares the diagnostics of all files in a folder with those that check prints as JSON: same places,
// rules and texts.
func compareWithCheck(t *testing.T, folder string) (diagnostics int) {
	t.Helper()
	t.Chdir(folder)
	names, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if settings := filepath.Join(folder, ".function-export.yaml"); fileExists(settings) {
		names = append(names, settings)
	}
	var checked struct {
		Diagnostics []struct {
			File string `json:"file"`
			document.Range
			Field, Rule, Message string
			Warning              bool
		} `json:"diagnostics"`
	}
	output := fnOutput(nil, "check", "--output", "json", ".")
	_ = json.NewDecoder(strings.NewReader(output)).Decode(&checked) // it is no JSON if there is nothing to check
	var want, got []string
	for _, d := range checked.Diagnostics {
		text, _ := os.ReadFile(d.File)
		lines := append(regexp.MustCompile(`\r\n|\n|\r`).Split(strings.TrimPrefix(document.Text(string(text)), "\ufeff"), -1),
			"")
		at := func(p document.Position) string {
			line := []rune(lines[min(p.Line, len(lines))-1])
			return fmt.Sprint(p.Line-1, ":", len(utf16.Encode(line[:min(p.Column-1, len(line))])))
		}
		want = append(want, fmt.Sprint(filepath.Join(folder, d.File), " ", at(d.Position), "-", at(d.End), " ", d.Rule,
			d.Warning, " ",
			strings.TrimPrefix(d.Field+": ", ": "), d.Message))
	}
	e := startEditor(t, folder)
	for name, list := range e.open(names...) {
		for _, d := range list {
			at := func(p lsp.Position) string { return fmt.Sprint(p.Line, ":", p.Character) }
			got = append(got, fmt.Sprint(name, " ", at(d.Range.Start), "-", at(d.Range.End), " ", d.Code, d.Severity == 2, " ",
				d.Message))
		}
	}
	e.end()
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-check, +language server:\n%s", diff)
	}
	return len(want)
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// The language server has the diagnostics of check about each mistake of the corpus.
func TestLanguageServerOnMistakes(t *testing.T) {
	programFolder(t) // it is built in this folder
	standard, all := readRealMistakes(t)
	found := 0
	for _, m := range proof.Part(all, 6) {
		if m.files["args"] != "" {
			continue
		}
		t.Run(m.name(), func(t *testing.T) {
			m.writeFiles(t, standard)
			folder, err := os.Getwd()
			if err != nil {
				t.Fatal(err)
			}
			found += compareWithCheck(t, folder)
		})
	}
	if found < 10 {
		t.Errorf("the corpus has %d diagnostics", found)
	}
}

// wildHead is what is above the input of a mistake from the wild.
const wildHead = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: app}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: App}
  mode: Pipeline
  pipeline:
`

const wildStep = `- step: export
  functionRef: {name: function-export}
  input:
    apiVersion: export.fn.crossplane.io/v1beta1
    kind: Exports
`

// The language server has the diagnostics of check about mistakes that people made in public.
func TestLanguageServerOnWildMistakes(t *testing.T) {
	programFolder(t)
	archive, err := txtar.ParseFile(filepath.Join("..", "internal", "desk", "cli", "check", "testdata", "wild.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	found, folder := 0, t.TempDir()
	indented := regexp.MustCompile(`(?m)^(.)`)
	for i, f := range archive.Files {
		text := ""
		for line := range strings.Lines(string(f.Data)) {
			if !strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "!") {
				text += line[1:]
			}
		}
		body, rest, _ := strings.Cut(text, "---\n")
		if !strings.HasPrefix(body, "- step:") {
			body = wildStep + indented.ReplaceAllString(body, "    $1")
		}
		text = wildHead + indented.ReplaceAllString(body, "  $1") + "---\n" + rest
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%03d.yaml", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if found = compareWithCheck(t, folder); found < len(archive.Files) {
		t.Errorf("%d mistakes have %d diagnostics", len(archive.Files), found)
	}
}

// The server keeps to the protocol: what it answers before and after the session, to what it does not know, and to what
// is cancelled.
func TestLanguageServerProtocol(t *testing.T) {
	fn, err := builtFunction.path()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		messages []string
		want     string
		code     int
	}{
		"exit": {[]string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
			`{"jsonrpc":"2.0","id":2,"method":"shutdown"}`, `{"jsonrpc":"2.0","method":"exit"}`}, `"id":2,"result":null`, 0},
		"exit too early": {[]string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
			`{"jsonrpc":"2.0","method":"exit"}`}, `"id":1`, 1},
		"end":             {[]string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`}, `"id":1`, 1},
		"not initialized": {[]string{`{"jsonrpc":"2.0","id":1,"method":"textDocument/hover","params":{}}`}, `-32002`, 1},
		"after shutdown": {[]string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
			`{"jsonrpc":"2.0","id":2,"method":"shutdown"}`,
			`{"jsonrpc":"2.0","id":3,"method":"textDocument/hover","params":{}}`}, `-32600`, 1},
		"unknown method": {[]string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
			`{"jsonrpc":"2.0","id":"x","method":"textDocument/moniker","params":{}}`}, `-32601`, 1},
		"not open": {[]string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
			`{"jsonrpc":"2.0","id":2,"method":"textDocument/hover","params":{"textDocument":{"uri":"file:///a.yaml"}}}`},
			`-32602`, 1},
		"bad parameters": {[]string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
			`{"jsonrpc":"2.0","id":2,"method":"textDocument/hover","params":[1]}`}, `-32602`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			process := exec.CommandContext(t.Context(), fn, "lsp")
			var in, out, stderr bytes.Buffer
			for _, m := range c.messages {
				fmt.Fprintf(&in, "Content-Length: %d\r\n\r\n%s", len(m), m)
			}
			process.Stdin, process.Stdout, process.Stderr = &in, &out, &stderr
			_ = process.Run()
			if code := process.ProcessState.ExitCode(); code != c.code || !strings.Contains(out.String(), c.want) {
				t.Errorf("want the exit code %d and %s, got %d and %s%s", c.code, c.want, code, out.String(), stderr.String())
			}
		})
	}
}
