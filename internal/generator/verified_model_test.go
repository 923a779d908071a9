package generator_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

// A second model: a database, and consumers that an export gives its password. With a single user, another export sets
// the password of the database. With alternating users, each generation is a user of its own. The database accepts a new
// password late or never, or forgets it. A reconcile can stop between any two writes.

// A nextFunc is generator.Next, or one with a mistake.
type nextFunc func(want *generator.Desired, have []generator.Generation, now time.Time) generator.Step

// A password is a stored generation, and what is true of it.
type password struct {
	generator.Generation
	marked, adopted bool // it ever was
	accepted        bool // by the database, ever
	user            bool // the database has this user, if users alternate

	offered  bool          // it was set, ever
	patience time.Duration // how long it was set while the composite was reconciled
	letGo    time.Time     // when an export stopped to have it, or zero
}

// number is 0 for nil.
func (p *password) number() int {
	if p == nil {
		return 0
	}
	return p.Number
}

// A rotated is a history of one generator.
type rotated struct {
	next nextFunc
	rng  *rand.Rand
	now  time.Time

	want    generator.Desired
	users   bool      // users alternate
	removed bool      // the generator is not in the input
	paused  time.Time // when the composite was paused; Crossplane keeps it until a reconcile ends
	resumed bool      // a reconcile began after the pause; it is not paused again before one ends
	window  *generator.Window

	stored   map[int]*password
	highest  int       // number that was ever used
	setter   *password // whose value the Secret of the setter has, or nil
	consumer *password

	database *password // that it accepts, or nil
	obeys    bool
	onlyOld  bool // it accepts only what it accepted before

	failed generator.Failure // the last one

	step   generator.Step // the last one
	broken []string
}

func newRotation(next nextFunc, seed uint64) *rotated {
	r := &rotated{
		next: next, rng: rand.New(rand.NewPCG(seed, 3)), now: midnight, stored: map[int]*password{}, obeys: true,
		users: seed%3 == 0,
	}
	r.want = generator.Desired{
		Policy: pick(r.rng, v1beta1.OnChange, v1beta1.Periodic), Interval: 3 * time.Hour, GracePeriod: pick(r.rng, 0, 20*time.Minute),
		Kind: "password", SpecHash: "s", AbandonAfter: 15 * time.Minute, Rotation: "r0", Verifies: true,
	}
	if r.want.Policy == v1beta1.Periodic && r.rng.IntN(2) == 0 {
		w, err := generator.ParseSchedule("0 */4 * * *", time.Hour)
		if err != nil {
			panic(err)
		}
		r.window, r.want.Window = w, w
	}
	return r
}

func (r *rotated) breaks(format string, args ...any) {
	r.broken = append(r.broken, fmt.Sprintf(format, args...))
}

// accepts reports whether the database accepts a password.
func (r *rotated) accepts(p *password) bool { return r.users && p.user || !r.users && r.database == p }

// advance lets time pass. While the composite is paused, the time does not count for pending generations.
func (r *rotated) advance(d time.Duration, paused bool) {
	r.now = r.now.Add(d)
	if !paused {
		r.wait(d)
	}
}

// wait counts time for pending generations, unless the generator is known to be removed.
func (r *rotated) wait(d time.Duration) {
	for _, p := range r.stored {
		if removed := p.Retired && !p.Flagged.IsZero(); p.offered && !removed {
			p.patience += d
		}
	}
}

// observe returns the generations as a reconcile sees them.
func (r *rotated) observe() []generator.Generation {
	var out []generator.Generation
	for _, n := range slices.Sorted(maps.Keys(r.stored)) {
		p := r.stored[n]
		g := p.Generation
		g.Ready = r.accepts(p) || g.Adopted
		g.Exported, g.Candidate, g.Offered = r.consumer == p, r.setter == p, r.setter == p || r.users
		out = append(out, g)
	}
	return out
}

