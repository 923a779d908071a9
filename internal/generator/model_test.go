package generator_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

// The model: a small Crossplane, in which the machine goes through many histories.
// Whatever happens the laws hold (they are at the end of this file). Each history is
// made from its seed alone.

// histories of the test, unless MODEL_HISTORIES is another number. A hundred thousand
// take about half a minute of one processor.
const (
	histories      = 100_000
	shortHistories = 2_500
	shards         = 8
)

// midnight is when each history begins, and maxSkew how far a clock goes wrong.
var midnight = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

const maxSkew = 3 * time.Second

// A function is what answers Crossplane: the machine, and what is around it.
type function struct {
	next  func(want *generator.Desired, have []generator.Generation, now time.Time) generator.Step
	trust func(claims []generator.Claim, known generator.Known) generator.Trust
}

// machine is the function without a mistake.
func machine() function { return function{next: generator.Next, trust: generator.Trusted} }

// A setting says what may happen in a history.
type setting struct {
	// skew is the largest difference between the clock of a replica and the true time.
	skew time.Duration

	// lag is how old the composite may be that Crossplane has in its cache.
	lag time.Duration

	// crashes is how many of a hundred writes the reconcile does not survive.
	crashes int

	// fumbled says that people delete generations, or strip their annotations.
	fumbled bool

	// slow says that a generation is not ready at once, and that some never are.
	slow bool

	// cached says that the generations are resources that Crossplane reads from a cache,
	// and not Secrets, which it always reads from the API server. Some laws are weaker.
	cached bool

	// attacked says that somebody creates Secrets in the namespace, deletes generations,
	// creates them again, and edits their annotations.
	attacked bool
}

// A stored is a generation as the API server has it, and what is true of it.
type stored struct {
	generator.Generation

	uid   int  // of the object
	value int  // counts what was made, and stands for the data
	never bool // it becomes ready

	follows map[int]int // the values that its codes are keyed with, by UID
	created time.Time   // true time
	surplus bool        // its mark
	forged  bool        // by an attacker
	wasUsed bool        // an export had it
	back    bool        // Crossplane put it back, as another object

	// stripped and taken by people, and again made by Crossplane, since it was desired.
	wasReady, wasAdopted, replaced, stripped, taken, again bool

	mark    time.Time     // the flag that was stored, for
	marked  time.Duration // this grace period
	flagged time.Time     // true time of that
	grace   time.Duration // that was asked for then
	unheld  time.Time     // true time when an export let go of it
}

// An export is an exported Secret, and of which generation its value is. A held one
// waits for something else that it exports.
type export struct {
	held               bool
	number, value, uid int
	newest             int   // of all values that it ever had
	former             []int // UIDs
}

// A version of the composite: what is asked for, and which objects it lists.
type version struct {
	want generator.Desired
	gone bool // the generator is not in the input
	refs []int

	accepted map[int]bool // UIDs
	at       time.Time

	// How often something changed, up to here, that asks for a generation under each
	// policy, and under some.
	asked, edits int
}

// A found is a generation as it is seen in a call.
type found struct {
	*stored
	state   generator.Generation
	surplus bool
}

// A moment is how the generations were.
type moment struct {
	at     time.Time
	stored []found
}

// A cluster has one composite, which has one generator, whose value two Secrets export.
type cluster struct {
	setting
	fn  function
	rng *rand.Rand
	pcg *rand.PCG

	now      time.Time     // the true one
	called   time.Time     // when the function was called
	jumped   time.Duration // how far all clocks were put back
	versions []version
	seen     int // the version that was read last
	stored   []*stored
	past     []moment // of the stored
	seenPast int      // the moment that was read last
	exports  [2]export
	made     int // values
	uids     int
	names    int // made up

	impostors int       // reconciles that were paused
	disturbed bool      // somebody changed a generation in a way that is not supported
	known     bool      // an export had recorded a generation before this reconcile
	current   int       // the value that generated gave last
	basis     version   // of the generation that was made last
	madeAt    time.Time // the true one
	lost      bool      // there is a reason to make another one, beside what the composite asks for

	broken string
	log    *[]string
}

// An event in a history. Its seed decides everything that is random in it. A history without some
// of its events therefore also is a history.
type event struct {
	name string
	seed uint64
}

// happenings are what happens, and how often.
var happenings = []struct {
	name  string
	often int
	do    func(w *cluster)
}{
	{"reconcile", 45, (*cluster).reconcile},
	{"calm", 0, (*cluster).calm}, // a reconcile in which nothing goes wrong, to see whether that was the cause
	{"wait", 16, (*cluster).wait},
	{"ready", 10, (*cluster).readiness},
	{"rotate", 5, func(w *cluster) { n := w.name("rotation"); w.edit(func(v *version) { v.want.Rotation = n }) }},
	{"unrotate", 1, func(w *cluster) { w.edit(func(v *version) { v.want.Rotation = "" }) }},
	{"spec", 4, func(w *cluster) {
		n := w.name("spec")
		w.edit(func(v *version) { v.want.SpecHash, v.edits = n, v.edits+1 })
	}},
	{"keepers", 3, func(w *cluster) {
		k := pick(w.rng, "keepers", "other", "")
		w.edit(func(v *version) { v.want.KeepersHash, v.edits = k, v.edits+1 })
	}},
	{"kind", 2, func(w *cluster) {
		k := pick(w.rng, "password", "uuid")
		w.edit(func(v *version) { v.want.Kind, v.asked = k, v.asked+1 })
	}},
	{"policy", 3, func(w *cluster) {
		p := pick(w.rng, v1beta1.CreatedOnce, v1beta1.Periodic, v1beta1.OnChange)
		w.edit(func(v *version) { v.want.Policy, v.edits = p, v.edits+1 })
	}},
	{"grace", 2, func(w *cluster) {
		d := pick(w.rng, 0, time.Minute, 10*time.Minute)
		w.edit(func(v *version) { v.want.GracePeriod = d })
	}},
	{"interval", 1, func(w *cluster) {
		d := pick(w.rng, 5*time.Minute, time.Hour)
		w.edit(func(v *version) { v.want.Interval, v.edits = d, v.edits+1 })
	}},
	{"unknown", 2, func(w *cluster) { w.edit(func(v *version) { v.want.Unknown = !v.want.Unknown }) }},
	{"gone", 3, func(w *cluster) { w.edit(func(v *version) { v.gone, v.asked = !v.gone, v.asked+1 }) }},
	{"hold", 2, func(w *cluster) { e := &w.exports[w.rng.IntN(len(w.exports))]; e.held = !e.held }},
	{"jump", 2, func(w *cluster) { w.jumped += time.Duration(w.rng.IntN(3600)) * time.Second }},
	{"failover", 2, func(w *cluster) { // another process of Crossplane goes on, with a cache that may be older
		if !w.cached {
			w.seen = 0
		}
	}},
	{"fumble", 4, (*cluster).fumble},
	{"attack", 4, (*cluster).attack},
}

