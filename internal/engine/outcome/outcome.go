// Package outcome has what a phase of a request reports: in which state each export, status field and generator is,
// why, and what Crossplane must read.
package outcome

import (
	"strings"
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A State is the state of an export, or of a status field.
type State int

// String is the state as a condition's reason.
func (s State) String() string {
	return [...]string{"Available", "Waiting", "Waiting", "Held", "Conflict"}[s]
}

// The states. Each is worse than the one before.
const (
	Available State = iota // it matches the input
	Created                // it does not exist yet, and this reconcile creates it: the reason is Waiting
	Waiting                // it does not exist, and waits for an input
	Held                   // it failed, or is kept as it was observed
	Conflict               // it belongs to another owner, and is not changed
)

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

// Of returns the outcome of an object that cannot be made, and is kept if it was observed.
func Of(r evaluate.Reasons, what, absent string, observed bool) Outcome {
	out := Outcome{State: Held, Warn: true}
	if !observed && len(r.Failed) == 0 {
		out = Outcome{State: Waiting}
	}
	if observed {
		absent = "is kept unchanged"
	}
	out.Message = what + " " + absent + ": " + r.Sentence()
	out.See, out.Wrong = r.See, len(r.Failed) > 0
	return out
}

// A Reply is the part of the result that a phase adds.
type Reply struct {
	Requirements []lookup.Requirement // the same on every call of one reconcile
	Schemas      []plan.Kind          // that Crossplane must read
	Others       []Outcome            // of anything that is neither an object nor a status field

	// Unread is set while a requirement was not read: Crossplane calls again, and drops the result.
	Unread bool
}

// Merge adds the replies of phases.
func (r *Reply) Merge(replies ...Reply) {
	for _, one := range replies {
		r.Requirements = append(r.Requirements, one.Requirements...)
		r.Schemas = append(r.Schemas, one.Schemas...)
		r.Others = append(r.Others, one.Others...)
		r.Unread = r.Unread || one.Unread
	}
}

// Report adds an outcome.
func (r *Reply) Report(o Outcome) { r.Others = append(r.Others, o) }

// Require adds a requirement.
func (r *Reply) Require(req lookup.Requirement) { r.Requirements = append(r.Requirements, req) }

// A Fatal error ends the call: nothing of any step is applied. It is Waiting if Crossplane has read an outdated
// composite, from before it created an object: what this call desires replaces the list of the composite's objects, so
// that another list than the real one would lose that object. It is Conflict if the composite names the claim of
// another composite, in whose namespace it would read and write. It is Held if Crossplane's client would refuse the
// response.
type Fatal struct {
	State   State
	Message string
}

// Error returns the message.
func (f *Fatal) Error() string { return f.Message }

// ConditionType is the condition of the composite and its claim. It is set on every call.
const ConditionType = "ExportsReady"

const (
	// creates follows the name of an object that does not exist yet. Nothing shows that it will: a later step of the
	// pipeline can remove it from the desired state, and Crossplane can fail to create it. Until it is observed, it is
	// not ready.
	creates = " is created in this reconcile"

	// notCreated follows creates once an object should exist. The message does not change again, because another
	// message would change the time of the condition.
	notCreated = ", but it was not created before: Crossplane cannot create it, and the events of the composite say " +
		"why, or a later step of the pipeline removes it"

	// CreationTime is how long after an object was desired for the first time it should exist. A reconcile takes less
	// than a second, and one with many objects some seconds.
	CreationTime = time.Minute
)

// Creating returns the outcome for an object that is not observed yet, and whether the condition has said so before.
func Creating(xr wire.Struct, now time.Time, what string) (out Outcome, said bool) {
	out = Outcome{State: Created, Message: what + creates}
	condition := object.Condition(xr, ConditionType)
	text, since := condition.Get("message").Text(), object.Transition(condition)
	said = strings.Contains(text, out.Message)
	overdue := strings.Contains(text, out.Message+notCreated) || said && !since.IsZero() && now.Sub(since) >= CreationTime
	if overdue {
		out = Outcome{State: Waiting, Message: out.Message + notCreated, See: evaluate.See(xr), Warn: true}
	}
	return out, said
}
