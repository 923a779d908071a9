// Package generator makes credentials, and decides what happens to the generations that were made.
//
// A generation is a composed resource: an immutable Secret, or the resource that makes the credential. The observed
// generations of a generator and the time come in. Out comes which of them to keep in which state, whether to make
// another one, and which one is current. Nothing is remembered in between: the state is that of the generations.
// Randomness and time are arguments. No text made here holds a secret.
//
// # One generation after the other
//
// A new generation is made, then stored by Crossplane, then observed and ready, then adopted: its resource is marked.
// When the mark is observed, generated returns its value. When all exports were observed with that value, the former
// generation is flagged. When it was observed as flagged for the grace period it is dropped, and Crossplane deletes it.
// Each step waits until the one before is observed. So it does not matter where a reconcile stops, which replica goes
// on, or how old the observation is.
//
// # What is a generation
//
// Other people can create objects that look like a generation. [Trusted] tells which objects are generations: those
// that exports recorded, and those that prove with a code that their maker knew the value of a former one. A generation
// that the composite does not list is neither adopted nor used, but stays desired until the composite lists it, because
// otherwise Crossplane would forget it.
package generator

import (
	"cmp"
	"slices"
	"time"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/limits"
)

// A Generation is what is observed of one generation.
type Generation struct {
	// Number counts from 1. Two generations that exist at once never have the same number.
	Number int

	// Kind of the generator that made it. If the generator has another kind now, a new generation follows.
	Kind string

	Made time.Time

	// SpecHash and KeepersHash are hashes of what it was made from, Rotation of what the composite's annotation requested
	// then, and GracePeriod is what the generator had.
	SpecHash, KeepersHash, Rotation string
	GracePeriod                     time.Duration

	Adopted bool // its value was chosen to be used

	// Flagged is when the next generation had taken its place, or zero. Retired is set if there is no next one, because
	// the generator left the input.
	Flagged time.Time
	Retired bool

	Ready   bool
	RenewAt time.Time // when another one must follow it, or zero

	// Exported says that an export has the value of this very object, and not of another one that had its number.
	Exported bool

	// Unlisted is set if the composite does not list it among its resources. It is kept until the composite does, and is
	// not adopted or used before.
	Unlisted bool

	// Unproven is set if [Trusted] does not know that it is a generation. It is not adopted and not used. It is kept for
	// the grace period, because somebody else may have changed its state.
	Unproven bool
}

// Desired is what decides about the generations of a generator, beside themselves.
type Desired struct {
	Policy                          v1beta1.RefreshPolicy
	Interval, GracePeriod           time.Duration
	Kind                            string
	SpecHash, KeepersHash, Rotation string

	// Unknown is set while an input of the generator is not known: no generation is made, and all are kept.
	Unknown bool

	// Used is the highest number that is known to have been used, beside those of the existing generations, or 0.
	Used int
}

// A Step is what to do about the generations of one generator.
type Step struct {
	// Keep are the generations to desire, by number, with their desired state. Other observed ones are dropped.
	Keep []Generation

	Make int // the number of a generation to make, or 0

	// Current is the number of the generation whose value is generated, Previous of the one whose value is previous, and
	// Pending of one that is not adopted yet. 0 is none.
	Current, Previous, Pending int

	Due time.Time // when the next step is, if nothing happens before, or zero
}

