package expression_test

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
	"github.com/crossplane-contrib/function-export/internal/proof"
	"github.com/crossplane-contrib/function-export/internal/testdata/attack"
)

// The time and memory that an attack may use. The limits are far above what any attack uses on an
// idle machine, which the test logs. A failure therefore is a hole, not noise.
const (
	attackTime  = 10 * time.Second
	attackBytes = 256 << 20
)

// hostileObservation is the composite that the attacks read, and two Secrets of 1 MiB.
func hostileObservation(t testing.TB) *observation.Observation {
	t.Helper()
	return &observation.Observation{
		Composite: observation.Resource{
			Object:  wire.Of(attack.Composite()),
			Details: observation.Details{"a": []byte(strings.Repeat("a", 1<<20))},
		},
		Resources: map[string]observation.Resource{
			"db": {Object: object(t, "{}"), Details: observation.Details{"b": []byte(strings.Repeat("a", 1<<20))}},
		},
	}
}

// The law: whatever a composite author writes, and whatever the composite holds, an
// expression is refused, stopped or finished within bounded time and memory.
func TestAttacksEnd(t *testing.T) {
	o := hostileObservation(t)
	results := make([]spent, 0, 200)
	all := attack.Expressions(limits.ExpressionCharacters)
	for _, name := range proof.Part(slices.Sorted(maps.Keys(all)), 8) {
		text := all[name]
		t.Run(name, func(t *testing.T) {
			s := attackWith(t, o, text)
			s.name = name
			results = append(results, s)
			if s.time > attackTime || s.peak > attackBytes {
				t.Errorf("%s took %s and %d MiB", s.outcome, s.time, s.peak>>20)
			}
		})
	}
	slices.SortFunc(results, func(a, b spent) int { return int(b.time - a.time) })
	for _, s := range results {
		t.Logf(
			"%10s %6d MiB at once, %6d in all: %s: %s", s.time.Round(time.Millisecond), s.peak>>20, s.total>>20,
			s.name, s.outcome,
		)
	}
	slices.SortFunc(results, func(a, b spent) int { return int(b.peak) - int(a.peak) })
	for _, s := range results[:min(len(results), 10)] {
		t.Logf(
			"%10s %6d MiB at once, %6d in all: %s: %s", s.time.Round(time.Millisecond), s.peak>>20, s.total>>20,
			s.name, s.outcome,
		)
	}
}

// The cost of a call is never negative: otherwise, it would give fuel to all that follows.
func TestNegativeRangeGivesNoFuel(t *testing.T) {
	x, faults := env.Compile(expression.Source{
		Text: "lists.range(composite.x - 9000000000000000000).size() > 0 || true", Path: "here", Want: expression.WantAny,
	})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	o := &observation.Observation{Composite: observation.Resource{Object: object(t, `{"x": 0}`)}}
	b := budget.New(context.Background())
	before := b.Left()
	if _, err := x.Evaluate(context.Background(), o.Scope("", nil), b); err != nil || b.Left() >= before {
		t.Errorf("%v, and %d of %d is left, want less than before", err, b.Left(), before)
	}
}

// spent is what one attack took.
type spent struct {
	name, outcome string
	time          time.Duration
	peak, total   uint64
}

// attackWith compiles an expression, evaluates it, and converts what it gives.
func attackWith(t *testing.T, o *observation.Observation, text string) (s spent) {
	t.Helper()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	stop, peak := make(chan struct{}), atomic.Uint64{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), m.HeapAlloc))
			}
		}
	}()
	start := time.Now()
	s.outcome = outcomeOf(o, text)
	s.time = time.Since(start)
	close(stop)
	<-done
	runtime.ReadMemStats(&after)
	s.total = after.TotalAlloc - before.TotalAlloc
	if p := max(peak.Load(), after.HeapAlloc); p > before.HeapAlloc {
		s.peak = p - before.HeapAlloc
	}
	return s
}

func outcomeOf(o *observation.Observation, text string) string {
	x, faults := env.Compile(expression.Source{Text: text, Path: "here", Want: expression.WantAny})
	if len(faults) > 0 {
		return fmt.Sprintf("refused: %.80q", faults[0].Message)
	}
	v, err := x.Evaluate(context.Background(), o.Scope("", nil), budget.New(context.Background()))
	if err != nil {
		return fmt.Sprintf("stopped: %.100q", err.Error())
	}
	_, _, errText := x.Text(v, budget.New(context.Background()))
	_, _, errMap := x.TextMap(v, budget.New(context.Background()))
	if _, _, err := x.JSON(v, budget.New(context.Background())); err != nil {
		return fmt.Sprintf("finished, not converted: %.80q", err.Error())
	}
	return fmt.Sprintf("finished: %v %v", errText == nil, errMap == nil)
}
