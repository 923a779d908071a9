package function

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// respond converts the result of a plan into the response.
func respond(req *wire.Request, meta *fnv1.ResponseMeta, result *reconcile.Result, p *plan.Plan) *wire.Response {
	rsp := &fnv1.RunFunctionResponse{
		Meta: meta, Requirements: requirements(result), Desired: desired(req.Desired.Composite, result),
	}
	c := &pipelineContext{found: req.Context}
	saveEnvironment(c, result, p)
	for name, state := range result.GeneratorState {
		c.setMember(generatorsKey, name, state)
	}
	saveRevisions(c, result.Revisions)
	r := reportOf(result)
	r.watches = watchesRequired(req, p.ID(), result.Requirements)
	setCondition(rsp, c, r, p.ID())
	warnOfOutcomes(rsp, result)
	warn(rsp, p.Warnings)
	rsp.Context = c.changes()
	out := req.Respond(rsp)
	out.Drop = result.Drop
	return out
}

// warn warns about the input itself, in one result for all of its warnings.
func warn(rsp *fnv1.RunFunctionResponse, warnings diagnostic.List) {
	texts := make([]string, 0, len(warnings))
	for _, w := range warnings {
		texts = append(texts, w.Error())
	}
	if len(texts) > 0 {
		addResult(rsp, fnv1.Severity_SEVERITY_WARNING, fnv1.Target_TARGET_COMPOSITE, "check the input: "+message(texts))
	}
}

func requirements(result *reconcile.Result) *fnv1.Requirements {
	if len(result.Requirements)+len(result.Schemas) == 0 {
		return nil
	}
	out := &fnv1.Requirements{}
	for _, k := range result.Schemas {
		out.Schemas = plan.With(out.GetSchemas(), schemaKey(k), &fnv1.SchemaSelector{ApiVersion: k.APIVersion, Kind: k.Kind})
	}
	for _, r := range result.Requirements {
		s := &fnv1.ResourceSelector{ApiVersion: r.APIVersion, Kind: r.Kind}
		if r.Namespace != "" {
			s.Namespace = &r.Namespace
		}
		s.Match = &fnv1.ResourceSelector_MatchName{MatchName: r.Name}
		if r.Name == "" {
			s.Match = &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: r.Labels}}
		}
		out.Resources = plan.With(out.GetResources(), r.Key(), s)
	}
	return out
}

// schemaKey names a required schema. It contains the kind, because on the first call of a reconcile Crossplane passes
// what it found before for the same key.
func schemaKey(k plan.Kind) string { return lookup.Prefix + k.Path() }

// desired returns what the result adds to the desired state: resources, and the composite if it changes.
// A resource is ready if it matches the input.
func desired(before wire.Resource, result *reconcile.Result) *fnv1.State {
	out := &fnv1.State{Resources: make(map[string]*fnv1.Resource, len(result.Objects))}
	details := map[string][]byte{}
	for _, o := range result.Objects {
		for k, v := range o.ConnectionDetails {
			details[k] = v.Reveal()
		}
		if o.Desired != nil {
			is := ready(o.State == reconcile.Available || o.Ready)
			out.Resources[o.Name] = &fnv1.Resource{Resource: o.Desired, Ready: is}
		}
	}
	for _, g := range result.Generations {
		out.Resources[g.Name] = &fnv1.Resource{Resource: g.Desired, Ready: ready(g.Ready)}
	}
	written := slices.ContainsFunc(result.Status, func(s reconcile.Status) bool { return s.Value != nil })
	unready := isCompositeUnready(result)
	if len(details) == 0 && !written && !unready {
		return out
	}
	was := before.Proto()
	out.Composite = &fnv1.Resource{
		Resource:          withStatus(was.GetResource(), result.Status),
		ConnectionDetails: was.GetConnectionDetails(),
		Ready:             was.GetReady(),
	}
	if len(details) > 0 {
		out.Composite.ConnectionDetails = with(was.GetConnectionDetails(), details)
	}
	if unready {
		out.Composite.Ready = fnv1.Ready_READY_FALSE
	}
	return out
}

func ready(is bool) fnv1.Ready {
	if is {
		return fnv1.Ready_READY_TRUE
	}
	return fnv1.Ready_READY_FALSE
}

// isCompositeUnready reports whether something that is not a resource does not match the input, or a resource does
// not exist yet: a later step can remove it, and Crossplane does not know then that it is missing. Crossplane itself
// reports the name of any other unready resource.
func isCompositeUnready(result *reconcile.Result) bool {
	other := func(o reconcile.Outcome) bool { return o.State != reconcile.Available && !o.Ready }
	object := func(o reconcile.Object) bool {
		return o.State != reconcile.Available && (o.Desired == nil || o.State <= reconcile.Waiting)
	}
	status := func(s reconcile.Status) bool { return s.State != reconcile.Available }
	return slices.ContainsFunc(result.Others, other) || slices.ContainsFunc(result.Objects, object) ||
		slices.ContainsFunc(result.Status, status)
}

// withStatus returns the desired composite with the status fields. Changed objects are copied.
func withStatus(xr *structpb.Struct, fields []reconcile.Status) *structpb.Struct {
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
	set := map[string]*structpb.Value{segments[0]: v} //nolint:gosec // there is a segment
	return &structpb.Struct{Fields: with(s.GetFields(), set)}
}

