package function

import (
	"strings"

	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/reconcile"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// watchesMember is the member of a report that is true if Crossplane watches required objects.
const watchesMember = "watches"

// watchesRequired reports whether Crossplane watches required objects. No capability says so. But a version
// that watches them remembers them, and sends them with the first call of the next reconcile. Any other
// version sends them only with a later call, which also has the report of the first call in its context.
func watchesRequired(req *wire.Request, own string) bool {
	if before := req.Context.At(exportsKey, own); before.Exists() {
		return before.Struct().Get(watchesMember).Bool()
	}
	for name := range req.RequiredResources {
		if strings.HasPrefix(name, reconcile.RequirementPrefix) {
			return true
		}
	}
	return false
}

// watches returns what Crossplane watches for a request with this result.
func watches(req *wire.Request, p *plan.Plan, seen *reconcile.Request, result *reconcile.Result) plan.Watches {
	// The Composition's own required resources do not show whether Crossplane watches them.
	none := len(result.Requirements)+len(req.RequiredResources) == 0
	return plan.Watches{
		Objects:     (none || watchesRequired(req, p.ID())) && !dropsEvents(req.Observed.Composite.Object),
		Environment: !seen.Observation.Environment.Exists(),
	}
}

// dropsEvents reports whether the circuit breaker of a composite is open, because too many objects that it depends on
// changed. Crossplane then drops most events. The last change could be among them.
func dropsEvents(xr wire.Struct) bool {
	for _, c := range xr.At("status", "conditions").List().All() {
		if c.Struct().Get("reason").Is("WatchCircuitOpen") {
			return true
		}
	}
	return false
}
