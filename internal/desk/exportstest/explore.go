package exportstest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
)

// A history of --explore has at most this many more moments than its test.
const mostMoments = 8

// Explored returns a copy of a test without expectations, to which failures are added. A test without laws gets those
// that need no parameter.
func (t *ExportsTest) Explored(index int) *Test {
	test := t.Spec.Tests[index]
	test.Moments = slices.Clone(test.Moments)
	for i := range test.Moments {
		m := &test.Moments[i]
		m.Expect = nil
		if i > 0 && !m.At.IsZero() { // moments are added before it
			m.After, m.At = Duration{m.At.Sub(t.Spec.Tests[index].timeOf(i - 1))}, Time{}
		}
	}
	if test.Always == nil {
		test.Always = []any{noLostValue, neverHalf, storedBeforeExport}
	}
	return &test
}

// firstDay is when a test begins that names no time.
var firstDay = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// timeOf returns when a moment is, if reconciles took no time.
func (t *Test) timeOf(moment int) time.Time {
	now := firstDay
	for _, m := range t.Moments[:moment+1] {
		if now = now.Add(m.After.Duration); !m.At.IsZero() {
			now = m.At.Time
		}
	}
	return now
}

// History returns a test with random failures. It depends only on the test, on its inputs, and on the seed.
func History(test *Test, setup *Setup, seed uint64) *Test {
	h := &history{rng: rand.New(rand.NewPCG(seed, 1)), test: test, setup: setup} //nolint:gosec // it must be repeatable
	out := *test
	out.Moments = slices.Clone(test.Moments)
	for range 1 + h.rng.IntN(mostMoments) {
		at := 1 + h.rng.IntN(len(out.Moments))
		out.Moments = slices.Insert(out.Moments, at, h.moment())
	}
	return &out
}

// A history draws what happens.
type history struct {
	rng   *rand.Rand
	test  *Test
	setup *Setup
}

func pick[T any](h *history, of []T) T { return of[h.rng.IntN(len(of))] }

// moment returns a moment in which at most one thing happens, so that leaving out moments finds the shortest history.
func (h *history) moment() Moment {
	m := Moment{After: Duration{pick(h, h.waits())}}
	if h.rng.IntN(3) == 0 {
		h.observe(&m)
	} else {
		m.Do = h.actions()
	}
	return m
}

// waits returns how long a moment may take: times around those in the inputs of generators.
func (h *history) waits() []time.Duration {
	out := []time.Duration{time.Second, time.Minute, time.Hour, 25 * time.Hour}
	generators := h.setup.generators()
	for _, name := range slices.Sorted(maps.Keys(generators)) {
		g := generators[name]
		for _, field := range []string{"refreshInterval", "gracePeriod", "abandonAfter"} {
			text, _ := g[field].(string)
			if d, err := time.ParseDuration(text); err == nil {
				out = append(out, d/2, d, d+d/10)
			}
		}
	}
	return out
}

// actions returns what people, providers or failures do: one action, or nothing.
func (h *history) actions() []Action {
	paused := h.rng.IntN(2) == 0
	possible := []Action{
		{Restart: true}, {Pause: &paused}, {Late: "ConfigMap"}, {Late: "EnvironmentConfig"},
	}
	for _, name := range slices.Sorted(maps.Keys(h.setup.generators())) {
		possible = append(possible, Action{Rotate: name}, Action{Rotate: name})
	}
	exports := newExports(h.setup.Pipeline)
	for _, name := range slices.Sorted(maps.Keys(exports)) {
		edited := map[string]any{}
		for key := range exports[name] {
			edited[key] = encode("edited")
		}
		possible = append(possible, Action{LoseWrite: name}, Action{Delete: name},
			Action{Edit: &Edit{Object: name, Patch: map[string]any{"data": edited}}})
	}
	for _, m := range h.test.Moments {
		if m.Name != "" {
			possible = append(possible, Action{Restore: m.Name})
		}
	}
	for _, p := range h.providers() {
		p.Refuses = h.rng.IntN(2) == 0
		possible = append(possible, Action{Provider: &p})
	}
	return []Action{pick(h, possible)}
}