func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// TestModel looks for a history that breaks a law.
func TestModel(t *testing.T) {
	t.Parallel()
	n := proof.Count("MODEL_HISTORIES", shortHistories, histories)
	for shard := range uint64(shards) {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			fn := machine()
			for seed := shard; seed < n; seed += shards {
				if broken := run(fn, seed, history(seed), nil); broken != "" {
					t.Fatalf("seed %d: %s\n%s", seed, broken, shortest(fn, seed))
				}
			}
		})
	}
}

// A mistake that the machine, or the function around it, could make.
type mistake struct {
	law string // that tells
	fn  function
}

// before is a machine that sees something else than what there is.
func before(change func(want *generator.Desired, g *generator.Generation, now time.Time)) function {
	return function{trust: generator.Trusted, next: func(want *generator.Desired, have []generator.Generation, now time.Time) generator.Step {
		have = slices.Clone(have)
		for i := range have {
			change(want, &have[i], now)
		}
		return generator.Next(want, have, now)
	}}
}

// after is a machine that does something else than what it should.
func after(change func(s *generator.Step, want *generator.Desired, have []generator.Generation, now time.Time)) function {
	return function{trust: generator.Trusted, next: func(want *generator.Desired, have []generator.Generation, now time.Time) generator.Step {
		s := generator.Next(want, have, now)
		change(&s, want, have, now)
		return s
	}}
}

// believing is a machine that believes something else than what it sees.
func believing(change func(c *generator.Claim, known generator.Known)) function {
	return function{next: generator.Next, trust: func(claims []generator.Claim, known generator.Known) generator.Trust {
		claims = slices.Clone(claims)
		for i := range claims {
			change(&claims[i], known)
		}
		return generator.Trusted(claims, known)
	}}
}

func highest(have []generator.Generation) int {
	out := 0
	for _, g := range have {
		out = max(out, g.Number)
	}
	return out
}

// observed is how a generation of the step was observed.
func observed(have []generator.Generation, number int) generator.Generation {
	return have[slices.IndexFunc(have, func(g generator.Generation) bool { return g.Number == number })]
}

