package main

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// A fakeFunction answers as its script says, and keeps what it was asked.
type fakeFunction struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	requests []*fnv1.RunFunctionRequest
	script   func(call int, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error)
}

func (f *fakeFunction) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	f.requests = append(f.requests, proto.CloneOf(req))
	if f.script == nil {
		return &fnv1.RunFunctionResponse{Desired: req.GetDesired(), Context: req.GetContext()}, nil
	}
	return f.script(len(f.requests), req)
}

// renderAnswer is the script of a function that always says the same.
func renderAnswer(t *testing.T, text string) func(int, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	t.Helper()
	rsp := renderResponse(t, text)
	return func(int, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) { return rsp, nil }
}

// response reads a RunFunctionResponse from YAML.
func renderResponse(t *testing.T, text string) *fnv1.RunFunctionResponse {
	t.Helper()
	rsp := &fnv1.RunFunctionResponse{}
	j, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := protojson.Unmarshal(j, rsp); err != nil {
		t.Fatal(err)
	}
	return rsp
}

// testFiles is a folder to render, by file name.
type testFiles map[string]string

// The least that renders.
const (
	testXR = `
apiVersion: example.org/v1
kind: App
metadata: {name: demo, namespace: default, uid: 11111111-1111-1111-1111-111111111111}
spec: {size: 3}
`
	testComposition = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: apps}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: App}
  mode: Pipeline
  pipeline:
  - step: export
    functionRef: {name: function-export}
    input: {apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports}
`
)

// renderDir writes the files, with the least that renders below them. A file whose
// text is "-" is left out.
func renderDir(t *testing.T, files testFiles) string {
	t.Helper()
	dir := t.TempDir()
	all := testFiles{"xr.yaml": testXR, "composition.yaml": testComposition}
	maps.Copy(all, files)
	for name, text := range all {
		if text == "-" {
			continue
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// rendered runs the command; stdout, stderr and the error as a user sees them,
// without the folder in them.
func rendered(t *testing.T, c renderCmd, fn fnv1.FunctionRunnerServiceServer) (stdout, stderr, failure string) {
	t.Helper()
	var out, errs bytes.Buffer
	if err := c.run(t.Context(), fn, &out, &errs); err != nil {
		failure = err.Error()
	}
	dir := ""
	if len(c.Paths) > 0 {
		dir = c.Paths[0]
		if filepath.Ext(dir) != "" {
			dir = filepath.Dir(dir)
		}
	}
	short := func(s string) string { return strings.ReplaceAll(s, dir+"/", "") }
	return out.String(), short(errs.String()), short(failure)
}

// exampleDirs are the folders of the examples, and of their moments.
func exampleDirs(t testing.TB) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir("../example", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "xr.yaml" {
			dirs = append(dirs, filepath.Dir(path))
		}
		return err
	})
	if err != nil || len(dirs) == 0 {
		t.Fatal("no examples", err)
	}
	return dirs
}

// exampleFunction is the function at the time of an example, with the same randomness in
// each call.
func exampleFunction(t testing.TB, dir string) *bothForms {
	t.Helper()
	f, at := newFunction(t), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if text, err := os.ReadFile(filepath.Join(dir, "now.txt")); err == nil {
		if at, err = time.Parse(time.RFC3339, strings.TrimSpace(string(text))); err != nil {
			t.Fatal(err)
		}
	}
	f.now, f.entropy = func() time.Time { return at }, func() io.Reader { return rand.NewChaCha8([32]byte{}) }
	return f
}
