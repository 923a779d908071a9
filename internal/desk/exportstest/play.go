package exportstest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// mostCalls is how often Crossplane may call the functions in one moment.
const mostCalls = 20000

// A Failure says what differs from what a moment expects, or which law was broken. It never quotes a secret value,
// unless secrets are shown.
type Failure struct {
	Moment  int    `json:"moment"`  // its index, from 0
	Field   string `json:"field"`   // of the test, for example spec.tests[0].moments[1].expect.gone[0]
	Message string `json:"message"` // in one or more lines
	Line    int    `json:"line"`    // of the field in its file; the command that reads the file sets it

	// Edit makes the test expect what exists. It is nil if the failure is about something else than a value.
	Edit *diagnostic.Edit `json:"-"`

	law string // that is broken, and about what
}

// A Result is how a test ended.
type Result struct {
	Failures []Failure
	Elapsed  time.Duration // in the time of the test
}

// A Runner plays tests. Several goroutines may use it.
type Runner struct {
	engine pipeline.Engine
	seed   [32]byte
	mask   *masker
}

// NewRunner returns a runner. Without secrets, failures have the length and a label of a secret value.
func NewRunner(engine pipeline.Engine, seed [32]byte, showSecrets bool) *Runner {
	return &Runner{engine, seed, &masker{show: showSecrets}}
}

// Run plays the test at an index, until the first moment that fails. An error means that it cannot be played.
func (r *Runner) Run(ctx context.Context, t *ExportsTest, index int, setup *Setup) (*Result, error) {
	p := r.start(t, &t.Spec.Tests[index], fmt.Sprintf("spec.tests[%d]", index), setup)
	for i, v := range p.test.Always { // a law about an unknown generator would always hold
		l, _ := parseLaw(v)
		if err := p.knowsGenerator(l.generator); l.generator != "" && err != nil {
			p.failures = append(p.failures, Failure{Field: fmt.Sprintf("%s.always[%d]", p.at, i), Message: err.Error()})
		}
	}
	began := p.w.Now
	for i := range p.test.Moments {
		if err := p.play(ctx, i); err != nil {
			return nil, err
		}
		if len(p.failures) > 0 { // what follows would only fail because of it
			break
		}
	}
	if len(p.failures) == 0 {
		for _, name := range slices.Sorted(maps.Keys(p.faults.lose)) {
			p.fail("", "no write of %q is lost, because there is none%s", name, suggest.ThereAre(name, p.names(), ""))
		}
	}
	return &Result{p.failures, p.w.Now.Sub(began)}, nil
}

// A player plays one test.
type player struct {
	test    *Test
	at      string // the field of the test
	setup   *Setup
	options pipeline.Options // of other steps
	w       *pipeline.Simulation

	moment    int
	moments   []*snapshot
	unsettled bool // the last moment ended after one reconcile
	faults    faults
	laws      *lawbook
	mask      *masker
	secrets   map[string]bool // all values that were secret
	failures  []Failure
}

// faults are what goes wrong, or goes on.
type faults struct {
	paused    bool
	lose      map[string]bool // the next write of these composition resource names
	late      []string        // kinds
	providers []*provider
	reports   map[string]Observation // of objects that do not exist yet
	rotations int
}

// start starts a test at a field of the file, or one that is not in the file.
func (r *Runner) start(t *ExportsTest, test *Test, at string, setup *Setup) *player {
	p := &player{
		test: test, at: at, setup: setup, mask: r.mask, secrets: map[string]bool{},
		faults: faults{lose: map[string]bool{}},
	}
	recorded := map[string]map[string]any{}
	for name, step := range t.Spec.Steps {
		recorded[name] = step.Resources
	}
	p.w = r.engine.Simulate(setup.Cluster(test.timeOf(0)), r.seed)
	p.options = pipeline.Options{Others: setup.Functions, Recorded: recorded}
	p.w.Compose(setup.Pipeline, p.options)
	p.laws = newLawbook(test.Always, setup.Pipeline)
	p.w.Before = p.beforeWrite
	p.moments = []*snapshot{p.snapshot("")}
	return p
}

func (p *player) fail(field, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.failures = append(p.failures, Failure{Moment: p.moment, Field: p.field(field), Message: text})
}

// differs fails because of an expected value. The value is the one that exists.
func (p *player) differs(field string, action diagnostic.Action, value any, format string, args ...any) {
	p.fail(field, format, args...)
	last := &p.failures[len(p.failures)-1]
	last.Edit = &diagnostic.Edit{Path: last.Field, Action: action, Text: textOf(value)}
	if action == diagnostic.SetValue {
		last.Edit.Text = Inline(value)
	}
}

// field returns a field of the current moment.
func (p *player) field(below string) string {
	return strings.TrimSuffix(fmt.Sprintf("%s.moments[%d].%s", p.at, p.moment, below), ".")
}