func mistakes() map[string]mistake {
	type (
		step = *generator.Step
		want = *generator.Desired
		gens = []generator.Generation
		gen  = *generator.Generation
	)
	drop := func(s step, which func(g generator.Generation) bool) { s.Keep = slices.DeleteFunc(s.Keep, which) }
	calls := 0
	return map[string]mistake{
		"ExportsPending": {"was never ready", after(func(s step, _ want, _ gens, _ time.Time) {
			s.Current = cmp.Or(s.Pending, s.Current)
		})},
		"ExportsBeforeItIsMarked": {"was not adopted", after(func(s step, _ want, _ gens, _ time.Time) {
			for _, g := range s.Keep {
				if g.Adopted && g.Flagged.IsZero() {
					s.Current = max(s.Current, g.Number)
				}
			}
		})},
		"AdoptsUnready": {"was never ready", before(func(_ want, g gen, _ time.Time) { g.Ready = true })},
		"NeedsReadyForEver": {"there is no current generation any more", after(func(s step, _ want, have gens, _ time.Time) {
			if s.Current > 0 && !observed(have, s.Current).Ready {
				s.Current = 0
			}
		})},
		"GoesBackWhileNotReady": {"is exported again", after(func(s step, _ want, have gens, _ time.Time) {
			if s.Previous > 0 && s.Current > 0 && !observed(have, s.Current).Ready {
				s.Current, s.Previous = s.Previous, 0
			}
		})},
		"ForgetsAdoption":       {"in the end", before(func(_ want, g gen, _ time.Time) { g.Adopted = false })},
		"ForgetsWhatIsExported": {"still exported", before(func(_ want, g gen, _ time.Time) { g.Exported = false })},
		"FlagsBeforeTheExport": {"after it was exported", after(func(s step, w want, _ gens, now time.Time) {
			for i := range s.Keep {
				if g := &s.Keep[i]; w != nil && g.Number < s.Current && g.Flagged.IsZero() {
					g.Flagged, g.GracePeriod, g.Exported = now, w.GracePeriod, false
				}
			}
		})},
		"DropsTheFormer": {"was not flagged", after(func(s step, _ want, _ gens, _ time.Time) {
			drop(s, func(g generator.Generation) bool { return g.Number < s.Current && !g.Exported })
			s.Previous = 0
		})},
		"DropsTheFormerThatIsExported": {"still exported", after(func(s step, _ want, _ gens, _ time.Time) {
			drop(s, func(g generator.Generation) bool { return g.Number < s.Current })
			s.Previous = 0
		})},
		"DropsWhenTheClockJumps": {"before its grace period", after(func(s step, _ want, have gens, now time.Time) {
			drop(s, func(g generator.Generation) bool { return observed(have, g.Number).Flagged.After(now.Add(time.Minute)) })
		})},
		"DropsWithoutGraceWhenGone": {"was not flagged", after(func(s step, w want, _ gens, _ time.Time) {
			if w == nil {
				drop(s, func(g generator.Generation) bool { return !g.Exported })
			}
		})},
		"DropsWhenGone": {"still exported", after(func(s step, w want, _ gens, _ time.Time) {
			if w == nil {
				*s = generator.Step{}
			}
		})},
		"CountsGraceByNow": {"after it was flagged", before(func(w want, g gen, _ time.Time) {
			if w != nil {
				g.GracePeriod = w.GracePeriod
			}
		})},
		"CountsGraceFromWhenItWasMade": {"after it was flagged", before(func(_ want, g gen, _ time.Time) {
			if !g.Flagged.IsZero() {
				g.Flagged = g.Made
			}
		})},
		"FlagsOnEachCall": {"nothing is due", before(func(_ want, g gen, now time.Time) {
			if !g.Flagged.IsZero() {
				g.Flagged = now
			}
		})},
		"NeverDrops": {"are left", after(func(s step, _ want, have gens, _ time.Time) {
			for _, g := range have {
				if !keeps(*s, g.Number) {
					s.Keep = append(s.Keep, g)
				}
			}
			slices.SortFunc(s.Keep, func(a, b generator.Generation) int { return a.Number - b.Number })
		})},
		"KeepsAllThatWait": {"wait to be adopted", after(func(s step, w want, have gens, _ time.Time) {
			for _, g := range have {
				if w != nil && !g.Adopted && !keeps(*s, g.Number) {
					s.Keep = append(s.Keep, g)
				}
			}
			slices.SortFunc(s.Keep, func(a, b generator.Generation) int { return a.Number - b.Number })
		})},
		"ReusesTheNumber": {"which is there", after(func(s step, _ want, have gens, _ time.Time) {
			s.Make = min(s.Make, max(1, highest(have)))
		})},
		"MakesOnePerTrigger": {"nobody asked", after(func(s step, w want, have gens, _ time.Time) {
			if w != nil && w.Rotation != "" && w.SpecHash != "spec" && s.Pending > 0 && !observed(have, s.Pending).Adopted {
				s.Make = highest(have) + 1
			}
		})},
		"MakesOneWhileItIsUnready": {"nobody asked", after(func(s step, w want, have gens, _ time.Time) {
			if w != nil && s.Current > 0 && !observed(have, s.Current).Ready {
				s.Make = highest(have) + 1
			}
		})},
		"CreatedOnceFollowsTheSpec": {"nobody asked", function{trust: generator.Trusted, next: func(w want, have gens, now time.Time) generator.Step {
			if w != nil && w.Policy != v1beta1.Periodic {
				w2 := *w
				w2.Policy, w = v1beta1.OnChange, &w2
			}
			return generator.Next(w, have, now)
		}}},
		"PeriodicIsImpatient": {"nobody asked", function{trust: generator.Trusted, next: func(w want, have gens, now time.Time) generator.Step {
			if w != nil {
				w2 := *w
				w2.Interval, w = w.Interval/2, &w2
			}
			return generator.Next(w, have, now)
		}}},
		"NeverMakesAnother": {"another was asked for", after(func(s step, _ want, have gens, _ time.Time) {
			if len(have) > 0 {
				s.Make = 0
			}
		})},
		"KeepsTheFlagOfOneThatIsBack": {"in the end", after(func(s step, w want, have gens, _ time.Time) {
			for i, g := range s.Keep {
				if o := observed(have, g.Number); w != nil && o.Retired {
					s.Keep[i].Flagged, s.Keep[i].Retired = o.Flagged, true
				}
			}
		})},
		"MistakesTheFormerForOneThatIsBack": {"had taken its place", before(func(_ want, g gen, _ time.Time) {
			g.Retired = g.Retired || !g.Flagged.IsZero()
		})},
		"GivesNoPrevious": {"there is no previous", after(func(s step, _ want, _ gens, _ time.Time) { s.Previous = 0 })},
		"GivesPreviousOfGone": {"that is gone gives", after(func(s step, w want, have gens, _ time.Time) {
			if w == nil {
				s.Previous = highest(have)
			}
		})},
		"GivesWhatNobodyHadAsPrevious": {"never adopted", before(func(_ want, g gen, _ time.Time) { g.Made = time.Time{} })},
		"ForgetsWhenItIsDue":           {"nothing is due", after(func(s step, _ want, _ gens, _ time.Time) { s.Due = time.Time{} })},
		"KeepsWhatIsNotThere": {"is not there", after(func(s step, _ want, have gens, _ time.Time) {
			s.Keep = append(s.Keep, generator.Generation{Number: highest(have) + 1, Adopted: true})
		})},
		"KeepsNotTheCurrent": {"is not kept", after(func(s step, _ want, _ gens, _ time.Time) {
			drop(s, func(g generator.Generation) bool { return g.Number == s.Current })
		})},
		"HasAMemory": {"two steps", after(func(s step, w want, _ gens, now time.Time) {
			if calls++; w != nil && calls%7 == 0 {
				s.Due = now
			}
		})},
		"ChangesItsInput": {"changed what it was given", function{trust: generator.Trusted, next: func(w want, have gens, now time.Time) generator.Step {
			for i := range have {
				have[i].Adopted = true
			}
			return generator.Next(w, have, now)
		}}},
		"BelievesWhatIsNotListed": {"forged", function{
			next:  before(func(_ want, g gen, _ time.Time) { g.Unlisted = false }).next,
			trust: believing(func(c *generator.Claim, _ generator.Known) { c.Listed = true }).trust,
		}},
		"BelievesEachCode": {"forged", believing(func(c *generator.Claim, _ generator.Known) {
			c.Proves = func(string) bool { return true }
		})},
		"BelievesTheNumber": {"forged", function{next: generator.Next, trust: func(claims []generator.Claim, known generator.Known) generator.Trust {
			t := generator.Trusted(claims, known)
			if t.Impostor != nil {
				t.Proven[t.Impostor.UID], t.Impostor = true, nil
			}
			return t
		}}},
	}
}

// TestModelFindsMistakes proves that the laws are no decoration: each is broken by a
// machine with a mistake, and the model finds a history that shows it.
func TestModelFindsMistakes(t *testing.T) {
	t.Parallel()
	for name, m := range mistakes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(20_000) {
				if broken := run(m.fn, seed, history(seed), nil); strings.Contains(broken, m.law) {
					t.Logf("seed %d: %s", seed, broken)
					return
				}
			}
			t.Errorf("no history breaks a law that says %q", m.law)
		})
	}
}

// history makes up what happens.
func history(seed uint64) []event {
	rng := rand.New(rand.NewPCG(seed, 1))
	total := 0
	for _, h := range happenings {
		total += h.often
	}
	out := make([]event, 32)
	for i := range out {
		n := rng.IntN(total)
		for _, h := range happenings {
			if n -= h.often; n < 0 {
				out[i] = event{h.name, rng.Uint64()}
				break
			}
		}
	}
	return out
}

// run a history, and give the law that it broke, or nothing.
func run(fn function, seed uint64, events []event, log *[]string) string {
	w := newCluster(fn, seed, log)
	for _, e := range events {
		w.pcg.Seed(e.seed, 2)
		for _, h := range happenings {
			if h.name == e.name {
				w.logf("%s", e.name)
				h.do(w)
			}
		}
		if w.broken != "" {
			return w.broken
		}
	}
	w.quiet()
	return w.broken
}

// shortest tells a history that breaks a law, without what does not matter.
func shortest(fn function, seed uint64) string {
	events := history(seed)
	law := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, s)[:min(len(s), 20)]
	}
	want := law(run(fn, seed, events, nil) + strings.Repeat(" ", 40))
	breaks := func(es []event) bool { return law(run(fn, seed, es, nil)+strings.Repeat(" ", 40)) == want }
	for smaller := true; smaller; {
		smaller = false
		for i := len(events) - 1; i >= 0; i-- {
			if less := slices.Delete(slices.Clone(events), i, i+1); breaks(less) {
				events, smaller = less, true
				continue
			}
			calm := slices.Clone(events)
			if calm[i].name = "calm"; events[i].name == "reconcile" && breaks(calm) {
				events, smaller = calm, true
			}
		}
	}
	var log []string
	run(fn, seed, events, &log)
	return strings.Join(log, "\n")
}

