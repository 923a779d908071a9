package live_test

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// annotations is the prefix of the annotations in which the function keeps its state.
const annotations = "export.fn.crossplane.io/"

// A version is a version of a Secret, as etcd stored it or as the API server returned it.
type version struct {
	// seen numbers versions and asks in the order in which they arrived.
	seen int
	at   time.Time

	event     string // ADDED, MODIFIED or DELETED, or LISTED
	revision  int64  // the revision of etcd, which orders the versions of all Secrets
	name, uid string
	composite string
	export    string // the composition resource name
	data      map[string]string
	changes   int // the revision of an export: how often its data changed

	// Of a generation.
	generator string
	number    int
	immutable bool
	adopted   bool
	flagged   time.Time

	// generated returns, by generator, the UID of the generation that an export recorded for its
	// values.
	generated map[string]string
}

func versionOf(event string, o *unstructured.Unstructured) version {
	notes, labels := o.GetAnnotations(), o.GetLabels()
	v := version{
		at: time.Now(), event: event, name: o.GetName(), uid: string(o.GetUID()), data: live.DataOf(o),
		composite: labels["crossplane.io/composite"], export: notes["crossplane.io/composition-resource-name"],
		generator: labels[annotations+"generator"], generated: map[string]string{},
	}
	v.revision, _ = strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	v.immutable, _, _ = unstructured.NestedBool(o.Object, "immutable")
	v.number, _ = strconv.Atoi(notes[annotations+"generation"])
	v.changes, _ = strconv.Atoi(notes[annotations+"revision"])
	v.flagged, _ = time.Parse(time.RFC3339Nano, notes[annotations+"flagged-for-gc-time"])

	var state struct{ State struct{ Adopted bool } }
	_ = json.Unmarshal([]byte(notes[annotations+"generator-state"]), &state) // or it is not adopted
	v.adopted = state.State.Adopted

	var generated map[string]struct{ UID string }
	_ = json.Unmarshal([]byte(notes[annotations+"generated"]), &generated) // or it says nothing

	for name, g := range generated {
		v.generated[name] = g.UID
	}

	return v
}

func (v version) String() string {
	return fmt.Sprintf("%s of revision %d (%s)", v.name, v.revision, v.event)
}

// id returns what no other version has.
func (v version) id() string { return fmt.Sprint(v.uid, v.revision, v.event == "DELETED") }

// An ask is a request for another generation of a generator, or a change of a source.
type ask struct {
	seen            int
	composite, what string
}

// A history records the changes of all Secrets of all composites. It is safe for concurrent use until it is
// judged.
type history struct {
	exports    map[string]shape
	generators map[string]rotates
	grace      time.Duration
	composites []string

	mu       sync.Mutex
	seen     int
	versions []version
	asks     []ask
	known    map[string]bool

	// What failures did, for laws that are about them.
	paused    []pause
	protected []protection
	wrong     []wrong
	// past are the histories that ended when etcd was restored, and cut is set for each of them.
	past []*history
	cut  bool

	// final are the Secrets that existed after the system had become stable.
	final []version
}

// A shape is what an export looks like.
type shape struct {
	// generated and former are the keys that have outputs of generators.
	generated, former map[string]output

	// keys are its other keys.
	keys []string

	// whole reports whether the values of the keys belong together.
	whole func(data map[string]string) error

	// source is the name of the source in asks. moment returns the number of its values.
	source string
	moment func(data map[string]string) int
}

type output struct{ generator, name string }

// rotates says when a generator rotates, in addition to explicit requests.
type rotates struct {
	with  string // with another generator
	every time.Duration
}

