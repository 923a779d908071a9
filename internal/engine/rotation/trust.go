package rotation

import (
	"slices"
	"time"
)

// lostHash is the hash of what a generation was made from if that is lost. It differs from all other hashes, because a
// request counts as fulfilled only if something proves it.
const lostHash = "lost"

// trust finds the generations that count: those that exports recorded, and those that a code links with one that
// counts. If no listed one counts, the oldest listed one does, because no other client can create an older one. If
// all states and the record of an export are lost, it is in use if it works, because the export may have its value.
func (s *situation) trust(recordLost bool) {
	var listed []*Generation
	for _, g := range s.all {
		if g.Counts = g.Recorded || !g.Coded; g.Listed {
			listed = append(listed, g)
		}
	}
	if len(listed) > 0 {
		oldest := slices.MinFunc(listed, func(a, b *Generation) int { return a.Created.Compare(b.Created) })
		oldest.Counts = oldest.Counts || !slices.ContainsFunc(listed, func(g *Generation) bool { return g.Counts })
		isUsed := slices.ContainsFunc(listed, func(g *Generation) bool { return g.Stage != Abandoned })
		if recordLost && oldest.Lost && oldest.Ready && oldest.Fit == Fits && !isUsed {
			s.putInUse(oldest)
		}
	}
	s.followLinks()
}

// followLinks makes each generation count that a code links, in a chain, with one that counts.
func (s *situation) followLinks() {
	byUID := map[string]*Generation{}
	for _, g := range s.all {
		byUID[g.UID] = g
	}
	for changed := true; changed; {
		changed = false
		for _, g := range s.all {
			for _, uid := range g.Follows {
				if former := byUID[uid]; former != nil && former.Counts != g.Counts {
					former.Counts, g.Counts, changed = true, true, true
				}
			}
		}
	}
}

// putInUse makes a generation the one in use. It is unknown what it was made for.
func (s *situation) putInUse(g *Generation) {
	g.Stage, g.Since, g.Counts = Current, time.Time{}, true
	g.Origin, g.Request = Origin{s.Origin.Kind, lostHash, lostHash, lostHash}, lostHash
}
