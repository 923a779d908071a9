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
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/function"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
)

// An Engine returns this function with a clock, and with randomness from a seed. Each result of a call is passed to
// seen before the call returns.
type Engine func(now func() time.Time, seed [32]byte, seen func(*reconcile.Result)) world.Function

// NewEngine returns an engine. All of its functions share the compiled inputs.
func NewEngine() (Engine, error) {
	shared, err := function.New(logging.NewNopLogger(), nil)
	if err != nil {
		return nil, err //nolint:wrapcheck // of this program
	}
	return func(now func() time.Time, seed [32]byte, seen func(*reconcile.Result)) world.Function {
		entropy := credential.Seeded{Reader: rand.NewChaCha8(seed)}
		return (&function.Function{
			Plans: shared.Plans, Log: shared.Log, Now: now, Entropy: func() io.Reader { return entropy }, Seen: seen,
		}).RunFunction
	}, nil
}

// A Recompose returns what the steps of other functions desire for a composite, by composition resource name, or nil if
// they are taken as they are composed now.
type Recompose func(ctx context.Context, c *state.Composite, p *Pipeline) (map[string]*structpb.Struct, error)

// A Rehearsal plays Compositions for the composites of a state. Several goroutines may use it.
type Rehearsal struct {
	State     *state.State
	Engine    Engine
	Now       time.Time
	Recompose Recompose // may be nil

	labels exportstest.Labels // of values
}

// An End is a simulation in which nothing changes anymore.
type End struct {
	*world.World

	Results  map[int]*reconcile.Result // the last ones, by the index of the step
	Required map[string]*fnv1.ResourceSelector
	Invalid  error // why the API server refuses an object

	composite *state.Composite
	unknown   *secrets
}

// Play plays a pipeline for a composite until nothing changes. The pipeline in use may be nil, if it is not known.
func (r *Rehearsal) Play(ctx context.Context, c *state.Composite, p, inUse *Pipeline) (*End, error) {
	return r.play(ctx, c, p, inUse, newSecrets(r.State, c, 0, p, inUse))
}

func (r *Rehearsal) play(ctx context.Context, c *state.Composite, p, inUse *Pipeline, unknown *secrets) (*End, error) {
	e := &End{World: r.State.World(c, r.Now, unknown), composite: c, unknown: unknown}
	if unknown.isReplayed() && inUse != nil { // begin with what the pipeline in use composes again
		if err := r.compose(ctx, e, inUse, inUse, "observed"); err != nil {
			return nil, err
		}
		e.Restart()
		e.Now = r.Now
		unknown.restoreAges(r.State, e)
	}
	return e, r.compose(ctx, e, p, inUse, "")
}

// compose settles a simulation with a pipeline.
func (r *Rehearsal) compose(ctx context.Context, e *End, p, inUse *Pipeline, phase string) error {
	var recomposed map[string]*structpb.Struct
	if r.Recompose != nil {
		var err error
		if recomposed, err = r.Recompose(ctx, e.composite, p); err != nil {
			return err
		}
	}
	e.Results, e.Required = map[int]*reconcile.Result{}, map[string]*fnv1.ResourceSelector{}
	seed := sha256.Sum256([]byte(phase + e.composite.Ref.String() + r.Now.String()))
	p.play(e.World, func(step int) world.Function {
		call := r.Engine(func() time.Time { return e.Now }, seed, func(result *reconcile.Result) {
			e.Results[step] = result
			e.unknown.see(result)
		})
		return func(ctx context.Context, req *fnv1.RunFunctionRequest) (rsp *fnv1.RunFunctionResponse, err error) {
			defer func() {
				if value := recover(); value != nil { // it may contain any part of the request
					err = fmt.Errorf("the function panicked with a %T", value)
				}
			}()
			delete(e.Results, step) // a fatal result has none
			rsp, err = call(ctx, req)
			maps.Copy(e.Required, rsp.GetRequirements().GetResources())
			return rsp, err //nolint:wrapcheck // of this program
		}
	}, inUse, recomposed)
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

// Due returns when the function acts although nothing has changed, or zero.
func (e *End) Due() (out time.Time) {
	for _, result := range e.Results {
		if d := result.Due; out.IsZero() || !d.IsZero() && d.Before(out) {
			out = d
		}
	}
	return out
}

// Effects returns what a changed pipeline would do to a composite, in a stable order. The pipeline in use may be nil:
// then the state is compared with what the changed one composes.
func (r *Rehearsal) Effects(ctx context.Context, c *state.Composite, changed, inUse *Pipeline) ([]Effect, error) {
	if c.Pinned != "" {
		return []Effect{{Effect: NotAffected, Reason: c.Pinned}}, nil
	}
	seen := newSecrets(r.State, c, 0, changed, inUse)
	out, err := r.compare(ctx, c, changed, inUse, seen)
	if err != nil || len(seen.asked) == 0 {
		return out, err
	}
	other, err := r.compare(ctx, c, changed, inUse, newSecrets(r.State, c, 1, changed, inUse))
	if err != nil {
		return nil, err
	}
	return seen.decide(out, other), nil
}

// compare plays both pipelines, and returns the differences of their ends.
func (r *Rehearsal) compare(ctx context.Context, c *state.Composite, changed, inUse *Pipeline, unknown *secrets) ([]Effect, error) {
	first := &End{World: r.State.World(c, r.Now, unknown), composite: c, unknown: unknown}
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
	slices.SortStableFunc(out, func(a, b Effect) int { return cmp.Or(a.order()-b.order(), cmp.Compare(a.same(), b.same())) })
	return out, nil
}