// newCluster is before the first reconcile.
func newCluster(fn function, seed uint64, log *[]string) *cluster {
	pcg := rand.NewPCG(seed, 0)
	w := &cluster{fn: fn, rng: rand.New(pcg), pcg: pcg, now: midnight, log: log}
	w.setting = setting{
		skew:    pick(w.rng, 0, 0, maxSkew),
		lag:     pick(w.rng, 0, 10*time.Second, 10*time.Minute),
		crashes: pick(w.rng, 0, 10, 25),
		fumbled: w.percent(30),
		slow:    w.percent(50),
		cached:  w.percent(40),
	}
	w.cached = w.cached && !w.fumbled
	w.attacked = !w.cached && w.percent(40)
	v := version{at: w.now, want: generator.Desired{
		Policy:      pick(w.rng, "", v1beta1.CreatedOnce, v1beta1.Periodic, v1beta1.OnChange),
		Interval:    pick(w.rng, 5*time.Minute, time.Hour),
		GracePeriod: pick(w.rng, 0, time.Minute, 10*time.Minute),
		Kind:        "password",
		SpecHash:    "spec",
		KeepersHash: "keepers",
	}}
	w.versions = []version{v}
	w.logf("%+v, policy %q, interval %s, grace period %s", w.setting, v.want.Policy, v.want.Interval, v.want.GracePeriod)
	return w
}

func (w *cluster) logf(format string, args ...any) {
	if w.log != nil {
		*w.log = append(*w.log, fmt.Sprintf("%8s ", w.now.Sub(midnight).Truncate(time.Second))+fmt.Sprintf(format, args...))
	}
}

// fail keeps the first law that was broken.
func (w *cluster) fail(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
		w.logf("BROKEN: %s", w.broken)
	}
}

// expect is fail for a law that does not hold of what is read from a cache.
func (w *cluster) expect(format string, args ...any) {
	if !w.cached {
		w.fail(format, args...)
	}
}

func (w *cluster) percent(n int) bool { return w.rng.IntN(100) < n }

func (w *cluster) name(what string) string {
	w.names++
	return what + "-" + strconv.Itoa(w.names)
}

func (w *cluster) latest() *version { return &w.versions[len(w.versions)-1] }

// edit the composite, which gives another version of it.
func (w *cluster) edit(change func(v *version)) {
	v := *w.latest()
	v.at = w.now
	change(&v)
	w.versions = append(w.versions, v)
}

func (w *cluster) find(number int) *stored {
	for _, s := range w.stored {
		if s.Number == number {
			return s
		}
	}
	return nil
}

func (w *cluster) has(value int) *stored {
	for _, s := range w.stored {
		if s.value == value {
			return s
		}
	}
	return nil
}

func (w *cluster) isExported(value int) bool {
	return slices.ContainsFunc(w.exports[:], func(e export) bool { return e.value == value })
}

func (w *cluster) remove(s *stored) {
	w.stored = slices.DeleteFunc(slices.Clone(w.stored), func(o *stored) bool { return o == s })
	w.changed()
}

// changed records the present state of the generations.
func (w *cluster) changed() {
	if w.cached {
		w.past = append(w.past, moment{w.now, w.live()})
	}
}

// live is what the API server would say.
func (w *cluster) live() []found {
	out := make([]found, len(w.stored))
	for i, s := range w.stored {
		out[i] = found{s, s.Generation, s.surplus}
	}
	return out
}

// What happens.

func (w *cluster) wait() {
	d := pick(w.rng, 10*time.Second, 2*time.Minute, 20*time.Minute, 3*time.Hour)
	d = time.Duration(w.rng.Int64N(int64(d)))
	w.now = w.now.Add(d)
	w.logf("waited %s", d)
}

// readiness of a generation changes.
func (w *cluster) readiness() {
	if len(w.stored) == 0 || !w.slow {
		return
	}
	if s := pick(w.rng, w.stored...); !s.never {
		s.Ready = !s.Ready
		s.wasReady = s.wasReady || s.Ready
		w.logf("%d is ready: %t", s.Number, s.Ready)
		w.changed()
	}
}

// fumble is what people should not do to a generation.
func (w *cluster) fumble() {
	if !w.fumbled || len(w.stored) == 0 {
		return
	}
	s := pick(w.rng, w.stored...)
	w.lost, w.disturbed = true, true
	if w.percent(50) {
		w.logf("deleted %d by hand", s.Number)
		s.taken = true
		w.remove(s)
		return
	}
	w.logf("stripped %d of its annotations", s.Number)
	s.Generation, s.stripped, s.follows = generator.Generation{Number: s.Number, Ready: s.Ready}, true, nil
}

func (w *cluster) calm() {
	s := w.setting
	w.skew, w.lag, w.crashes, w.seen, w.seenPast = 0, 0, 0, len(w.versions)-1, max(0, len(w.past)-1)
	w.reconcile()
	w.setting = s
}

// attack is what somebody can do who may create and delete Secrets and edit annotations,
// and may not edit the composite. Such a Secret looks like a generation in all that can be
// known without the values.
func (w *cluster) attack() {
	if !w.attacked {
		return
	}
	w.disturbed = true
	number := 1 + w.rng.IntN(max(1, w.highest())+2)
	if s := w.find(number); s != nil {
		if w.percent(30) {
			w.edited(s)
			return
		}
		s.taken = true
		w.logf("attack: deleted %d", number)
		w.remove(s)
	}
	w.made++
	w.uids++
	v := w.latest()
	g := generator.Generation{
		Number: number, Kind: v.want.Kind, Made: w.now, GracePeriod: v.want.GracePeriod, Adopted: w.percent(50), Ready: true,
		SpecHash: v.want.SpecHash, KeepersHash: v.want.KeepersHash, Rotation: v.want.Rotation,
	}
	s := &stored{Generation: g, uid: w.uids, value: -w.made, created: w.now, forged: true, wasReady: true, follows: map[int]int{}}
	for _, f := range w.stored {
		s.follows[f.uid] = math.MinInt // whatever it may be
	}
	w.logf("attack: created %d with value %d", number, s.value)
	w.stored = append(w.stored, s)
	w.lost = true
}

// edited is an object whose annotations somebody changed: its seal does not fit any more,
// so that whatever they say now is not believed.
func (w *cluster) edited(s *stored) {
	w.logf("attack: edited %d", s.Number)
	s.Generation, s.stripped, s.follows = generator.Generation{Number: s.Number, Ready: s.Ready}, true, nil
	w.lost = true
}

