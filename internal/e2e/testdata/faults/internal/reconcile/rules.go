package reconcile

import (
	"os"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A function that is built with this file breaks the rule that FUNCTION_EXPORT_FAULT names, so
// that a test can show that it notices. It is never published.

var broken = os.Getenv("FUNCTION_EXPORT_FAULT")

var (
	rulesHold       = broken != "hold"
	rulesLookUp     = broken != "look-up"
	rulesRequire    = broken != "require"
	rulesOneVersion = broken != "one-version"
	rulesFit        = broken != "derived"
)

// seen also returns the generation that the step made, before it is stored.
func (g *stepper) seen(w *wantedGeneration, step generator.Step, waits string) observation.Generated {
	own := plan.GenerationName(w.Name, step.Make)
	i := slices.IndexFunc(g.composed, func(c Composed) bool { return c.own == own })
	if i >= 0 && broken == "write-ahead" {
		o := observation.Resource{Object: wire.Of(g.composed[i].Desired)}
		return g.generated(w.Generator, readGeneration(w.Generator, w.Name, step.Make, o, true))
	}
	if k := g.current[w.Name]; k != nil {
		return g.fitting(w, k)
	}
	return observation.Generated{Waits: waits}
}
