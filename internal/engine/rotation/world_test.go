package rotation

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// The durations of the models, and how old a stale reading can be. A grace period may be shorter by that.
const (
	grace        = 10 * time.Minute
	abandonAfter = 15 * time.Minute
	oldest       = time.Minute
)

// A machine decides what to do. The models give it to clusters, so that it can make mistakes.
type machine func(Wanted, []Generation, []Record, time.Time) Step

// A setup is a part that does not change of a cluster.
type setup struct {
	next     machine
	exports  [2]Record // what each export uses
	verified bool      // a generation works once an export sets it and the provider accepts it
	derived  bool      // it has a source
	resource bool      // generations have no codes
	free     bool      // edits come at any time
	first    v1beta1.RefreshPolicy
}

// An object is a stored generation, and what is true of it.
type secret struct {
	Generation

	initial   State   // what it was created with
	old       []State // its earlier states
	source    int
	works     bool
	foreign   bool      // another client made it
	abandoned bool      // it was stored as abandoned
	released  time.Time // when the last export let go of it, or zero if one has it or none had it
}

// An export is the object, and whether the input has it.
type export struct {
	wanted, there    bool
	value, candidate string // UIDs
	record           Record
	old              []Record // with the present data
}

func (e *export) has(uid string) bool {
	return e.there && uid != "" && (e.value == uid || e.candidate == uid)
}

// A world has one generator, two exports, a provider, and other clients. Slices and maps in it are never changed.
type world struct {
	*setup

	now        time.Time
	highest    time.Time // that was now: the clock of the API server
	input      Wanted
	source     int
	refuses    bool // the provider accepts nothing
	lifetime   time.Duration
	gens       []secret // in the order of their creation
	exports    [2]export
	before     *world // the observation of the reconcile before, or an earlier one if it is kept
	kept       bool
	clean      bool // the last reconcile wrote everything
	deleted    bool // people deleted a generation
	uids       int
	requests   int
	count      int
	trace      *event
	says       func(string)
	reconciles int
}

// An event is the number of an action, after others.
type event struct {
	before *event
	action int
}

func newWorld(s *setup) *world {
	w := &world{setup: s, now: time.Unix(1e9, 0).UTC(), highest: time.Unix(1e9, 0).UTC()}
	w.input = Wanted{Origin: Origin{Kind: "k", Spec: "s0", Keepers: "k0"}, Policy: v1beta1.OnChange, Grace: grace,
		AbandonAfter: abandonAfter}
	if s.first != "" {
		w.input.Policy = s.first
	}
	for i, r := range s.exports {
		w.exports[i].wanted = r.Uses || r.Sets
	}
	return w
}

func (w *world) clone() *world {
	c := *w
	c.gens = slices.Clone(w.gens)
	return &c
}

// A law is a panic of a model.
type law string

func fail(format string, args ...any) { panic(law(fmt.Sprintf(format, args...))) }

// broken returns the law that is broken.
func broken(do func()) (text string) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case law:
			text = string(r)
		default:
			panic(r)
		}
	}()
	do()
	return ""
}

func (w *world) sayf(format string, args ...any) {
	if w.says != nil {
		w.says(w.now.Format("02T15:04:05 ") + fmt.Sprintf(format, args...))
	}
}

func (w *world) find(uid string) *secret {
	if i := slices.IndexFunc(w.gens, func(o secret) bool { return o.UID == uid }); i >= 0 {
		return &w.gens[i]
	}
	return nil
}

func (w *world) exported(uid string) bool { return w.exports[0].has(uid) || w.exports[1].has(uid) }

// release starts the real grace periods of the generations that no export has anymore.
func (w *world) release(had ...string) {
	for i := range w.gens {
		o := &w.gens[i]
		switch {
		case w.exported(o.UID):
			o.released = time.Time{}
		case slices.Contains(had, o.UID):
			o.released = w.now
		}
	}
}

// answer lets the provider answer, and resources become ready.
func (w *world) answer() {
	for i := range w.gens {
		o := &w.gens[i]
		set := slices.ContainsFunc(w.exports[:], func(e export) bool { return e.there && e.candidate == o.UID })
		o.works = o.works || o.foreign || !w.refuses && (!w.verified || set)
	}
}

// A loss is what goes wrong in a reconcile.
type loss struct {
	drops, states, creation bool
	exports, held           [2]bool
	one                     int  // the state of this generation is not written, from 1
	stale                   bool // the observation of the reconcile before
	unlisted                bool // the composite is stale
}

// observe returns what is stored. The input is never stale.
func (w *world) observe(l loss, input *world) (have []Generation, records []Record) {
	for _, o := range w.gens {
		g := o.Generation
		g.Ready, g.Coded = o.works, !w.resource
		g.Follows = slices.DeleteFunc(slices.Clone(g.Follows), func(uid string) bool { return w.find(uid) == nil })
		g.Listed = g.Listed && (!l.unlisted || !o.Created.Equal(input.highest))
		if w.lifetime > 0 {
			g.Renew, g.Ends = o.Created.Add(w.lifetime/3*2), o.Created.Add(w.lifetime)
		}
		have = append(have, g)
	}
	for i, e := range w.exports {
		r := e.record
		wanted := input.exports[i].wanted
		r.Uses, r.Sets = wanted && w.setup.exports[i].Uses, wanted && w.setup.exports[i].Sets
		if wanted || e.there {
			records = append(records, r)
		}
	}
	return have, records
}

