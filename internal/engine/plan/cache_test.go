package plan_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

func input(t testing.TB, value string) wire.Struct {
	t.Helper()
	return wire.Of(plantest.Parse(t,
		plantest.Exports(fmt.Sprintf(`secrets: [{name: a, data: [{key: k, value: "%s"}]}]`, value))))
}

// A hundred who ask for the same input first get the same plan, of which all but
// one did not compile it.
func TestCacheCompilesOnce(t *testing.T) {
	c := plan.NewCache(plantest.Env)
	var (
		misses atomic.Int32
		plans  [100]*plan.Plan
		wait   sync.WaitGroup
	)
	begin := make(chan struct{})
	for i := range plans {
		in := input(t, "'v'")
		wait.Go(func() {
			<-begin
			p, _, hit := c.Get(in)
			plans[i] = p
			if !hit {
				misses.Add(1)
			}
		})
	}
	close(begin)
	wait.Wait()
	if n := misses.Load(); n != 1 {
		t.Errorf("Get(...): %d of 100 compiled the input, want 1", n)
	}
	for _, p := range plans {
		if p == nil || p != plans[0] {
			t.Fatal("Get(...): two plans, or none, of one input")
		}
	}
}

func TestCacheTellsInputsApart(t *testing.T) {
	c := plan.NewCache(plantest.Env)
	a, _, _ := c.Get(input(t, "'v'"))
	b, _, hit := c.Get(input(t, "'w'"))
	if hit || a == b {
		t.Error("Get(...): the plan of an input that differs in one byte")
	}
	if again, _, hit := c.Get(input(t, "'v'")); !hit || again != a {
		t.Error("Get(...): an input was compiled twice")
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := plan.NewCache(plantest.Env)
	for i := range limits.Plans + 1 {
		if _, _, hit := c.Get(input(t, fmt.Sprintf("'%d'", i))); hit {
			t.Fatalf("Get(...): hit of input %d, which is new", i)
		}
	}
	if _, _, hit := c.Get(input(t, "'1'")); !hit {
		t.Error("Get(...): an input that was used lately is gone")
	}
	if _, _, hit := c.Get(input(t, "'0'")); hit {
		t.Error("Get(...): the cache keeps too many inputs")
	}
}
