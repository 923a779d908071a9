package live_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

const paused = "composite paused"

// pauses returns the failure that a composite is paused.
func (w *world) pauses() []fault {
	w.must(paused, "pauses that Crossplane has confirmed")

	return []fault{{paused, 2, func(ctx context.Context, rng *rand.Rand) {
		c, d := w.Composites[rng.IntN(len(w.Composites))], time.Duration(2000+rng.IntN(4000))*time.Millisecond
		w.repairs.Go(func() { w.pause(ctx, c, d) })
	}}}
}

// pause pauses a composite, unless it is paused.
func (w *world) pause(ctx context.Context, composite string, d time.Duration) {
	w.pausing.Lock()
	defer w.pausing.Unlock()

	reason := func() (reason string, revision int64) {
		w.insist(ctx, "read a composite", func(ctx context.Context) error {
			o, err := plane.Get(ctx, compositeRef(composite))
			if err == nil {
				reason = live.ConditionOf(o, "Synced").Reason
				_, err = fmt.Sscan(o.GetResourceVersion(), &revision)
			}

			return err
		})

		return reason, revision
	}
	annotate := func(value string) {
		w.insist(context.WithoutCancel(ctx), "pause a composite", func(ctx context.Context) error {
			return plane.Patch(ctx, compositeRef(composite),
				`{"metadata":{"annotations":{"crossplane.io/paused":`+value+`}}}`)
		})
	}

	if r, _ := reason(); r == "ReconcilePaused" { // Crossplane has not yet seen that it was resumed
		return
	}

	annotate(`"true"`)
	defer annotate("null")

	confirmed := int64(0)

	goOn(0, func() bool {
		r, revision := reason()
		if r == "ReconcilePaused" {
			confirmed = revision
		}

		return confirmed > 0
	}, func() { time.Sleep(100 * time.Millisecond) })

	if confirmed > 0 {
		time.Sleep(d)

		w.Paused(composite, confirmed, time.Now())
		w.saw(paused, 1)
	}
}