// Next is the step to take for a generator, or for one that left the input if desired is nil. The order of the
// generations does not matter, but their numbers must differ.
func Next(desired *Desired, have []Generation, now time.Time) Step { //nolint:gocyclo // the rules, in their order
	have = slices.SortedFunc(slices.Values(have), func(a, b Generation) int { return a.Number - b.Number })
	if desired == nil {
		return retire(have, now)
	}
	var s Step
	next := desired.Used + 1
	if len(have) > 0 {
		next = max(next, have[len(have)-1].Number+1)
	}
	have = s.keepUnproven(have, desired.GracePeriod, now)
	for i, g := range have {
		have[i] = desired.restore(g)
	}
	var last Generation
	if len(have) > 0 {
		last = have[len(have)-1]
	}
	used := inUse(have)
	former := max(used.Number-1, replaced(have)) // up to it another one took their place
	if last.Number <= former || last.Number > used.Number && !desired.makes(last, used) {
		last = used
	}
	if last.Number <= former {
		last = Generation{}
	}
	if !used.Unlisted && !used.flagged() { // otherwise its generator is back: it is used when the flag is off
		s.Current = used.Number
	}
	if last.Number > s.Current {
		s.Pending = last.Number
	}
	if !desired.Unknown && desired.asks(last, used.Number, now) {
		s.Make = next
	}
	for _, g := range have {
		switch {
		case g.Number > former && (g.Number == last.Number || g.Number == used.Number || g.lost() && used.Number == 0):
			s.Keep = append(s.Keep, desired.adopt(g))
		case g.Number > former && g.lost():
			g.Retired = true // because the last one has not taken its place yet
			s.keepFormer(g, desired.GracePeriod, now)
		case g.Unlisted: // Crossplane deletes it only after the composite lists it
			s.Keep = append(s.Keep, g)
		case g.Adopted, g.Exported, g.lost(), !g.Flagged.IsZero():
			if g.Retired { // a flag from when the generator was gone: it was used since
				g.Flagged, g.Retired = time.Time{}, false
			}
			s.keepFormer(g, desired.GracePeriod, now)
		default:
			// Never adopted, and superseded: nobody has it.
		}
	}
	slices.SortFunc(s.Keep, func(a, b Generation) int { return a.Number - b.Number })
	s.due(desired, last, used.Number)
	return s
}

// keepUnproven keeps those that are not known to be generations for the grace period, and returns the others.
func (s *Step) keepUnproven(have []Generation, grace time.Duration, now time.Time) []Generation {
	proven := make([]Generation, 0, len(have))
	for _, g := range have {
		if !g.Unproven {
			proven = append(proven, g)
			continue
		}
		g.Adopted, g.Exported = false, false
		s.keepFormer(g, grace, now)
	}
	s.Previous = 0
	return proven
}

// makes reports whether the policy makes a generation like g while used is in use. Otherwise g is not adopted.
func (w Desired) makes(g, used Generation) bool {
	switch {
	case w.Unknown, used.Number == 0, used.lost(), g.lost(), g.Adopted, g.Exported:
		return true
	case changed(g.Kind, used.Kind), g.Rotation != "" && g.Rotation != used.Rotation:
		return true
	case w.once():
		return false
	}
	return w.Policy == v1beta1.Periodic || !used.RenewAt.IsZero() ||
		changed(g.SpecHash, used.SpecHash) || changed(g.KeepersHash, used.KeepersHash)
}

// inUse is the last generation that was adopted and not replaced: its successor may only be out of sight. An exported
// generation was adopted, whatever its state says.
func inUse(have []Generation) Generation {
	former := replaced(have)
	for _, g := range slices.Backward(have) {
		if g.Number > former && (g.Adopted && !g.Unlisted || g.Exported) {
			return g
		}
	}
	return Generation{}
}

// replaced is the number of the last generation whose flag says that another one took its place.
func replaced(have []Generation) int {
	for _, g := range slices.Backward(have) {
		if g.flagged() && !g.Retired && (g.Adopted || g.lost()) {
			return g.Number
		}
	}
	return 0
}

// flagged reports whether a flag counts: it does not on an exported generation.
func (g Generation) flagged() bool { return !g.Flagged.IsZero() && !g.Exported }

// lost reports whether a generation has lost its state: it is not known whether it was adopted, or how old it is.
func (g Generation) lost() bool { return g.Made.IsZero() }

// restore the state of a generation that has lost it, as if it were made now.
func (w Desired) restore(g Generation) Generation {
	if g.SpecHash == "" {
		g.Kind, g.Rotation, g.SpecHash = cmp.Or(g.Kind, w.Kind), w.Rotation, w.SpecHash
	}
	g.KeepersHash = cmp.Or(g.KeepersHash, w.KeepersHash)
	return g
}

