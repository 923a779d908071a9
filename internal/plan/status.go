package plan

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"
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
		out.Value, _, err = s.value.JSON(v) // nil for optional.none()
	}
	var why reasons
	why.add("", err)
	if err == nil || len(why.failed) == 0 && s.optional {
		return out
	}
	observed := r.Observation.Composite.Object.GetFields()["status"].GetStructValue()
	out.Value, _, _ = lookUp(observed, s.segments)
	out.Outcome = why.outcome("status."+s.path, "is not written", out.Value != nil)
	return out
}

// lookUp the value at a path. If there is none, free reports whether one could
// be added: nothing but objects is on the way.
func lookUp(s *structpb.Struct, segments []string) (v *structpb.Value, ok, free bool) {
	v = structpb.NewStructValue(s)
	for _, f := range segments {
		if _, isObject := v.GetKind().(*structpb.Value_StructValue); !isObject {
			return nil, false, false
		}
		v, ok = v.GetStructValue().GetFields()[f]
		if !ok {
			return nil, false, true
		}
	}
	return v, true, false
}
