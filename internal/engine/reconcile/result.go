package reconcile

import (
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// A Result is the answer to one request.
type Result struct {
	Requirements []Requirement // the same on every call of one reconcile
	Schemas      []plan.Kind   // that Crossplane must read
	Objects      []Object      // in the order of the input, after those that are only kept to be taken over
	Status       []Status      // in the order of the input
	Others       []Outcome     // of anything that is neither an object nor a status field

	// Drop are resources of the composite author that earlier steps compose, and that must not be
	// desired because an export composes the same object.
	Drop []string

	Revisions map[string]observation.Revision // of the observed objects, by export

	// Unread is set while a requirement was not read: Crossplane calls again, and drops this result.
	Unread bool

	// Unchecked is set if only schemas were not read, and they can only add warnings about what the result waits for.
	Unchecked bool

	// Environment for later steps, or nil if the input does not make one, or waits for it.
	Environment *structpb.Struct

	Rotation
	Evaluations
}

// A Rotation is what generators add to a result.
type Rotation struct {
	Generations    []Composed                 // in the order of their names
	GeneratorState map[string]*structpb.Value // for later steps, without values

	// Due is the time of the next step of a generator, or now if a Secret changed while Crossplane read it, or zero.
	// Fresh is set if this request created a credential, which must be stored only in the resource composed for it.
	Due   time.Time
	Fresh bool
}

// Evaluations counts those of expressions, by their outcome.
type Evaluations struct{ OK, Waiting, Failed int }

// SkipCheck makes an Unchecked result final: Crossplane does not call again with the schemas.
func (r *Result) SkipCheck() { r.Schemas, r.Unread, r.Unchecked = nil, false, false }

// A State is the state of an export, or of a status field.
type State int

// String is the state as a condition's reason.
func (s State) String() string {
	return [...]string{"Available", "Waiting", "Waiting", "Held", "Conflict"}[s]
}

// An Outcome is the outcome of an export, a status field, a field of the environment, a generator, or a
// list of the composite author.
type Outcome struct {
	State   State
	Message string // why the state is not Available; without data; empty if another outcome says it
	See     string // a command that shows more, or empty
	Warn    bool   // it does not resolve by waiting
	Author  bool   // the composite author can correct it
	Ready   bool   // all exported objects match the input in spite of the state: the composite can be ready
	Wrong   bool   // a change of the Composition may resolve it
}

// Said reports whether the condition has the message.
func (o Outcome) Said() bool { return o.Message != "" && (o.State != Available || o.Warn) }

// A footprint is the number of bytes that an object adds to the response, and how it can add fewer.
type footprint struct {
	bytes int                     // approximate, of the object and its connection details
	build func() *structpb.Struct // the desired object, once it is known to fit
	keep  func(why string) Object // returns the observed object, or none; nil if it cannot add fewer bytes
	saved int                     // by keep
}

// An Object is the object of an export.
type Object struct {
	Outcome

	Name              string // in the pipeline: the name of the export, or the one of the object that it took over
	Kind              object.Kind
	Desired           *structpb.Struct           // nil for none
	ConnectionDetails map[string]sensitive.Bytes // of the composite
	Possible          bool                       // it is only kept because an export may take it over

	footprint footprint
}

// Composed is a resource that a generator composes.
type Composed struct {
	Name    string // in the pipeline
	Desired *structpb.Struct
	Ready   bool
}

// A Status is a status field.
type Status struct {
	Outcome

	Segments []string        // of the path below status
	Value    *structpb.Value // nil for none
}

// A reply is the part of the result that a phase adds.
type reply struct {
	requirements []Requirement
	schemas      []plan.Kind
	others       []Outcome
	unread       bool
}

func (r *reply) report(o Outcome) { r.others = append(r.others, o) }

func (r *reply) require(req Requirement) { r.requirements = append(r.requirements, req) }

// seeComposition adds the command to outcomes that have none, and that a change of the Composition may resolve.
func (r *Result) seeComposition(command string) {
	add := func(o *Outcome) {
		if o.Wrong && !o.Author && o.See == "" && o.State != Available {
			o.See = command
		}
	}
	for i := range r.Objects {
		add(&r.Objects[i].Outcome)
	}
	for i := range r.Status {
		add(&r.Status[i].Outcome)
	}
	for i := range r.Others {
		add(&r.Others[i])
	}
}
