package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// sizeLimit is how large the program may be when a browser loads it.
const sizeLimit = 10 << 20

// In Node, without a disk, the commands print what the program prints on one, and the language server answers what it
// answers here: about all examples and a corpus of mistakes, to the byte.
func TestSameInABrowser(t *testing.T) {
	dir := t.TempDir()
	program, native := filepath.Join(dir, "desk.wasm"), filepath.Join(dir, "function-export")
	build(t, program, "./", "GOOS=js", "GOARCH=wasm")
	build(t, native, "../../../fn")
	size(t, program)

	in := Request{Files: map[string]string{}}
	read(t, in.Files)
	in.Commands, in.Messages = commands(in.Files), messages(t, in.Files)
	for name, text := range in.Files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	got := runInNode(t, program, in)
	if len(got.Results) != len(in.Commands) {
		t.Fatalf("want %d results, got %d", len(in.Commands), len(got.Results))
	}
	for i, args := range in.Commands {
		if diff := cmp.Diff(runNative(t, native, dir, args), got.Results[i]); diff != "" {
			t.Errorf("%s: -native, +wasm:\n%s", strings.Join(args, " "), diff)
		}
	}
	here, err := answer(Request{Files: in.Files, Messages: in.Messages})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asJSON(t, here.Answers), asJSON(t, got.Answers)); diff != "" {
		t.Errorf("language server: -native, +wasm:\n%s", diff)
	}
	t.Logf("%d commands print the same in Node %s, and %d messages have the same answers",
		len(in.Commands), strings.TrimSpace(output(t, "node", "--version")), len(in.Messages))
}

// messages opens each mistake in an editor, and asks about a place in it.
func messages(t *testing.T, files map[string]string) []Message {
	t.Helper()
	out := []Message{{"initialize", json.RawMessage(`{"capabilities": {}, "rootUri": "file:///"}`)}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		before, _, ok := strings.Cut(text, "value: ")
		if !ok || !strings.HasPrefix(name, "broken/") {
			continue
		}
		document := map[string]any{"uri": "file:///" + name, "version": 1, "text": text}
		line := strings.Count(before, "\n")
		at := map[string]any{"line": line, "character": len(before) - strings.LastIndex(before, "\n") + len("value: ")}
		for _, method := range []string{"didOpen", "hover", "completion", "didClose"} {
			params, err := json.Marshal(map[string]any{"textDocument": document, "position": at})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, Message{"textDocument/" + method, params})
		}
	}
	return out
}

// asJSON returns JSON with sorted keys.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	var sorted any
	text, err := json.Marshal(v)
	err = errors.Join(err, json.Unmarshal(text, &sorted))
	out, errIndent := json.MarshalIndent(sorted, "", " ")
	if err := errors.Join(err, errIndent); err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// commands returns command lines about all files.
func commands(files map[string]string) [][]string {
	out := [][]string{
		{"check", "broken"},
		{"check", "broken", "--output", "json"},
		{"check", "example", "--output", "sarif"},
		{"explain", "example"},
		{"explain", "example", "--output", "json"},
	}
	for name := range files {
		dir, isFolder := strings.CutSuffix(name, "/xr.yaml")
		if _, ok := files[dir+"/expected.yaml"]; ok && isFolder {
			// A rehearsal makes each value from a seed.
			out = append(out, []string{"render", dir, "--at", "2026-11-21T12:00:00Z", "--show-secrets",
				"--allow-waiting"})
		}
	}
	return out
}

// read reads the examples, and the mistakes.
func read(t *testing.T, into map[string]string) {
	t.Helper()
	example := os.DirFS("../../../example")
	err := fs.WalkDir(example, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".yaml" && filepath.Ext(name) != ".txt" {
			return err
		}
		text, err := fs.ReadFile(example, name)
		into["example/"+name] = string(text)
		return err
	})
	mistakes, errGlob := filepath.Glob("../../desk/cli/check/testdata/broken/*")
	if err := errors.Join(err, errGlob); err != nil || len(mistakes) == 0 {
		t.Fatalf("cannot find the files: %v", err)
	}
	for _, path := range mistakes {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if filepath.Ext(f.Name) == ".yaml" {
				into["broken/"+strings.TrimSuffix(filepath.Base(path), ".txtar")+"/"+f.Name] = string(f.Data)
			}
		}
	}
}

// size prints the size of a program as a server sends it, and fails if it is too large.
func size(t *testing.T, program string) {
	t.Helper()
	const script = `const zlib = require("zlib"), data = require("fs").readFileSync(process.argv[1]);
		const params = {[zlib.constants.BROTLI_PARAM_QUALITY]: 9, [zlib.constants.BROTLI_PARAM_LGWIN]: 24};
		console.log(zlib.brotliCompressSync(data, {params}).length)`
	n, err := strconv.Atoi(strings.TrimSpace(output(t, "node", "-e", script, program)))
	info, errStat := os.Stat(program)
	if err := errors.Join(err, errStat); err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f MiB, and %.2f MiB with Brotli", float64(info.Size())/(1<<20), float64(n)/(1<<20))
	if n > sizeLimit {
		t.Errorf("the program has %d bytes with Brotli, over the limit of %d", n, sizeLimit)
	}
}

func build(t *testing.T, into, pkg string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", into, ".")
	cmd.Dir, cmd.Env = pkg, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build %s: %v\n%s", pkg, err, out)
	}
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(out)
}

// runInNode runs the commands with Go's own loader.
func runInNode(t *testing.T, program string, in Request) (out Response) {
	t.Helper()
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	loader := filepath.Join(strings.TrimSpace(output(t, "go", "env", "GOROOT")), "lib", "wasm", "wasm_exec_node.js")
	cmd := exec.CommandContext(t.Context(), "node", "--stack-size=8192", loader, program)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), os.Stderr
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	if err := json.Unmarshal(stdout, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func runNative(t *testing.T, program, dir string, args []string) Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return Result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}
