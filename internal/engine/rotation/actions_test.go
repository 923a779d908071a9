package rotation

import (
	"slices"
	"time"
)

// An action is what can happen in a cluster. It reports whether it is possible.
type action struct {
	name string
	do   func(*world) bool
}

// The edits of another client. One is made, until a reconcile has written everything.
const (
	strips = iota
	replays
	stripsRecord
	replaysRecord
	forges
	edits
)

// edit changes an annotation, or creates an object that looks like a generation.
func (w *world) edit(kind int, pick func(int) int) bool {
	if !w.clean && !w.free || len(w.gens) == 0 {
		return false
	}
	o := &w.gens[pick(len(w.gens))]
	i := pick(2)
	e := &w.exports[i]
	switch kind {
	case strips:
		o.Intact = false
	case replays:
		recorded := slices.ContainsFunc(w.exports[:], func(e export) bool {
			return e.there && e.record.Of(o.UID) != nil
		})
		if len(o.old) == 0 || !recorded && !w.free { // there is no second copy
			return false
		}
		o.State = o.old[pick(len(o.old))]
	case stripsRecord:
		if !e.there {
			return false
		}
		e.record = Record{Lost: true}
	case replaysRecord:
		if !e.there || len(e.old) == 0 {
			return false
		}
		e.record = e.old[pick(len(e.old))]
	default:
		return w.forge()
	}
	w.clean = false
	w.sayf("edit %d of %s, export %d: %s", kind, o.UID, i, w)
	return true
}

// forge creates an object that looks like the generation in use. A composed resource has no code.
func (w *world) forge() bool {
	foreign := slices.ContainsFunc(w.gens, func(o secret) bool { return o.foreign })
	if foreign || w.deleted || w.resource || w.exports[0].value == "" || w.input.Input == Removed {
		return false
	}
	number := 0
	for _, o := range w.gens {
		number = max(number, o.Number)
	}
	f := secret{foreign: true, Generation: Generation{Created: w.highest, Listed: true, Intact: true}}
	f.UID, f.Number = w.uid("x"), number+1
	f.State = State{Stage: Current, Origin: w.input.Origin, Request: w.input.Request}
	w.gens = append(slices.Clip(w.gens), f)
	w.clean = false
	w.sayf("%s is forged", f.UID)
	return true
}

// deletes is people who delete a generation.
func (w *world) deletes(i int) bool {
	if i >= len(w.gens) || slices.ContainsFunc(w.gens, func(o secret) bool { return o.foreign }) {
		return false
	}
	w.sayf("people delete %s", w.gens[i].UID)
	w.gens = slices.Delete(w.gens, i, i+1)
	w.deleted = true
	return true
}

func (w *world) pass(d time.Duration) bool {
	w.now = w.now.Add(d)
	if d < 0 { // how old it is would not be known
		w.before, w.kept = nil, false
	}
	if w.now.After(w.highest) {
		w.highest = w.now
	}
	for i := range w.gens {
		if o := &w.gens[i]; o.released.After(w.now) {
			o.released = w.now
		}
	}
	return true
}

// leave removes an export from the input, or returns it. It is only removed after a complete reconcile.
func (w *world) leave(i int) bool {
	r := w.setup.exports[i]
	if !r.Uses && !r.Sets || w.exports[i].there && !w.clean {
		return false
	}
	w.exports[i].wanted = !w.exports[i].wanted
	w.sayf("export %d is in the input: %t", i, w.exports[i].wanted)
	return true
}

// toggle changes whether a generator is in the input, or an input of it is missing.
func (w *world) toggle(to Input) bool {
	if w.input.Input == to {
		to = Present
	}
	w.input.Input = to
	w.sayf("input is %d", to)
	return true
}
