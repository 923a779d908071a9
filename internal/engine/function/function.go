// Package function turns a request of Crossplane into its response: it runs the request against the plan of
// its input, and converts the result into resources, a condition, results and context. Errors become results
// only here.
package function

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/metrics"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Function answers Crossplane. It keeps compiled inputs, but no data of requests. New sets each field;
// tests replace some of them.
type Function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	Plans   *plan.Cache      // the compiled inputs
	Metrics *metrics.Metrics // nil counts nothing
	Log     logging.Logger
	Now     func() time.Time
	Entropy func() io.Reader // the source of credentials

	// Seen is called with each result, for rehearsals that explain it. It may be nil.
	Seen func(*reconcile.Result)

	RequireGrants bool // each input is read as one with requireGrants
}

// New returns a function with the system's clock and randomness. Its metrics may be nil.
func New(log logging.Logger, m *metrics.Metrics) (*Function, error) {
	env, err := advice.NewEnvironment()
	if err != nil {
		return nil, err
	}
	return &Function{Plans: plan.NewCache(env), Metrics: m, Log: log, Now: now, Entropy: entropy}, nil
}

// RunFunction answers a decoded request, as the server does when it receives the request.
func (f *Function) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	sent, err := wire.Encode(req)
	if err != nil {
		return nil, err
	}
	parts, err := f.Run(ctx, sent).Marshal()
	switch {
	case ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	case err != nil:
		return nil, err
	}
	rsp := &fnv1.RunFunctionResponse{}
	return rsp, proto.Unmarshal(bytes.Join(parts, nil), rsp)
}

// Run answers one call. If its context is done, the returned response must not be sent. The request is
// not changed, because parts of it are also in the response.
func (f *Function) Run(ctx context.Context, req *wire.Request) *wire.Response {
	meta := &fnv1.ResponseMeta{Tag: req.Meta.GetTag()}
	//nolint:contextcheck // a compiled input is shared with other requests
	p, diagnostics, hit := f.Plans.Get(req.Input)
	f.Metrics.PlanCache(hit)
	if len(diagnostics) > 0 {
		return req.Respond(f.fatal(meta, req, diagnostics.Error()))
	}
	seen := observe(req, p)
	seen.Now, seen.Random, seen.RequireGrants = f.Now().UTC(), f.Entropy(), f.RequireGrants
	result, err := reconcile.Run(ctx, p, seen)
	switch {
	case ctx.Err() != nil: // the caller went away
		return req.Respond(&fnv1.RunFunctionResponse{Meta: meta})
	case err != nil:
		return req.Respond(f.fatal(meta, req, err))
	}
	meta.Ttl = ttl(p.Freshness.After(watches(req, p, seen, result)), result, seen.Now)
	out := respond(req, meta, result, p)
	for size := out.Size(); size > limits.ResponseBytes; size = out.Size() { // measured once: it may be large
		if !result.Keep(size - limits.ResponseBytes) {
			err := &outcome.Fatal{State: reconcile.Held, Message: fmt.Sprintf("nothing is changed: the response has %d "+
				"bytes even if all exports are kept unchanged, and Crossplane accepts %d: compose less in this pipeline, "+
				"or put less into its context", size, limits.ResponseBytes)}
			return new(wire.Request).Respond(f.fatal(meta, req, err)) // without the content of the request
		}
		out = respond(req, meta, result, p)
	}
	f.count(result)
	if f.Seen != nil {
		f.Seen(result)
	}
	f.Log.Debug("Ran function", "tag", meta.GetTag(), "reason", worst(result).String())
	return out
}

// observe returns the request that a plan sees. No object is copied.
func observe(req *wire.Request, p *plan.Plan) *reconcile.Request {
	xr, context, id := req.Observed.Composite, contextBefore(req.Context, p), p.ID()
	kept := reportBefore(req.Context, id).possible
	out := &reconcile.Request{
		Observation: observation.Observation{
			Composite:   observation.Resource{Object: xr.Object, Details: xr.ConnectionDetails},
			Resources:   make(map[string]observation.Resource, len(req.Observed.Resources)),
			Environment: context.Get(environmentKey).Struct(),
			Context:     context,
		},
		Found:         req.RequiredResources,
		HasSchemas:    slices.Contains(req.Meta.GetCapabilities(), fnv1.Capability_CAPABILITY_REQUIRED_SCHEMAS),
		DesiredStatus: req.Desired.Composite.Object.Get("status").Struct(),
		Size:          req.Size,
		Advise:        advice.Missing,
	}
	if n := len(req.Desired.Resources); n > 0 {
		out.Desired = make(map[string]wire.Struct, n)
	}
	for name := range generatorsElsewhere(req.Context, id) {
		out.Elsewhere = plan.With(out.Elsewhere, name, true)
	}
	for key, s := range req.RequiredSchemas {
		path, ok := strings.CutPrefix(key, lookup.Prefix)
		if i := strings.LastIndexByte(path, '/'); ok && i > 0 { // otherwise it is the Composition's own
			out.Schemas = plan.With(out.Schemas, plan.Kind{APIVersion: path[:i], Kind: path[i+1:]}, s)
		}
	}
	for name, r := range req.Observed.Resources {
		out.Observation.Resources[name] = observation.Resource{Object: r.Object, Details: r.ConnectionDetails}
	}
	for name, r := range req.Desired.Resources {
		if slices.Contains(kept, name) && r.Ready == fnv1.Ready_READY_FALSE &&
			proto.Equal(r.Object.Proto(), object.Held(req.Observed.Resources[name].Object)) {
			continue // no step composes it: one of them only keeps it, because it may take it over
		}
		out.Desired[name] = r.Object
	}
	return out
}

func (f *Function) count(result *reconcile.Result) {
	f.Metrics.Evaluations(result.OK, result.Waiting, result.Failed)
	if result.Unread {
		return
	}
	f.Metrics.Reconcile(worst(result).String())
	for _, o := range result.Objects {
		f.Metrics.Object(string(o.Kind), o.State.String())
	}
}
