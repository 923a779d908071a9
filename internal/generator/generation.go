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

	// Candidate is set if an export has recorded it as its candidate: the value may be set somewhere. It is not deleted
	// before its grace period ends, but it does not count as in use.
	Candidate bool

	// Offered is set if all exports that use the candidate were observed with this generation, or if there are none.
	// OfferedAt is the stored time at which this was first seen: from then on, it must become ready within AbandonAfter.
	// Waited is how long it had waited before, until the composite was paused or the generator was removed.
	Offered   bool
	OfferedAt time.Time
	Waited    time.Duration

	// Abandoned is the stored mark that a pending generation was given up. A marked generation is never adopted, and an
	// adopted one is never marked.
	Abandoned bool

	// SourceHash is what [SourceHash] returned when the generation was created from a source, or empty. Stale is set if
	// it was created from another source than the present one: its outputs do not fit the source. Unchecked is set if the
	// present source is not known. A generation that is not adopted yet waits until it is.
	SourceHash       string
	Stale, Unchecked bool

	// Highest is the highest number that was ever used, as the generation in use stores it, and Failure is the last
	// rotation that was abandoned while it was in use.
	Highest int
	Failure Failure

	// Ends is when a certificate expires, or zero.
	Ends time.Time

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

	// Verifies is set if a pending generation can be set, or can be abandoned, before it is adopted. Then its number must
	// not be used again.
	Verifies bool

	// AbandonAfter is how long an offered generation may take to become ready, or 0 for no limit.
	AbandonAfter time.Duration

	// Window is when a rotation that only time requires may start, or nil for always.
	Window *Window

	// PausedAt is when the composite was paused, if it was paused until this reconcile, or zero. The time in which the
	// composite was paused does not count for AbandonAfter.
	PausedAt time.Time
}

// A Failure describes the last rotation that was abandoned.
type Failure struct {
	Request string    // a hash of what was requested, or empty if there was no failure
	Number  int       // the abandoned generation
	At      time.Time // when it was abandoned
	Times   int       // how often the same request was abandoned
}

// A Step describes what to do with the generations of one generator.
type Step struct {
	// Keep are the generations to desire, by number, with their desired state. Other observed ones are dropped.
	Keep []Generation

	Make int // the number of a generation to create, or 0

	// Current is the number of the generation whose value is generated, Previous of the one whose value is previous, and
	// Pending of one that is not adopted yet. 0 is none.
	Current, Previous, Pending int

	// Candidate is the number of the generation whose value is candidate: the pending one if it is stored and not
	// abandoned, otherwise the current one. 0 is none.
	Candidate int

	Abandoned int       // the number of the generation that is abandoned with this step or that was, or 0
	Retry     time.Time // when the abandoned rotation starts again, or zero

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
	next := desired.next(have)
	have = s.keepUnproven(have, desired.GracePeriod, now)
	for i, g := range have {
		have[i] = desired.restore(g)
	}
	used := inUse(have)
	have, abandoned := splitAbandoned(have, used)
	recorded, failed := used.Highest, used.Failure.Number
	for i, g := range have {
		switch {
		case g.Number == used.Number:
			used = desired.record(g, abandoned, next-1, now)
			have[i] = used
		case g.Number > used.Number:
			have[i] = desired.offer(g, now)
		}
	}
	var last Generation
	if len(have) > 0 {
		last = have[len(have)-1]
	}
	former := max(used.Number-1, replaced(have)) // generations up to this number are replaced
	if last.Number <= former || last.Number > used.Number && !desired.makes(last, used) {
		last = used // which is zero if all are replaced
	}
	if !used.Unlisted && !used.flagged() { // if it is flagged, its generator is back: it is used after the flag is removed
		s.Current = used.Number
	}
	if last.Number > s.Current {
		s.Pending = last.Number
	}
	s.Candidate = s.Current
	if last.Number > used.Number && !last.Unlisted {
		s.Candidate = last.Number
	}
	request := !desired.Unknown && desired.asks(last, used.Number, now)
	retry := desired.retries(last, used, now)
	switch {
	case s.Current > 0 && !desired.Unknown && desired.abandons(last, used.Number, request, now):
		s.Abandoned = last.Number
	case now.Before(retry):
		s.Retry = retry
	case request:
		s.Make = next
	}
	for _, g := range have {
		switch {
		case g.Number == s.Abandoned: // the mark is stored before anything else changes
			g.Abandoned = true
			g.Flagged, g.Retired = time.Time{}, false // its grace period starts after its generator came back
			s.Keep = append(s.Keep, g)
		case g.Number > former && (g.Number == last.Number || g.Number == used.Number || g.lost() && used.Number == 0):
			s.Keep = append(s.Keep, desired.adopt(g))
		case g.Number > former && g.lost():
			g.Retired = true // because the last one has not replaced it yet
			s.keepFormer(g, desired.GracePeriod, now)
		case g.Unlisted: // Crossplane deletes it only after the composite lists it
			s.Keep = append(s.Keep, g)
		case g.Adopted, g.Exported, g.Candidate, g.lost(), !g.Flagged.IsZero():
			if g.Retired { // the flag dates from the time when the generator was removed: it has been used since
				g.Flagged, g.Retired = time.Time{}, false
			}
			s.keepFormer(g, desired.GracePeriod, now)
		default:
			// Never adopted, and superseded: its value is not in use.
		}
	}
	s.keepAbandoned(abandoned, desired.GracePeriod, now)
	if used.Number > 0 {
		s.keepUnrecorded(abandoned, max(failed, used.Number))
	}
	if desired.Verifies && used.Number > 0 {
		s.keepUnrecorded(slices.Concat(have, abandoned), max(recorded, used.Number))
	}
	slices.SortFunc(s.Keep, func(a, b Generation) int { return a.Number - b.Number })
	s.due(desired, last, used, now)
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
	case w.Unknown:
		return true
	case g.Stale:
		return false
	case used.Number == 0, used.Stale, used.lost(), g.lost(), g.Adopted, g.Exported:
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
	g.Adopted = g.Adopted || g.Ready && !g.Unlisted && !g.Unchecked || g.Exported
	g.GracePeriod = w.GracePeriod
	if g.Adopted {
		g.OfferedAt, g.Waited = time.Time{}, 0
	}
	return g
}

