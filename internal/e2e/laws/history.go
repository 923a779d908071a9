// Package laws judges histories of Secrets. A history has each version of each Secret that an API server ever had, and
// what users asked for. The laws say how the Secrets may change, whatever fails in between. Only tests import it.
package laws

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// Annotations is the prefix of the annotations in which the function keeps its state.
const Annotations = "export.fn.crossplane.io/"

// Deleted is the event of the last version of a Secret.
const Deleted = "DELETED"

// A Version is a version of a Secret, as etcd stored it or as the API server returned it.
type Version struct {
	Revision  int64 // of etcd, which orders the versions of all Secrets
	Name      string
	Composite string
	Export    string // the composition resource name
	Data      map[string]string

	// Of a generation.
	Generator string
	Number    int
	Adopted   bool
	Flagged   time.Time
	immutable bool

	// User reports whether a user wrote or deleted it. The laws do not judge what users do.
	User bool

	// seen numbers versions and asks in the order in which they arrived.
	seen int
	at   time.Time

	event   string // ADDED, MODIFIED or DELETED, or LISTED
	uid     string
	changes int  // the revision of an export: how often its data changed
	edited  bool // it follows the change of a user

	// generated returns, by generator, the UID of the generation whose values an export recorded that it has.
	generated map[string]string

	// known returns, by UID, the stages of generations that an export recorded.
	known map[string]lifeStage
}

// VersionOf returns the version of a Secret that the API server sent or listed at a time.
func VersionOf(event string, o *unstructured.Unstructured, at time.Time) Version {
	notes, labels := o.GetAnnotations(), o.GetLabels()
	v := Version{
		at: at, event: event, Name: o.GetName(), uid: string(o.GetUID()), Data: live.DataOf(o),
		Composite: labels["crossplane.io/composite"], Export: notes["crossplane.io/composition-resource-name"],
		Generator: labels[Annotations+"generator"], generated: map[string]string{},
		known: map[string]lifeStage{},
	}
	v.Revision, _ = strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	v.immutable, _, _ = unstructured.NestedBool(o.Object, "immutable")
	v.changes, _ = strconv.Atoi(notes[Annotations+"revision"])

	var state struct {
		Number int       `json:"generation"`
		State  lifeStage `json:"state"`
	}
	_ = json.Unmarshal([]byte(notes[Annotations+"generator-state"]), &state) // or it is not adopted
	v.Number, v.Adopted, v.Flagged = state.Number, state.State.adopted(), state.State.flagged()

	var record struct {
		Generators map[string]struct {
			Holds string `json:"holds"`
			Known []struct {
				UID   string    `json:"uid"`
				State lifeStage `json:"state"`
			} `json:"known"`
		} `json:"generators"`
	}
	_ = json.Unmarshal([]byte(notes[Annotations+"export-state"]), &record) // or it says nothing

	for name, g := range record.Generators {
		v.generated[name] = g.Holds
		for _, k := range g.Known {
			v.known[k.UID] = k.State
		}
	}

	return v
}

// A lifeStage is the stage of a generation, as the function stores it.
type lifeStage struct {
	Stage string `json:"stage"`
	Since string `json:"since"`
}

// adopted reports whether a generation may be exported, or could be earlier.
func (s lifeStage) adopted() bool {
	return s.Stage == "current" || s.Stage == "previous" || s.Stage == "retired"
}

// flagged returns when the grace period began, or the zero time.
func (s lifeStage) flagged() time.Time {
	if s.Stage != "previous" && s.Stage != "retired" && s.Stage != "abandoned" {
		return time.Time{}
	}
	at, _ := time.Parse(time.RFC3339Nano, s.Since) // or it did not begin
	return at
}

func (v Version) String() string {
	return fmt.Sprintf("%s of revision %d (%s)", v.Name, v.Revision, v.event)
}

// ID returns what no other version has.
func (v Version) ID() string { return fmt.Sprint(v.uid, v.Revision, v.event == Deleted) }

