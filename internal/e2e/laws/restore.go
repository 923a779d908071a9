package laws

import (
	"maps"
	"slices"
)

// If etcd is restored from a copy of its data, everything that was written after the copy is gone, and revisions are
// used again. Then there are two timelines: what etcd had until the restore, and what it had until the copy, followed
// by what it had after the restore. Each law holds in each timeline. Only the law of the end does not concern a
// timeline that was cut. A law cannot compare the timelines: a value that was exported only after the copy is lost, and
// the number of its generation is used again for another value.

// Restored starts another timeline: etcd has what it had at a revision.
func (h *History) Restored(revision int64) {
	h.mu.Lock()
	defer h.mu.Unlock()

	there := map[string]Version{}

	for _, v := range h.versions {
		if last := there[v.uid]; v.Revision >= last.Revision {
			there[v.uid] = v
		}
	}

	maps.DeleteFunc(there, func(_ string, v Version) bool { return v.event == Deleted })

	h.past = append(h.past, &History{
		Exports: h.Exports, Generators: h.Generators, Grace: h.Grace, Composites: h.Composites,
		Final: slices.Collect(maps.Values(there)),
		seen:  h.seen, versions: slices.Clone(h.versions), asks: slices.Clone(h.asks),
		failures: failures{
			paused: slices.Clone(h.paused), wrong: slices.Clone(h.wrong), cut: true,
		},
	})
	h.versions = slices.DeleteFunc(h.versions, func(v Version) bool { return v.Revision > revision })
	h.known = map[string]bool{}

	for _, v := range h.versions {
		h.known[v.ID()] = true
	}
}

// ExportedSince reports whether a generation was stored and exported after a place that Ask returned.
func (h *History) ExportedSince(place int) bool {
	l := h.lives()
	found := false

	l.eachExport(func(v, _ Version, _ Shape) {
		for _, uid := range v.generated {
			if g := l.generations[uid]; v.event != "LISTED" && len(g) > 0 && g[0].seen > place {
				found = true
			}
		}
	})

	return found
}

// Lost returns how many generations the last restore took away, and how many of them were exported.
func (h *History) Lost() (generations, exported int) {
	past, now := h.past[len(h.past)-1].lives(), h.lives()

	for uid := range past.generations {
		if len(now.generations[uid]) == 0 {
			generations++
		}
	}

	lost := map[string]bool{}

	past.eachExport(func(v, _ Version, s Shape) {
		for key, o := range s.Generated {
			if g := past.generation(v.Composite, o, v.Data[key]); g.uid != "" && len(now.generations[g.uid]) == 0 {
				lost[g.uid] = true
			}
		}
	})

	return generations, len(lost)
}