func (w *cluster) highest() int {
	out := 0
	for _, s := range w.stored {
		out = max(out, s.Number)
	}
	return out
}

// stale is how young an object is that the composite may not list yet because what was
// read of it is old.
const stale = 15 * time.Minute

// reconcile once, as Crossplane v2.4 does: what it reads may be old, it deletes first,
// then stores what the composite lists, then applies in any order.
func (w *cluster) reconcile() {
	v := w.read()
	have, known := w.observe(v)
	w.known = len(known.Recorded) > 0
	trust := w.fn.trust(w.claims(have), known)
	if trust.Impostor != nil && w.isYoung(trust.Impostor.UID, known, have) {
		w.logf("the composite may list more by now: nothing is changed")
		return
	}
	if trust.Impostor != nil {
		w.logf("%d is not the recorded one: nothing is changed", trust.Impostor.Number)
		w.impostors++
		w.apply(v, w.paused(have), have, w.now)
		return
	}
	if w.isStale(have, known, trust) {
		w.logf("the composite may list more by now: nothing is changed")
		return
	}
	for i, f := range have {
		have[i].state.Unproven = !trust.Proven[f.id()]
		have[i].surplus = f.surplus || have[i].state.Unproven && f.state.Unlisted && w.cached
	}
	judged := slices.DeleteFunc(slices.Clone(have), func(f found) bool {
		return f.surplus && !f.state.Unlisted || !f.surplus && f.state.Unproven && f.state.Unlisted
	})
	step, now := w.call(v, judged, have)
	if v.gone && len(step.Keep) < len(judged) {
		w.lost = true // if it is not gone at all another one will be made
	}
	w.apply(v, step, have, now)
}

// isStale reports whether nothing is known of a generator, and there is a young object
// that the composite does not list: it may be the first generation.
func (w *cluster) isStale(have []found, known generator.Known, trust generator.Trust) bool {
	return len(trust.Proven)+len(known.Recorded) == 0 && slices.ContainsFunc(have, func(f found) bool {
		return f.state.Unlisted && w.now.Before(f.created.Add(stale))
	})
}

// isYoung reports whether the recorded generation was just created.
func (w *cluster) isYoung(uid string, known generator.Known, have []found) bool {
	_, recorded := known.Recorded[uid]
	return recorded && slices.ContainsFunc(have, func(f found) bool { return f.id() == uid && w.now.Before(f.created.Add(stale)) })
}

// paused is the step while another object has the number of the generation in use.
func (w *cluster) paused(have []found) generator.Step {
	var s generator.Step
	for _, f := range have {
		if !f.state.Unlisted {
			s.Keep = append(s.Keep, f.state)
		}
	}
	return s
}

func (f found) id() string { return strconv.Itoa(f.uid) }

// claims are what the generations say, and what is known of them.
func (w *cluster) claims(have []found) []generator.Claim {
	out := make([]generator.Claim, len(have))
	for i, f := range have {
		out[i] = generator.Claim{
			Number: f.Number, UID: f.id(), Listed: !f.state.Unlisted,
			Whole:   !f.surplus && (!w.cached || !f.state.Unlisted || w.now.Before(f.created.Add(stale))),
			Adopted: f.state.Adopted, Flagged: !f.state.Flagged.IsZero() && !f.state.Retired, Lost: f.state.Made.IsZero(),
		}
		for uid := range f.follows {
			out[i].Follows = append(out[i].Follows, strconv.Itoa(uid))
		}
		if !w.cached {
			out[i].Proves = func(former string) bool {
				uid, err := strconv.Atoi(former)
				return err == nil && f.follows[uid] == w.valueOf(former, have)
			}
		}
	}
	return out
}

// valueOf a generation, or of what was exported of it.
func (w *cluster) valueOf(uid string, have []found) int {
	for _, f := range have {
		if f.id() == uid {
			return f.value
		}
	}
	for _, e := range w.exports {
		if strconv.Itoa(e.uid) == uid {
			return e.value
		}
	}
	return 0
}

// read the composite from the cache, in which nothing grows older.
func (w *cluster) read() version {
	w.seen = w.old(w.seen, len(w.versions), func(i int) time.Time { return w.versions[i].at })
	if late := len(w.versions) - 1 - w.seen; late > 0 {
		w.logf("sees the composite as it was %d versions ago, with %v", late, w.versions[w.seen].refs)
	}
	return w.versions[w.seen]
}

// old is one of n that is not older than the lag, nor than the one seen.
func (w *cluster) old(seen, n int, at func(i int) time.Time) int {
	oldest := n - 1
	for oldest > seen && at(oldest).After(w.now.Add(-w.lag)) {
		oldest--
	}
	if w.lag == 0 {
		return oldest
	}
	return oldest + w.rng.IntN(n-oldest)
}

// observe the generations. Crossplane looks twice for one that the composite lists, and
// the function looks up what has a recorded number, or one of the next ones.
func (w *cluster) observe(v version) ([]found, generator.Known) {
	all := w.live()
	if w.cached && len(w.past) > 0 {
		w.seenPast = w.old(w.seenPast, len(w.past), func(i int) time.Time { return w.past[i].at })
		all = slices.Clone(w.past[w.seenPast].stored)
		if late := len(w.past) - 1 - w.seenPast; late > 0 {
			w.logf("sees the generations as they were %d changes ago", late)
		}
	}
	for _, n := range v.refs {
		if s := w.find(n); s != nil && !slices.ContainsFunc(all, func(f found) bool { return f.Number == n }) {
			all = append(all, found{s, s.Generation, s.surplus})
		}
	}
	known := generator.Known{Recorded: map[string]int{}, Former: map[string]bool{}, Accepted: map[string]bool{}}
	for _, e := range w.exports {
		if e.uid != 0 {
			known.Recorded[strconv.Itoa(e.uid)] = e.number
		}
		for _, uid := range e.former {
			known.Former[strconv.Itoa(uid)] = true
		}
	}
	for uid := range v.accepted {
		known.Accepted[strconv.Itoa(uid)] = true
	}
	next := 1
	for _, n := range known.Recorded {
		next = max(next, n+1)
	}
	for _, n := range v.refs {
		if next = max(next, n); w.find(n) != nil {
			next = max(next, n+1)
		}
	}
	var have []found
	for _, f := range all {
		f.state.Unlisted = !slices.Contains(v.refs, f.Number)
		_, recorded := known.Recorded[f.id()]
		if !f.state.Unlisted || recorded || known.Former[f.id()] || slices.ContainsFunc(w.exports[:], func(e export) bool { return e.number == f.Number }) || f.Number >= next && f.Number < next+3 {
			f.state.Exported = recorded
			have = append(have, f)
		}
	}
	return have, known
}