// reconcile writes what a step wants, and stops after some writes.
func (r *rotated) reconcile(most int) {
	var want *generator.Desired
	if !r.removed {
		w := r.want
		w.PausedAt, w.Used, want = r.paused, r.consumer.number(), &w
	}
	step := r.next(want, r.observe(), r.now)
	r.step, r.resumed = step, true
	if want == nil && !r.paused.IsZero() { // a pause counts if the generator left the input in it
		r.wait(r.now.Sub(r.paused))
	}
	var writes []func()
	for _, number := range slices.Sorted(maps.Keys(r.stored)) {
		if !slices.ContainsFunc(step.Keep, func(g generator.Generation) bool { return g.Number == number }) {
			writes = append(writes, func() { r.remove(number) })
		}
	}
	for _, g := range step.Keep {
		writes = append(writes, func() { r.store(g) })
	}
	if step.Make > 0 {
		writes = append(writes, func() { r.create(step.Make) })
	}
	if want != nil && step.Candidate > 0 && !r.users {
		writes = append(writes, func() { r.set(r.stored[step.Candidate]) })
	}
	if want != nil && step.Current > 0 {
		writes = append(writes, func() { r.export(step.Current) })
	}
	if want == nil { // the exports left the input with it
		writes = append(writes, func() {
			r.set(nil)
			r.give(nil)
			r.highest = 0 // nothing records the number
		})
	}
	r.rng.Shuffle(len(writes), func(i, j int) { writes[i], writes[j] = writes[j], writes[i] })
	for _, write := range writes[:min(most, len(writes))] {
		write()
		r.checkConsumers()
	}
	if most >= len(writes) {
		r.paused = time.Time{}
	}
}

// set gives the export that sets the password a value.
func (r *rotated) set(p *password) {
	if was := r.setter; was != nil && was != p {
		was.letGo = r.now
	}
	if r.setter = p; p != nil {
		p.offered = true
	}
}

// give gives consumers a value.
func (r *rotated) give(p *password) {
	if was := r.consumer; was != nil && was != p {
		was.letGo = r.now
	}
	r.consumer = p
}

// checkConsumers checks that the database accepts what consumers have. With a single user, it accepts the value that is
// set before consumers have it.
func (r *rotated) checkConsumers() {
	if p := r.consumer; r.users && p != nil && !p.user {
		r.breaks("consumers have generation %d, and the database has no such user", p.Number)
	}
}

func (r *rotated) remove(number int) {
	p := r.stored[number]
	if p == r.consumer || p == r.setter {
		r.breaks("generation %d was deleted while an export had it", number)
	}
	if until := p.letGo.Add(r.want.GracePeriod); (p.marked || p.adopted) && r.now.Before(until) {
		r.breaks("generation %d was deleted in its grace period", number)
	}
	p.user = false
	delete(r.stored, number)
	if r.consumer == nil { // nothing is in use that records the number
		r.highest = slices.Max(append(slices.Collect(maps.Keys(r.stored)), 0))
	}
}

func (r *rotated) store(g generator.Generation) {
	p := r.stored[g.Number]
	if p == nil {
		return
	}
	g.Ready, g.Exported, g.Candidate, g.Offered = false, false, false, false
	if g.Abandoned && !p.marked {
		p.marked = true
		if !r.hasAdopted() {
			r.breaks("generation %d was abandoned, and there was none to go back to", g.Number)
		}
		if p.adopted {
			r.breaks("generation %d was abandoned after it was adopted", g.Number)
		}
		superseded := p.Rotation != r.want.Rotation || p.Number < r.failed.Number
		if p.patience < r.want.AbandonAfter && !superseded {
			r.breaks("generation %d was abandoned after it had only %s", g.Number, p.patience)
		}
	}
	if f := g.Failure; f.Number != p.Failure.Number {
		r.failed = f
	}
	if g.Adopted && !p.adopted { // it has no failures
		r.failed = generator.Failure{}
	}
	if g.Adopted && !p.adopted && p.marked {
		r.breaks("generation %d was adopted after it was abandoned", g.Number)
	}
	p.Generation, p.adopted = g, p.adopted || g.Adopted
}

func (r *rotated) create(number int) {
	if number <= r.highest && r.consumer != nil {
		r.breaks("number %d was used before", number)
	}
	r.highest = max(r.highest, number)
	w := r.want
	g := generator.Generation{
		Number: number, Kind: w.Kind, Made: r.now, SpecHash: w.SpecHash, Rotation: w.Rotation, GracePeriod: w.GracePeriod,
	}
	if r.consumer != nil && !r.requested() && r.window != nil && !r.window.Open(r.now) {
		r.breaks("generation %d was created outside of the window", number)
	}
	request := generator.Hash(w.Kind, w.SpecHash, "", w.Rotation)
	later := slices.ContainsFunc(slices.Collect(maps.Values(r.stored)), func(p *password) bool {
		return (p.marked || p.adopted) && p.Number > r.failed.Number
	})
	if f := r.failed; !later && f.Request == request && r.consumer != nil && r.now.Before(f.At.Add(time.Hour<<(f.Times-1))) {
		r.breaks("generation %d was created %s after the same request failed %d times", number, r.now.Sub(f.At), f.Times)
	}
	r.stored[number] = &password{Generation: g, offered: r.users}
}

