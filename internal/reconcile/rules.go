package reconcile

import (
	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/observation"
)

// Tests build the function with another file in place of this one, to verify that each rule is needed.
const (
	rulesHold       = true // an object whose input is missing is kept as it was observed
	rulesLookUp     = true // a place is looked up before it is written to
	rulesRequire    = true // connection details are those of a required Secret, which Crossplane watches
	rulesOneVersion = true // an object never has data from two versions of one Secret
	rulesFit        = true // the outputs of a derived generation are used only beside the source that they belong to
)

// seen returns what expressions see of a generator after its step: the generation in use. It is not the
// generation that the step created, because that generation is not stored yet.
func (g *stepper) seen(w *wantedGeneration, _ generator.Step, waits string) observation.Generated {
	if k := g.current[w.Name]; k != nil {
		return g.fitting(w, k)
	}
	return observation.Generated{Waits: waits}
}
