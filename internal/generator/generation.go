// Package generator generates credentials, and decides the state of each generation.
//
// A generation is a composed resource: an immutable Secret, or the resource whose controller creates the credential.
// From the observed generations of a generator and the time, [Next] computes which generations to keep in which state,
// whether to create another one, and which one is current. The package stores no state of its own: all state is in the
// generations. Randomness and time are arguments. No text of this package contains a secret.
//
// # The life of a generation
//
// A new generation is created, then Crossplane stores it, then it is observed and ready, then it is adopted: its
// resource is marked. After the mark is observed, generated returns its value. After all exports are observed with that
// value, the previous generation is flagged. After it has been observed as flagged for the grace period, it is dropped,
// and Crossplane deletes it. Each step waits until the step before is observed. Therefore, it does not matter where a
// reconcile stops, which replica continues, or how old the observation is.
//
// # Trusted generations
//
// Other people can create objects that look like a generation. [Trusted] finds the objects that are generations: those
// that exports recorded, and those that prove with a code that their author knew the value of a previous generation. A
// generation that the composite does not list is neither adopted nor used. It stays desired until the composite lists
// it, because otherwise Crossplane would forget it.
package generator

import (
	"cmp"
	"slices"
	"time"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/limits"
)

// A Generation is the observed state of one generation.
type Generation struct {
	// Number counts from 1. Two generations that exist at once never have the same number.
	Number int

	// Kind of the generator that created it. If the generator now has another kind, a new generation follows.
	Kind string

	Made time.Time

	// SpecHash, KeepersHash and Rotation are hashes of the specification, the keepers, and the request in the composite's
	// annotation when the generation was created. GracePeriod is the grace period of the generator at that time.
	SpecHash, KeepersHash, Rotation string
	GracePeriod                     time.Duration

	Adopted bool // its value is in use or was in use

	// Flagged is the time at which the next generation had replaced it, or zero. Retired is set if there is no next one
	// because the generator was removed from the input.
	Flagged time.Time
	Retired bool

	Ready   bool
	RenewAt time.Time // when another one must follow it, or zero

	// Exported is set if an export has the value of this object, and not of another object with the same number.
	Exported bool

	// Unlisted is set if the composite does not list it among its resources. Until the composite lists it, it is kept, but
	// not adopted or used.
	Unlisted bool

	// Unproven is set if [Trusted] does not accept it as a generation. It is not adopted and not used. It is kept for the
	// grace period, because another writer may have changed its state.
	Unproven bool
}

// Desired contains the facts from which Next decides, in addition to the generations themselves.
type Desired struct {
	Policy                          v1beta1.RefreshPolicy
	Interval, GracePeriod           time.Duration
	Kind                            string
	SpecHash, KeepersHash, Rotation string

	// Unknown is set while an input of the generator is missing: no generation is created, and all are kept.
	Unknown bool

	// Used is the highest number that is known to have been used by generations that no longer exist, or 0.
	Used int
}

// A Step describes what to do with the generations of one generator.
type Step struct {
	// Keep are the generations to desire, by number, with their desired state. Other observed ones are dropped.
	Keep []Generation

	Make int // the number of a generation to create, or 0

	// Current is the number of the generation whose value is generated, Previous of the one whose value is previous, and
	// Pending of one that is not adopted yet. 0 is none.
	Current, Previous, Pending int

	Due time.Time // the time of the next step if nothing changes before, or zero
}

// Next returns the next step for a generator. If desired is nil, the generator was removed from the input. The order of
// the generations does not matter, but their numbers must differ.
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
	former := max(used.Number-1, replaced(have)) // generations up to this number are replaced
	if last.Number <= former || last.Number > used.Number && !desired.makes(last, used) {
		last = used
	}
	if last.Number <= former {
		last = Generation{}
	}
	if !used.Unlisted && !used.flagged() { // if it is flagged, its generator is back: it is used after the flag is removed
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
			g.Retired = true // because the last one has not replaced it yet
			s.keepFormer(g, desired.GracePeriod, now)
		case g.Unlisted: // Crossplane deletes it only after the composite lists it
			s.Keep = append(s.Keep, g)
		case g.Adopted, g.Exported, g.lost(), !g.Flagged.IsZero():
			if g.Retired { // the flag dates from the time when the generator was removed: it has been used since
				g.Flagged, g.Retired = time.Time{}, false
			}
			s.keepFormer(g, desired.GracePeriod, now)
		default:
			// Never adopted, and superseded: its value is not in use.
		}
	}
	slices.SortFunc(s.Keep, func(a, b Generation) int { return a.Number - b.Number })
	s.due(desired, last, used.Number)
	return s
}

// keepUnproven keeps unproven generations for the grace period, and returns the others.
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

// makes reports whether the policy would create a generation like g while used is in use. Otherwise g is not adopted.
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

// inUse returns the last generation that was adopted and not replaced: its successor may exist without being observed.
// An exported generation counts as adopted, whatever its state.
func inUse(have []Generation) Generation {
	former := replaced(have)
	for _, g := range slices.Backward(have) {
		if g.Number > former && (g.Adopted && !g.Unlisted || g.Exported) {
			return g
		}
	}
	return Generation{}
}

// replaced returns the number of the last generation whose flag means that another one replaced it.
func replaced(have []Generation) int {
	for _, g := range slices.Backward(have) {
		if g.flagged() && !g.Retired && (g.Adopted || g.lost()) {
			return g.Number
		}
	}
	return 0
}

// flagged reports whether a generation has a valid flag. The flag of an exported generation is not valid.
func (g Generation) flagged() bool { return !g.Flagged.IsZero() && !g.Exported }

// lost reports whether a generation has lost its state: whether it was adopted, and its age, are unknown.
func (g Generation) lost() bool { return g.Made.IsZero() }

// restore the state of a generation that has lost it, as if the generation were created now.
func (w Desired) restore(g Generation) Generation {
	if g.SpecHash == "" {
		g.Kind, g.Rotation, g.SpecHash = cmp.Or(g.Kind, w.Kind), w.Rotation, w.SpecHash
	}
	g.KeepersHash = cmp.Or(g.KeepersHash, w.KeepersHash)
	return g
}

// adopt returns a generation that is in use or will be in use.
func (w Desired) adopt(g Generation) Generation {
	g.Flagged, g.Retired = time.Time{}, false
	g.Adopted = g.Adopted || g.Ready && !g.Unlisted || g.Exported
	g.GracePeriod = w.GracePeriod
	return g
}

// asks reports whether another generation must follow the last one, which is zero if all are replaced.
func (w Desired) asks(last Generation, used int, now time.Time) bool {
	switch {
	case last.Number == 0:
		return true
	case changed(w.Kind, last.Kind), w.Rotation != "" && w.Rotation != last.Rotation:
		return true
	case last.Number > used: // it may still become ready
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

// replaces reports whether the last generation was created from other values than the desired ones. A generation that
// never became ready may have failed because of these values. Therefore, a change replaces it under each policy, but not
// with each reconcile.
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

// keepFormer keeps a replaced generation until its grace period ends. It is flagged after no export has its value.
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

// retire all generations of a generator that was removed from the input. If the generator comes back, the generation that
// was in use is in use again, but not those that had been replaced.
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

// due returns the time of the next step that only depends on time.
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
