package plan

import (
	"context"
	"fmt"

	"github.com/crossplane-contrib/function-export/internal/wire"
)

// statusField evaluates one status field. While it has no value it is held as it
// was observed: a field that is no longer desired is pruned.
func (r *run) statusField(ctx context.Context, s statusField) Status {
	out := Status{Segments: s.segments}
	if _, _, free := lookUp(r.DesiredStatus, s.segments); !free {
		out.Outcome = Outcome{State: Conflict, Message: fmt.Sprintf("status.%s: an earlier step of the pipeline writes it, too: keep one of them", s.path), Warn: true}
		return out
	}
	v, err := r.evaluate(ctx, s.value, "")
	if err == nil {
		out.Value, _, err = s.value.JSON(v, r.budget) // nil for optional.none()
	}
	var why reasons
	why.add("", err)
	if err == nil || len(why.failed) == 0 && s.optional {
		return out
	}
	held, _, _ := lookUp(r.Observation.Composite.Object.Get("status").Struct(), s.segments)
	out.Value = held.Proto()
	out.Outcome = why.outcome("status."+s.path, "is not written", out.Value != nil)
	return out
}

// lookUp the value at a path. If there is none, free reports whether one could
// be added: nothing but objects is on the way.
func lookUp(s wire.Struct, segments []string) (v wire.Value, ok, free bool) {
	v = wire.OfStruct(s)
	for _, f := range segments {
		if v.Kind() != wire.Object {
			return wire.Value{}, false, false
		}
		if v = v.Struct().Get(f); !v.Exists() {
			return v, false, true
		}
	}
	return v, true, false
}