func (h *history) add(v version) {
	h.mu.Lock()
	defer h.mu.Unlock()

	id := v.id()
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

// without returns the versions of which a function is not true.
func (h *history) without(drop func(v version) bool) []version {
	h.mu.Lock()
	defer h.mu.Unlock()

	return slices.DeleteFunc(slices.Clone(h.versions), drop)
}

// ask adds an ask, and returns its number.
func (h *history) ask(composite, what string) int {
	h.mu.Lock()
	defer h.mu.Unlock()

	h.seen++
	h.asks = append(h.asks, ask{h.seen, composite, what})

	return h.seen
}

// asked counts the asks before a version was seen.
func (h *history) asked(v version, what ...string) int {
	n := 0

	for _, a := range h.asks {
		if a.seen < v.seen && a.composite == v.composite && slices.Contains(what, a.what) {
			n++
		}
	}

	return n
}

// lives returns the versions of each Secret of composites, by name, in the order in which the API server wrote
// them.
type lives struct {
	*history
	exported, generations map[string][]version

	// values are the UIDs of generations.
	values map[string]string
}

func (h *history) lives() lives {
	h.mu.Lock()
	defer h.mu.Unlock()

	l := lives{h, map[string][]version{}, map[string][]version{}, map[string]string{}}
	for _, v := range slices.SortedStableFunc(slices.Values(h.versions), func(a, b version) int { return cmp.Compare(a.revision, b.revision) }) {
		switch {
		case v.generator != "":
			l.generations[v.uid] = append(l.generations[v.uid], v)

			for name, value := range v.data {
				l.values[v.composite+" "+v.generator+" "+name+" "+value] = v.uid
			}
		case h.exports[v.export].whole != nil:
			l.exported[v.name] = append(l.exported[v.name], v)
		}
	}

	return l
}

// generation returns the generation with a value, or the zero value.
func (l lives) generation(composite string, o output, value string) version {
	if g := l.generations[l.values[composite+" "+o.generator+" "+o.name+" "+value]]; len(g) > 0 {
		return g[0]
	}

	return version{}
}

// has reports whether an export had a value of a generation at a revision.
func (l lives) has(g version, revision int64) (version, bool) {
	for _, versions := range l.exported {
		var last version

		if versions[0].composite != g.composite {
			continue
		}

		for _, v := range versions {
			if v.revision < revision {
				last = v
			}
		}

		for key, o := range l.exports[last.export].generated {
			if last.event != "DELETED" && l.generation(last.composite, o, last.data[key]).uid == g.uid {
				return last, true
			}
		}
	}

	return version{}, false
}

// eachExport calls a function for each version of an export that has data.
func (l lives) eachExport(do func(v, before version, s shape)) {
	for _, name := range slices.Sorted(maps.Keys(l.exported)) {
		var before version

		for _, v := range l.exported[name] {
			if v.event != "DELETED" {
				do(v, before, l.exports[v.export])

				before = v
			}
		}
	}
}

func (l lives) eachGeneration(do func(versions []version)) {
	for _, uid := range slices.Sorted(maps.Keys(l.generations)) {
		do(l.generations[uid])
	}
}

// laws say how Secrets may change, whatever happens to the processes that write them. Each law returns the
// events that broke it.
var laws = map[string]func(l lives) []string{
	"what is exported is of one moment":                         whole,
	"what is exported was stored and adopted before":            stored,
	"what is exported changes only when that was asked for":     asked,
	"what is exported never goes back":                          forward,
	"a generation stays while something exports it":             kept,
	"a generation stays for its grace period":                   grace,
	"no Secret loses a key, and none that is exported goes":     complete,
	"an exported change has a revision of its own":              counted,
	"in the end one generation is left, and all that is has it": settled,
	"nothing changes while its composite is paused":             still,
	"nothing is deleted while a Usage protects it":              refused,
}

func whole(l lives) (out []string) {
	l.eachExport(func(v, _ version, s shape) {
		if err := s.whole(v.data); err != nil {
			out = append(out, fmt.Sprintf("%s: %v", v, err))
		}

		of := map[string]string{}

		for _, key := range slices.Sorted(maps.Keys(s.generated)) {
			o := s.generated[key]

			g := l.generation(v.composite, o, v.data[key])
			if g.uid == "" {
				continue // another law checks it
			}

			if first, ok := of[o.generator]; ok && first != g.uid {
				out = append(out, fmt.Sprintf("%s: %s is of another generation of %s than other keys", v, key, o.generator))
			}

			of[o.generator] = g.uid
			if said, ok := v.generated[o.generator]; !ok || said != g.uid {
				out = append(out, fmt.Sprintf("%s: %s is of %s, and its annotation says another", v, key, g))
			}
		}
	})

	return out
}

func stored(l lives) (out []string) {
	l.eachExport(func(v, _ version, s shape) {
		for _, key := range slices.Sorted(maps.Keys(s.generated)) {
			o := s.generated[key]
			if _, ok := v.data[key]; !ok {
				continue
			}

			uid := l.generation(v.composite, o, v.data[key]).uid
			if !slices.ContainsFunc(l.generations[uid], func(g version) bool {
				return g.revision < v.revision && g.event != "DELETED" && g.immutable && g.adopted
			}) {
				out = append(out, fmt.Sprintf("%s: %s is of no generation of %s that was stored and adopted before", v, key, o.generator))
			}
		}
	})

	return out
}

func asked(l lives) (out []string) {
	first := map[string]time.Time{}

	l.eachGeneration(func(g []version) {
		id := g[0].composite + " " + g[0].generator
		if t := g[0].at; first[id].IsZero() || t.Before(first[id]) {
			first[id] = t
		}
	})

	check := func(v, g version) {
		r := l.generators[g.generator]

		n := l.asked(v, g.generator)
		if r.with != "" {
			n += l.asked(v, r.with)
		}

		if r.every > 0 {
			n += int(v.at.Sub(first[g.composite+" "+g.generator])/r.every) + 1 // changes are seen late
			n += l.early(g.composite, g.generator)
		}

		if g.number > n+1 {
			out = append(out, fmt.Sprintf("%s: generation %d of %s after %d causes for another one", v, g.number, g.generator, n))
		}
	}

	l.eachGeneration(func(g []version) { check(g[0], g[0]) })
	l.eachExport(func(v, _ version, s shape) {
		for _, key := range slices.Sorted(maps.Keys(s.generated)) {
			check(v, l.generation(v.composite, s.generated[key], v.data[key]))
		}

		if s.source != "" && s.moment(v.data) > l.asked(v, s.source) {
			out = append(out, fmt.Sprintf("%s: moment %d, and %d were written", v, s.moment(v.data), l.asked(v, s.source)))
		}
	})

	return out
}

func forward(l lives) (out []string) {
	l.eachExport(func(v, before version, s shape) {
		for _, key := range slices.Sorted(maps.Keys(s.generated)) {
			o := s.generated[key]
			if is, was := l.generation(v.composite, o, v.data[key]).number, l.generation(v.composite, o, before.data[key]).number; is < was {
				out = append(out, fmt.Sprintf("%s: %s is of generation %d, and was of %d", v, key, is, was))
			}
		}

		for _, key := range slices.Sorted(maps.Keys(s.former)) {
			o := s.former[key]
			keys := slices.Sorted(maps.Keys(s.generated))
			now := keys[slices.IndexFunc(keys, func(k string) bool { return s.generated[k] == o })]
			is, was := l.generation(v.composite, o, v.data[now]).number, l.generation(v.composite, o, before.data[now]).number
			has := l.generation(v.composite, o, v.data[key]).number

			switch {
			case v.data[key] != "" && (has == 0 || has >= is):
				out = append(out, fmt.Sprintf("%s: %s is of generation %d, and what is exported of %d", v, key, has, is))
			case was != 0 && was < is && (has < was):
				out = append(out, fmt.Sprintf("%s: %s is of generation %d, and %d was exported before", v, key, has, was))
			}
		}

		if s.source != "" && before.name != "" && s.moment(v.data) < s.moment(before.data) {
			out = append(out, fmt.Sprintf("%s: moment %d, and was %d", v, s.moment(v.data), s.moment(before.data)))
		}
	})

	return out
}

func kept(l lives) (out []string) {
	l.eachGeneration(func(g []version) {
		was := version{}
		for _, v := range g {
			if e, ok := l.has(v, v.revision); ok && v.event == "DELETED" {
				out = append(out, fmt.Sprintf("%s: still in %s", v, e))
			} else if ok && was.flagged.IsZero() && !v.flagged.IsZero() {
				out = append(out, fmt.Sprintf("%s: flagged, and still in %s", v, e))
			}

			was = v
		}
	})

	return out
}

func grace(l lives) (out []string) {
	there := map[string]bool{}
	for _, v := range l.final {
		there[v.uid] = true
	}

	l.eachGeneration(func(g []version) {
		var before version // it is deleted

		used := false
		last := g[len(g)-1]

		for _, v := range g {
			if v.event != "DELETED" {
				before = v
				used = used || v.adopted
			}
		}

		switch {
		case !used || there[last.uid]:
		case before.flagged.IsZero():
			out = append(out, fmt.Sprintf("%s: gone, and was never flagged", last))
		case last.event == "DELETED" && last.at.Before(before.flagged.Add(l.grace)) && !l.ahead(before, last):
			out = append(out, fmt.Sprintf("%s: gone %s after it was flagged", last, last.at.Sub(before.flagged)))
		}
	})

	return out
}

func complete(l lives) (out []string) {
	l.eachExport(func(v, before version, s shape) {
		if before.name != "" && before.uid != v.uid {
			out = append(out, fmt.Sprintf("%s: was deleted and created again", v))
		}

		for _, key := range slices.Concat(slices.Sorted(maps.Keys(s.generated)), s.keys) {
			if v.data[key] == "" {
				out = append(out, fmt.Sprintf("%s: has no %s", v, key))
			}
		}
	})

	for _, versions := range l.exported {
		if last := versions[len(versions)-1]; last.event == "DELETED" {
			out = append(out, fmt.Sprintf("%s: is exported", last))
		}
	}

	l.eachGeneration(func(g []version) {
		for _, v := range g {
			if !maps.Equal(v.data, g[0].data) {
				out = append(out, fmt.Sprintf("%s: a generation changed", v))
			}
		}
	})

	return out
}

func counted(l lives) (out []string) {
	l.eachExport(func(v, before version, _ shape) {
		switch changed := !maps.Equal(v.data, before.data); {
		case before.uid != v.uid:
		case changed && v.changes <= before.changes:
			out = append(out, fmt.Sprintf("%s: the data changed, and the revision is %d after %d", v, v.changes, before.changes))
		case !changed && v.changes != before.changes:
			out = append(out, fmt.Sprintf("%s: the data is the same, and the revision is %d after %d", v, v.changes, before.changes))
		}
	})

	return out
}

func settled(l lives) (out []string) {
	if l.cut {
		return nil
	}

	current := map[string][]version{}
	for _, v := range l.final {
		if v.generator != "" {
			current[v.composite+" "+v.generator] = append(current[v.composite+" "+v.generator], v)
		}
	}

	for _, c := range l.composites {
		for _, g := range slices.Sorted(maps.Keys(l.generators)) {
			if n := len(current[c+" "+g]); n != 1 {
				out = append(out, fmt.Sprintf("%s: %d generations of %s", c, n, g))
			}
		}

		for _, name := range slices.Sorted(maps.Keys(l.exports)) {
			s := l.exports[name]

			i := slices.IndexFunc(l.final, func(v version) bool { return v.composite == c && v.export == name })
			if i < 0 {
				out = append(out, fmt.Sprintf("%s: there is no %s", c, name))
				continue
			}

			v := l.final[i]
			v.seen = l.seen + 1

			for _, key := range slices.Sorted(maps.Keys(s.generated)) {
				o := s.generated[key]
				if g := current[c+" "+o.generator]; len(g) == 1 && g[0].data[o.name] != v.data[key] {
					out = append(out, fmt.Sprintf("%s: %s is not of %s", v, key, g[0]))
				}
			}

			for _, key := range slices.Sorted(maps.Keys(s.former)) {
				if v.data[key] != "" {
					out = append(out, fmt.Sprintf("%s: %s is still there", v, key))
				}
			}

			if s.source != "" && s.moment(v.data) != l.asked(v, s.source) {
				out = append(out, fmt.Sprintf("%s: moment %d, and %d were written", v, s.moment(v.data), l.asked(v, s.source)))
			}
		}
	}

	return out
}

// judge checks a history. It returns the broken laws, and what broke them.
func (h *history) judge() map[string][]string {
	out := map[string][]string{}

	for _, h := range h.timelines() {
		l := h.lives()

		for name, law := range laws {
			if broken := law(l); len(broken) > 0 {
				out[name] = append(out[name], broken...)
			}
		}
	}

	return out
}

// The functions below check whether the values of an export belong together.

func wholeDigest(data map[string]string) error {
	sum := sha256.Sum256([]byte(data["password"]))
	if data["digest"] != hex.EncodeToString(sum[:]) {
		return errors.New("digest is of another password")
	}

	return nil
}

func wholeConnection(data map[string]string) error {
	if data["url"] != "postgres://admin:"+data["password"]+"@"+data["id"] {
		return errors.New("url is of another password or id")
	}

	return nil
}

func wholeTLS(data map[string]string) error {
	pair, err := tls.X509KeyPair([]byte(data["tls.crt"]), []byte(data["tls.key"]))
	if err != nil {
		return fmt.Errorf("certificate and key: %w", err)
	}

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(data["ca.crt"]))

	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "server.example.org"}); err != nil {
		return fmt.Errorf("certificate and CA: %w", err)
	}

	return nil
}