// hasAdopted reports whether there is a generation to go back to.
func (r *rotated) hasAdopted() bool {
	for _, p := range r.stored {
		if p.Adopted {
			return true
		}
	}
	return false
}

// requested reports whether something other than time requests a generation.
func (r *rotated) requested() bool {
	for _, p := range r.stored {
		if p.Rotation != r.want.Rotation {
			return true
		}
	}
	return false
}

// export gives consumers the value of a generation.
func (r *rotated) export(number int) {
	p := r.stored[number]
	if p != nil && !p.accepted {
		r.breaks("consumers have generation %d, which was never ready", number)
	}
	if p != nil && p.marked && !p.adopted {
		r.breaks("consumers have generation %d, which was abandoned", number)
	}
	r.give(p)
}

// forget makes the database forget what it accepted. It keeps the users that consumers may have.
func (r *rotated) forget() {
	for _, n := range slices.Sorted(maps.Keys(r.stored)) {
		switch p := r.stored[n]; {
		case !p.accepted || r.rng.IntN(2) == 0:
		case !r.users:
			r.database = p // it has another password that it had before
		case !p.adopted:
			p.user = false
		}
	}
}

// provide sets the password of the database, or creates the users.
func (r *rotated) provide() {
	if r.users {
		for _, p := range r.stored {
			if r.obeys && (!r.onlyOld || p.accepted) {
				p.user, p.accepted = true, true
			}
		}
		return
	}
	p := r.setter
	if p == nil || !r.obeys || r.onlyOld && !p.accepted {
		return
	}
	r.database, p.accepted = p, true
}

// change changes something at random.
func (r *rotated) change() {
	switch r.rng.IntN(22) {
	case 0, 1:
		r.want.Rotation = fmt.Sprint("r", r.rng.IntN(3))
	case 2:
		r.obeys = !r.obeys
	case 3:
		r.onlyOld = !r.onlyOld
	case 4:
		r.forget()
	case 5:
		r.removed = !r.removed
	case 6:
		if r.paused.IsZero() {
			r.paused, r.resumed = r.now, false
		}
		r.advance(time.Duration(r.rng.IntN(120))*time.Minute, !r.resumed)
	case 7, 8:
		r.advance(time.Duration(r.rng.IntN(240))*time.Minute, false)
	case 9, 10, 11:
		r.advance(time.Duration(r.rng.IntN(20))*time.Minute, false)
	case 12, 13, 14, 15:
		r.provide()
	default:
		r.reconcile(r.rng.IntN(5))
	}
	r.advance(time.Second, false)
}

// calm lets everything work for two days: whenever something changes, and at the times that the steps ask for. Then the
// database, the setter and the consumers must agree.
func (r *rotated) calm(obeys bool) {
	r.removed, r.obeys, r.onlyOld, r.want.Policy = false, true, !obeys, v1beta1.OnChange
	quiet := 0 // several generations may be pending, one after the other
	for end := r.now.Add(48 * time.Hour); r.now.Before(end) && quiet < 3; {
		for range 8 {
			r.reconcile(100)
			r.provide()
			r.advance(time.Second, false)
		}
		if r.step.Due.IsZero() {
			quiet++
			continue
		}
		r.advance(max(r.step.Due.Sub(r.now), 0), false)
	}
	if r.consumer == nil && r.onlyOld {
		return // it never accepted a password
	}
	p := r.stored[r.step.Pending]
	switch waits := r.onlyOld && p != nil && !p.accepted && !p.marked && r.consumer != nil && r.accepts(r.consumer); {
	case waits && p.patience > r.want.AbandonAfter+time.Minute:
		r.breaks("in the end, generation %d is pending for %s", p.Number, p.patience)
	case waits: // the next try is pending
	case r.consumer == nil || !r.accepts(r.consumer) || !r.users && r.setter != r.consumer:
		r.breaks("in the end, the database has %d, the setter %d, and consumers %d", r.database.number(), r.setter.number(), r.consumer.number())
	case obeys && len(r.stored) != 1:
		r.breaks("in the end, there are %d generations", len(r.stored))
	}
}

// runRotation returns the laws that a history breaks.
func runRotation(next nextFunc, seed uint64) []string {
	r := newRotation(next, seed)
	for range 60 {
		r.change()
	}
	r.calm(r.rng.IntN(2) == 0)
	return r.broken
}

// TestVerifiedModel looks for a history with a database that breaks a law.
func TestVerifiedModel(t *testing.T) {
	t.Parallel()
	n := proof.Count("MODEL_HISTORIES", 800, 8000)
	for seed := range n {
		if broken := runRotation(generator.Next, seed); len(broken) > 0 {
			t.Fatalf("seed %d: %s", seed, strings.Join(broken, "; "))
		}
	}
}

