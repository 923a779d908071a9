package exportstest

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
)

// A Reading is what a cluster has at the end of a moment.
type Reading struct {
	At        time.Time
	Composite *structpb.Struct
	Objects   []*structpb.Struct // that Crossplane composes
}

// Check compares the last one of the readings of a cluster, one for each moment, with what that moment expects. It is
// the comparison of a simulated run. Readings have no results and no requirements.
func (r *Runner) Check(ctx context.Context, t *ExportsTest, index int, setup *Setup, readings []Reading) []Failure {
	p := r.start(t, index, setup)
	for i, reading := range readings {
		p.moment = i
		p.w.Now, p.w.XR, p.w.Stored = reading.At, reading.Composite, map[string]*structpb.Struct{}
		for _, o := range reading.Objects {
			p.w.Stored[world.KeyOf(o)] = o
		}
		s := p.snapshot(p.test.Moments[i].Name)
		status, _ := s.composite["status"].(map[string]any)
		conditions, _ := status["conditions"].([]any)
		for _, c := range conditions {
			fields, _ := c.(map[string]any)
			s.conditions[textOf(fields["type"])] = fields
		}
		p.moments = append(p.moments, s)
	}
	if e := p.test.Moments[p.moment].Expect; e != nil {
		p.expect(ctx, e)
	}
	return p.failures
}
