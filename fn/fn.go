package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// conditionType is the one condition that the function sets, on the composite
// and its claim, on every call.
const conditionType = "ExportsReady"

// reasonInvalidInput is the condition's reason on a fatal result. All other
// reasons are states of the plan.
const reasonInvalidInput = "InvalidInput"

// Function answers Crossplane. It keeps compiled inputs, and nothing of any
// request.
type Function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	plans   *plan.Cache
	metrics *metrics
	log     logging.Logger
	now     func() time.Time
	entropy func() io.Reader // what credentials are made from
}

// NewFunction returns a function, with the system's clock and randomness. Its metrics
// may be nil.
func NewFunction(log logging.Logger, m *metrics) (*Function, error) {
	env, err := expression.NewEnvironment()
	if err != nil {
		return nil, err
	}
	return &Function{plans: plan.NewCache(env), metrics: m, log: log, now: now, entropy: entropy}, nil
}

// RunFunction is Run for a request that the SDK has decoded.
func (f *Function) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := f.Run(ctx, wire.OfRequest(req))
	if err := ctx.Err(); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	return rsp.Proto()
}

// Run answers one call. Once its context is done there is no answer: what is returned then
// must not be sent. The request is not written to: parts of it that stay as they are
// stand in the response, too. What goes wrong is a result that Crossplane shows to people.
func (f *Function) Run(ctx context.Context, req *wire.Request) *wire.Response {
	f.metrics.request(codecOf(req))
	rsp := &fnv1.RunFunctionResponse{Meta: &fnv1.ResponseMeta{Tag: req.Meta.GetTag(), Ttl: durationpb.New(plan.DefaultTTL)}}

	p, faults, hit := f.plans.Get(req.Input)
	f.metrics.planCache(hit)
	if len(faults) > 0 {
		return req.Respond(f.refuse(rsp, faultTexts(faults)))
	}
	seen := observe(req, p.ID())
	seen.Now, seen.Random = f.now().UTC(), f.entropy()
	result, err := p.Run(ctx, seen)
	var stale *plan.Stale
	if errors.As(err, &stale) {
		return req.Respond(f.fatal(rsp, plan.Waiting.String(), outcomeWaiting, stale.Message))
	}
	if ctx.Err() != nil { // the caller went away
		return req.Respond(rsp)
	}
	if err != nil {
		return req.Respond(f.refuse(rsp, errorTexts(err)))
	}
	rsp.Meta.Ttl = ttl(p.TTL(), result, seen.Now)
	out := respond(req, rsp.GetMeta(), result, p.ID())
	for size := out.Size(); size > limits.ResponseBytes; size = out.Size() { // measured once each: it may be large
		if !result.Keep(size - limits.ResponseBytes) {
			return new(wire.Request).Respond(f.tooLarge(rsp, size)) // what came is not carried on
		}
		out = respond(req, rsp.GetMeta(), result, p.ID())
	}
	f.count(result)
	f.log.Debug("Ran function", "tag", rsp.GetMeta().GetTag(), "reason", worst(result).String())
	return out
}

// respond to a request with the result of the plan of an ID.
func respond(req *wire.Request, meta *fnv1.ResponseMeta, result *plan.Result, id string) *wire.Response {
	rsp := &fnv1.RunFunctionResponse{Meta: meta, Requirements: require(result), Desired: desire(req.Desired.Composite, result)}
	requireSchemas(rsp, result)
	left := &leaving{found: req.Context}
	leaveEnvironment(left, result, id)
	leaveGenerators(left, result)
	report(rsp, left, result, id)
	rsp.Context = left.context()
	out := req.Respond(rsp)
	out.Drop = result.Drop
	return out
}

// observe is the request as the plan of an ID sees it. No object is copied.
func observe(req *wire.Request, id string) *plan.Request {
	xr, context := req.Observed.Composite, contextBefore(req.Context, id)
	out := &plan.Request{
		Observation: observation.Observation{
			Composite:   observation.Resource{Object: xr.Object, Details: xr.ConnectionDetails},
			Resources:   make(map[string]observation.Resource, len(req.Observed.Resources)),
			Environment: context.Get(environmentKey).Struct(),
			Context:     context,
		},
		Found:         req.RequiredResources,
		Desired:       make(map[string]wire.Struct, len(req.Desired.Resources)),
		Elsewhere:     generatorsElsewhere(req.Context, id),
		Schemas:       schemas(req),
		HasSchemas:    hasSchemas(req),
		DesiredStatus: req.Desired.Composite.Object.Get("status").Struct(),
	}
	for name, r := range req.Observed.Resources {
		out.Observation.Resources[name] = observation.Resource{Object: r.Object, Details: r.ConnectionDetails}
	}
	for name, r := range req.Desired.Resources {
		out.Desired[name] = r.Object
	}
	return out
}