// providers returns the providers of the test.
func (h *history) providers() (out []Provider) {
	for _, m := range h.test.Moments {
		for _, a := range m.Do {
			if a.Provider != nil {
				out = append(out, *a.Provider)
			}
		}
	}
	return out
}

// observe adds that a source vanishes, that it has only some of its connection details, or that it is back.
func (h *history) observe(m *Moment) {
	known := map[string]Observation{}
	for _, o := range h.setup.Observed {
		details := map[string]string{}
		for k, v := range o.Details {
			details[k] = string(v)
		}
		known[o.Name] = Observation{ConnectionDetails: details}
	}
	for _, other := range h.test.Moments {
		for name, o := range other.Observe {
			if len(o.ConnectionDetails) > 0 {
				known[name] = o
			}
		}
	}
	if len(known) == 0 {
		return
	}
	name := pick(h, slices.Sorted(maps.Keys(known)))
	o := known[name]
	switch h.rng.IntN(3) {
	case 0:
		o = Observation{Gone: true}
	case 1:
		if keys := slices.Sorted(maps.Keys(o.ConnectionDetails)); len(keys) > 0 {
			o.ConnectionDetails = maps.Clone(o.ConnectionDetails)
			delete(o.ConnectionDetails, pick(h, keys))
		}
	}
	m.Observe = map[string]Observation{name: o}
}

// Breaks plays a history, and returns the first law that it breaks, or nil.
func (r *Runner) Breaks(ctx context.Context, t *ExportsTest, history *Test, setup *Setup) (*Failure, error) {
	p := r.startOf(t, history, setup)
	for i := range history.Moments {
		if err := p.play(ctx, i); err != nil {
			return nil, err
		}
		if text := world.FatalOf(p.w.Response); i == 0 && text != "" {
			return nil, fmt.Errorf("cannot explore: %s", text)
		}
		for _, f := range p.failures {
			if f.law != "" {
				return &f, nil
			}
		}
	}
	return nil, nil //nolint:nilnil // no law is broken
}

// Shrink returns the shortest history found that breaks the same law: without moments that are not needed.
func (r *Runner) Shrink(ctx context.Context, t *ExportsTest, history *Test, setup *Setup, found *Failure) (*Test,
	*Failure) {
	best := history
	try := func(change func(moments []Moment) []Moment) bool {
		smaller := *best
		if smaller.Moments = change(slices.Clone(best.Moments)); len(smaller.Moments) == 0 {
			return false
		}
		f, err := r.Breaks(ctx, t, &smaller, setup)
		if err != nil || f == nil || f.law != found.law {
			return false
		}
		best, found = &smaller, f
		return true
	}
	try(func(moments []Moment) []Moment { return moments[:found.Moment+1] })
	for smaller := true; smaller && ctx.Err() == nil; {
		smaller = false
		for i := len(best.Moments) - 1; i >= 0; i-- {
			if i < len(best.Moments) {
				smaller = try(func(m []Moment) []Moment { return joined(m, i) }) || try(func(m []Moment) []Moment {
					return slices.Delete(m, i, i+1)
				}) || try(func(m []Moment) []Moment { return idle(m, i) }) || smaller
			}
		}
	}
	return best, found
}

// idle leaves only the time of a moment.
func idle(m []Moment, i int) []Moment {
	if len(m[i].Do)+len(m[i].Observe) == 0 {
		return nil
	}
	m[i].Do, m[i].Observe = nil, nil
	return m
}

// joined joins a moment with the one before it, if the later one has only a time.
func joined(m []Moment, i int) []Moment {
	if i == 0 || len(m[i].Do)+len(m[i].Observe) > 0 || !m[i].At.IsZero() || i+1 >= len(m) {
		return nil
	}
	m[i+1].After.Duration += m[i].After.Duration
	return slices.Delete(m, i, i+1)
}

// Found returns an ExportsTest with a history, which fails until its Composition is corrected.
func (t *ExportsTest) Found(history *Test, seed uint64) *ExportsTest {
	out := *t
	test := *history
	test.Name = fmt.Sprintf("%s (found by --explore, seed %d)", strings.TrimSpace(history.Name), seed)
	out.Spec.Tests = []Test{test}
	return &out
}
