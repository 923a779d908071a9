package rotation

import (
	"slices"
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/object"
)

// The only annotations that are read: the state of a generation, and the record of an export. Both are JSON, sealed
// with the data of the object.
const (
	AnnotationState  = object.StatePrefix + "generator-state"
	AnnotationRecord = object.StatePrefix + "export-state"
)

// The labels of a generation: the name of its generator, the key of the item if there is one, and the number. They
// are for people, and never read.
const (
	LabelGenerator  = object.StatePrefix + "generator"
	LabelKey        = object.StatePrefix + "generator-key"
	LabelGeneration = object.StatePrefix + "generation"
)

// stages are the texts of the stages that are stored.
var stages = []string{"", "pending", "retired", "current", "previous", "abandoned"}

// MarshalText returns the stage as it is stored.
func (s Stage) MarshalText() ([]byte, error) { return []byte(stages[s]), nil }

// UnmarshalText reads a stored stage. An unknown one is lost.
func (s *Stage) UnmarshalText(text []byte) error {
	*s = Stage(max(0, slices.Index(stages, string(text))))
	return nil
}

// A Reference identifies a generation, even after it is deleted.
type Reference struct {
	UID        string `json:"uid"`
	Number     int    `json:"generation"`
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
}

// A Copy is what an export recorded about a generation: a copy of its state, and when the export let go of its value.
type Copy struct {
	Reference

	State `json:"state"`

	Left time.Time `json:"left,omitzero"`
}

// A Record is what one export stores about the generations of one generator. It is sealed with the export's data. So an
// earlier record can only be written back while the export has the same data, and always names the generation whose
// value the export has.
type Record struct {
	Uses bool `json:"-"` // the export uses the value in use. The input may not have the export anymore
	Sets bool `json:"-"` // it uses the candidate
	Lost bool `json:"-"` // the seal does not fit: the export may have any value

	Holds     string `json:"holds,omitempty"`     // the UID of the generation whose value the export has
	Candidate string `json:"candidate,omitempty"` // the UID of the generation that it has as the candidate
	Known     []Copy `json:"known,omitempty"`     // by number

	Unlisted []Copy `json:"-"` // copies that do not count, because the composite does not list the export
}

// Of returns what the export recorded about a generation, or nil.
func (r Record) Of(uid string) *Copy {
	if i := slices.IndexFunc(r.Known, func(c Copy) bool { return c.UID == uid }); i >= 0 && !r.Lost {
		return &r.Known[i]
	}
	return nil
}

// has reports whether the export has the value of a generation, or may have it.
func (r Record) has(uid string) bool { return r.Lost || r.Holds == uid || r.Candidate == uid }

// writes reports whether an export has a copy of the state of a generation, and writes it in each step.
func (r Record) writes(uid string) bool { return r.Of(uid) != nil && (r.Uses || r.Sets) }

// Next returns the record that is written together with the values that a step selects. Generations that do not count
// are left out, because each recorded one counts. A former value is recorded even if the step drops it, because that
// may fail.
func (r Record) Next(s Step, now time.Time) Record {
	out := Record{Uses: r.Uses, Sets: r.Sets}
	if r.Uses {
		out.Holds = s.Current
	}
	if r.Sets {
		out.Candidate = s.Candidate
	}
	return r.write(out, s, now)
}

// Again returns the record of an export that keeps its values. The record must not be lost.
func (r Record) Again(s Step, now time.Time) Record { return r.write(r, s, now) }

func (r Record) write(out Record, s Step, now time.Time) Record {
	out.Known = nil
	exists := map[string]bool{}
	for _, g := range slices.Concat(s.Keep, s.Drop) {
		exists[g.UID] = true
		if !g.Counts {
			continue
		}
		c := Copy{Reference: g.Reference, State: g.State}
		if was := r.Of(g.UID); was != nil {
			c.Left = was.Left
		}
		if r.has(g.UID) && !out.has(g.UID) || c.Left.After(now) {
			c.Left = now
		}
		out.Known = append(out.Known, c)
	}
	for _, c := range r.Known { // it can be restored from a backup, and later steps still refer to it
		if !r.Lost && out.has(c.UID) && !exists[c.UID] {
			out.Known = append(out.Known, c)
		}
	}
	slices.SortStableFunc(out.Known, func(a, b Copy) int { return a.Number - b.Number })
	return out
}

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
