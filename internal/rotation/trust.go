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
// all states and the record of an export are lost, it is in use, because the export may have its value.
func (s *situation) trust(recordLost bool) {
	for _, g := range s.all {
		g.counts = g.recorded || !g.Coded
	}
	if oldest := s.oldest(); oldest != nil {
		oldest.counts = oldest.counts || !s.hasListed(func(g *Generation) bool { return g.counts })
		if recordLost && oldest.lost && !s.hasListed(func(g *Generation) bool { return g.Stage != Abandoned }) {
			s.putInUse(oldest)
		}
	}
	for range s.all { // a chain has at most as many links
		for _, g := range s.all {
			g.counts = g.counts || s.isLinked(g)
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
	g.Stage, g.Since, g.counts = Current, time.Time{}, true
	g.Origin, g.Request = Origin{s.Origin.Kind, lostHash, lostHash, lostHash}, lostHash
	if g.Fit == Other {
		g.Origin.Kind = lostHash
	}
}

// isLinked reports whether a code links a generation with one that counts.
func (s *situation) isLinked(g *Generation) bool {
	return slices.ContainsFunc(s.all, func(o *Generation) bool {
		return o.counts && (slices.Contains(g.Follows, o.UID) || slices.Contains(o.Follows, g.UID))
	})
}
