// Package lifecycle decides what happens to one object that a composite may own. Exports of the input, items of a list,
// exports of composite authors, and generations of credentials are all slots. They differ only in how they are wanted,
// and in where their data comes from.
//
// [Match] finds the object of each slot among those that Crossplane shows, [Slot.Decide] decides, and [Slot.As] says
// under which composition resource name the object is desired. The first row that fits is taken. An empty cell fits
// always. Claimed is whether another writer composes the name or the place, shown is what Crossplane shows of the
// slot's object, and found is what a lookup returned for the slot's place.
//
//	| wanted | claimed | shown | found | and | verdict | because |
//	|---|---|---|---|---|---|---|
//	| no | | none | | | nothing | there is no object |
//	| no | | | | | release | Crossplane deletes an object that it shows and that is not desired |
//	| | yields | | | | release | the other writer gets the name |
//	| | yes | | | | conflict | an object has one writer |
//	| | | foreign, other kind | | | conflict | an object of another owner or purpose is not changed |
//	| unsure | | none | | | nothing | it may be unwanted |
//	| unsure | | | | | keep | it may be wanted |
//	| yes | | own | | not ready | keep | an object changes as a whole or not at all |
//	| yes | | own | | sealed | keep | it never changes |
//	| yes | | own | | another name | take over | it keeps the name that Crossplane shows, and deletes otherwise |
//	| yes | | own | | | update | it is written in its place, even if the input wants another place |
//	| yes | | none | unknown | | wait | nothing can be looked up |
//	| yes | | none | unread | | look up | requirements must not depend on data |
//	| yes | | none | nothing | not ready | wait | no object is created in part |
//	| yes | | none | nothing | | create | the place is free |
//	| yes | | none | foreign | | conflict | an object that belongs to somebody else is not changed |
//	| yes | | none | listed, restored | not ready | keep | the composite would lose it |
//	| yes | | none | listed, restored | sealed | keep | the composite would lose it |
//	| yes | | none | recent | sealed | stale | Crossplane has read the list before it created the object |
//	| yes | | none | unlisted | sealed | conflict | any client can have created it |
//	| yes | | none | recent, unlisted | not ready | wait | any client can have created it; nothing deletes it |
//	| yes | | none | | another name | take over | all of it is written, whoever created it |
//	| yes | | none | | | update | all of it is written, whoever created it |
package lifecycle

import (
	"fmt"
	"strings"
)

// A Slot is one composition resource name: what the input wants there, and what one request shows.
type Slot struct {
	Name   string // the composition resource name in the input: url, users/alice, generated/admin/3
	Want   Want
	Data   Data
	Place  Place // where the object must be; its name is empty while it is unknown, but its kind is not
	Sealed bool  // the object never changes: a generation

	Claimed []string // other writers of the name or the place
	Yields  bool     // to them: an object that exists is no longer desired

	Shown *Object // the slot's object, if Crossplane shows it
	Found Lookup  // of the place, if no object is shown
}

// A Place is an object's kind, namespace and name.
type Place struct{ Kind, Namespace, Name string }

// PlaceOf returns the place of an object of any kind. The kinds of v1 have no group.
func PlaceOf(apiVersion, kind, namespace, name string) Place {
	if apiVersion != "v1" {
		kind = apiVersion + "/" + kind
	}
	return Place{kind, namespace, name}
}

// String returns the namespace and the name.
func (p Place) String() string { return p.Namespace + "/" + p.Name }

// Want says whether a slot is wanted.
type Want int

// Unsure is for an item of a list that cannot be read, or an object that a slot without a name may take over: nothing
// may be lost.
const (
	No Want = iota
	Unsure
	Yes
)

// Data says whether all that a slot writes is known. The caller knows what is missing or wrong.
type Data int

// The states of data.
const (
	Ready Data = iota
	Missing
	Failed
)

// An Object is what the cluster has.
type Object struct {
	Place

	Name     string // the composition resource name in its annotation
	Owner    Owner
	Listing  Listing // of an object that a lookup returned
	TookOver string  // the slot that took it over before, if a seal says so
}