// moment returns the number in the name of the user. All keys of a source contain it.
func moment(data map[string]string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(data["user"], "user-"))
	return n
}

func wholeSource(data map[string]string) error {
	n := strconv.Itoa(moment(data))
	if data["user"] != "user-"+n || data["password"] != "password-"+n || data["both"] != "user-"+n+":password-"+n {
		return errors.New("user, password and both are of different moments")
	}

	return nil
}

// A story is an invented history of one composite.
type story struct {
	*history
	start time.Time
	last  map[string]version
}

func newStory() *story {
	return &story{
		start: time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC), last: map[string]version{},
		history: &history{
			composites: []string{"xr"}, grace: 3 * time.Second, generators: map[string]rotates{"admin": {}},
			exports: map[string]shape{
				"app": {
					generated: map[string]output{"password": {"admin", "password"}, "token": {"admin", "token"}}, former: map[string]output{"former": {"admin", "password"}},
					keys: []string{"digest"}, whole: wholeDigest,
				},
				"account": {keys: []string{"user", "password", "both"}, whole: wholeSource, source: "account", moment: moment},
			},
		},
	}
}

// write adds a version of a Secret, the given number of seconds after the start.
func (s *story) write(second int, v version) {
	v.composite, v.at, v.revision = "xr", s.start.Add(time.Duration(second)*time.Second), int64(len(s.versions)+1)
	v.uid = cmp.Or(v.uid, "uid-of-"+v.name)
	v.event = cmp.Or(v.event, "MODIFIED")

	if was := s.last[v.name]; v.changes == 0 {
		v.changes = was.changes
		if !maps.Equal(v.data, was.data) {
			v.changes++
		}
	}

	s.add(v)
	s.last[v.name] = v

	if v.event == "DELETED" {
		delete(s.last, v.name)
	}
}

