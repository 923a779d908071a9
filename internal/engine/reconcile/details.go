package reconcile

import (
	"fmt"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/generations"
	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// A detailsReader reads the connection details that expressions use from the Secrets that hold them. It is the first
// phase that reads anything, and no Secret is read that no expression uses.
type detailsReader struct {
	outcome.Reply

	answers  *lookup.Answers
	used     plan.DetailsUsed
	authors  *plan.Authors
	authored *plan.Authored
	declared plan.Generators
}

// detailsRead is the observation with the details that expressions see.
type detailsRead struct {
	outcome.Reply

	sees        *observation.Observation
	generations map[string]generations.Identified
}

// run reads the details of the resources that expressions see, and of the generations.
func (r *detailsReader) run(o observation.Observation, composed generations.Split) detailsRead {
	byAuthor := authorsDetails(r.authors, r.authored)
	o.Resources = make(map[string]observation.Resource, len(composed.Resources))
	for _, name := range plan.SortedKeys(composed.Resources) {
		res := composed.Resources[name]
		o.Resources[name] = r.details(res, "resource", name, byAuthor[name] || r.used.Uses(name, res.Object))
	}
	var found map[string]generations.Identified
	for _, name := range plan.SortedKeys(composed.Generations) {
		id := composed.Generations[name]
		what := fmt.Sprintf("generation %d of generator", id.Number)
		id.Resource = r.details(id.Resource, what, id.Generator, r.declared.Declares(id.Generator))
		found = plan.With(found, name, id)
	}
	if _, _, ns, name := object.Identity(o.Composite.Object); ns == "" { // a namespaced composite has none
		used := r.used.OfComposite() && object.IsLegacy(o.Composite.Object)
		o.Composite = r.details(o.Composite, "composite", name, used)
	}
	return detailsRead{r.Reply, &o, found}
}

func (r *detailsReader) details(of observation.Resource, what, name string, used bool) observation.Resource {
	out, required := r.answers.Details(lookup.Owner{Resource: of, What: what, Name: name}, used)
	if required != nil {
		r.Require(*required)
	}
	return out
}

// authorsDetails returns the inputs whose details the exports of the composite author use and are
// allowed to use. There are no such exports if composite authors must not request any.
func authorsDetails(a *plan.Authors, wanted *plan.Authored) (out map[string]bool) {
	for _, e := range wanted.Exports {
		for _, d := range e.Data {
			for _, r := range d.Value.References() {
				switch name := plan.StepName(r, 0); {
				case r.Variable == expression.Secret:
					out = plan.With(out, a.Sees.Secret, true)
				case r.Variable == expression.Secrets && name != plan.Anything:
					out = plan.With(out, name, true)
				case r.Variable == expression.Secrets:
					for _, n := range a.Sees.Secrets {
						out = plan.With(out, n, true)
					}
				}
			}
		}
	}
	return out
}
