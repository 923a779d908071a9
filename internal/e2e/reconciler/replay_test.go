package reconciler_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/e2e/laws"
)

// write writes a trace to a file, one JSON document a line.
func (t *trace) write(path string) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	zip := gzip.NewWriter(f)
	defer func() {
		for _, c := range []io.Closer{zip, f} {
			if e := c.Close(); err == nil {
				err = e
			}
		}
	}()
	out := json.NewEncoder(zip)
	for _, l := range t.lines {
		if l.request != nil {
			if l.Request, err = protojson.Marshal(l.request); err != nil {
				return err
			}
			if l.Response, err = protojson.Marshal(l.response); err != nil {
				return err
			}
		}
		if err := out.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

func readTrace(path string) (*trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	t, in := &trace{}, bufio.NewScanner(zip)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			return nil, err
		}
		if l.Request != nil {
			l.request, l.response = &fnv1.RunFunctionRequest{}, &fnv1.RunFunctionResponse{}
			if err := protojson.Unmarshal(l.Request, l.request); err != nil {
				return nil, err
			}
			if err := protojson.Unmarshal(l.Response, l.response); err != nil {
				return nil, err
			}
		}
		t.lines = append(t.lines, l)
	}
	return t, in.Err()
}

// replay sends the requests of a trace to a function, at the time at which they were sent. It returns how responses
// differ, by line. Values that are generated differ each time, so only their presence is compared.
func replay(t *trace, f func(now time.Time) runner) (diffs map[int]string, err error) {
	diffs = map[int]string{}
	for i, l := range t.lines {
		if l.request == nil {
			continue
		}
		got, err := f(*l.Now).RunFunction(context.Background(), proto.CloneOf(l.request))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		got, want := withoutGenerated(l.request, got), withoutGenerated(l.request, l.response)
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			diffs[i] = diff
		}
	}
	return diffs, nil
}

// generated replaces a value that was generated in this response.
const generated = "generated"

// withoutGenerated returns a response without the values that were generated for it, and without the hashes of values.
func withoutGenerated(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) *fnv1.RunFunctionResponse {
	known := map[string]bool{}
	remember := func(o *structpb.Struct) {
		for _, v := range o.GetFields()["data"].GetStructValue().GetFields() {
			known[v.GetStringValue()] = true
		}
	}
	for _, r := range req.GetObserved().GetResources() {
		remember(r.GetResource())
	}
	for _, rs := range req.GetRequiredResources() {
		for _, r := range rs.GetItems() {
			remember(r.GetResource())
		}
	}
	rsp = proto.CloneOf(rsp)
	for _, r := range rsp.GetDesired().GetResources() {
		annotations := annotationsOf(r.GetResource())
		state := laws.Annotations + "generator-state"
		if annotations[state] == nil {
			continue
		}
		annotations[state] = structpb.NewStringValue(codes.ReplaceAllString(annotations[state].GetStringValue(), ""))
		data := r.GetResource().GetFields()["data"].GetStructValue().GetFields()
		for _, k := range slices.Sorted(maps.Keys(data)) {
			if !known[data[k].GetStringValue()] {
				data[k] = structpb.NewStringValue(generated)
			}
		}
	}
	return rsp
}

// codes are hashes of values in the state of a generation, and its seal, which follows from the values and the state.
var codes = regexp.MustCompile(`"follows":\[[^\]]*\]|"(sourceHash|seal)":"\w+"`)

func annotationsOf(o *structpb.Struct) map[string]*structpb.Value {
	return o.GetFields()["metadata"].GetStructValue().GetFields()["annotations"].GetStructValue().GetFields()
}

// remembering is a function with a mistake: it remembers what it sent. Once anything that it observes has changed, it takes
// its last response for what is stored, so a write that did not arrive counts. Without failures, it behaves as the
// correct function.
type remembering struct {
	runner

	observed   *fnv1.State // of the last request
	sent, last marks       // before that request, and in response to it
}

// marks are the annotations of generations.
type marks map[string]map[string]*structpb.Value

func (r *remembering) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	if !proto.Equal(r.observed, req.GetObserved()) { // another reconcile
		r.observed, r.sent = proto.CloneOf(req.GetObserved()), r.last
	}
	believed := proto.CloneOf(req)
	for name, o := range believed.GetObserved().GetResources() {
		maps.Copy(annotationsOf(o.GetResource()), r.sent[name])
	}
	rsp, err := r.runner.RunFunction(ctx, believed)
	r.last = marks{}
	for name, o := range rsp.GetDesired().GetResources() {
		annotations := maps.Clone(annotationsOf(o.GetResource()))
		if annotations[laws.Annotations+"generator-state"] == nil {
			continue
		}
		maps.DeleteFunc(annotations, func(k string, _ *structpb.Value) bool { return !strings.HasPrefix(k, laws.Annotations) })
		r.last[name] = annotations
	}
	return rsp, err
}
