package reconcile

import (
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/typecheck"
)

// A typeReport says what the check of types found: fields that an expression waits for, or a status field that is
// written, and that the schema of their object lacks. Without the option Strict, a request is only checked if something
// waits.
type typeReport struct{ typecheck.Result }

func (t typeReport) reply() outcome.Reply {
	out := outcome.Reply{Schemas: t.Schemas, Unread: t.Unread}
	for _, w := range t.Warnings {
		o := Outcome{State: Waiting, Warn: true, Wrong: w.About != typecheck.WholeInput, Message: w.Text}
		switch w.About {
		case typecheck.WholeInput:
			o.State = Available
		case typecheck.WrittenStatus:
			o.State = Held
		case typecheck.WaitingExpression:
		}
		out.Report(o)
	}
	return out
}
