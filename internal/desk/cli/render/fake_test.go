package render

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
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

// engineOf returns a function at any time.
func engineOf(call world.Function) pipeline.Engine {
	return func(func() time.Time, io.Reader, func(*reconcile.Result)) world.Function { return call }
}

// rendered runs the command; stdout, stderr and the error as a user sees them,
// without the folder in them.
func rendered(t *testing.T, c Command, fn fnv1.FunctionRunnerServiceServer) (stdout, stderr, failure string) {
	t.Helper()
	var out, errs bytes.Buffer
	if err := c.RunWith(t.Context(), terminal.Disk(nil), engineOf(fn.RunFunction), &out, &errs); err != nil {
		failure = err.Error()
	}
	dir := ""
	if len(c.Paths) > 0 {
		dir = c.Paths[0]
		if filepath.Ext(dir) != "" {
			dir = filepath.Dir(dir)
		}
	}
	short := func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, dir+"/", ""), dir, "DIR") }
	return out.String(), short(errs.String()), short(failure)
}
