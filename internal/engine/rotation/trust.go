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
	for _, g := range s.all {
		g.Counts = g.Recorded || !g.Coded
	}
	if oldest := s.oldest(); oldest != nil {
		oldest.Counts = oldest.Counts || !s.hasListed(func(g *Generation) bool { return g.Counts })
		isUsed := func(g *Generation) bool { return g.Stage != Abandoned }
		if recordLost && oldest.Lost && oldest.Ready && oldest.Fit == Fits && !s.hasListed(isUsed) {
			s.putInUse(oldest)
		}
	}
	s.followLinks()
}

// followLinks makes each generation count that a code links, in a chain, with one that counts.
func (s *situation) followLinks() {
	links := map[string][]string{} // by UID, in both directions
	byUID := map[string]*Generation{}
	var counting []*Generation
	for _, g := range s.all {
		byUID[g.UID] = g
		for _, uid := range g.Follows {
			links[g.UID], links[uid] = append(links[g.UID], uid), append(links[uid], g.UID)
		}
		if g.Counts {
			counting = append(counting, g)
		}
	}
	for i := 0; i < len(counting); i++ { // it grows
		for _, uid := range links[counting[i].UID] {
			if g := byUID[uid]; g != nil && !g.Counts {
				g.Counts = true
				counting = append(counting, g)
			}
		}
	}
}

// oldest returns the listed generation that was created first, or nil.
func (s *situation) oldest() (out *Generation) {
	for _, g := range s.all {
		if g.Listed && (out == nil || g.Created.Before(out.Created)) {
			out = g
		}
	}
	return out
}

func (s *situation) hasListed(is func(*Generation) bool) bool {
	return slices.ContainsFunc(s.all, func(g *Generation) bool { return g.Listed && is(g) })
}

// putInUse makes a generation the one in use. It is unknown what it was made for.
func (s *situation) putInUse(g *Generation) {
	g.Stage, g.Since, g.Counts = Current, time.Time{}, true
	g.Origin, g.Request = Origin{s.Origin.Kind, lostHash, lostHash, lostHash}, lostHash
}