// Owner says whose an object is.
type Owner int

// The owners.
const (
	Own      Owner = iota // the composite controls it, or has composed it
	Restored              // nothing controls it, but a seal says that it is the composite's
	Foreign
)

// Listing says whether the composite lists an object that Crossplane does not show.
type Listing int

// A listed object is not shown if its annotation has the name of another object. A recent one was just created, so that
// Crossplane may have read the list before.
const (
	Listed Listing = iota
	Recent
	Unlisted
)

// A Lookup is the answer to a requirement for a place.
type Lookup struct {
	Read bool
	At   *Object
}

// A Verdict is what to desire.
type Verdict int

// The verdicts. Keep and Conflict desire the object unchanged if it is the slot's own and the composite lists it.
// Nothing, Wait, LookUp and Release desire nothing. Stale ends the reconcile, and nothing changes.
const (
	Nothing Verdict = iota
	Create
	Update
	Keep
	Wait
	LookUp
	Stale
	Conflict
	TakeOver
	Release
)

// Writes reports whether the object is desired with the slot's data.
func (v Verdict) Writes() bool { return v == Create || v == Update || v == TakeOver }

// Decide is the only place where an object is created, changed, kept, taken over or given up.
func (s Slot) Decide() Verdict {
	o := s.Shown
	switch {
	case s.Want == No && o == nil:
		return Nothing
	case s.Want == No, len(s.Claimed) > 0 && s.Yields:
		return Release
	case len(s.Claimed) > 0, o != nil && (o.Owner != Own || o.Kind != s.Place.Kind):
		return Conflict
	case s.Want == Unsure && o == nil:
		return Nothing
	case s.Want == Unsure:
		return Keep
	case o != nil:
		return s.own(o)
	}
	return s.found(s.Found.At)
}

// own decides about the slot's own object.
func (s Slot) own(o *Object) Verdict {
	switch {
	case s.Data != Ready || s.Sealed:
		return Keep
	case o.Name != s.Name:
		return TakeOver
	}
	return Update
}

// found decides about the place, where Crossplane shows no object. A lookup may have found one.
func (s Slot) found(o *Object) Verdict {
	switch {
	case s.Place.Name == "":
		return Wait
	case !s.Found.Read:
		return LookUp
	case o == nil && s.Data != Ready:
		return Wait
	case o == nil:
		return Create
	case o.Owner == Foreign:
		return Conflict
	case o.Owner == Restored, o.Listing == Listed:
		return s.own(o)
	case s.Sealed && o.Listing == Recent:
		return Stale
	case s.Sealed:
		return Conflict
	case s.Data != Ready:
		return Wait
	}
	return s.own(o)
}

// Moved reports whether the shown object is not where the input wants it. It stays there, because Crossplane cannot
// move an object.
func (s Slot) Moved() bool { return s.Shown != nil && s.Place.Name != "" && s.Shown.Place != s.Place }

// As returns the composition resource name under which the slot's object is desired.
//
// Crossplane maps a desired name to an existing object only by the annotation of the objects that it shows. So a shown
// object is desired under the name that it has, and any other object under a name that no shown object has. Otherwise
// Crossplane would write to that one.
func (s Slot) As(taken func(name string) bool) string {
	if s.Shown != nil {
		return s.Shown.Name
	}
	return FreeName(s.Name, taken)
}

// Writers are the descriptions of all that composes an object, by the object's place. They are only written if there is
// more than one: an object with two writers is a conflict that names both.
type Writers map[Place][]fmt.Stringer

// Add adds a writer.
func (w Writers) Add(at Place, writer fmt.Stringer) { w[at] = append(w[at], writer) }

// At names the writers of a place.
func (w Writers) At(at Place) string {
	texts := make([]string, 0, len(w[at]))
	for _, one := range w[at] {
		texts = append(texts, one.String())
	}
	return strings.Join(texts, " and ")
}
