// Package diff rehearses a changed Composition: for each composite that uses it, it plays what Crossplane would do with
// the Composition in use and with the changed one, from the same state, until nothing changes. The effects are the
// differences between the two ends.
//
// A rehearsal has its own clock and its own randomness, which are the same for both, so that equal values are equal. It
// contacts nothing, and no effect contains a value of a Secret.
package diff

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
)

// A Rehearsal plays Compositions for the composites of a state. Several goroutines may use it.
type Rehearsal struct {
	State  *state.State
	Engine pipeline.Engine
	Now    time.Time

	// Recompose returns what the steps of other functions desire for a composite, by composition resource name. If it is
	// nil, or returns nil, they desire what they compose now.
	Recompose func(ctx context.Context, c *state.Composite, p *Pipeline) (map[string]*structpb.Struct, error)

	labels exportstest.Labels // of values
}

// An End is a simulation in which nothing changes anymore.
type End struct {
	*pipeline.Simulation

	Invalid error // why the API server refuses an object

	composite *state.Composite
	unknown   *secrets
}

// Play plays a pipeline for a composite until nothing changes. The pipeline in use may be nil, if it is not known.
func (r *Rehearsal) Play(ctx context.Context, c *state.Composite, p, inUse *Pipeline) (*End, error) {
	return r.play(ctx, c, p, inUse, newSecrets(r.State, c, 0, p, inUse))
}

func (r *Rehearsal) play(ctx context.Context, c *state.Composite, p, inUse *Pipeline, unknown *secrets) (*End, error) {
	e := r.begin(c, "observed", unknown)
	if unknown.isReplayed() && inUse != nil { // begin with what the pipeline in use composes again
		if err := r.compose(ctx, e, inUse, inUse); err != nil {
			return nil, err
		}
		e.Restart()
		e.Now = r.Now
		unknown.restoreAges(r.State, e)
	}
	e.Simulation = r.simulate(c, "", e.World)
	return e, r.compose(ctx, e, p, inUse)
}

// begin returns a simulation as it is now.
func (r *Rehearsal) begin(c *state.Composite, phase string, unknown *secrets) *End {
	return &End{Simulation: r.simulate(c, phase, r.State.World(c, r.Now, unknown)), composite: c, unknown: unknown}
}

func (r *Rehearsal) simulate(c *state.Composite, phase string, w *world.World) *pipeline.Simulation {
	return r.Engine.Simulate(w, sha256.Sum256([]byte(phase+c.Ref.String()+r.Now.String())))
}

// compose settles a simulation with a pipeline.
func (r *Rehearsal) compose(ctx context.Context, e *End, p, inUse *Pipeline) (err error) {
	o := pipeline.Options{Environment: true, Seen: e.unknown.see}
	if inUse != nil {
		o.InUse = inUse.Pipeline
	}
	if r.Recompose != nil {
		if o.Recomputed, err = r.Recompose(ctx, e.composite, p); err != nil {
			return err
		}
	}
	e.Compose(p.Pipeline, o)
	return e.Settle(ctx)
}

// Unknown returns the Secrets that have other values in the simulation, because theirs are unknown.
func (e *End) Unknown() []string { return slices.Sorted(maps.Keys(e.unknown.asked)) }

// Settle plays until nothing changes. An object that the API server refuses is no error, but an end.
func (e *End) Settle(ctx context.Context) error {
	err := e.World.Settle(ctx)
	e.Invalid = nil
	if refused := (*world.InvalidError)(nil); errors.As(err, &refused) {
		e.Invalid, err = refused, nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.composite.Ref, err)
	}
	return ctx.Err() //nolint:wrapcheck // the context's own
}

// Effects returns what a changed pipeline would do to a composite, in a stable order. The pipeline in use may be nil:
// then the state is compared with what the changed one composes.
func (r *Rehearsal) Effects(ctx context.Context, c *state.Composite, changed, inUse *Pipeline) ([]Effect, error) {
	if c.Pinned != "" {
		return []Effect{{Kind: NotAffected, Reason: c.Pinned}}, nil
	}
	seen := newSecrets(r.State, c, 0, changed, inUse)
	out, err := r.compare(ctx, c, changed, inUse, seen)
	if err != nil || len(seen.asked) == 0 {
		return grouped(out), err
	}
	other, err := r.compare(ctx, c, changed, inUse, newSecrets(r.State, c, 1, changed, inUse))
	if err != nil {
		return nil, err
	}
	return grouped(seen.decide(out, other)), nil
}

// compare plays both pipelines, and returns the differences of their ends.
func (r *Rehearsal) compare(ctx context.Context, c *state.Composite, changed, inUse *Pipeline, unknown *secrets) (
	[]Effect, error) {
	first := r.begin(c, "", unknown)
	before := first
	if inUse != nil {
		var err error
		if before, err = r.play(ctx, c, inUse, inUse, unknown); err != nil {
			return nil, err
		}
	}
	after, err := r.play(ctx, c, changed, inUse, unknown)
	if err != nil {
		return nil, err
	}
	d := &comparison{
		state: r.State, labels: &r.labels, first: first.World, before: newSide(before, inUse), after: newSide(after, changed),
		composite: c,
	}
	out := d.run()
	later, err := d.laterRotations(ctx)
	if err != nil {
		return nil, err
	}
	out = append(out, later...)
	slices.SortStableFunc(out, func(a, b Effect) int { return cmp.Compare(a.same(), b.same()) })
	return out, nil
}

// A Pipeline is the pipeline of a Composition, or of a revision of it. Several goroutines may use it.
type Pipeline struct {
	*pipeline.Pipeline

	secretKeys []string       // names that may be keys of Secrets in expressions
	Object     map[string]any // as it was read
}

// NewPipeline reads a Composition, or a revision of one.
func NewPipeline(c map[string]any) (*Pipeline, error) {
	read, err := composition.Read(c)
	if err != nil {
		return nil, err
	}
	out := &Pipeline{Pipeline: pipeline.New(read), Object: c}
	for _, input := range out.Exports() {
		out.secretKeys = append(out.secretKeys, secretKeys(input)...)
	}
	return out, nil
}

// OthersOnly returns a Composition with the steps of other functions, or nil if there are none.
func (p *Pipeline) OthersOnly() map[string]any {
	spec, _ := p.Object["spec"].(map[string]any)
	steps, _ := spec["pipeline"].([]any)
	var others []any
	for i, s := range p.Steps {
		if !pipeline.IsExports(s) {
			others = append(others, steps[i])
		}
	}
	if len(others) == 0 {
		return nil
	}
	spec = maps.Clone(spec)
	spec["pipeline"] = others
	return map[string]any{
		"apiVersion": composition.Group + "/v1", "kind": composition.Kind, "metadata": map[string]any{"name": "others"},
		"spec": spec,
	}
}

// Others returns the names of the steps of other functions whose inputs differ in two pipelines.
func (p *Pipeline) Others(before *Pipeline) []string {
	inputs := func(p *Pipeline) map[string]string {
		out := map[string]string{}
		for _, s := range p.Steps {
			if !pipeline.IsExports(s) && s.Environment == nil {
				out[s.Name] = exportstest.Inline(s.Input)
			}
		}
		return out
	}
	is, was := inputs(p), inputs(before)
	return slices.DeleteFunc(names(was, is), func(step string) bool { return was[step] == is[step] })
}