// call the function, which any replica answers: the answer to the last call of a
// reconcile counts, so that the others are only seen by the laws.
func (w *cluster) call(v version, have, unlisted []found) (generator.Step, time.Time) {
	var want *generator.Desired
	if !v.gone {
		want = new(generator.Desired)
		if *want = v.want; want.Unknown {
			want.SpecHash, want.KeepersHash = "", ""
		}
		for _, e := range w.exports {
			want.Used = max(want.Used, e.number)
		}
		for _, n := range v.refs {
			want.Used = max(want.Used, n-1)
			w.lost = w.lost || w.find(n) == nil
		}
	}
	w.rng.Shuffle(len(have), func(i, j int) { have[i], have[j] = have[j], have[i] })
	gs := make([]generator.Generation, len(have))
	for i, f := range have {
		gs[i] = f.state
	}
	w.called = w.now
	now := w.now.Add(-w.jumped)
	if w.skew > 0 {
		now = now.Add(time.Duration(w.rng.Int64N(int64(2*w.skew))) - w.skew)
	}
	step := w.fn.next(want, gs, now)
	w.logf("step at %s: %s", now.Sub(midnight), describe(step))
	for i, f := range have {
		if gs[i] != f.state {
			w.fail("the step changed what it was given")
		}
	}
	slices.Reverse(gs)
	if again := w.fn.next(want, gs, now); !reflect.DeepEqual(step, again) {
		w.fail("the same generations gave two steps, the second: %s", describe(again))
	}
	w.checkDue(want, step, gs, now)
	w.checkStep(v, step, have)
	for range 3 { // a name that is taken is left alone
		if step.Make > 0 && slices.ContainsFunc(unlisted, func(f found) bool { return f.Number == step.Make }) {
			step.Make++
		}
	}
	return step, now
}

// apply what is desired, unless the reconcile is lost on the way.
func (w *cluster) apply(v version, step generator.Step, have []found, now time.Time) {
	var desired []int
	var writes []func()
	for _, g := range step.Keep {
		desired = append(desired, g.Number)
		if i := slices.IndexFunc(have, func(f found) bool { return f.Number == g.Number }); i >= 0 {
			writes = append(writes, func() { w.keep(have[i], g, v) })
		}
	}
	if step.Make > 0 {
		desired = append(desired, step.Make)
		follows := w.followed(have)
		writes = append(writes, func() { w.create(v, step.Make, now, follows) })
	}
	slices.Sort(desired)
	for i := range w.exports {
		writes = append(writes, func() { w.export(&w.exports[i], v, step.Current, have) })
	}
	for _, f := range have {
		if slices.Contains(v.refs, f.Number) && !slices.Contains(desired, f.Number) && !w.drop(f) {
			return
		}
	}
	if w.crash() {
		return
	}
	if !slices.Equal(w.latest().refs, desired) {
		w.edit(func(v *version) { v.refs = desired })
	}
	w.rng.Shuffle(len(writes), func(i, j int) { writes[i], writes[j] = writes[j], writes[i] })
	for _, write := range writes {
		if w.crash() {
			return
		}
		switch w.rng.IntN(200) { // time goes on
		case 0, 1, 2, 3, 4, 5, 6, 7, 8, 9:
			w.readiness()
		case 10, 11, 12, 13, 14, 15, 16, 17, 18, 19:
			w.now = w.now.Add(time.Duration(w.rng.IntN(3000)) * time.Millisecond)
		case 20:
			w.fumble()
		}
		write()
	}
}

func (w *cluster) crash() bool {
	if w.percent(w.crashes) {
		w.logf("the reconcile is lost")
		return true
	}
	return false
}

// drop deletes a generation that is not desired. It reports whether the reconcile goes
// on: it does not after a crash, nor if what was seen of the object is old.
func (w *cluster) drop(f found) bool {
	s := w.find(f.Number)
	if s != f.stored {
		return true
	}
	f.state.Exported, f.state.Unlisted, f.state.Unproven = false, false, false
	if f.state != s.Generation {
		w.logf("cannot delete %d: it has another resource version", f.Number)
		return false
	}
	if w.crash() {
		return false
	}
	w.logf("dropped %d", s.Number)
	w.checkDrop(s)
	w.remove(s)
	return true
}

// keep applies a generation with its state. Its data is known, so that one that is not
// there any more is made once more; of a resource it will be other data.
func (w *cluster) keep(f found, g generator.Generation, v version) {
	s := f.stored
	g.Exported, g.Unlisted, g.Unproven = false, false, false
	is := w.find(g.Number)
	switch {
	case is == nil && w.cached:
		w.made++
		w.uids++
		g.Ready = false
		w.stored = append(w.stored, &stored{Generation: g, uid: w.uids, value: w.made, again: true, never: s.never, created: w.now, surplus: f.surplus})
		w.logf("made %d again, with value %d", g.Number, w.made)
		w.changed()
		return
	case is == nil: // the same values, but it is another object
		w.logf("put %d back", g.Number)
		back := *s
		w.uids++
		back.uid, back.created, back.back = w.uids, w.now, true
		s = &back
		w.stored = append(w.stored, s)
	case is != s && !w.cached:
		w.logf("rejected: %d is immutable", g.Number)
		return
	default:
		s = is
	}
	if (g.Flagged != s.mark || g.GracePeriod != s.marked) && !g.Flagged.IsZero() {
		s.flagged, s.grace = w.called, v.want.GracePeriod
		if v.gone {
			s.grace = s.GracePeriod
		}
	}
	if s.mark, s.marked = g.Flagged, g.GracePeriod; g.Flagged.IsZero() {
		s.flagged = time.Time{}
	}
	if g.Adopted && !s.Adopted && !s.wasReady && !s.stripped {
		w.expect("%d is adopted, and was never ready", s.Number)
	}
	g.Ready = s.Ready
	s.Generation, s.surplus = g, f.surplus
	s.wasAdopted = s.wasAdopted || g.Adopted
	s.replaced = s.replaced || !g.Flagged.IsZero() && !g.Retired
	w.logf("kept %s", state(g))
	w.changed()
}

// followed are the values of the generations that there are, and of what was exported.
func (w *cluster) followed(have []found) map[int]int {
	out := map[int]int{}
	for _, e := range w.exports {
		if e.uid != 0 {
			out[e.uid] = e.value
		}
	}
	for _, f := range have {
		if !f.state.Unproven {
			out[f.uid] = f.value
		}
	}
	return out
}

