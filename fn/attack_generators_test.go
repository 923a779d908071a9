package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/proof"
	"github.com/crossplane-contrib/function-export/internal/testdata/attack"
)

// Generations that are too much work for one request, or too large for one response, are created in several requests.
// Each one stays within the limits of a request, and no response is refused.
func TestGenerationsArePaidFor(t *testing.T) {
	const reconciles = 18
	all := attack.Generators()
	for _, name := range proof.Part(slices.Sorted(maps.Keys(all)), 2) {
		a := all[name]
		t.Run(name, func(t *testing.T) {
			s := serveAttacked(t)
			s.rest(t)
			c := generatingPlane(t, a)
			c.Client = s.client
			before, stored := 0, 0
			for i := range reconciles {
				cpu := s.cpu(t)
				c.Reconcile()
				cost := attackCost{name: fmt.Sprint(name, " ", i), cpu: s.cpu(t) - cpu, memory: s.status(t, "VmHWM") - s.resting}
				size := proto.Size(c.Response)
				if fatal := world.FatalOf(c.Response); fatal != "" || size > limits.ResponseBytes {
					t.Fatalf("reconcile %d: a response of %d KiB, fatal %q", i, size>>10, fatal)
				}
				if cost.cpu > requestCPU || cost.memory > requestMemory {
					t.Errorf("reconcile %d: want at most %s and %d MiB, got %s", i, requestCPU, requestMemory>>20, cost)
				}
				made := len(c.Stored)
				if i < a.Reconciles && made <= before {
					t.Errorf("reconcile %d creates nothing: %.300s", i, c.Condition())
				}
				if n := generations(c) - stored; n > a.Most {
					t.Errorf("reconcile %d creates %d generations, want at most %d", i, n, a.Most)
				}
				before, stored = made, generations(c)
				t.Logf("%s: %d objects, %d KiB", cost, made, size>>10)
			}
			if got := c.Condition(); !strings.Contains(got, "its turn") && !strings.Contains(got, "a smaller request") {
				t.Errorf("the condition does not say that generations wait: %.300s", got)
			}
			s.end(t)
		})
	}
}

func generatingPlane(t *testing.T, a attack.Generating) *functiontest.ControlPlane {
	t.Helper()
	c := functiontest.NewControlPlane(t, a.Input)
	c.XR = a.Composite
	for _, o := range a.Objects {
		c.Stored[world.KeyOf(o)] = o
	}
	return c
}

// generations returns the number of stored generations, which are immutable.
func generations(c *functiontest.ControlPlane) (n int) {
	for _, o := range c.Stored {
		if o.GetFields()["immutable"].GetBoolValue() {
			n++
		}
	}
	return n
}
