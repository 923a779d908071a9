// Package reconcile runs one request against a plan, phase by phase.
//
// Run receives what one request observes. It returns what to require, which objects to desire or keep,
// and why. No state survives a request: the same request has the same result.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// composedResources are the composed resources of a request, by their purpose.
type composedResources struct {
	resources   map[string]observation.Resource // that expressions see
	authors     map[string]observation.Resource // the composite author's
	generations map[string]identified           // resources that look like a generation
	recorded    map[string]bool                 // the generators whose generations exports recorded
}

// A composition holds what the Composition composes and observes, without the composite author's exports.
type composition struct {
	objects   objects
	generated generations
	sources   []Requirement
	composed  composedResources
}

// Run runs the plan for one request. Its error is a *diagnostic.Diagnostic, joined with others by
// errors.Join, a *Stale, or the context's error; then there is no result.
//
// Requirements must not depend on what was read. Therefore the names of sources and exports are
// evaluated before anything that was read can use up the budget.
func Run(ctx context.Context, p *plan.Plan, in *Request) (*Result, error) {
	req := newRequest(in)
	xr := compositeOf(in.Observation.Composite.Object)
	claim, err := xr.checkClaim(req)
	if err != nil {
		return nil, err
	}
	composed := split(p, req, xr)
	if err := refuseRequest(p, req, xr, composed); err != nil {
		return nil, err
	}
	authored := p.Authors.Read(xr.object)
	details := readDetails(p, req, composed, authored)
	start := newSession(ctx, p, req, xr, details.observation)
	schemas, err := checkStrictly(start, p, req)
	if err != nil {
		return nil, err
	}
	merged, err := readEnvironment(start, p, req)
	if err != nil {
		return nil, err
	}
	sources := readSources(merged.session, p, req)
	items := expandGenerators(sources.session, p, details.composed)
	concrete := items.plan
	exports := expand(sources.session, concrete, req)
	placed := placeExports(sources.session, concrete, req, exports, details.composed.generations)
	renames := warnOfRenames(sources.session, concrete, req, details.composed, placed)
	counted := revisions(concrete, placed)
	set := setEnvironment(sources.session.withRevisions(counted), concrete, merged)
	required := slices.Concat(details.requirements, merged.requirements, sources.requirements, placed.requirements)
	generated, err := generate(set.session, items, req, details.composed, placed, required)
	if err != nil {
		return nil, err
	}
	objects := makeExports(generated.session, req, placed, generated)
	status := writeStatus(generated.session, concrete, req)
	composes := composition{objects, generated, sources.requirements, details.composed}
	authors := exportForAuthor(generated.session, concrete, req, authored, composes)

	out := &Result{
		Objects: authors.objects, Status: status, Drop: placed.drop, Environment: set.value, Revisions: counted,
		Rotation: generated.Rotation,
	}
	out.merge(claim, unused(concrete, xr), schemas, details.reply, merged.reply, sources.reply, items.reply, exports.reply,
		placed.reply, renames, set.reply, generated.reply, authors.reply)
	if len(req.changed) > 0 {
		out.Due = req.Now
	}
	out.explainWaiting(generated.session, concrete, req)
	out.seeComposition(SeeComposition(xr.object))
	out.count(generated.session, authors.session)
	if err := ctx.Err(); err != nil { // a canceled evaluation looks like a failed one
		return nil, err
	}
	return out, nil
}

// refuseRequest returns the diagnostics of the input that depend on the composite and the pipeline.
func refuseRequest(p *plan.Plan, req *request, xr composite, composed composedResources) error {
	var diagnostics []error
	report := func(at *field.Path, format string, args ...any) {
		diagnostics = append(diagnostics, &diagnostic.Diagnostic{Path: at.String(), Message: fmt.Sprintf(format, args...)})
	}
	for _, s := range p.Sources {
		xr.refuseSource(s, req, composed, report)
	}
	for i := range p.Generators {
		xr.refuseGenerator(&p.Generators[i], req, report)
	}
	for _, e := range p.Exports {
		if e.ForEach == nil && xr.isComposedTwice(req, e.Name) {
			report(e.Path.Child("name"), "%s", plan.ComposedTwice(e.Name))
		}
		at, ns := e.Path.Child("metadata", "namespace"), e.Metadata.Namespace
		if ns == "" && e.Metadata.NamespaceExpr == nil && xr.namespace == "" {
			report(at, plan.NoNamespace)
		}
		xr.refuseNamespace(at, ns, report)
	}
	return errors.Join(diagnostics...)
}

// isComposedTwice reports whether an earlier step composes the resource of an export. Earlier steps of this function also
// desire objects under names that only annotations of these objects have, which any client can edit.
func (c composite) isComposedTwice(req *request, name string) bool {
	o, earlier := req.Desired[name]
	s, _ := c.readState(o)
	export := tookOver(o)
	isEdited := s.Generator != "" && plan.GenerationName(s.Generator, s.Number) != name || export != "" && export != name
	return earlier && !isEdited
}

func (c composite) refuseSource(s plan.Source, req *request, composed composedResources, report reportFunc) {
	_, observed := composed.resources[s.Name]
	_, desired := req.Desired[s.Name]
	if plan.IsSecret(s.Source) && (observed || desired) {
		report(s.Path.Child("name"), "%s", plan.TwoMeanings(s.Name))
	}
	if name, message := plan.RefuseSource(s.Source, c.cluster, c.namespace == ""); message != "" {
		report(s.Path.Child(name), "%s", message)
	}
}

// A reportFunc reports a diagnostic.
type reportFunc func(at *field.Path, format string, args ...any)

func (c composite) refuseGenerator(m *plan.Generator, req *request, report reportFunc) {
	isItem := func(name string) bool { return m.ForEach != nil && strings.HasPrefix(name, plan.ItemName(m.Name, "")) }
	if req.Elsewhere[m.Name] || slices.ContainsFunc(slices.Collect(maps.Keys(req.Elsewhere)), isItem) {
		report(m.Path.Child("name"), "an earlier step of the pipeline also has a generator %q: rename one of them", m.Name)
	}
	at, ns := m.NamespacePath(), m.Namespace
	if m.LacksNamespace() && c.namespace == "" {
		report(at, plan.NoNamespace)
	}
	c.refuseNamespace(at, ns, report)
}

// refuseNamespace reports a namespace that is not the composite's own.
func (c composite) refuseNamespace(at *field.Path, ns string, report reportFunc) {
	if ns != "" && !c.cluster && ns != c.namespace {
		report(at, "is %q, but a composite in namespace %q can compose only into its own namespace: leave it out",
			ns, c.namespace)
	}
}

// unused warns about connectionDetails that Crossplane ignores.
func unused(p *plan.Plan, xr composite) reply {
	var out reply
	for _, e := range p.Exports {
		if e.Secret.ConnectionDetails && !isLegacy(xr.object) {
			out.report(Outcome{Warn: true, Message: e.At("connectionDetails").String() + ": " + plan.DetailsIgnored})
		}
	}
	return out
}

func (r *Result) merge(replies ...reply) {
	for _, one := range replies {
		r.Requirements = append(r.Requirements, one.requirements...)
		r.Schemas = append(r.Schemas, one.schemas...)
		r.Others = append(r.Others, one.others...)
		r.Unread = r.Unread || one.unread
	}
}

// count adds the evaluations of sessions, some of which may be nil.
func (r *Result) count(sessions ...*session) {
	for _, s := range sessions {
		if s != nil {
			r.OK += s.budget.OK
			r.Waiting += s.budget.Waiting
			r.Failed += s.budget.Failed
		}
	}
}