// An ask is a request for another generation of a generator, or a change of a source.
type ask struct {
	seen            int
	composite, what string
}

// A History records the changes of all Secrets of all composites. It is safe for concurrent use until it is
// judged.
type History struct {
	Exports    map[string]Shape // by composition resource name
	Generators map[string]Rotates
	Grace      time.Duration
	Composites []string

	mu       sync.Mutex
	seen     int
	versions []Version
	asks     []ask
	known    map[string]bool

	failures

	// Final are the Secrets that existed after the system had become stable.
	Final []Version
}

// A Shape is what an export looks like.
type Shape struct {
	// Generated and Former are the keys that have outputs of generators.
	Generated, Former map[string]Output

	// Keys are its other keys.
	Keys []string

	// Whole reports whether the values of the keys belong together.
	Whole func(data map[string]string) error

	// Source is the name of the source in asks. Moment returns the number of its values.
	Source string
	Moment func(data map[string]string) int
}

// An Output is an output of a generator.
type Output struct{ Generator, Name string }

// Rotates says when a generator rotates, in addition to explicit requests.
type Rotates struct {
	With  string // with another generator
	Every time.Duration
}

// Add adds a version, unless it is known.
func (h *History) Add(v Version) {
	h.mu.Lock()
	defer h.mu.Unlock()

	id := v.ID()
	if h.known[id] { // it was listed before
		return
	}

	if h.known == nil {
		h.known = map[string]bool{}
	}

	h.known[id] = true
	h.seen++
	v.seen = h.seen
	h.versions = append(h.versions, v)
}

// Versions returns the versions in the order in which they were added.
func (h *History) Versions() []Version {
	h.mu.Lock()
	defer h.mu.Unlock()

	return slices.Clone(h.versions)
}

// Forget removes the versions of which a function is true.
func (h *History) Forget(drop func(v Version) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()

	h.versions = slices.DeleteFunc(h.versions, drop)
}

// Ask adds a request for another generation of a generator, or a change of a source. It returns its place among all
// requests and versions.
func (h *History) Ask(composite, what string) int {
	h.mu.Lock()
	defer h.mu.Unlock()

	h.seen++
	h.asks = append(h.asks, ask{h.seen, composite, what})

	return h.seen
}

// asked counts the asks before a version was seen.
func (h *History) asked(v Version, what ...string) int {
	n := 0

	for _, a := range h.asks {
		if a.seen < v.seen && a.composite == v.Composite && slices.Contains(what, a.what) {
			n++
		}
	}

	return n
}

// back counts the generations that users deleted before a version was seen. Until the next one is in use, an earlier
// one can be, and what is derived from it is derived again.
func (l lives) back(v Version, generator string) int {
	n := 0

	for uid, versions := range l.generations {
		last := versions[len(versions)-1]
		if l.removed[uid] && last.Composite == v.Composite && last.Generator == generator && last.seen < v.seen {
			n++
		}
	}

	return n
}

// lives returns the versions of each Secret of composites, by name, in the order in which the API server wrote
// them.
type lives struct {
	*History
	exported, generations map[string][]Version

	// recorded are the versions of all exports that recorded generations, including exports that are not judged.
	recorded []Version

	// values are the UIDs of generations.
	values map[string]string

	// removed are the UIDs of generations that users deleted. Their values cannot stay beside the next ones.
	removed map[string]bool
}

func (h *History) lives() lives {
	h.mu.Lock()
	defer h.mu.Unlock()

	l := lives{
		History: h, exported: map[string][]Version{}, generations: map[string][]Version{},
		values: map[string]string{}, removed: map[string]bool{},
	}
	ordered := func(a, b Version) int { return cmp.Compare(a.Revision, b.Revision) }

	for _, v := range slices.SortedStableFunc(slices.Values(h.versions), ordered) {
		if len(v.known) > 0 && !v.User {
			l.recorded = append(l.recorded, v)
		}

		switch {
		case v.Generator != "":
			l.generations[v.uid] = append(l.generations[v.uid], v)
			l.removed[v.uid] = v.User && v.event == Deleted

			for name, value := range v.Data {
				l.values[v.Composite+" "+v.Generator+" "+name+" "+value] = v.uid
			}
		case h.Exports[v.Export].Whole != nil:
			l.exported[v.Name] = append(l.exported[v.Name], v)
		}
	}

	return l
}