// adopt is a generation that is in use, or will be.
func (w Desired) adopt(g Generation) Generation {
	g.Flagged, g.Retired = time.Time{}, false
	g.Adopted = g.Adopted || g.Ready && !g.Unlisted || g.Exported
	g.GracePeriod = w.GracePeriod
	return g
}

// asks reports whether another generation is wanted after the last one, which is zero if all were replaced.
func (w Desired) asks(last Generation, used int, now time.Time) bool {
	switch {
	case last.Number == 0:
		return true
	case changed(w.Kind, last.Kind), w.Rotation != "" && w.Rotation != last.Rotation:
		return true
	case last.Number > used: // it may become ready yet
		return w.replaces(last, used) && !now.Before(last.Made.Add(limits.RefreshInterval))
	case w.replaces(last, used):
		return true
	case w.once():
		return false
	case !last.RenewAt.IsZero() && !now.Before(last.RenewAt):
		return true
	}
	return w.Policy == v1beta1.Periodic && !now.Before(last.Made.Add(w.Interval))
}

// replaces reports whether the last generation was made from something else than is wanted now. One that never became
// ready may be so because of what it was made from. So a change replaces it under each policy, but not with each
// reconcile.
func (w Desired) replaces(last Generation, used int) bool {
	respecified := changed(w.SpecHash, last.SpecHash)
	switch {
	case last.Number > used && !last.Ready && respecified:
		return true
	case w.once():
		return false
	}
	return changed(w.KeepersHash, last.KeepersHash) || w.Policy == v1beta1.OnChange && respecified
}

func (w Desired) once() bool { return w.Policy == v1beta1.CreatedOnce || w.Policy == "" }

// changed reports whether something is known to have changed.
func changed(is, was string) bool { return is != "" && was != "" && is != was }

// keepFormer keeps a replaced generation until its grace period is over. It is flagged once no export has its value.
func (s *Step) keepFormer(g Generation, grace time.Duration, now time.Time) {
	switch {
	case g.Exported:
		g.Flagged = time.Time{}
	case g.Flagged.IsZero(), g.Flagged.After(now): // a clock was ahead
		g.Flagged, g.GracePeriod = now, grace
		s.sooner(now.Add(grace))
	case now.Before(g.Flagged.Add(g.GracePeriod)):
		s.sooner(g.Flagged.Add(g.GracePeriod))
	case !g.Unlisted:
		return
	default: // Crossplane deletes it only after the composite lists it
	}
	s.Keep = append(s.Keep, g)
	if !g.Unlisted && (g.Adopted || g.Exported || g.lost()) && (s.Current == 0 || g.Number < s.Current) {
		s.Previous = g.Number
	}
}

// retire all generations of a generator that left the input. If the generator comes back, the one in use is in use
// again, but not those that had been replaced.
func retire(have []Generation, now time.Time) Step {
	var s Step
	used := inUse(have).Number
	for _, g := range have {
		if g.lost() { // its grace period is lost with its state
			g.GracePeriod = limits.LostGracePeriod
		}
		g.Retired = g.Retired || g.Flagged.IsZero() && g.Number >= used
		s.keepFormer(g, g.GracePeriod, now)
	}
	s.Previous = 0
	return s
}

// due finds the next step that time alone causes.
func (s *Step) due(w *Desired, last Generation, used int) {
	switch {
	case s.Make > 0 || w.Unknown || last.Number == 0:
	case last.Number > used:
		if w.replaces(last, used) {
			s.sooner(last.Made.Add(limits.RefreshInterval))
		}
	case w.once():
	default:
		if w.Policy == v1beta1.Periodic {
			s.sooner(last.Made.Add(w.Interval))
		}
		if !last.RenewAt.IsZero() {
			s.sooner(last.RenewAt)
		}
	}
}

func (s *Step) sooner(t time.Time) {
	if s.Due.IsZero() || t.Before(s.Due) {
		s.Due = t
	}
}