// play plays a moment.
func (p *player) play(ctx context.Context, i int) error {
	m := &p.test.Moments[i]
	p.moment = i
	end := p.w.Now.Add(m.After.Duration)
	if !m.At.IsZero() {
		end = m.At.Time
	}
	if err := p.advance(ctx, end); err != nil {
		return err
	}
	composed, recomposed := p.setup.Later[i]
	if p.laws.mayGo = m.mayGo(recomposed); recomposed {
		p.w.Compose(composed, p.options)
		p.laws.exports = newExports(composed)
	}
	p.faults.reports = maps.Clone(m.Observe)
	for j := range m.Do {
		if err := p.do(&m.Do[j]); err != nil {
			p.fail(fmt.Sprintf("do[%d]", j), "%s", err)
		}
	}
	p.unsettled = m.Until == "Reconciled"
	if err := p.reconcile(ctx, p.unsettled); err != nil {
		return err
	}
	p.end(m)
	if m.Expect != nil {
		p.expect(ctx, m.Expect)
	}
	return nil
}

// end ends a moment: it keeps what exists, and fails if nothing has a name that the moment uses.
func (p *player) end(m *Moment) {
	for _, kind := range p.faults.late {
		p.w.CatchUp(kind)
	}
	p.faults.late = nil
	for j := range m.Do {
		if v := m.Do[j].Provider; v != nil && v.Resource != "" && !slices.Contains(p.names(), exportOf(v.Resource)) {
			_, err := p.find(v.Resource)
			p.fail(fmt.Sprintf("do[%d].provider.resource", j), "%s", err)
		}
	}
	p.observeAll() // of what the only reconcile has composed
	p.moments = append(p.moments, p.snapshot(m.Name))
	for _, name := range slices.Sorted(maps.Keys(p.faults.reports)) {
		_, err := p.find(name)
		reason := ": write it in inputs.observed or in steps, or run the other steps with --functions"
		if world.FatalOf(p.w.Response) != "" {
			reason = p.clean(p.now().why())
		}
		p.fail("observe."+name, "%s%s", err, reason)
	}
}

// mayGo returns what may go in a moment.
func (m *Moment) mayGo(recomposed bool) mayGo {
	edited := slices.ContainsFunc(m.Do, func(a Action) bool { return a.Edit != nil && a.Edit.Object == "" })
	for _, o := range m.Observe {
		edited = edited || o.Status != nil
	}
	return mayGo{items: edited || recomposed, keys: recomposed}
}

// advance plays what happens until a time: calls for which the function asks, and what providers do.
func (p *player) advance(ctx context.Context, end time.Time) error {
	if p.unsettled && end.After(p.w.Now) { // what the only reconcile of the moment changed starts the next one
		if err := p.reconcile(ctx, false); err != nil {
			return err
		}
	}
	for range mostCalls {
		next := end
		// After a fatal result, Crossplane tries again each minute. The function would answer the same.
		if p.w.Response != nil && world.FatalOf(p.w.Response) == "" && !p.faults.paused {
			next = earlier(p.w.Due(), next)
		}
		for _, provider := range p.faults.providers {
			next = earlier(provider.due(), next)
		}
		if !next.Before(end) {
			break
		}
		if next.After(p.w.Now) {
			p.w.Now = next
		}
		p.laws.check(p)
		if err := p.reconcile(ctx, false); err != nil {
			return err
		}
	}
	if end.After(p.w.Now) {
		p.w.Now = end
	}
	p.laws.check(p)
	return nil
}

// earlier returns the earlier of two times. Zero is no time.
func earlier(a, b time.Time) time.Time {
	if b.IsZero() || !a.IsZero() && a.Before(b) {
		return a
	}
	return b
}

// reconcile reconciles once, or until nothing changes.
func (p *player) reconcile(ctx context.Context, once bool) error {
	for range mostCalls {
		changed := p.provide()
		switch {
		case p.faults.paused:
			if !changed {
				return nil
			}
			continue
		case once:
			err := p.w.Reconcile(ctx, p.w.Listed...)
			p.laws.check(p)
			return p.invalid(err)
		}
		failed := len(p.failures)
		if err := p.invalid(p.w.Settle(ctx)); err != nil || len(p.failures) > failed {
			return err
		}
		if p.laws.check(p); !p.provide() {
			return nil
		}
	}
	return nil
}

// invalid makes an object that the API server refuses, or one that changes in each reconcile, a failure of the test.
// Another error ends the test.
func (p *player) invalid(err error) error {
	refused, unsettled := (*world.InvalidError)(nil), (*world.UnsettledError)(nil)
	switch {
	case errors.As(err, &refused):
		p.fail("", "the API server refuses an object: %s", refused)
	case errors.As(err, &unsettled):
		p.fail("", "%s: the moment never ends, unless it has until: Reconciled", unsettled)
	default:
		return err
	}
	return nil
}

// errLost is why a reconcile ends early.
var errLost = errors.New("the write is lost")

// beforeWrite is called before each write.
func (p *player) beforeWrite(w world.Write) error {
	if w.Verb == world.Applies && p.faults.lose[w.Name] {
		delete(p.faults.lose, w.Name)
		return errLost
	}
	p.laws.check(p)
	return nil
}
