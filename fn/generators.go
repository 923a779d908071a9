package main

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// generatorsKey is where a step leaves the state of its generators in the context, for
// later steps: names, hashes and times, and no value.
const generatorsKey = "export.fn.crossplane.io/generator-state"

// inputMember of a generator's state is the ID of the input that has it. A generator that
// left the input has none.
const inputMember = "input"

// generatorsElsewhere are the generators that the inputs of other steps have. A step finds
// its own, too, when Crossplane calls it again with what it requires.
func generatorsElsewhere(context wire.Struct, own string) map[string]bool {
	out := map[string]bool{}
	for name, state := range context.Get(generatorsKey).Struct().All() {
		if id := state.Struct().Get(inputMember).Text(); id != "" && id != own {
			out[name] = true
		}
	}
	return out
}

// withoutOwnGenerators hides what the step itself left there when it was called before,
// and what is left of generators that nobody has.
func withoutOwnGenerators(fields map[string]wire.Value, own string) {
	kept := map[string]wire.Value{}
	for name, state := range fields[generatorsKey].Struct().All() {
		if id := state.Struct().Get(inputMember).Text(); id != "" && id != own {
			kept[name] = state
		}
	}
	if delete(fields, generatorsKey); len(kept) > 0 {
		fields[generatorsKey] = wire.OfStruct(wire.Compose(kept))
	}
}

// leaveGenerators leaves their state for later steps.
func leaveGenerators(left *leaving, result *plan.Result) {
	for name, state := range result.GeneratorState {
		left.member(generatorsKey, name, state)
	}
}

// The TTL of a response. Crossplane calls again after it, a tenth more or less, so that
// it ends a tenth before the next step of a generator is due; what is left is a shorter
// one. It is not below a second.
const (
	jitterDown = 10
	jitterUp   = 11
	leastTTL   = time.Second
)

// ttl is nil for an input that wants no call without a change, and for a response with
// what was just made: Crossplane may keep a response on a disk for its TTL. It calls again
// when it sees what was composed.
func ttl(wanted time.Duration, result *plan.Result, now time.Time) *durationpb.Duration {
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