// end ends the story, after the system has become stable.
func (s *story) end() { s.final = slices.Collect(maps.Values(s.last)) }

// generation of a state: stored, adopted, flagged so many seconds after the start.
func (s *story) generation(n int, adopted bool, flagged int) version {
	v := version{
		name: fmt.Sprintf("xr-admin-%d", n), generator: "admin", number: n, immutable: true, adopted: adopted,
		data: map[string]string{"password": fmt.Sprintf("p%d", n), "token": fmt.Sprintf("t%d", n)},
	}
	if flagged > 0 {
		v.flagged = s.start.Add(time.Duration(flagged) * time.Second)
	}

	return v
}

func app(n int, former string) version {
	sum := sha256.Sum256(fmt.Appendf(nil, "p%d", n))
	v := version{
		name: "xr-app", export: "app", generated: map[string]string{"admin": fmt.Sprintf("uid-of-xr-admin-%d", n)},
		data: map[string]string{"password": fmt.Sprintf("p%d", n), "token": fmt.Sprintf("t%d", n), "digest": hex.EncodeToString(sum[:])},
	}
	if former != "" {
		v.data["former"] = former
	}

	return v
}

func account(n int) version {
	return version{name: "xr-account", export: "account", data: map[string]string{
		"user": fmt.Sprintf("user-%d", n), "password": fmt.Sprintf("password-%d", n), "both": fmt.Sprintf("user-%d:password-%d", n, n),
	}}
}