// with returns a map, which may be nil, with the entries of another one.
func with[V any](m, more map[string]V) map[string]V {
	out := make(map[string]V, len(m)+len(more))
	maps.Copy(out, m)
	maps.Copy(out, more)
	return out
}

// outcomes are all outcomes of a result.
func outcomes(result *reconcile.Result) iter.Seq[reconcile.Outcome] {
	return func(yield func(reconcile.Outcome) bool) {
		for _, o := range result.Objects {
			if !yield(o.Outcome) {
				return
			}
		}
		for _, s := range result.Status {
			if !yield(s.Outcome) {
				return
			}
		}
		slices.Values(result.Others)(yield)
	}
}

func worst(result *reconcile.Result) reconcile.State {
	state := reconcile.Available
	for o := range outcomes(result) {
		state = max(state, o.State)
	}
	return state
}

// said returns the outcomes with a message, those for the Composition's author first. Otherwise those for the composite
// author could crowd them out; of them, only some are shown, and more is the number of the others. Those of objects
// that are only created come last, so that they crowd out no other message.
func said(result *reconcile.Result) (own, author []reconcile.Outcome, more int) {
	for o := range outcomes(result) {
		switch {
		case !o.Said():
		case o.Author:
			author = append(author, o)
		default:
			own = append(own, o)
		}
	}
	last := map[reconcile.State]int{reconcile.Created: 1}
	for _, all := range [][]reconcile.Outcome{own, author} {
		slices.SortStableFunc(all, func(a, b reconcile.Outcome) int { return last[a.State] - last[b.State] })
	}
	n := min(len(author), limits.MessageItems)
	return own, author[:n], len(author) - n
}

// reportOf returns the report of a result.
func reportOf(result *reconcile.Result) report {
	r := report{state: worst(result), again: result.Unread}
	for _, o := range result.Objects {
		if o.Possible {
			r.possible = append(r.possible, o.Name)
		}
	}
	own, author, more := said(result)
	for _, o := range slices.Concat(own, author) {
		r.messages, r.see = append(r.messages, clip(o.Message)), cmp.Or(r.see, o.See)
	}
	if more > 0 {
		r.messages = append(r.messages, fmt.Sprintf("and %d more messages for the composite author", more))
	}
	return r
}

// setCondition sets the condition of the composite for a report, and those of other steps.
func setCondition(rsp *fnv1.RunFunctionResponse, c *pipelineContext, r report, id string) {
	before := reportBefore(c.found, id)
	r.save(c, id)
	state, text := max(before.state, r.state), ""
	if messages := slices.Concat(before.messages, r.messages); len(messages) > 0 {
		text = withCommand(message(messages), cmp.Or(before.see, r.see))
	}
	status := fnv1.Status_STATUS_CONDITION_FALSE
	if state == reconcile.Available {
		status = fnv1.Status_STATUS_CONDITION_TRUE
	}
	addCondition(rsp, status, state.String(), text)
}

// addCondition adds the condition of the composite and its claim. An empty text is no message.
func addCondition(rsp *fnv1.RunFunctionResponse, status fnv1.Status, reason, text string) {
	c := &fnv1.Condition{
		Type: outcome.ConditionType, Status: status, Reason: reason,
		Target: fnv1.Target_TARGET_COMPOSITE_AND_CLAIM.Enum(),
	}
	if text != "" {
		c.Message = &text
	}
	rsp.Conditions = append(rsp.GetConditions(), c)
}

// addResult adds a result, of which Crossplane makes an event.
func addResult(rsp *fnv1.RunFunctionResponse, severity fnv1.Severity, target fnv1.Target, text string) {
	rsp.Results = append(rsp.GetResults(), &fnv1.Result{Severity: severity, Message: text, Target: target.Enum()})
}

// warnOfOutcomes warns about problems that do not resolve by waiting.
func warnOfOutcomes(rsp *fnv1.RunFunctionResponse, result *reconcile.Result) {
	own, author, _ := said(result) // the condition counts the rest
	for _, o := range own {
		if o.Warn {
			addResult(rsp, fnv1.Severity_SEVERITY_WARNING, fnv1.Target_TARGET_COMPOSITE, message([]string{o.Message}))
		}
	}
	var warnings []string
	for _, o := range author {
		if o.Warn {
			warnings = append(warnings, o.Message)
		}
	}
	if len(warnings) > 0 { // one for all: the composite author must not flood the events
		addResult(rsp, fnv1.Severity_SEVERITY_WARNING, fnv1.Target_TARGET_COMPOSITE_AND_CLAIM, message(warnings))
	}
}

// message joins as many texts as a message can hold, and counts the rest.
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

// withCommand adds a command that shows more. It is at the end, and complete, so that it can be copied.
func withCommand(text, see string) string {
	if see == "" {
		return text
	}
	return text + "; see: " + clip(see)
}

// clip shortens a text that is too long, between two runes. Conditions, results and saved reports all
// pass through it: they have one line of visible characters, even if a name or a field has others.
func clip(s string) string {
	s = printable(s)
	if len(s) <= limits.MessageBytes+len("; and 1000 more") {
		return s
	}
	n := limits.MessageBytes
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// printable escapes invisible characters as in a Go string: \n, \x1b, \u202e.
func printable(s string) string {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