// create stores a new generation, with new data.
func (w *cluster) create(v version, number int, now time.Time, follows map[int]int) {
	g := generator.Generation{
		Number: number, Kind: v.want.Kind, Made: now, GracePeriod: v.want.GracePeriod,
		SpecHash: v.want.SpecHash, KeepersHash: v.want.KeepersHash, Rotation: v.want.Rotation,
	}
	switch s := w.find(number); {
	case s != nil && w.cached:
		w.logf("wrote over %d", number)
		g.Ready = s.Ready
		s.Generation = g
		w.changed()
		return
	case s != nil:
		w.logf("rejected: %d is immutable", number)
		return
	}
	w.checkReason(v)
	w.made++
	w.uids++
	s := &stored{Generation: g, uid: w.uids, value: w.made, never: w.slow && w.percent(20), created: w.now, follows: follows}
	s.Ready = !w.slow || !s.never && w.percent(50)
	s.wasReady = s.Ready
	w.stored = append(w.stored, s)
	w.basis, w.madeAt, w.lost = v, w.now, false
	w.logf("made %d, with value %d, ready: %t", number, s.value, s.Ready)
	w.changed()
}

// export applies a Secret with the value of what is current.
func (w *cluster) export(e *export, v version, current int, have []found) {
	i := slices.IndexFunc(have, func(f found) bool { return f.Number == current })
	switch {
	case e.held || !v.gone && i < 0:
		return
	case v.gone:
		w.letGo(e)
		e.number, e.value, e.uid, e.former = 0, 0, 0, nil
		return
	}
	e.former = nil
	for _, f := range have {
		if f.Number < current && !f.state.Unproven {
			e.former = append(e.former, f.uid)
		}
	}
	if e.value == have[i].value {
		e.uid = have[i].uid
		return
	}
	w.logf("export value %d of %d, for %d", have[i].value, current, e.value)
	w.checkExport(e, have[i])
	w.letGo(e)
	e.number, e.value, e.uid, e.newest = current, have[i].value, have[i].uid, max(e.newest, have[i].value)
	have[i].wasUsed = true
}

func (w *cluster) letGo(e *export) {
	if s := w.has(e.value); s != nil {
		s.unheld = w.now
	}
}

// quiet lets all settle, with Crossplane well, and looks at what is left.
func (w *cluster) quiet() {
	w.logf("quiet from now on")
	w.setting = setting{slow: w.slow, cached: w.cached}
	for i := range w.exports {
		w.exports[i].held = false
	}
	w.edit(func(v *version) {
		v.want.Unknown = false
		if v.want.Policy == v1beta1.Periodic {
			v.want.Policy = v1beta1.CreatedOnce
		}
	})
	for range 4 {
		w.edit(func(v *version) { // the owner of the composite looks at the conflicts
			v.accepted = map[int]bool{}
			for _, s := range w.stored {
				v.accepted[s.uid] = !s.forged && slices.ContainsFunc(w.exports[:], func(e export) bool { return e.number == s.Number && e.uid != s.uid })
			}
			maps.DeleteFunc(v.accepted, func(_ int, ok bool) bool { return !ok })
		})
		for range 8 {
			w.expel()
			for _, s := range w.stored {
				s.Ready = !s.never
				s.wasReady = s.wasReady || s.Ready
			}
			w.changed()
			if w.calm(); w.broken != "" {
				return
			}
		}
		w.now = w.now.Add(24 * time.Hour)
		w.logf("waited a day")
	}
	w.checkEnd()
}

// expel what the conflicts name: people delete what was forged.
func (w *cluster) expel() {
	for _, s := range slices.Clone(w.stored) {
		if s.forged && slices.ContainsFunc(w.exports[:], func(e export) bool { return e.number == s.Number && e.uid != s.uid }) {
			w.logf("people delete the forged %d", s.Number)
			w.remove(s)
		}
	}
}

func describe(s generator.Step) string {
	var b strings.Builder
	for _, g := range s.Keep {
		fmt.Fprintf(&b, "keep %s, ", state(g))
	}
	if s.Make > 0 {
		fmt.Fprintf(&b, "make %d, ", s.Make)
	}
	fmt.Fprintf(&b, "current %d, previous %d, pending %d", s.Current, s.Previous, s.Pending)
	if !s.Due.IsZero() {
		fmt.Fprintf(&b, ", due %s", s.Due.Sub(midnight))
	}
	return b.String()
}

func state(g generator.Generation) string {
	out := strconv.Itoa(g.Number)
	add := func(is bool, word string) {
		if is {
			out += " " + word
		}
	}
	add(g.Adopted, "adopted")
	add(g.Ready, "ready")
	add(g.Exported, "exported")
	add(!g.Flagged.IsZero(), "flagged at "+g.Flagged.Sub(midnight).String())
	add(g.Retired, "retired")
	return out
}

func keeps(s generator.Step, number int) bool {
	return slices.ContainsFunc(s.Keep, func(g generator.Generation) bool { return g.Number == number })
}

// The laws.

// checkExport: the value of an export changes only to that of a generation that is
// stored, adopted and was ready, and never back. (Only if people take away the newer one
// an older one may be given again, unless the newer one had taken its place.)
func (w *cluster) checkExport(e *export, f found) {
	s, newest := f.stored, w.has(e.newest)
	switch {
	case s.forged && !s.wasUsed && (w.known || f.state.Unlisted):
		w.fail("the forged value %d is exported", s.value)
	case s.again || newest != nil && newest.again: // its data is new, whatever its number is
	case w.cached && e.value == 0: // the generator was gone, and what is seen may be from before
	case w.has(s.value) == nil && !s.taken:
		w.expect("value %d is exported, and not stored", s.value)
	case !s.wasReady:
		w.fail("value %d is exported, and was never ready", s.value)
	case !s.Adopted && !f.state.Adopted && !s.stripped:
		w.expect("value %d is exported, and was not adopted", s.value)
	case s.value < e.newest && newest != nil && !newest.stripped && !s.forged:
		w.fail("value %d is exported again, after %d", s.value, e.newest)
	case s.replaced && !s.stripped:
		w.expect("value %d is exported, and another one had taken its place", s.value)
	}
}

// checkDrop: nothing is deleted that is exported, and nothing that was in use before its
// grace period is over since it was flagged, and since it was exported.
func (w *cluster) checkDrop(s *stored) {
	early := func(since time.Time) bool { return w.now.Before(since.Add(s.grace - 2*maxSkew)) }
	switch {
	case w.isExported(s.value):
		w.fail("value %d of %d is dropped, and still exported", s.value, s.Number)
	case s.forged, s.again, !s.wasAdopted: // it was never in use
	case s.flagged.IsZero():
		w.expect("%d is dropped, and was not flagged", s.Number)
	case early(s.flagged):
		w.expect("%d is dropped %s after it was flagged, before its grace period of %s is over", s.Number, w.now.Sub(s.flagged), s.grace)
	case early(s.unheld):
		w.fail("%d is dropped %s after it was exported, before its grace period of %s is over", s.Number, w.now.Sub(s.unheld), s.grace)
	}
}

