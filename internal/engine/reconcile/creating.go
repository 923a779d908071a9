package reconcile

import (
	"strings"
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// ConditionType is the condition of the composite and its claim. It is set on every call.
const ConditionType = "ExportsReady"

const (
	// creates follows the name of an object that does not exist yet. Nothing shows that it will: a later step of the
	// pipeline can remove it from the desired state, and Crossplane can fail to create it. Until it is observed, it is not
	// ready.
	creates = " is created in this reconcile"

	// notCreated follows creates once an object should exist. The message does not change again, because another message
	// would change the time of the condition.
	notCreated = ", but it was not created before: Crossplane cannot create it, and the events of the composite say why, " +
		"or a later step of the pipeline removes it"

	// creationTime is how long after an object was desired for the first time it should exist. A reconcile takes less than
	// a second, and one with many objects some seconds.
	creationTime = time.Minute
)

// creating returns the outcome for an object that is not observed yet. The argument forms are how the condition
// contains the message; if there are none, as it is.
func (s *session) creating(what string, forms ...string) (out Outcome, said bool) {
	if len(forms) == 0 {
		forms = []string{""}
	}
	out = Outcome{State: Created, Message: what + creates}
	text, since := s.condition()
	overdue := false
	for _, before := range forms {
		form := before + out.Message
		said = said || strings.Contains(text, form)
		overdue = overdue || strings.Contains(text, form+notCreated) ||
			strings.Contains(text, form) && !since.IsZero() && s.inputs.req.Now.Sub(since) >= creationTime
	}
	if overdue {
		out = Outcome{State: Waiting, Message: out.Message + notCreated, See: see(s.object), Warn: true}
	}
	return out, said
}

// condition returns the message that the condition of the composite has, and since when.
func (c composite) condition() (text string, since time.Time) {
	is := conditionOf(c.object, ConditionType)
	return is.Get("message").Text(), transition(is)
}

// conditionOf returns a condition of an object. It has no fields if the object does not have it.
func conditionOf(o wire.Struct, conditionType string) wire.Struct {
	for _, v := range o.At("status", "conditions").List().All() {
		if c := v.Struct(); c.Get("type").Is(conditionType) {
			return c
		}
	}
	return wire.Struct{}
}

// transition returns the time of a condition, or zero.
func transition(condition wire.Struct) time.Time {
	at, _ := time.Parse(time.RFC3339, condition.Get("lastTransitionTime").Text()) // zero on an error
	return at.UTC()
}

func isReady(o wire.Struct) bool { return conditionOf(o, "Ready").Get("status").Is("True") }
