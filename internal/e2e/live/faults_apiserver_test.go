package live_test

import (
	"context"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// disturbances are the failures between Crossplane and the API server, with their effects.
func disturbances() map[live.Disturbance]string {
	return map[live.Disturbance]string{
		live.Throttles:    "a request was answered with 429",
		live.Unavailable:  "a request was answered with 503",
		live.Slow:         "a request was held, and every other one of them dropped",
		live.LosesAnswers: "an object was changed, and the answer was lost",
		live.CutsWatches:  "a watch was cut",
	}
}

// interpose puts the gate between Crossplane and the API server until the test ends.
func (w *ward) interpose(t *testing.T) {
	t.Helper()

	gate, remove, err := plane.Interpose(t.Context())
	if remove != nil {
		t.Cleanup(func() {
			if err := remove(context.Background()); err != nil {
				t.Errorf("cannot remove the gate: %v", err)
			}
		})
	}

	if err != nil {
		t.Fatalf("cannot put a gate before the API server: %v", err)
	}

	w.gate = gate
}

// disturb disturbs the requests of Crossplane for some time, and longer if it has not met one: Crossplane may not run.
func (w *ward) disturb(kind live.Disturbance, d time.Duration) {
	before := w.gate.Count(kind)
	stop := w.gate.Disturb(kind)

	w.later(d, func() {
		for start := time.Now(); w.gate.Count(kind) == before && time.Since(start) < time.Minute; {
			time.Sleep(50 * time.Millisecond)

			if kind == live.CutsWatches {
				w.gate.Disturb(kind)
			}
		}

		stop()
	})
}