// chapters are the parts of a correct story. A test replaces some of them.
func chapters() map[string]func(s *story) {
	return map[string]func(s *story){
		"01 stored":          func(s *story) { s.write(1, s.generation(1, false, 0)) },
		"02 adopted":         func(s *story) { s.write(2, s.generation(1, true, 0)) },
		"03 exported":        func(s *story) { s.write(3, app(1, "")) },
		"04 source":          func(s *story) { s.ask("xr", "account"); s.write(4, account(1)) },
		"05 asked":           func(s *story) { s.ask("xr", "admin") },
		"06 second stored":   func(s *story) { s.write(5, s.generation(2, false, 0)) },
		"07 second adopted":  func(s *story) { s.write(6, s.generation(2, true, 0)) },
		"08 second exported": func(s *story) { s.write(7, app(2, "p1")) },
		"09 flagged":         func(s *story) { s.write(8, s.generation(1, true, 8)) },
		"10 source changed":  func(s *story) { s.ask("xr", "account"); s.write(9, account(2)) },
		"11 grace is over":   func(s *story) { v := s.generation(1, true, 8); v.event = "DELETED"; s.write(12, v) },
		"12 former is gone":  func(s *story) { s.write(12, app(2, "")) },
	}
}

func tell(changes map[string]func(s *story)) *story {
	all, s := chapters(), newStory()
	maps.Copy(all, changes)

	for _, name := range slices.Sorted(maps.Keys(all)) {
		all[name](s)
	}

	s.end()

	return s
}

