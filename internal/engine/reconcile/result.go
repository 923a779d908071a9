package reconcile

import (
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/generations"
	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/mention"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Result is the answer to one request.
type Result struct {
	outcome.Reply // of all phases

	Objects []Object // in the order of the input, after those that are only kept to be taken over
	Status  []Status // in the order of the input

	// Drop are resources of the composite author that earlier steps compose, and that must not be
	// desired because an export composes the same object.
	Drop []string

	Revisions map[string]observation.Revision // of the observed objects, by export

	// Environment for later steps, or nil if the input does not make one, or waits for it.
	Environment *structpb.Struct

	generations.Rotation
	Evaluations
}

// An Outcome is what a phase reports.
type Outcome = outcome.Outcome

// A State is the state of an export, or of a status field.
type State = outcome.State

// The states of outcomes.
const (
	Available = outcome.Available
	Created   = outcome.Created
	Waiting   = outcome.Waiting
	Held      = outcome.Held
	Conflict  = outcome.Conflict
)

// Evaluations counts those of expressions, by their outcome.
type Evaluations struct {
	OK, Waiting, Failed int

	Missing []observation.Missing // what is known about missing inputs, if the host gives advice
}

// noting returns advise, and notes what it is called for.
func (e *Evaluations) noting(advise func(observation.Missing) string) func(observation.Missing) string {
	return func(m observation.Missing) string {
		if e.Missing = append(e.Missing, m); advise == nil {
			return ""
		}
		return advise(m)
	}
}

// A footprint is the number of bytes that an object adds to the response, and how it can add fewer.
type footprint struct {
	bytes int        // of the object and its connection details
	at    *placement // from which the object can be kept as it was observed; nil if that saves nothing
	saved int        // by that
}

// An Object is the object of an export.
type Object struct {
	Outcome

	Name              string // in the pipeline: the name of the export, or the one of the object that it took over
	Export            string // empty if it is only kept because an export may take it over
	Place             lifecycle.Place
	Kind              object.Kind
	Desired           *structpb.Struct           // nil for none
	ConnectionDetails map[string]sensitive.Bytes // of the composite
	Possible          bool                       // it is only kept because an export may take it over

	footprint footprint
}

// A Status is a status field.
type Status struct {
	Outcome

	Segments []string        // of the path below status
	Value    *structpb.Value // nil for none
}

// count adds the evaluations of sessions, some of which may be nil.
func (r *Result) count(sessions ...*evaluate.Session) {
	for _, s := range sessions {
		if s != nil {
			r.OK += s.Budget.OK
			r.Waiting += s.Budget.Waiting
			r.Failed += s.Budget.Failed
		}
	}
}

// unused warns about connectionDetails that Crossplane ignores.
func unused(exports []plan.Export, xr wire.Struct) outcome.Reply {
	var out outcome.Reply
	for _, e := range exports {
		if e.Secret.ConnectionDetails && !object.IsLegacy(xr) {
			out.Report(Outcome{Warn: true, Message: e.At("connectionDetails").String() + ": " + plan.DetailsIgnored})
		}
	}
	return out
}

// composes returns the resources that this step desires, without those of the composite author.
func composes(made objects, composed []generations.Composed) mention.Resources {
	out := mention.Resources{}
	for _, g := range composed {
		out[g.Name] = wire.Of(g.Desired)
	}
	for _, o := range made {
		out[o.Name] = wire.Of(o.Desired)
	}
	return out
}