func require(result *plan.Result) *fnv1.Requirements {
	if len(result.Requirements) == 0 {
		return nil
	}
	out := &fnv1.Requirements{Resources: make(map[string]*fnv1.ResourceSelector, len(result.Requirements))}
	for _, r := range result.Requirements {
		s := &fnv1.ResourceSelector{ApiVersion: r.APIVersion, Kind: r.Kind}
		if r.Namespace != "" {
			s.Namespace = &r.Namespace
		}
		s.Match = &fnv1.ResourceSelector_MatchName{MatchName: r.Name}
		if r.Name == "" {
			s.Match = &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: r.Labels}}
		}
		out.Resources[r.Key()] = s
	}
	return out
}

// desire is what the result adds to what earlier steps desire: resources, and the
// composite, if anything of that changes. A resource is ready if it is as the input
// wants it.
func desire(before wire.Resource, result *plan.Result) *fnv1.State {
	out := &fnv1.State{Resources: make(map[string]*fnv1.Resource, len(result.Objects))}
	details := map[string][]byte{}
	for _, o := range result.Objects {
		for k, v := range o.ConnectionDetails {
			details[k] = v.Reveal()
		}
		if o.Desired == nil {
			continue
		}
		ready := fnv1.Ready_READY_TRUE
		if o.State != plan.Available && !o.Aside {
			ready = fnv1.Ready_READY_FALSE
		}
		out.Resources[o.Name] = &fnv1.Resource{Resource: o.Desired, Ready: ready}
	}
	for _, g := range result.Generations {
		ready := fnv1.Ready_READY_FALSE
		if g.Ready {
			ready = fnv1.Ready_READY_TRUE
		}
		out.Resources[g.Name] = &fnv1.Resource{Resource: g.Desired, Ready: ready}
	}
	written := slices.ContainsFunc(result.Status, func(s plan.Status) bool { return s.Value != nil })
	if len(details) == 0 && !written && !unseen(result) {
		return out
	}
	was := before.Proto()
	out.Composite = &fnv1.Resource{Resource: withStatus(was.GetResource(), result.Status), ConnectionDetails: was.GetConnectionDetails(), Ready: was.GetReady()}
	if len(details) > 0 {
		out.Composite.ConnectionDetails = with(was.GetConnectionDetails(), details)
	}
	if unseen(result) {
		out.Composite.Ready = fnv1.Ready_READY_FALSE
	}
	return out
}

// unseen reports whether something is not as the input wants it, and no resource
// is there to be unready for it: the composite has to be so itself. Where one is
// there it is not, for Crossplane then says which resource is unready.
func unseen(result *plan.Result) bool {
	return slices.ContainsFunc(result.Others, func(o plan.Outcome) bool { return o.State != plan.Available && !o.Aside }) ||
		slices.ContainsFunc(result.Objects, func(o plan.Object) bool { return o.State != plan.Available && o.Desired == nil }) ||
		slices.ContainsFunc(result.Status, func(s plan.Status) bool { return s.State != plan.Available })
}

// withStatus is the desired composite with the status fields set. What changes
// is copied.
func withStatus(xr *structpb.Struct, fields []plan.Status) *structpb.Struct {
	for _, s := range fields {
		if s.Value != nil {
			xr = withField(xr, append([]string{"status"}, s.Segments...), s.Value)
		}
	}
	return xr
}

func withField(s *structpb.Struct, segments []string, v *structpb.Value) *structpb.Struct {
	if len(segments) > 1 {
		v = structpb.NewStructValue(withField(s.GetFields()[segments[0]].GetStructValue(), segments[1:], v))
	}
	return &structpb.Struct{Fields: with(s.GetFields(), map[string]*structpb.Value{segments[0]: v})}
}

// with is a map, which may be nil, with what another one has.
func with[V any](m, more map[string]V) map[string]V {
	out := make(map[string]V, len(m)+len(more))
	maps.Copy(out, m)
	maps.Copy(out, more)
	return out
}

// outcomes are what became of everything, of the composite's author last.
func outcomes(result *plan.Result) []plan.Outcome {
	out := make([]plan.Outcome, 0, len(result.Objects)+len(result.Status)+len(result.Others))
	for _, o := range result.Objects {
		out = append(out, o.Outcome)
	}
	for _, s := range result.Status {
		out = append(out, s.Outcome)
	}
	out = append(out, result.Others...)
	slices.SortStableFunc(out, func(a, b plan.Outcome) int { return rank(a) - rank(b) })
	return out
}

// rank puts what the Composition's author has to know before what the composite's
// author does, who could crowd it out.
func rank(o plan.Outcome) int {
	if o.Tenant {
		return 1
	}
	return 0
}

