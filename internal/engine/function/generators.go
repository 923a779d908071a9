package function

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// generatorsKey is the context key with the state of the generators of earlier steps: names, hashes and
// times, but no values.
const generatorsKey = "export.fn.crossplane.io/generator-state"

// inputMember is the member of a generator's state with the ID of its input. A generator that left the
// input has none.
const inputMember = "input"

// generatorsElsewhere returns the generators of other inputs. A step also finds its own there when
// Crossplane calls it again with its requirements.
func generatorsElsewhere(context wire.Struct, own string) map[string]wire.Value {
	var out map[string]wire.Value
	for name, state := range context.Get(generatorsKey).Struct().All() {
		if id := state.Struct().Get(inputMember).Text(); id != "" && id != own {
			put(&out, name, state)
		}
	}
	return out
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
