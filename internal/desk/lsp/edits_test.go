package lsp

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

// Each of many random edits of the examples leaves the diagnostics that a fresh check of the file finds, and nothing
// that an editor asks in between ends the server.
func TestRandomEdits(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "example", "*", "composition.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatal("there are no examples")
	}
	edits := int(proof.Count("LSP_EDITS", 400, 10_000))
	for i, path := range proof.Part(paths, 4) {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Parallel()
			e := newEdited(t, path, uint64(i))
			for range edits / len(proof.Part(paths, 4)) {
				e.edit()
				e.compare()
				e.askSomething()
			}
		})
	}
}

// An edited file is one of the examples, with the other files of its folder.
type edited struct {
	*client
	random   *rand.Rand
	folder   fstest.MapFS
	original string
	pieces   []string
	before   string
}

func newEdited(t *testing.T, path string, seed uint64) *edited {
	t.Helper()
	e := &edited{random: rand.New(rand.NewPCG(seed, 44)), folder: fstest.MapFS{}}
	all, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		e.folder[filepath.Base(name)] = &fstest.MapFile{Data: data}
	}
	e.original = string(e.folder["composition.yaml"].Data)
	e.pieces = append(strings.Fields(e.original), "\n", " ", "  ", "'", `"`, "`", "\t", "#", ":", "-", "{", "}",
		"[", "]", "|", ">", "\\", "💥", "\r\n", "\ufeff", "é", "&a", "*a", "---\n", "<<: *a", "resources.", "secret.",
		"variables['", ".?", "?", "map(x, x.", "// ")
	server, err := NewServer(&files.System{FS: e.folder})
	if err != nil {
		t.Fatal(err)
	}
	e.client = &client{t: t, server: server}
	e.call("initialize", map[string]any{"rootUri": "file:///", "capabilities": map[string]any{}})
	e.call("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uriOfCase, "text": e.original}})
	return e
}

// edit changes a range of the text as an editor sends it, and often begins again.
func (e *edited) edit() {
	e.before = e.text().string
	if e.random.IntN(25) == 0 {
		e.change([]any{map[string]any{"text": e.original}})
		return
	}
	start := e.random.IntN(len(e.before) + 1)
	end := min(start+e.random.IntN(12)*e.random.IntN(2), len(e.before))
	t := e.text()
	at := func(end int) Position { return t.position(len(strings.ToValidUTF8(e.before[:end], ""))) }
	in := Range{at(start), at(end)}
	e.change([]any{map[string]any{"range": in, "text": e.pieces[e.random.IntN(len(e.pieces))]}})
}

func (e *edited) change(changes []any) {
	document := map[string]any{"uri": uriOfCase, "version": 1}
	e.call("textDocument/didChange", map[string]any{"textDocument": document, "contentChanges": changes})
}

// compare compares what the server publishes with a check of the same folder by another workspace.
func (e *edited) compare() {
	e.t.Helper()
	text := e.text().string
	e.server.Publish(e.t.Context())
	var got []Diagnostic
	if _, list, _ := strings.Cut(e.server.published[uriOfCase], "["); json.Unmarshal([]byte("["+list), &got) != nil {
		e.t.Fatalf("cannot read %q", e.server.published[uriOfCase])
	}
	folder := fstest.MapFS{}
	for name, f := range e.folder {
		folder[name] = f
	}
	folder["composition.yaml"] = &fstest.MapFile{Data: []byte(text)}
	var want, have []string
	in, err := (&files.System{FS: folder}).Load([]string{"."}, files.Flags{})
	if err == nil {
		for _, d := range append(in.Unread, in.Known.Check(e.t.Context(), e.server.env, in.Steps)...) {
			if d.File == "composition.yaml" {
				t := newText(text)
				shown := t.rangeOf(t.spanOf(d.Range))
				text := strings.TrimPrefix(d.Field+": ", ": ") + d.Message
				want = append(want, fmt.Sprint(shown, d.Level(), d.Rule, " ", text))
			}
		}
	}
	for _, d := range got {
		level := map[int]string{1: "error", 2: "warning"}[d.Severity]
		have = append(have, fmt.Sprint(d.Range, level, d.Code, " ", d.Message))
	}
	slices.Sort(want)
	slices.Sort(have)
	if diff := cmp.Diff(want, have); diff != "" {
		e.t.Fatalf("-check, +server:\n%s\nof\n%s\nafter\n%s", diff, text, e.before)
	}
}

// askSomething asks what an editor asks after a change.
func (e *edited) askSomething() {
	e.at = e.text().position(len(strings.ToValidUTF8(e.text().string[:e.random.IntN(len(e.text().string)+1)], "")))
	end := e.text().position(len(e.text().string))
	for _, method := range []string{
		"completion", "hover", "definition", "references", "codeAction", "inlayHint", "semanticTokens/full",
		"documentSymbol", "formatting", "rename",
	} {
		if e.random.IntN(3) > 0 {
			continue
		}
		_, _, err := e.try("textDocument/"+method, map[string]any{
			"textDocument": map[string]any{"uri": uriOfCase}, "position": e.at, "range": Range{End: end},
			"newName": "other",
		})
		if err != nil && method != "rename" {
			e.t.Fatalf("%s at %v: %v of\n%s", method, e.at, err, e.text().string)
		}
	}
}
