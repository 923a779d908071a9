package laws

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// failures are what was done to the system, for laws that are about it.
type failures struct {
	paused []pause
	wrong  []wrong

	// past are the histories that ended when etcd was restored, and cut is set for each of them.
	past []*History
	cut  bool
}

// A pause is a time in which Crossplane did not reconcile a composite: after a revision, and before a moment.
type pause struct {
	composite string
	after     int64
	before    time.Time
}

// wrong is a time in which the clock of a replica was possibly wrong.
type wrong struct{ from, until time.Time }

// Paused adds that Crossplane did not reconcile a composite after a revision and before a moment.
func (h *History) Paused(composite string, after int64, before time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()

	h.paused = append(h.paused, pause{composite, after, before})
}

// WrongClock adds that the clock of a replica was possibly wrong for some time.
func (h *History) WrongClock(from, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()

	h.wrong = append(h.wrong, wrong{from, until})
}

// still returns the Secrets that Crossplane changed while it did not reconcile their composite.
func still(l lives) (out []string) {
	for _, secrets := range []map[string][]Version{l.exported, l.generations} {
		for _, name := range slices.Sorted(maps.Keys(secrets)) {
			var before Version

			for _, v := range secrets[name] {
				same := v.uid == before.uid && v.event != Deleted && maps.Equal(v.Data, before.Data) &&
					v.Adopted == before.Adopted && v.Flagged.Equal(before.Flagged) && v.changes == before.changes
				before = v

				if !same && !v.User && slices.ContainsFunc(l.paused, func(p pause) bool {
					return v.Composite == p.composite && v.Revision > p.after && v.at.Before(p.before)
				}) {
					out = append(out, fmt.Sprintf("%s: changed while %s was paused", v, v.Composite))
				}
			}
		}
	}

	return out
}

// latency is the time between an answer of the function and the arrival of its effect in the history.
const latency = 2 * time.Second

// ahead reports whether a clock was wrong between the version of a generation that is flagged and its deletion. The
// grace period is measured with the clocks of replicas, so it holds only if it is longer than the difference between
// these clocks. The grace period of TestFaults is shorter.
func (h *History) ahead(flagged, deleted Version) bool {
	from := flagged.at
	if flagged.Flagged.Before(from) {
		from = flagged.Flagged
	}

	for _, w := range h.wrong {
		if w.from.Before(deleted.at) && w.until.Add(latency).After(from) {
			return true
		}
	}

	return false
}

// early returns how many more generations than usual a periodic generator can have, because clocks were wrong: one that
// was created too early, and one that replaced a generation whose age seemed too high, for each generation that was
// created while a clock was wrong.
func (l lives) early(composite, generator string) int {
	n := 0

	l.eachGeneration(func(g []Version) {
		for _, w := range l.wrong {
			if g[0].Composite == composite && g[0].Generator == generator &&
				w.from.Before(g[0].at) && w.until.Add(latency).After(g[0].at) {
				n += 2
				return
			}
		}
	})

	return n
}