// checkReason: a generation is made because something asks for it since the last one
// was made, and however many do, one is made.
func (w *cluster) checkReason(v version) {
	policy := cmp.Or(v.want.Policy, v1beta1.CreatedOnce)
	switch {
	case w.made == 0, w.lost, w.disturbed, v.asked != w.basis.asked:
	case v.want.Rotation != "" && v.want.Rotation != w.basis.want.Rotation:
	case policy != v1beta1.CreatedOnce && v.edits != w.basis.edits:
	case v.want.SpecHash != w.basis.want.SpecHash && w.neverUsed(): // it may be replaced
	case policy == v1beta1.Periodic && !w.now.Before(w.madeAt.Add(v.want.Interval-2*maxSkew)):
	default:
		w.expect("a generation is made, and nobody asked for it")
	}
}

// neverUsed reports whether the generation that was made last was not adopted, ever.
func (w *cluster) neverUsed() bool {
	s := w.has(w.made)
	return s != nil && !s.wasAdopted
}

// checkStep: a step keeps what is there, once, and at most one that waits to be adopted.
// It makes none in the place of another. Current does not go back, nor away; previous is
// what was current, as long as that is kept.
func (w *cluster) checkStep(v version, step generator.Step, have []found) {
	get := func(n int) *stored {
		if i := slices.IndexFunc(have, func(f found) bool { return f.Number == n }); i >= 0 {
			return have[i].stored
		}
		return nil
	}
	waiting := 0
	for i, g := range step.Keep {
		s := get(g.Number)
		if s == nil || i > 0 && step.Keep[i-1].Number >= g.Number {
			w.fail("the step keeps %d, which is not there, or not in order", g.Number)
			return
		}
		if !g.Unlisted && !s.wasAdopted && g.Flagged.IsZero() && !g.Adopted && !s.stripped {
			waiting++
		}
	}
	cur := get(step.Current)
	switch {
	case waiting > 1:
		w.expect("the step keeps %d generations that wait to be adopted", waiting)
	case step.Make > 0 && get(step.Make) != nil:
		w.fail("the step makes %d, which is there", step.Make)
	case v.gone && (step.Make > 0 || step.Current > 0 || step.Pending > 0 || step.Previous > 0):
		w.fail("the step of a generator that is gone gives something")
	case step.Current > 0 && !keeps(step, step.Current):
		w.fail("current is %d, which is not kept", step.Current)
	case !v.gone:
		w.checkCurrent(cur, have)
		w.checkPrevious(step, cur, get)
	}
}

// checkDue: when nothing else is to do, time alone brings nothing before it is due.
func (w *cluster) checkDue(want *generator.Desired, step generator.Step, have []generator.Generation, now time.Time) {
	if step.Make > 0 || len(step.Keep) != len(have) {
		return
	}
	for _, g := range step.Keep {
		if !slices.Contains(have, g) {
			return
		}
	}
	until := now.AddDate(10, 0, 0)
	if !step.Due.IsZero() {
		until = step.Due.Add(-1)
	}
	if later := w.fn.next(want, have, until); until.Before(now) || later.Make > 0 || !slices.Equal(later.Keep, step.Keep) {
		w.fail("nothing is due before %s, and then: %s", until.Sub(midnight), describe(later))
	}
}

func (w *cluster) checkCurrent(cur *stored, have []found) {
	last := w.has(w.current)
	switch {
	case last == nil || last.stripped || w.attacked && !w.known:
	case slices.ContainsFunc(have, func(f found) bool { return f.value == w.current && f.state.Unlisted }): // it is waited for
	case slices.ContainsFunc(have, func(f found) bool { return f.state.Retired }): // it comes back in the next step
	case !last.Flagged.IsZero() && !w.isExported(last.value): // it was gone in between
	case cur == nil:
		w.expect("there is no current generation any more")
	case cur.value < w.current:
		w.expect("current is %d, after %d", cur.Number, last.Number)
	}
	if cur != nil {
		w.current = cur.value
	}
}

func (w *cluster) checkPrevious(step generator.Step, cur *stored, get func(int) *stored) {
	if step.Previous == 0 {
		for _, g := range step.Keep {
			if s := get(g.Number); s.wasAdopted && g.Adopted && !s.back && !s.stripped && !s.forged && cur != nil && g.Number < cur.Number {
				w.expect("there is no previous generation, and %d is in its grace period", g.Number)
			}
		}
		return
	}
	switch prev := get(step.Previous); {
	case prev == nil || !keeps(step, step.Previous) || cur != nil && step.Previous >= cur.Number:
		w.fail("previous is %d, which is not there, or not before %d", step.Previous, step.Current)
	case !prev.wasAdopted && !prev.stripped:
		w.expect("previous is %d, which was never adopted", step.Previous)
	}
}

// checkEnd: in the end there is one generation, and perhaps one that never gets ready.
// It is what was asked for, and exported. Of a generator that is gone none is left.
func (w *cluster) checkEnd() {
	v := w.latest()
	w.stored = slices.DeleteFunc(w.stored, func(s *stored) bool { // what is not listed is left alone
		return !slices.Contains(v.refs, s.Number) && (s.forged || !s.wasUsed)
	})
	slices.SortFunc(w.stored, func(a, b *stored) int { return a.Number - b.Number })
	var left []int
	for i, s := range w.stored {
		if i == 0 || !s.stripped || !s.never { // otherwise it is unknown whether it was in use
			left = append(left, s.Number)
		}
	}
	switch {
	case v.gone && len(left) > 0:
		w.fail("%v are left of a generator that is gone", left)
		return
	case v.gone:
		return
	case len(left) == 0:
		w.fail("there is no generation in the end")
		return
	}
	first, last := w.stored[0], w.stored[len(w.stored)-1]
	changed := func(is, was string) bool { return is != "" && was != "" && is != was }
	switch {
	case len(left) > 2, len(left) == 2 && last.wasReady:
		w.fail("%v are left in the end", left)
	case last.Kind != v.want.Kind, v.want.Rotation != "" && last.Rotation != v.want.Rotation,
		v.want.Policy == v1beta1.OnChange && (last.SpecHash != v.want.SpecHash || changed(v.want.KeepersHash, last.KeepersHash)):
		w.fail("%d is left in the end, and another was asked for", last.Number)
	}
	for i, e := range w.exports {
		if first.wasReady && e.value != first.value {
			w.fail("export %d has value %d in the end, not %d", i, e.value, first.value)
		}
	}
}