// generation returns the generation with a value, or the zero value.
func (l lives) generation(composite string, o Output, value string) Version {
	if g := l.generations[l.values[composite+" "+o.Generator+" "+o.Name+" "+value]]; len(g) > 0 {
		return g[0]
	}

	return Version{}
}

// has reports whether an export had a value of a generation at a revision.
func (l lives) has(g Version, revision int64) (Version, bool) {
	for _, versions := range l.exported {
		var last Version

		if versions[0].Composite != g.Composite {
			continue
		}

		for _, v := range versions {
			if v.Revision < revision {
				last = v
			}
		}

		for key, o := range l.Exports[last.Export].Generated {
			if last.event != Deleted && l.generation(last.Composite, o, last.Data[key]).uid == g.uid {
				return last, true
			}
		}
	}

	return Version{}, false
}

// flagged returns when the grace period of a generation began, as it or an export stored it before a revision. The
// later time counts. A time that is later than its arrival was stored by a clock that was ahead, and the function
// corrects it: then the grace period began when the time arrived.
func (l lives) flagged(g Version, revision int64) time.Time {
	var out time.Time
	arrived := map[int64]time.Time{} // each stored time, when it arrived first
	stored := func(v Version, at time.Time) {
		first, ok := arrived[at.UnixNano()]
		if !ok || v.at.Before(first) {
			first = v.at
		}
		if arrived[at.UnixNano()] = first; at.After(first) {
			at = first
		}
		if at.After(out) {
			out = at
		}
	}
	for _, v := range l.generations[g.uid] {
		if v.Revision <= g.Revision && v.Flagged.Equal(g.Flagged) {
			stored(v, v.Flagged)
		}
	}
	for _, v := range l.recorded {
		if at := v.known[g.uid].flagged(); v.Revision < revision && !at.IsZero() {
			stored(v, at)
		}
	}

	return out
}

// adopted reports whether a generation could be exported before a revision: it or an export stored that it is adopted.
func (l lives) adopted(g Version, revision int64) bool {
	stored := func(v Version) bool {
		return v.Revision < revision && (v.uid == g.uid && v.Adopted || v.known[g.uid].adopted())
	}
	return slices.ContainsFunc(l.generations[g.uid], stored) || slices.ContainsFunc(l.recorded, stored)
}

// eachExport calls a function for each version of an export that has data, and that no user wrote.
func (l lives) eachExport(do func(v, before Version, s Shape)) {
	for _, name := range slices.Sorted(maps.Keys(l.exported)) {
		var before Version

		edited := false

		for _, v := range l.exported[name] {
			switch {
			case v.User:
				edited = true
			case v.event != Deleted:
				v.edited = edited
				do(v, before, l.Exports[v.Export])

				before, edited = v, false
			}
		}
	}
}

func (l lives) eachGeneration(do func(versions []Version)) {
	for _, uid := range slices.Sorted(maps.Keys(l.generations)) {
		do(l.generations[uid])
	}
}

// Counts says how much a history contains.
type Counts struct {
	Versions, Exported   int // of Secrets, and of them those that are exported
	Generations, Deleted int // made, and of them those that are deleted
}

// Counts counts what a history contains.
func (h *History) Counts() Counts {
	l := h.lives()
	c := Counts{Versions: len(h.versions), Generations: len(l.generations)}
	for _, versions := range l.exported {
		c.Exported += len(versions)
	}
	l.eachGeneration(func(g []Version) {
		if g[len(g)-1].event == Deleted {
			c.Deleted++
		}
	})
	return c
}