func worst(result *plan.Result) plan.State {
	state := plan.Available
	for _, o := range outcomes(result) {
		state = max(state, o.State)
	}
	return state
}

// report sets the condition, and warns of what waiting does not mend.
func report(rsp *fnv1.RunFunctionResponse, left *leaving, result *plan.Result, id string) {
	own := reported{state: worst(result)}
	var tenant []string
	tenants := 0
	for _, o := range outcomes(result) {
		if o.Tenant && o.State != plan.Available {
			tenants++
		}
		if tenants > limits.MessageItems {
			continue // counted below
		}
		if o.State != plan.Available || o.Warn {
			own.messages = append(own.messages, clip(o.Message))
		}
		switch {
		case o.Warn && o.Tenant:
			tenant = append(tenant, o.Message)
		case o.Warn:
			response.Warning(rsp, errors.New(message([]string{o.Message})))
		}
	}
	if more := tenants - limits.MessageItems; more > 0 {
		own.messages = append(own.messages, fmt.Sprintf("and %d more of the composite's author", more))
	}
	if len(tenant) > 0 { // one for all: who wrote them must not be able to flood the events
		response.Warning(rsp, errors.New(message(tenant))).TargetCompositeAndClaim()
	}
	before := reportedBefore(left.found, id)
	own.leave(left, id)
	state, messages := max(before.state, own.state), append(before.messages, own.messages...)
	c := response.ConditionFalse(rsp, conditionType, state.String())
	if state == plan.Available {
		rsp.Conditions = rsp.GetConditions()[:len(rsp.GetConditions())-1]
		c = response.ConditionTrue(rsp, conditionType, state.String())
	}
	if len(messages) > 0 {
		c = c.WithMessage(message(messages))
	}
	c.TargetCompositeAndClaim()
}

// refuse an input with faults.
func (f *Function) refuse(rsp *fnv1.RunFunctionResponse, texts []string) *fnv1.RunFunctionResponse {
	return f.fatal(rsp, reasonInvalidInput, outcomeInvalidInput, "invalid input: "+message(texts))
}

// tooLarge is also fatal: Crossplane cannot receive a response of so many bytes.
func (f *Function) tooLarge(rsp *fnv1.RunFunctionResponse, size int) *fnv1.RunFunctionResponse {
	return f.fatal(rsp, plan.Held.String(), outcomeHeld, fmt.Sprintf("nothing is changed: the response has %d bytes, and Crossplane accepts %d, even if all exports are held as they were observed: "+
		"compose less in this pipeline, or leave less in its context", size, limits.ResponseBytes))
}

// fatal ends the call: Crossplane applies nothing.
func (f *Function) fatal(rsp *fnv1.RunFunctionResponse, reason, outcome, text string) *fnv1.RunFunctionResponse {
	response.Fatal(rsp, errors.New(text))
	response.ConditionFalse(rsp, conditionType, reason).WithMessage(text).TargetCompositeAndClaim()
	f.metrics.reconcile(outcome)
	f.log.Debug("Ran function", "tag", rsp.GetMeta().GetTag(), "reason", reason)
	return rsp
}

func faultTexts(faults field.ErrorList) []string {
	out := make([]string, 0, len(faults))
	for _, f := range faults {
		out = append(out, f.Field+": "+f.Detail)
	}
	return out
}

// errorTexts are those of joined errors.
func errorTexts(err error) []string { return strings.Split(err.Error(), "\n") }

// message joins texts, as many as a message holds, and counts the rest.
func message(texts []string) string {
	var b strings.Builder
	for i, t := range texts {
		if i > 0 && b.Len()+len(t) > limits.MessageBytes {
			fmt.Fprintf(&b, "; and %d more", len(texts)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(t)
	}
	return clip(b.String())
}

// clip a text that is too long by itself, between two runes. Conditions, results and
// what is left for later steps all pass here: whatever a name or a field of the composite
// is called, they have one line, of what people can see.
func clip(s string) string {
	const mark = "…"
	s = printable(s)
	if len(s) <= limits.MessageBytes+len("; and 1000 more") {
		return s
	}
	n := limits.MessageBytes
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}

func (f *Function) count(result *plan.Result) {
	if !result.Unread {
		f.metrics.reconcile(strings.ToLower(worst(result).String()))
	}
	f.metrics.evaluations(evaluationOK, result.OK)
	f.metrics.evaluations(evaluationWaiting, result.Waiting)
	f.metrics.evaluations(evaluationFailed, result.Failed)
	for _, o := range result.Objects {
		f.metrics.object(string(o.Kind), strings.ToLower(o.State.String()))
	}
}
