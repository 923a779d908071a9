package rotation

import (
	"slices"
	"time"
)

// A Copy is what an export recorded about a generation: a copy of its state, and when the export let go of its value.
type Copy struct {
	State

	Left time.Time
}

// A Record is what one export stores about the generations of one generator. It is sealed with the export's data. So an
// earlier record can only be written back while the export has the same data, and always names the generation whose
// value the export has.
type Record struct {
	Uses, Sets bool // the export uses the value in use, or the candidate. The input may not have it anymore

	Lost      bool            // the seal does not fit: the export may have any value
	Holds     string          // the UID of the generation whose value the export has
	Candidate string          // the UID of the generation that it has as the candidate
	Known     map[string]Copy // by UID
}

// has reports whether the export has the value of a generation, or may have it.
func (r Record) has(uid string) bool { return r.Lost || r.Holds == uid || r.Candidate == uid }

// writes reports whether an export has a copy of the state of a generation, and writes it in each step.
func (r Record) writes(uid string) bool {
	_, known := r.Known[uid]
	return known && !r.Lost && (r.Uses || r.Sets)
}

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
	out.Known = map[string]Copy{}
	for _, g := range slices.Concat(s.Keep, s.Drop) {
		if !g.Counts {
			continue
		}
		k := Copy{State: g.State, Left: r.Known[g.UID].Left}
		if r.has(g.UID) && !out.has(g.UID) || k.Left.After(now) {
			k.Left = now
		}
		out.Known[g.UID] = k
	}
	return out
}
