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

// History returns a test with random failures. It depends only on the test, on its inputs, and on the seed. At most one
// thing happens in a moment, so that leaving out moments finds the shortest history.
func History(test *Test, setup *Setup, seed uint64) *Test {
	rng := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // it must be repeatable
	failures, waits := failuresOf(test, setup), waitsOf(setup)
	out := *test
	out.Moments = slices.Clone(test.Moments)
	for range 1 + rng.IntN(mostMoments) {
		m := failures[rng.IntN(len(failures))]
		m.After = Duration{waits[rng.IntN(len(waits))]}
		out.Moments = slices.Insert(out.Moments, 1+rng.IntN(len(out.Moments)), m)
	}
	return &out
}

// waitsOf returns how long a moment may take: times around those in the inputs of generators.
func waitsOf(setup *Setup) []time.Duration {
	out := []time.Duration{time.Second, time.Minute, time.Hour, 25 * time.Hour}
	generators := setup.generators()
	for _, name := range slices.Sorted(maps.Keys(generators)) {
		for _, field := range []string{"refreshInterval", "gracePeriod", "abandonAfter"} {
			text, _ := generators[name][field].(string)
			if d, err := time.ParseDuration(text); err == nil {
				out = append(out, d/2, d, d+d/10)
			}
		}
	}
	return out
}

// failuresOf returns what people, providers and failures may do in a moment.
func failuresOf(test *Test, setup *Setup) (out []Moment) {
	do := func(actions ...Action) {
		for _, a := range actions {
			out = append(out, Moment{Do: []Action{a}})
		}
	}
	yes, no := true, false
	do(Action{Restart: true}, Action{Pause: &yes}, Action{Pause: &no}, Action{Late: "ConfigMap"},
		Action{Late: "EnvironmentConfig"})
	for _, name := range slices.Sorted(maps.Keys(setup.generators())) {
		do(Action{Rotate: name}, Action{Rotate: name})
	}
	exports := newExports(setup.Pipeline)
	for _, name := range slices.Sorted(maps.Keys(exports)) {
		edited := map[string]any{}
		for key := range exports[name] {
			edited[key] = encode("edited")
		}
		edit := &Edit{Object: name, Patch: map[string]any{"data": edited}}
		do(Action{LoseWrite: name}, Action{Delete: name}, Action{Edit: edit})
	}
	reports := map[string]map[string]string{} // connection details, by resource
	for _, o := range setup.Observed {
		reports[o.Name] = map[string]string{}
		for k, v := range o.Details {
			reports[o.Name][k] = string(v)
		}
	}
	for _, m := range test.Moments {
		if m.Name != "" {
			do(Action{Restore: m.Name})
		}
		for _, a := range m.Do {
			if a.Provider != nil {
				accepts, refuses := *a.Provider, *a.Provider
				accepts.Refuses, refuses.Refuses = false, true
				do(Action{Provider: &accepts}, Action{Provider: &refuses})
			}
		}
		for name, o := range m.Observe {
			if len(o.ConnectionDetails) > 0 {
				reports[name] = o.ConnectionDetails
			}
		}
	}
	return append(out, vanishing(reports)...)
}

// vanishing returns that a source vanishes, that it lacks one of its connection details, or that it is back.
func vanishing(reports map[string]map[string]string) (out []Moment) {
	for _, name := range slices.Sorted(maps.Keys(reports)) {
		observe := func(o Observation) { out = append(out, Moment{Observe: map[string]Observation{name: o}}) }
		observe(Observation{Gone: true})
		observe(Observation{ConnectionDetails: reports[name]})
		for _, key := range slices.Sorted(maps.Keys(reports[name])) {
			some := maps.Clone(reports[name])
			delete(some, key)
			observe(Observation{ConnectionDetails: some})
		}
	}
	return out
}

// Breaks plays a history, and returns the first law that it breaks, or nil.
func (r *Runner) Breaks(ctx context.Context, t *ExportsTest, history *Test, setup *Setup) (*Failure, error) {
	p := r.start(t, history, "", setup)
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
func (r *Runner) Shrink(ctx context.Context, t *ExportsTest, best *Test, setup *Setup, found *Failure) (*Test,
	*Failure) {
	try := func(moments []Moment) bool {
		smaller := *best
		smaller.Moments = moments
		f, err := r.Breaks(ctx, t, &smaller, setup)
		if err != nil || f == nil || f.law != found.law {
			return false
		}
		best, found = &smaller, f
		return true
	}
	try(best.Moments[:found.Moment+1])
	for smaller := true; smaller && ctx.Err() == nil; {
		smaller = false
		for i := len(best.Moments) - 1; i >= 0; i-- {
			smaller = len(best.Moments) > 1 && (try(without(best.Moments, i, true)) || try(without(best.Moments, i, false))) ||
				len(best.Moments[i].Do)+len(best.Moments[i].Observe) > 0 && try(idle(best.Moments, i)) || smaller
		}
	}
	return best, found
}

// without returns the moments without one. The next one comes as late as before, or earlier.
func without(moments []Moment, i int, asLate bool) []Moment {
	out := slices.Delete(slices.Clone(moments), i, i+1)
	if asLate && i < len(out) {
		out[i].After.Duration += moments[i].After.Duration
	}
	return out
}

// idle returns the moments with one in which only time passes.
func idle(moments []Moment, i int) []Moment {
	out := slices.Clone(moments)
	out[i].Do, out[i].Observe = nil, nil
	return out
}

// Found returns an ExportsTest with a history, which fails until its Composition is corrected.
func (t *ExportsTest) Found(history *Test, seed uint64) *ExportsTest {
	out := *t
	test := *history
	test.Name = fmt.Sprintf("%s (found by --explore, seed %d)", strings.TrimSpace(history.Name), seed)
	out.Spec.Tests = []Test{test}
	return &out
}