// TestFaultChecks breaks each law of TestFaults in invented histories.
func TestFaultChecks(t *testing.T) {
	type chapter = map[string]func(s *story)

	nothing := func(*story) {}
	with := func(v version, change func(v *version)) version { change(&v); return v }

	cases := map[string]struct {
		reason  string
		changes chapter
		want    []string // parts of the names of the broken laws
	}{
		"Honest": {reason: "nothing is broken in what is as it should be"},
		"TornValue": {
			reason: "a digest of another password is half of an update",
			changes: chapter{"08 second exported": func(s *story) {
				s.write(7, with(app(2, "p1"), func(v *version) { v.data["digest"] = app(1, "").data["digest"] }))
			}},
			want: []string{"of one moment"},
		},
		"TornGeneration": {
			reason: "two outputs of one generator are of two generations",
			changes: chapter{"08 second exported": func(s *story) {
				s.write(7, with(app(2, "p1"), func(v *version) { v.data["token"] = "t1" }))
				s.write(7, app(2, "p1"))
			}},
			want: []string{"of one moment"},
		},
		"TornSource": {
			reason: "user and password of a source are of two moments",
			changes: chapter{"10 source changed": func(s *story) {
				s.ask("xr", "account")
				s.write(9, with(account(2), func(v *version) { v.data["password"] = "password-1" }))
				s.write(9, account(2))
			}},
			want: []string{"of one moment"},
		},
		"WrongAnnotation": {
			reason: "the annotation says that the former generation is exported",
			changes: chapter{"08 second exported": func(s *story) {
				s.write(7, with(app(2, "p1"), func(v *version) { v.generated = app(1, "").generated }))
			}},
			want: []string{"of one moment"},
		},
		"ExportedBeforeItWasAdopted": {
			reason:  "the mark comes after the export",
			changes: chapter{"02 adopted": nothing, "03b adopted": func(s *story) { s.write(3, s.generation(1, true, 0)) }},
			want:    []string{"stored and adopted"},
		},
		"ExportedBeforeItWasStored": {
			reason: "the generation comes after the export",
			changes: chapter{
				"06 second stored": nothing, "07 second adopted": nothing,
				"08b stored": func(s *story) { s.write(7, s.generation(2, true, 0)) },
			},
			want: []string{"stored and adopted"},
		},
		"ExportedWhatIsNowhere": {
			reason: "a value that no generation has",
			changes: chapter{"03 exported": func(s *story) {
				s.write(3, with(app(7, ""), func(*version) {}))
				s.write(3, app(1, ""))
			}},
			want: []string{"stored and adopted"},
		},
		"Mutable": {
			reason: "a generation that can be edited",
			changes: chapter{
				"01 stored":  func(s *story) { s.write(1, with(s.generation(1, false, 0), func(v *version) { v.immutable = false })) },
				"02 adopted": func(s *story) { s.write(2, with(s.generation(1, true, 0), func(v *version) { v.immutable = false })) },
			},
			want: []string{"stored and adopted"},
		},
		"RotatedUnasked": {
			reason:  "nobody asked for the second generation",
			changes: chapter{"05 asked": nothing},
			want:    []string{"asked for"},
		},
		"RotatedBeforeItWasAsked": {
			reason:  "it was asked for only after it was made",
			changes: chapter{"05 asked": nothing, "09b asked": func(s *story) { s.ask("xr", "admin") }},
			want:    []string{"asked for"},
		},
		"SourceUnwritten": {
			reason: "nobody wrote what is exported",
			changes: chapter{"10 source changed": func(s *story) {
				s.write(9, account(2))
				s.ask("xr", "account")
			}},
			want: []string{"asked for"},
		},
		"BackToTheFormer": {
			reason: "the former value is exported again for a moment",
			changes: chapter{"08b back": func(s *story) {
				s.write(7, app(1, ""))
				s.write(7, app(2, "p1"))
			}},
			want: []string{"never goes back"},
		},
		"SourceBack": {
			reason: "a source of before is exported again for a moment",
			changes: chapter{"10b back": func(s *story) {
				s.write(9, account(1))
				s.write(9, account(2))
			}},
			want: []string{"never goes back"},
		},
		"NoFormer": {
			reason:  "the former value goes at once, and programs still have it",
			changes: chapter{"08 second exported": func(s *story) { s.write(7, app(2, "")) }},
			want:    []string{"never goes back"},
		},
		"FormerIsTheSame": {
			reason:  "the former value is the one in use",
			changes: chapter{"08 second exported": func(s *story) { s.write(7, app(2, "p2")) }},
			want:    []string{"never goes back"},
		},
		"DeletedInUse": {
			reason: "the generation is deleted before the export has another value",
			changes: chapter{
				"08 second exported": nothing, "09 flagged": nothing, "11 grace is over": nothing, "12 former is gone": nothing,
				"08a": func(s *story) { s.write(8, with(s.generation(1, true, 0), func(v *version) { v.event = "DELETED" })) },
				"08b": func(s *story) { s.write(9, app(2, "p1")); s.write(9, app(2, "")) },
			},
			want: []string{"while something exports it", "grace period"},
		},
		"FlaggedInUse": {
			reason: "the generation is flagged before the export has another value",
			changes: chapter{
				"08 second exported": func(s *story) { s.write(8, s.generation(1, true, 8)) },
				"09 flagged":         func(s *story) { s.write(8, app(2, "p1")) },
			},
			want: []string{"while something exports it"},
		},
		"GraceTooShort": {
			reason: "the generation is deleted a second early",
			changes: chapter{
				"11 grace is over": func(s *story) { s.write(10, with(s.generation(1, true, 8), func(v *version) { v.event = "DELETED" })) },
			},
			want: []string{"grace period"},
		},
		"ChangedWhilePaused": {
			reason: "Crossplane changes a Secret of a composite that it said is paused",
			changes: chapter{"09b paused": func(s *story) {
				s.paused = append(s.paused, pause{"xr", int64(len(s.versions)), s.start.Add(10 * time.Second)})
			}},
			want: []string{"is paused"},
		},
		"ChangedAfterAPause": {
			reason: "the changes before and after a pause are no changes in it",
			changes: chapter{"09b paused": func(s *story) {
				s.paused = append(s.paused, pause{"xr", int64(len(s.versions)), s.start.Add(9 * time.Second)})
			}},
		},
		"DeletedInUseByUsage": {
			reason: "a generation is deleted although a Usage protects it",
			changes: chapter{"09b protected": func(s *story) {
				s.protected = append(s.protected, protection{"uid-of-xr-admin-1", int64(len(s.versions)), s.start.Add(13 * time.Second)})
			}},
			want: []string{"a Usage protects it"},
		},
		"GraceTooShortByAWrongClock": {
			reason: "the grace period is measured with a clock that is ahead",
			changes: chapter{
				"09b clock":        func(s *story) { s.skew(s.start.Add(9*time.Second), s.start.Add(10*time.Second)) },
				"11 grace is over": func(s *story) { s.write(10, with(s.generation(1, true, 8), func(v *version) { v.event = "DELETED" })) },
			},
		},
		"GraceTooShortAfterAWrongClock": {
			reason: "the clock was right again before the generation was flagged",
			changes: chapter{
				"05b clock":        func(s *story) { s.skew(s.start.Add(4*time.Second), s.start.Add(5*time.Second)) },
				"11 grace is over": func(s *story) { s.write(10, with(s.generation(1, true, 8), func(v *version) { v.event = "DELETED" })) },
			},
			want: []string{"grace period"},
		},
		"NeverFlagged": {
			reason:  "the generation is deleted and was never flagged",
			changes: chapter{"09 flagged": nothing, "11 grace is over": func(s *story) { s.write(12, with(s.generation(1, true, 0), func(v *version) { v.event = "DELETED" })) }},
			want:    []string{"grace period"},
		},
		"GoneUnseen": {
			reason:  "the generation is not there in the end, and was never flagged",
			changes: chapter{"09 flagged": nothing, "11 grace is over": func(s *story) { delete(s.last, "xr-admin-1") }},
			want:    []string{"grace period"},
		},
		"KeyLost": {
			reason: "a key is gone for a moment",
			changes: chapter{"10b": func(s *story) {
				s.write(10, with(app(2, "p1"), func(v *version) { delete(v.data, "token") }))
			}},
			want: []string{"loses a key", "never goes back"},
		},
		"ChangeWithoutRevision": {
			reason: "programs that wait for another revision do not see the change",
			changes: chapter{"10 source changed": func(s *story) {
				s.ask("xr", "account")
				s.write(9, with(account(2), func(v *version) { v.changes = 1 }))
			}},
			want: []string{"revision of its own"},
		},
		"RevisionWithoutChange": {
			reason:  "programs restart and nothing has changed",
			changes: chapter{"10b again": func(s *story) { s.write(10, with(account(2), func(v *version) { v.changes = 3 })) }},
			want:    []string{"revision of its own"},
		},
		"DeletedExport": {
			reason: "an export is deleted and created again",
			changes: chapter{"10b": func(s *story) {
				s.write(10, with(account(2), func(v *version) { v.event = "DELETED" }))
				s.write(10, with(account(2), func(v *version) { v.uid = "another" }))
			}},
			want: []string{"loses a key"},
		},
		"ExportGone": {
			reason:  "an export is deleted",
			changes: chapter{"13": func(s *story) { s.write(13, with(account(2), func(v *version) { v.event = "DELETED" })) }},
			want:    []string{"loses a key", "in the end"},
		},
		"GenerationEdited": {
			reason: "a generation has another value than it was made with",
			changes: chapter{"07b": func(s *story) {
				s.write(7, with(s.generation(2, true, 0), func(v *version) { v.data["password"] = "p3" }))
				s.write(7, s.generation(2, true, 0))
			}},
			want: []string{"loses a key"},
		},
		"TwoGenerationsLeft": {
			reason:  "the former generation is never deleted",
			changes: chapter{"11 grace is over": nothing},
			want:    []string{"in the end"},
		},
		"OldValueLeft": {
			reason:  "what is exported is not what is stored",
			changes: chapter{"08 second exported": nothing, "09 flagged": nothing, "11 grace is over": nothing, "12 former is gone": nothing},
			want:    []string{"in the end"},
		},
		"FormerLeft": {
			reason:  "the former value is never taken away",
			changes: chapter{"12 former is gone": nothing},
			want:    []string{"in the end"},
		},
		"SourceBehind": {
			reason:  "what was written last is not exported",
			changes: chapter{"13": func(s *story) { s.ask("xr", "account") }},
			want:    []string{"in the end"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tell(tc.changes).judge()
			for law, broken := range got {
				if !slices.ContainsFunc(tc.want, func(words string) bool { return strings.Contains(law, words) }) {
					t.Errorf("%s: broke %q: %s", tc.reason, law, broken)
				}
			}

			for _, words := range tc.want {
				if !slices.ContainsFunc(slices.Collect(maps.Keys(got)), func(law string) bool { return strings.Contains(law, words) }) {
					t.Errorf("%s: did not break the law of %q", tc.reason, words)
				}
			}
		})
	}
}
