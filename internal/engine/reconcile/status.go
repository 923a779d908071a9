package reconcile

import (
	"fmt"

	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A statusWriter evaluates the status fields of the input.
type statusWriter struct {
	session *evaluate.Session
	desired wire.Struct // the status of earlier steps
	fields  []plan.StatusField
}

// run returns the fields. lacking are the paths of those that are written and that the observed composite does not have
// yet: one that does not exist in its schema is never observed.
func (x statusWriter) run() (out []Status, lacking map[string]bool) {
	out = make([]Status, 0, len(x.fields))
	for _, f := range x.fields {
		one := x.field(f)
		observed, _ := statusAt(x.session.Sees.Composite.Object.Get("status").Struct(), f.Segments)
		if one.Value != nil && !observed.Exists() {
			lacking = plan.With(lacking, f.At.Child("fieldPath").String(), true)
		}
		out = append(out, one)
	}
	return out, lacking
}

// field evaluates one status field. While the field has no value, its observed value is
// desired, because Crossplane prunes a field that is not desired.
func (x statusWriter) field(f plan.StatusField) Status {
	out := Status{Segments: f.Segments}
	if _, free := statusAt(x.desired, f.Segments); !free {
		out.Outcome = Outcome{State: Conflict, Warn: true, Wrong: true, Message: fmt.Sprintf(
			"status.%s: an earlier step of the pipeline also writes it: keep one of them", f.Path)}
		return out
	}
	var err error
	out.Value, err = x.session.JSON(f.Value, x.session.Scope(""))
	why := evaluate.Because("", err)
	if err == nil || len(why.Failed) == 0 && f.Optional && !why.Required {
		return out
	}
	observed, _ := statusAt(x.session.Sees.Composite.Object.Get("status").Struct(), f.Segments)
	out.Value = observed.Proto()
	out.Outcome = outcome.Of(why, "status."+f.Path, "is not written", out.Value != nil)
	return out
}

// statusAt returns the value at a path. The path is free if there is no value and one could be added.
func statusAt(o wire.Struct, segments []string) (v wire.Value, free bool) {
	v = wire.OfStruct(o)
	for _, f := range segments {
		if v.Kind() != wire.Object {
			return wire.Value{}, false
		}
		if v = v.Struct().Get(f); !v.Exists() {
			return v, true
		}
	}
	return v, false
}
