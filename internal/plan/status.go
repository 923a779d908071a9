package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/expression"
)

// statusField evaluates one status field. While it has no value it is held as it
// was observed: a field that is no longer desired is pruned.
func (r *run) statusField(ctx context.Context, s statusField) Status {
	out := Status{Segments: s.segments}
	if at(r.DesiredStatus, s.segments) != nil {
		out.Outcome = Outcome{Conflict, fmt.Sprintf("status.%s: an earlier step of the pipeline writes it, too: keep one of them", s.path), true}
		return out
	}
	v, err := r.evaluate(ctx, s.value, "")
	if err == nil {
		var ok bool
		out.Value, ok, err = s.value.JSON(v)
		if err == nil && !ok {
			return out
		}
	}
	var w *expression.Waiting
	waiting := errors.As(err, &w)
	switch {
	case err == nil, waiting && s.optional:
		return out
	case waiting:
		out.Outcome = Outcome{Waiting, fmt.Sprintf("status.%s is waiting for %s", s.path, strings.Join(w.Inputs, ", ")), false}
	default:
		out.Outcome = Outcome{Held, fmt.Sprintf("status.%s is held: %s", s.path, err.Error()), true}
	}
	status := r.Observation.Composite.Object.GetFields()["status"].GetStructValue()
	out.Value = at(status, s.segments)
	return out
}

// at is the value at a path, or nil.
func at(s *structpb.Struct, segments []string) *structpb.Value {
	v := structpb.NewStructValue(s)
	for _, f := range segments {
		next, ok := v.GetStructValue().GetFields()[f]
		if !ok {
			return nil
		}
		v = next
	}
	return v
}
