package reconcile

import (
	"fmt"

	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

func writeStatus(s *session, p *plan.Plan, req *request) []Status {
	out := make([]Status, 0, len(p.Status))
	for _, f := range p.Status {
		out = append(out, s.statusField(req, f))
	}
	return out
}

// statusField evaluates one status field. While the field has no value, its observed value is
// desired, because Crossplane prunes a field that is not desired.
func (s *session) statusField(req *request, f plan.StatusField) Status {
	out := Status{Segments: f.Segments}
	if _, free := lookUp(req.DesiredStatus, f.Segments); !free {
		out.Outcome = Outcome{State: Conflict, Warn: true, Wrong: true, Message: fmt.Sprintf(
			"status.%s: an earlier step of the pipeline also writes it: keep one of them", f.Path)}
		return out
	}
	var err error
	out.Value, err = s.json(f.Value, s.scope(""))
	why := because("", err)
	if err == nil || len(why.failed) == 0 && f.Optional && !why.required {
		return out
	}
	observed, _ := lookUp(s.object.Get("status").Struct(), f.Segments)
	out.Value = observed.Proto()
	out.Outcome = why.outcome("status."+f.Path, "is not written", out.Value != nil)
	return out
}

// lookUp returns the value at a path. The path is free if there is no value and one could be added.
func lookUp(o wire.Struct, segments []string) (v wire.Value, free bool) {
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
