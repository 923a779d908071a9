package world

import (
	"context"
	"fmt"
	"maps"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// A Function answers a request.
type Function func(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error)

// A Step is a step of the pipeline.
type Step struct {
	Input    *structpb.Struct
	Call     Function
	Required map[string]*fnv1.ResourceSelector // what the Composition itself requires for the step
}

// A Pipeline calls functions as Crossplane does.
type Pipeline struct {
	Steps   []Step
	Meta    *fnv1.RequestMeta
	Context *structpb.Struct                                   // before the first step
	Earlier *fnv1.State                                        // what an earlier step desires
	Schemas func(s *fnv1.SchemaSelector) (schema *fnv1.Schema) // answers what functions require; may be nil
	Calls   int                                                // of functions, by all reconciles

	// Forgets is set for a Crossplane before v2.4. It neither watches required objects, nor remembers them for the next
	// reconcile.
	Forgets  bool
	required []map[string]*fnv1.ResourceSelector // of the last reconcile that did not fail, by step
	requires []map[string]*fnv1.ResourceSelector // of the last call
}

// Run calls the function of each step. The TTL of the response is the shortest one, and it has the results and the
// conditions of all steps.
func (p *Pipeline) Run(
	ctx context.Context, req *fnv1.RunFunctionRequest, lookUp func(*fnv1.ResourceSelector) *fnv1.Resources,
) (*fnv1.RunFunctionResponse, error) {
	var all *fnv1.RunFunctionResponse
	for i, step := range p.Steps {
		next := &fnv1.RunFunctionRequest{ // a call gets a copy
			Meta: req.GetMeta(), Observed: req.GetObserved(), Desired: req.GetDesired(), Context: req.GetContext(),
			Input: step.Input, RequiredResources: maps.Clone(req.GetRequiredResources()),
		}
		if all != nil {
			next.Desired, next.Context, next.RequiredResources = all.GetDesired(), all.GetContext(), nil
		}
		rsp, err := p.step(ctx, i, next, lookUp)
		if err != nil {
			return nil, err
		}
		if all = after(all, rsp); FatalOf(rsp) != "" {
			break
		}
	}
	return all, nil
}

// after returns the response of a step with what the steps before it leave.
func after(before, rsp *fnv1.RunFunctionResponse) *fnv1.RunFunctionResponse {
	if before == nil {
		return rsp
	}
	rsp.Results = slices.Concat(before.GetResults(), rsp.GetResults())
	rsp.Conditions = slices.Concat(rsp.GetConditions(), before.GetConditions())
	ttl := rsp.GetMeta().GetTtl()
	if t := before.GetMeta().GetTtl(); t != nil && (ttl == nil || t.AsDuration() < ttl.AsDuration()) {
		if rsp.GetMeta() == nil {
			rsp.Meta = &fnv1.ResponseMeta{}
		}
		rsp.Meta.Ttl = t
	}
	return rsp
}

// step calls the function of a step until what it requires is stable. Crossplane begins with the objects that the step
// required in the last reconcile that did not fail.
func (p *Pipeline) step(
	ctx context.Context, i int, req *fnv1.RunFunctionRequest, lookUp func(*fnv1.ResourceSelector) *fnv1.Resources,
) (*fnv1.RunFunctionResponse, error) {
	known := maps.Clone(p.Steps[i].Required)
	if !p.Forgets && i < len(p.required) {
		if known == nil {
			known = map[string]*fnv1.ResourceSelector{}
		}
		maps.Copy(known, p.required[i])
	}
	if known != nil {
		req.RequiredResources = map[string]*fnv1.Resources{}
		for name, s := range known {
			req.RequiredResources[name] = lookUp(s)
		}
	}
	call := func(ctx context.Context, req *fnv1.RunFunctionRequest) (rsp *fnv1.RunFunctionResponse, err error) {
		defer func() {
			if value := recover(); value != nil { // it may contain any part of the request
				err = fmt.Errorf("the function panicked with a %T", value)
			}
		}()
		p.Calls++
		return p.Steps[i].Call(ctx, proto.CloneOf(req))
	}
	rsp, err := SettleRequirements(ctx, req, call, lookUp, p.Schemas)
	p.requires = append(p.requires[:min(i, len(p.requires))], rsp.GetRequirements().GetResources())
	return rsp, err
}

// mostCalls is how often Crossplane calls a function whose requirements change.
const mostCalls = 6

// SettleRequirements calls the function until its requirements are stable, as Crossplane's FetchingFunctionRunner
// does: with the context of the previous response, and with the objects that it required. The objects that the first
// request has stay, unless the function requires others of the same name. One call is enough if the first request has
// all objects that are required. It ends early with a fatal result.
func SettleRequirements(
	ctx context.Context, req *fnv1.RunFunctionRequest, call Function,
	lookUp func(*fnv1.ResourceSelector) *fnv1.Resources, schemaOf func(*fnv1.SchemaSelector) *fnv1.Schema,
) (*fnv1.RunFunctionResponse, error) {
	seeded := req.GetRequiredResources()
	var before *fnv1.Requirements
	for i := range mostCalls {
		rsp, err := call(ctx, req)
		if err != nil || FatalOf(rsp) != "" || proto.Equal(rsp.GetRequirements(), before) {
			return rsp, err
		}
		before = rsp.GetRequirements()
		found := map[string]*fnv1.Resources{}
		maps.Copy(found, seeded)
		for name, s := range before.GetResources() {
			found[name] = lookUp(s)
		}
		schemas := req.GetRequiredSchemas()
		if schemaOf != nil {
			schemas = map[string]*fnv1.Schema{}
			for name, s := range before.GetSchemas() {
				schemas[name] = schemaOf(s)
			}
		}
		equal := func(a, b *fnv1.Resources) bool { return proto.Equal(a, b) }
		if i == 0 && maps.EqualFunc(req.GetRequiredResources(), found, equal) && len(before.GetSchemas()) == 0 {
			return rsp, nil
		}
		req = &fnv1.RunFunctionRequest{
			Meta: req.GetMeta(), Input: req.GetInput(), Observed: req.GetObserved(), Desired: req.GetDesired(),
			Credentials: req.GetCredentials(),
			Context:     rsp.GetContext(), RequiredResources: found, RequiredSchemas: schemas,
		}
	}
	return nil, fmt.Errorf("requirements are not stable after %d calls", mostCalls)
}

// remember keeps what the functions required, for the next reconcile.
func (p *Pipeline) remember() { p.required = slices.Clone(p.requires) }

// FatalOf returns the fatal result of a response, if it has one.
func FatalOf(rsp *fnv1.RunFunctionResponse) string {
	for _, r := range rsp.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			return r.GetMessage()
		}
	}
	return ""
}

// Restart forgets what Crossplane has in memory.
func (w *World) Restart() {
	w.required = nil
	clear(w.late)
}

// Capabilities are those that Crossplane 2.4 advertises.
func Capabilities() []fnv1.Capability {
	return []fnv1.Capability{
		fnv1.Capability_CAPABILITY_CAPABILITIES,
		fnv1.Capability_CAPABILITY_REQUIRED_RESOURCES,
		fnv1.Capability_CAPABILITY_CREDENTIALS,
		fnv1.Capability_CAPABILITY_CONDITIONS,
		fnv1.Capability_CAPABILITY_REQUIRED_SCHEMAS,
	}
}
