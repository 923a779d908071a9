package function

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// watchesMember is the member of a report that is true if Crossplane watches the required objects.
const watchesMember = "watches"

// watchesRequired reports whether Crossplane watches all required objects. No capability says so. But a version that
// watches them sends those of the last reconcile with the first call of the next one. Any other version sends
// them only with a later call, which also has the report of the first call in its context. An object that was not
// required in the last reconcile is watched only after this one. A change until then may be lost.
func watchesRequired(req *wire.Request, own string, required []lookup.Requirement) bool {
	if before := req.Context.At(exportsKey, own); before.Exists() {
		return before.Struct().Get(watchesMember).Bool()
	}
	for _, r := range required {
		if _, sent := req.RequiredResources[r.Key()]; !sent {
			return false
		}
	}
	if len(required) > 0 {
		return true
	}
	for name := range req.RequiredResources {
		if !strings.HasPrefix(name, lookup.Prefix) { // of the Composition itself: nothing shows whether they are watched
			return false
		}
	}
	return true
}

// watches returns what Crossplane watches for a request with this result. A result with failures may only need another
// call, for example after an evaluation that took too long. No event says that a later step removed a created object.
func watches(req *wire.Request, p *plan.Plan, seen *reconcile.Request, result *reconcile.Result) plan.Watches {
	isCreated := func(o reconcile.Object) bool { return o.State == reconcile.Created }
	creates := slices.ContainsFunc(result.Objects, isCreated)
	return plan.Watches{
		Objects: result.Failed == 0 && !creates && !isDisturbed(req.Observed.Composite.Object) &&
			watchesRequired(req, p.ID(), result.Requirements),
		Environment: !seen.Observation.Environment.Exists(),
	}
}

// isDisturbed reports whether Crossplane drops events of a composite, because too many objects changed and its circuit
// breaker is open, or could not apply an object, and no event says when it can.
func isDisturbed(xr wire.Struct) bool {
	return object.Condition(xr, "Responsive").Get("reason").Is("WatchCircuitOpen") ||
		object.Condition(xr, "Synced").Get("status").Is("False")
}

// The TTL of a response. Crossplane calls again after the TTL, plus or minus a tenth. Therefore it ends a
// tenth before the next step of a generator. It is at least a second.
const (
	jitterDown = 10
	jitterUp   = 11
	leastTTL   = time.Second
)

// ttl returns nil for an input that needs no call without a change. It also returns nil for a response with
// new credentials, because Crossplane may keep a response on a disk for its TTL. Crossplane calls again
// when it sees the new resource.
func ttl(wanted time.Duration, result *reconcile.Result, now time.Time) *durationpb.Duration {
	if !result.Due.IsZero() {
		left := max(result.Due.Sub(now)/jitterUp*jitterDown, leastTTL)
		if wanted == 0 || left < wanted {
			wanted = left
		}
	}
	if wanted == 0 || result.Fresh {
		return nil
	}
	return durationpb.New(wanted)
}
