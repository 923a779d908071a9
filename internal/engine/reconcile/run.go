// Package reconcile runs one request against a plan, phase by phase.
//
// Run receives what one request observes. It returns what to require, which objects to desire or keep, and why. Each
// phase is a type in a file of its own, and receives its part of the plan and what the phases before it returned. No
// state survives a request: the same request has the same result.
package reconcile

import (
	"context"
	"io"
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/collect"
	"github.com/crossplane-contrib/function-export/internal/engine/composite"
	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/generations"
	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/misspelt"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Run runs the plan for one request. Its error is a *diagnostic.Diagnostic, joined with others by
// errors.Join, a *outcome.Fatal, or the context's error; then there is no result.
//
// Requirements must not depend on what was read, except on the consent of other namespaces. Therefore the names of
// sources and exports are evaluated before anything that was read can use up the budget.
func Run(ctx context.Context, p *plan.Plan, in *Request) (*Result, error) {
	observed, desired, answers := in.Observation.Resources, in.Desired, lookup.NewAnswers(in.Found)
	xr := composite.Of(in.Observation.Composite.Object)
	claim, err := xr.CheckClaim(answers)
	if err != nil {
		return nil, err
	}
	split := generations.Splitter{Owner: xr, Declared: p.Generators, Desired: desired}.Run(observed)
	var consent *lookup.Consent
	if in.RequireGrants || p.Input.RequireGrants {
		consent = xr.Consent()
		if answers.Lack(claim.Requirements) { // nothing is read in a namespace that is not proven
			claim.Require(lookup.GrantsCRD())
			claim.Unread = true
			return &Result{Reply: claim}, nil
		}
	}
	refused := (&refusal{
		composite: xr, resources: split.Resources, desired: desired, elsewhere: in.Elsewhere, grants: consent != nil,
		plan: p,
	}).run()
	if refused != nil {
		return nil, refused
	}
	authored, isExport := p.Authors.Read(xr.Object), p.ExportNamed
	details := (&detailsReader{
		answers: answers, used: p.Details, authors: p.Authors, authored: authored, declared: p.Generators,
	}).run(in.Observation, split)
	var noted Evaluations
	start := evaluate.New(ctx, p.Variables, evaluate.Known{
		Sources: p.Sources, IsExport: isExport, Desired: desired, Observed: observed,
		Advise: noted.noting(in.Advise),
	}, details.sees)
	merged, err := environmentReader{start, p.Lookup, answers}.run()
	if err != nil {
		return nil, err
	}
	sourced, sources := lookup.Sources{
		Session: merged.session, Sources: p.Sources, Answers: answers, Namespace: xr.Namespace, Consent: consent,
	}.Read()
	items := generations.Lists{
		Session: sourced, Generators: p.Generators, Exports: p.Exports, Rotating: split.Rotating,
	}.Run()
	exports := exportLists{sourced, items.Exports, desired}.run()
	places := placer{
		composite: xr, desired: desired, isGeneration: split.IsGeneration, session: sourced, answers: answers,
		observed: observed, resources: details.sees.Resources, identified: details.generations,
	}
	placed := places.run(exports)
	counted, next := revisions{sourced, items.Exports, placed}.run()
	set := environmentWriter{next, p.Set, merged}.run()
	rotating := generations.Request{
		Splitter: split.Splitter, Items: items, Session: set.session, Answers: answers, Observed: observed,
		Identified: details.generations, Rotating: split.Rotating, Elsewhere: in.Elsewhere,
		Now: in.Now, Random: in.Random, Size: in.Size, ID: p.ID(),
	}
	generated, err := rotating.Run(placed.objects(), placed.writers, placed.names())
	if err != nil {
		return nil, err
	}
	exporting := exporter{
		reader: collect.Reader{Session: generated.Session, Desired: desired}, composite: xr,
		credentials: generated.Credentials, now: in.Now,
	}
	made := exporting.run(placed, generated.Writers)
	status, lacking := statusWriter{generated.Session, in.DesiredStatus, p.Status}.run()
	authors := (&authorPhase{
		placer: places, exporter: exporting, allowed: p.Authors, authored: authored, observed: split.Authors,
		generations: details.generations, sources: sources, writers: generated.Writers,
	}).run(made, generated.Generations)

	out := &Result{
		Objects: authors.objects, Status: status, Drop: placed.drop, Environment: set.value, Revisions: counted,
		Rotation: generated.Rotation,
	}
	out.Merge(claim, unused(p.Exports, xr.Object), details.Reply, merged.Reply,
		outcome.Reply{Requirements: sources}, items.Reply, exports.Reply, placed.Reply, set.Reply,
		generated.Reply, authors.Reply)
	if answers.Changed() {
		out.Due = in.Now
	}
	out.Unread = out.Unread || answers.Lack(out.Requirements)
	out.Merge(misspelt.Request{
		Plan: p, Session: generated.Session, Schemas: in.Schemas, Provided: in.HasSchemas,
	}.Check(lacking, out.Unread))
	out.count(generated.Session, authors.session)
	out.Missing = noted.Missing
	if err := ctx.Err(); err != nil { // a canceled evaluation looks like a failed one
		return nil, err
	}
	return out, nil
}

// A Request is what one call of the function observes. Run does not change it.
type Request struct {
	Observation observation.Observation // without sources, which Run reads from Found

	// Found are the objects that Crossplane read for requirements, by their key. A missing key was not
	// read yet. All other keys are the Composition's own required resources.
	Found map[string][]wire.Struct

	Desired       map[string]wire.Struct // the resources that earlier steps of the pipeline compose
	DesiredStatus wire.Struct            // the status of earlier steps

	// Schemas are the OpenAPI v3 schemas that Crossplane read for Result.Schemas. A missing kind was not
	// read yet. A kind that does not exist has an empty schema.
	Schemas    map[plan.Kind]wire.Struct
	HasSchemas bool // Crossplane can read schemas

	Elsewhere map[string]bool // the generators of other steps

	Now           time.Time
	Random        io.Reader // the source of credentials
	RequireGrants bool      // each input is read as one with requireGrants

	// Size returns the number of bytes of the request. It may be nil.
	Size func() int

	// Advise returns what a message says about a missing input. It may be nil.
	Advise func(observation.Missing) string
}
