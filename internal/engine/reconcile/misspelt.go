package reconcile

import (
	"github.com/crossplane-contrib/function-export/internal/engine/misspelt"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
)

// A misspeltReport says which fields can never exist: fields that an expression waits for, and fields of the status,
// which Crossplane cannot write.
type misspeltReport struct{ misspelt.Result }

func (m misspeltReport) reply() outcome.Reply {
	out := outcome.Reply{Schemas: m.Schemas, Unread: m.Unread}
	for _, text := range m.Waiting {
		out.Report(Outcome{State: Waiting, Warn: true, Wrong: true, Message: text})
	}
	for _, text := range m.Written {
		out.Report(Outcome{State: Held, Warn: true, Wrong: true, Message: text})
	}
	return out
}
