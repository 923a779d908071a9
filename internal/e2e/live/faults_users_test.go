package live_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/laws"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// A source is an object that an export of a composite reads.
type source struct {
	composite, name, kind string

	mu   sync.Mutex
	n    int
	gone bool
}

// write writes the next values of a source.
func (w *world) write(ctx context.Context, s *source) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.gone || ctx.Err() != nil {
		return
	}

	s.n++
	w.Ask(s.composite, s.name)
	w.writes.Add(1)

	data := "data"
	if s.kind == "Secret" {
		data = "stringData"
	}

	w.insist(context.WithoutCancel(ctx), "write a source", func(ctx context.Context) error {
		return plane.Apply(ctx, fmt.Sprintf("{apiVersion: v1, kind: %s, metadata: {name: %s-%s-source, namespace: "+
			"faults}, %s: {user: user-%d, password: password-%d}}",
			s.kind, s.composite, s.name, data, s.n, s.n))
	})
}

// lose deletes a source, and writes its next values after some time.
func (w *world) lose(ctx context.Context, s *source, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.gone {
		return
	}

	s.gone = true

	w.insist(ctx, "delete a source", func(ctx context.Context) error {
		return plane.Delete(ctx, live.Ref{APIVersion: "v1", Kind: s.kind, Namespace: faultsNamespace,
			Name: s.composite + "-" + s.name + "-source"})
	})
	w.later(d, func() {
		s.mu.Lock()
		s.gone = false
		s.mu.Unlock()
		w.write(ctx, s)
	})
}

func (w *world) rewrite(ctx context.Context, rng *rand.Rand) {
	sources := slices.Sorted(maps.Keys(w.sources))

	for ctx.Err() == nil {
		w.write(ctx, w.sources[sources[rng.IntN(len(sources))]])
		time.Sleep(time.Duration(200+rng.IntN(800)) * time.Millisecond)
	}
}

// rotate repeatedly requests new generations of a composite.
func (w *world) rotate(ctx context.Context, rng *rand.Rand) {
	generators := slices.Sorted(maps.Keys(w.Generators))

	for ctx.Err() == nil {
		c := w.Composites[rng.IntN(len(w.Composites))]

		var some []string
		for _, i := range rng.Perm(len(generators))[:1+rng.IntN(3)] {
			some = append(some, generators[i])
		}

		w.request(ctx, c, some...)
		time.Sleep(time.Duration(200+rng.IntN(800)) * time.Millisecond)
	}
}

// request requests new generations of a composite with its annotation.
func (w *world) request(ctx context.Context, composite string, generators ...string) {
	w.requesting.Lock()
	defer w.requesting.Unlock()

	if w.requests[composite] == nil {
		w.requests[composite] = map[string]int{}
	}

	for _, g := range generators {
		w.Ask(composite, g)
		w.rotations.Add(1)

		w.requests[composite][g]++
	}

	var asks []string
	for _, g := range slices.Sorted(maps.Keys(w.requests[composite])) {
		asks = append(asks, fmt.Sprintf("%s=%d", g, w.requests[composite][g]))
	}

	w.insist(ctx, "ask for a rotation", func(ctx context.Context) error {
		return plane.Patch(
			ctx, compositeRef(composite),
			fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, laws.Annotations+"rotate", strings.Join(asks, ",")),
		)
	})
}