// fit compares the source with the one that a generation was made from.
func (w *world) fit(o *secret) Fit {
	switch {
	case !w.derived || o.foreign:
		return Fits
	case w.input.Input == Unknown:
		return Unsure
	case o.source != w.source:
		return Other
	}
	return Fits
}

// reconcile observes, decides and writes in the order of Crossplane.
func (w *world) reconcile(l loss) {
	w.answer()
	now := w.clone()
	now.before, now.trace, now.says = nil, nil, nil
	at := now
	if l.stale = l.stale && w.before != nil && w.now.Sub(w.before.now).Abs() <= oldest; l.stale {
		at = w.before
	}
	if w.kept = w.kept && !l.stale; !w.kept {
		w.before = now
	}
	have, records := at.observe(l, w)
	for i, o := range at.gens {
		have[i].Fit = w.fit(&o)
	}
	s := w.next(w.input, have, records, w.now)
	w.reconciles++
	w.sayf("reconcile %+v: current %q, previous %q, candidate %q, make %v, due %s", l, s.Current, s.Previous,
		s.Candidate, s.Make != nil, s.Due.Format("15:04:05"))
	w.checkStep(s, have, records)
	w.clean = !l.stale
	w.drop(s, at, l)
	w.store(s, now, l)
	w.create(s, l)
	for i := range w.exports {
		w.export(i, s, at.exports[i], l)
	}
	w.sayf("    %s", w)
}

// drop deletes what is not desired.
func (w *world) drop(s Step, at *world, l loss) {
	var had []string
	for i := range w.exports {
		if e := &w.exports[i]; e.there && !e.wanted {
			if l.drops {
				w.clean = false
				continue
			}
			had = append(had, e.value, e.candidate)
			*e = export{}
		}
	}
	w.release(had...)
	for _, o := range at.gens {
		kept := slices.ContainsFunc(s.Keep, func(g Generation) bool { return g.UID == o.UID })
		switch {
		case kept || w.find(o.UID) == nil:
		case l.drops:
			w.clean = false
		default:
			w.checkDrop(w.find(o.UID))
			w.gens = slices.DeleteFunc(w.gens, func(x secret) bool { return x.UID == o.UID })
		}
	}
}

// store writes the states.
func (w *world) store(s Step, before *world, l loss) {
	for _, g := range s.Keep {
		o := w.find(g.UID)
		switch {
		case o == nil:
			continue
		case l.states, l.one > 0 && w.gens[min(l.one, len(w.gens))-1].UID == g.UID:
			w.clean = false
			continue
		}
		w.checkStore(o, g, before, l)
		if o.State != g.State && o.Intact && !slices.Contains(o.old, o.State) {
			o.old = append(slices.Clip(o.old), o.State)
		}
		o.State, o.Intact = g.State, true
		if is := g.Stage == Abandoned; l.stale { // a stale reading says it of one that was in use, or takes it back
			o.abandoned = o.abandoned && is
		} else {
			o.abandoned = o.abandoned || is
		}
	}
}

// create writes a new generation. Another one may have its number.
func (w *world) create(s Step, l loss) {
	switch {
	case s.Make == nil:
	case l.creation:
		w.clean = false
	case !slices.ContainsFunc(w.gens, func(o secret) bool { return o.Number == s.Make.Number }):
		w.count++
		o := secret{Generation: *s.Make, initial: s.Make.State, source: w.source}
		o.UID, o.Created, o.Listed, o.Intact = w.uid("g"), w.highest, true, true
		w.gens = append(slices.Clip(w.gens), o)
	}
}

func (w *world) uid(kind string) string {
	w.uids++
	return kind + strconv.Itoa(w.uids)
}

// export writes an export, with the record that was observed. A held one keeps its data.
func (w *world) export(i int, s Step, observed export, l loss) {
	e, uses := &w.exports[i], w.setup.exports[i]
	if !e.wanted {
		return
	}
	was := observed.record
	was.Uses, was.Sets = uses.Uses, uses.Sets
	keeps := l.held[i] || uses.Uses && s.Current == "" || uses.Sets && s.Candidate == ""
	to := *e
	switch {
	case keeps && !e.there:
		return
	case l.exports[i], keeps && (e.record.Lost || l.stale):
		w.clean = false
		return
	case keeps:
		to.record = was.Again(s, w.now)
	default:
		to.record = was.Next(s, w.now)
		to.value, to.candidate = to.record.Holds, to.record.Candidate
	}
	to.there = true
	if w.checkExport(e, &to, l); to.value != e.value || to.candidate != e.candidate {
		to.old = nil
	} else if e.there && !e.record.Lost && len(e.old) < 3 {
		to.old = append(slices.Clip(e.old), e.record)
	}
	if o := w.find(to.value); o != nil && l.stale { // a stale reading takes it back, also if its own state is not stored
		o.abandoned = false
	}
	had := []string{e.value, e.candidate}
	*e = to
	w.release(had...)
}

// String describes a cluster for people.
func (w *world) String() string { return fmt.Sprintf("%+v\n    %+v", w.gens, w.exports) }
