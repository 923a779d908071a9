package reconciler_test

import (
	"context"
	"maps"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/e2e/laws"
)

func annotationsOf(o *structpb.Struct) map[string]*structpb.Value {
	return o.GetFields()["metadata"].GetStructValue().GetFields()["annotations"].GetStructValue().GetFields()
}

// remembering is a function with a mistake: it remembers what it sent. Once anything that it observes has changed, it
// takes its last response for what is stored, so a write that did not arrive counts. Without failures, it behaves as
// the correct function.
type remembering struct {
	runner

	observed   *fnv1.State // of the last request
	sent, last marks       // before that request, and in response to it
}

// marks are the annotations of generations.
type marks map[string]map[string]*structpb.Value

func (r *remembering) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse,
	error) {
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
		maps.DeleteFunc(annotations, func(k string, _ *structpb.Value) bool {
			return !strings.HasPrefix(k,
				laws.Annotations)
		})
		r.last[name] = annotations
	}
	return rsp, err
}
