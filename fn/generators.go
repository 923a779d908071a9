package main

import (
	"maps"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/plan"
)

// generatorsKey is where a step leaves the state of its generators in the context, for
// later steps: names, hashes and times, and no value.
const generatorsKey = "export.fn.crossplane.io/generator-state"

// inputMember of a generator's state is the ID of the input that has it. A generator that
// left the input has none.
const inputMember = "input"

// generatorsElsewhere are the generators that the inputs of other steps have. A step finds
// its own, too, when Crossplane calls it again with what it requires.
func generatorsElsewhere(context *structpb.Struct, own string) map[string]bool {
	out := map[string]bool{}
	for name, state := range context.GetFields()[generatorsKey].GetStructValue().GetFields() {
		if id := state.GetStructValue().GetFields()[inputMember].GetStringValue(); id != "" && id != own {
			out[name] = true
		}
	}
	return out
}

// withoutOwnGenerators hides what the step itself left there when it was called before,
// and what is left of generators that nobody has.
func withoutOwnGenerators(context *structpb.Struct, own string) *structpb.Struct {
	states, ok := context.GetFields()[generatorsKey]
	if !ok {
		return context
	}
	kept := maps.Clone(states.GetStructValue().GetFields())
	maps.DeleteFunc(kept, func(_ string, state *structpb.Value) bool {
		id := state.GetStructValue().GetFields()[inputMember].GetStringValue()
		return id == "" || id == own
	})
	out := &structpb.Struct{Fields: maps.Clone(context.GetFields())}
	if delete(out.Fields, generatorsKey); len(kept) > 0 {
		out.Fields[generatorsKey] = structpb.NewStructValue(&structpb.Struct{Fields: kept})
	}
	return out
}

// leaveGenerators leaves their state for later steps.
func leaveGenerators(rsp *fnv1.RunFunctionResponse, result *plan.Result) {
	for name, state := range result.GeneratorState {
		rsp.Context = with(rsp.GetContext(), []string{generatorsKey, name}, state)
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
