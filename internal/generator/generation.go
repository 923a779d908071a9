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
		if g.flagged() && !g.Retired && (g.Adopted || g.lost() && !g.Abandoned) {
			return g.Number
		}
	}
	return 0
}

// flagged reports whether a generation has a valid flag. The flag of an exported generation is not valid.
func (g Generation) flagged() bool { return !g.Flagged.IsZero() && !g.Exported }

// lost reports whether a generation has lost its state: whether it was adopted, and its age, are unknown.
func (g Generation) lost() bool { return g.Made.IsZero() }

// unknown is the hash of what a generation was created for if it has lost that. It differs from all other hashes,
// because a request counts as fulfilled only if something proves it.
const unknown = "lost"

// restore the state of a generation that has lost it.
func (w Desired) restore(g Generation) Generation {
	if g.SpecHash == "" {
		g.Kind = cmp.Or(g.Kind, w.Kind)
		g.SpecHash, g.KeepersHash, g.Rotation = unknown, cmp.Or(g.KeepersHash, unknown), cmp.Or(g.Rotation, unknown)
	}
	return g
}

// Recall returns a generation with what an export recorded of it, because its own state may be lost, or an earlier
// one. A generation that was in use stays so, and its grace period begins at the later time.
func (g Generation) Recall(recorded Generation) Generation {
	if g.lost() {
		g.Kind, g.SourceHash = cmp.Or(g.Kind, recorded.Kind), cmp.Or(g.SourceHash, recorded.SourceHash)
		g.SpecHash, g.KeepersHash = cmp.Or(g.SpecHash, recorded.SpecHash), cmp.Or(g.KeepersHash, recorded.KeepersHash)
		g.Rotation, g.GracePeriod = cmp.Or(g.Rotation, recorded.Rotation), cmp.Or(g.GracePeriod, recorded.GracePeriod)
	}
	g.Adopted = g.Adopted || recorded.Adopted
	if recorded.Flagged.After(g.Flagged) {
		g.Flagged, g.GracePeriod = recorded.Flagged, recorded.GracePeriod
	}
	g.Highest = max(g.Highest, recorded.Highest)
	if recorded.Failure.Number > g.Failure.Number {
		g.Failure = recorded.Failure
	}
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
	if w.Policy == v1beta1.Periodic && !last.lost() {
		at(last.Made.Add(w.Interval), time.Time{})
	}
	return out
}

// replaces reports whether the last generation was created from other values than the desired ones. A generation that
// never became ready may have failed because of these values. Therefore, a change replaces it under each policy, but
// not with each reconcile.
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
