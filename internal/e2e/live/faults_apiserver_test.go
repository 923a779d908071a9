package live_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// disturbances returns the failures between Crossplane and the API server.
func (w *world) disturbances() (all []fault) {
	for _, d := range []struct {
		kind   live.Disturbance
		weight int
		effect string
	}{
		{live.Throttles, 1, "requests that were answered with 429"},
		{live.Unavailable, 1, "requests that were answered with 503"},
		{live.Slow, 1, "requests that were held, and every other one of them dropped"},
		{live.LosesAnswers, 2, "changes whose answer was lost"},
		{live.CutsWatches, 1, "watches that were cut"},
	} {
		w.must(string(d.kind), d.effect)
		all = append(all, fault{string(d.kind), d.weight, func(_ context.Context, rng *rand.Rand) {
			w.disturb(d.kind, time.Duration(500+rng.IntN(2500))*time.Millisecond)
		}})
	}

	return all
}

// interpose puts the gate between Crossplane and the API server until the test ends.
func (w *world) interpose(t *testing.T) {
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
func (w *world) disturb(kind live.Disturbance, d time.Duration) {
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
		w.saw(string(kind), int(w.gate.Count(kind)-before))
	})
}