// TestVerifiedModelFindsMistakes shows that each law can fail.
func TestVerifiedModelFindsMistakes(t *testing.T) {
	t.Parallel()
	type (
		step = *generator.Step
		gen  = *generator.Generation
	)
	before := func(change func(want *generator.Desired, g gen)) nextFunc {
		return func(want *generator.Desired, have []generator.Generation, now time.Time) generator.Step {
			have = slices.Clone(have)
			for i := range have {
				change(want, &have[i])
			}
			return generator.Next(want, have, now)
		}
	}
	after := func(change func(s step, have []generator.Generation, now time.Time)) nextFunc {
		return func(want *generator.Desired, have []generator.Generation, now time.Time) generator.Step {
			s := generator.Next(want, have, now)
			change(&s, have, now)
			return s
		}
	}
	wanted := func(change func(want *generator.Desired)) nextFunc {
		return func(want *generator.Desired, have []generator.Generation, now time.Time) generator.Step {
			if want != nil {
				w := *want
				change(&w)
				want = &w
			}
			return generator.Next(want, have, now)
		}
	}
	for name, m := range map[string]struct {
		law  string
		next nextFunc
	}{
		"Unverified":     {"never ready", before(func(_ *generator.Desired, g gen) { g.Ready = true })},
		"UnverifiedUser": {"no such user", before(func(_ *generator.Desired, g gen) { g.Ready = true })},
		"ForgetsTheMark": {"adopted after it was abandoned", before(func(_ *generator.Desired, g gen) {
			g.Abandoned, g.Failure = false, generator.Failure{}
		})},
		"MarksTheAdopted": {"abandoned after it was adopted", after(func(s step, _ []generator.Generation, _ time.Time) {
			for i, g := range s.Keep {
				s.Keep[i].Abandoned = g.Abandoned || g.Adopted && g.Number < s.Current
			}
		})},
		"UsesTheAbandoned": {"which was abandoned", after(func(s step, have []generator.Generation, _ time.Time) {
			for _, g := range have {
				if g.Abandoned && g.Ready {
					s.Current = g.Number
				}
			}
		})},
		"ForgetsTheFailure": {"the same request failed", before(func(_ *generator.Desired, g gen) { g.Failure.Request = "" })},
		"ForgetsTheNumber":  {"was used before", wanted(func(w *generator.Desired) { w.Verifies = false })},
		"KeepsNoCandidate":  {"while an export had it", before(func(_ *generator.Desired, g gen) { g.Candidate = false })},
		"NoGracePeriod": {"in its grace period", after(func(s step, _ []generator.Generation, _ time.Time) {
			s.Keep = slices.DeleteFunc(s.Keep, func(g generator.Generation) bool { return !g.Flagged.IsZero() && !g.Candidate && !g.Exported })
		})},
		"CountsThePause": {"after it had only", wanted(func(w *generator.Desired) { w.PausedAt = time.Time{} })},
		"CountsTheAbsence": {"after it had only", before(func(w *generator.Desired, g gen) {
			if w != nil && g.Retired && !g.OfferedAt.IsZero() {
				g.Flagged, g.Retired = time.Time{}, false
			}
		})},
		"NeverAbandons": {"is pending for", before(func(_ *generator.Desired, g gen) { g.OfferedAt = time.Time{} })},
		"NeverGoesBack": {"in the end, the database", after(func(s step, _ []generator.Generation, _ time.Time) {
			s.Candidate = max(s.Candidate, s.Abandoned)
		})},
		"NeverReady": {"in the end, the database", before(func(_ *generator.Desired, g gen) { g.Ready = false })},
		"DropsNothing": {"in the end, there are", after(func(s step, have []generator.Generation, _ time.Time) {
			for _, g := range have {
				if !slices.ContainsFunc(s.Keep, func(k generator.Generation) bool { return k.Number == g.Number }) {
					s.Keep = append(s.Keep, g)
				}
			}
		})},
		"AbandonsTheFirst": {"none to go back to", after(func(s step, _ []generator.Generation, now time.Time) {
			for i := range s.Keep {
				if at := s.Keep[i].OfferedAt; s.Current == 0 && !at.IsZero() && now.After(at.Add(15*time.Minute)) {
					s.Keep[i].Abandoned = true
				}
			}
		})},
		"NoWindow": {"outside of the window", wanted(func(w *generator.Desired) { w.Window = nil })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(4000) {
				if broken := strings.Join(runRotation(m.next, seed), "; "); strings.Contains(broken, m.law) {
					return
				}
			}
			t.Errorf("no history breaks a law that says %q", m.law)
		})
	}
}