// asks reports whether another generation must follow the last one, which is zero if all are replaced.
func (w Desired) asks(last Generation, used int, now time.Time) bool {
	switch {
	case last.Number == 0, last.Stale:
		return true
	case changed(w.Kind, last.Kind), w.Rotation != "" && w.Rotation != last.Rotation:
		return true
	case last.Number > used: // it may still become ready
		return w.replaces(last, used) && !now.Before(last.Made.Add(limits.RefreshInterval))
	case w.replaces(last, used):
		return true
	case w.once():
		return false
	}
	start := w.starts(last, now)
	return !start.IsZero() && !now.Before(start)
}

// starts returns when a rotation starts that only time requires, or zero. It is not before now.
func (w Desired) starts(last Generation, now time.Time) (out time.Time) {
	at := func(due, ends time.Time) {
		if due.Before(now) {
			due = now
		}
		if opens := w.Window.Next(due); ends.IsZero() || opens.Before(ends) {
			due = opens
		}
		if !due.IsZero() && (out.IsZero() || due.Before(out)) {
			out = due
		}
	}
	if !last.RenewAt.IsZero() {
		at(last.RenewAt, cmp.Or(last.Ends, last.RenewAt))
	}
	if w.Policy == v1beta1.Periodic {
		at(last.Made.Add(w.Interval), time.Time{})
	}
	return out
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
	case g.Exported, g.Candidate:
		g.Flagged, g.GracePeriod = time.Time{}, grace
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
	if !g.Unlisted && !g.Abandoned && (g.Adopted || g.Exported || g.lost()) && (s.Current == 0 || g.Number < s.Current) {
		s.Previous = g.Number
	}
}

// retire all generations of a generator that was removed from the input. If the generator comes back, the generation that
// was in use is in use again, but not those that had been replaced.
func retire(have []Generation, now time.Time) Step {
	var s Step
	used := inUse(have).Number
	highest := Desired{}.next(have) - 1
	recorded := highest
	for _, g := range have {
		if g.lost() { // its grace period is lost with its state
			g.GracePeriod = limits.LostGracePeriod
		}
		if g.Exported || g.Number == used { // the others may be dropped before it
			recorded = min(recorded, max(g.Number, g.Highest))
			if g.Number < highest {
				g.Highest = highest
			}
		}
		g.Retired = g.Retired || g.Flagged.IsZero() && g.Number >= used
		s.keepFormer(g, g.GracePeriod, now)
	}
	s.keepUnrecorded(have, recorded)
	slices.SortFunc(s.Keep, func(a, b Generation) int { return a.Number - b.Number })
	s.Previous = 0
	return s
}

// due returns the time of the next step that only depends on time.
func (s *Step) due(w *Desired, last, used Generation, now time.Time) {
	switch {
	case s.Make > 0 || w.Unknown: // another one is created if there is no last one
	case !s.Retry.IsZero():
		s.sooner(s.Retry)
	case last.Number > used.Number:
		if w.replaces(last, used.Number) {
			s.sooner(last.Made.Add(limits.RefreshInterval))
		}
		if at := w.abandonAt(kept(s.Keep, last.Number)); s.Current > 0 && !last.Ready && at.After(now) {
			s.sooner(at)
		}
	case w.once():
	default:
		if at := w.starts(last, now); !at.IsZero() {
			s.sooner(at)
		}
	}
}

func (s *Step) sooner(t time.Time) {
	if s.Due.IsZero() || t.Before(s.Due) {
		s.Due = t
	}
}
