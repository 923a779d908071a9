package live_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

const paused = "composite paused"

// A pause is a time in which Crossplane did not reconcile a composite: after a revision, and before a moment.
type pause struct {
	composite string
	after     int64
	before    time.Time
}

// pauses returns the failure that a composite is paused.
func (w *ward) pauses() []fault {
	w.must(paused, "pauses that Crossplane has confirmed")

	return []fault{{paused, 2, func(ctx context.Context, rng *rand.Rand) {
		c, d := w.composites[rng.IntN(len(w.composites))], time.Duration(2000+rng.IntN(4000))*time.Millisecond
		w.heals.Go(func() { w.pause(ctx, c, d) })
	}}}
}

// pause pauses a composite, unless it is paused.
func (w *ward) pause(ctx context.Context, composite string, d time.Duration) {
	w.pausing.Lock()
	defer w.pausing.Unlock()

	reason := func() (reason string, revision int64) {
		w.insist(ctx, "read a composite", func(ctx context.Context) error {
			o, err := plane.Get(ctx, patient(composite))
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
			return plane.Patch(ctx, patient(composite), `{"metadata":{"annotations":{"crossplane.io/paused":`+value+`}}}`)
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

		w.paused = append(w.paused, pause{composite, confirmed, time.Now()})
		w.saw(paused, 1)
	}
}

// still returns the Secrets that Crossplane changed while it did not reconcile their composite. A Usage only changes
// labels and annotations that are its own.
func still(l lives) (out []string) {
	for _, secrets := range []map[string][]version{l.exported, l.generations} {
		for _, name := range slices.Sorted(maps.Keys(secrets)) {
			var before version

			for _, v := range secrets[name] {
				same := v.uid == before.uid && v.event != "DELETED" && maps.Equal(v.data, before.data) &&
					v.adopted == before.adopted && v.flagged.Equal(before.flagged) && v.changes == before.changes
				before = v

				if !same && slices.ContainsFunc(l.paused, func(p pause) bool {
					return v.composite == p.composite && v.revision > p.after && v.at.Before(p.before)
				}) {
					out = append(out, fmt.Sprintf("%s: changed while %s was paused", v, v.composite))
				}
			}
		}
	}

	return out
}
