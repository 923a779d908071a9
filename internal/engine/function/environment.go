package function

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// environmentKey is the context key where steps find and save the merged environment.
const environmentKey = "apiextensions.crossplane.io/environment"

// environmentsKey is the context key with, by input, the environment that a step found, and a hash of the
// environment that it made. Crossplane passes a step its own context when it calls it again with its
// requirements, and the step must not change the environment twice.
const environmentsKey = "export.fn.crossplane.io/environments"

const (
	environmentFound = "found"
	environmentMade  = "made"
)

// ownKeys are the context keys of this function. A step does not see what it has saved itself: data with the revision
// of its own export would be a new revision in each reconcile.
var ownKeys = []string{generatorsKey, exportsKey, environmentsKey, revisionsKey} //nolint:gochecknoglobals // a list

// contextBefore returns the context of the first call of the step with a plan: with its environment, and without the
// fields of this function, except for the state of the generators and the revisions of the exports of other steps.
func contextBefore(context wire.Struct, p *plan.Plan) wire.Struct {
	if !slices.ContainsFunc(ownKeys, func(key string) bool { return context.Get(key).Exists() }) {
		return context
	}
	fields := maps.Collect(context.All())
	for _, key := range ownKeys {
		delete(fields, key)
	}
	if others := generatorsElsewhere(context, p.ID()); len(others) > 0 {
		fields[generatorsKey] = wire.OfStruct(wire.Compose(others))
	}
	if others := revisionsElsewhere(context, p); len(others) > 0 {
		fields[revisionsKey] = wire.OfStruct(wire.Compose(others))
	}
	own := context.Get(environmentsKey).Struct().Get(p.ID())
	if own.Kind() != wire.Object || !own.Struct().Get(environmentMade).Is(hashOf(context.Get(environmentKey).Proto())) {
		return wire.Compose(fields) // a later step has changed it
	}
	delete(fields, environmentKey)
	if found := own.Struct().Get(environmentFound); found.Exists() {
		fields[environmentKey] = found
	}
	return wire.Compose(fields)
}

// saveEnvironment saves the environment for later steps, if the input makes one. A step without
// requirements is called once, and saves nothing for itself. Of two steps with the same input and
// requirements, the second one reads the data of the first: a request does not distinguish them.
func saveEnvironment(c *pipelineContext, result *reconcile.Result, p *plan.Plan) {
	if result.Environment == nil {
		return
	}
	made := structpb.NewStructValue(result.Environment)
	if len(result.Requirements) > 0 {
		own := map[string]*structpb.Value{environmentMade: structpb.NewStringValue(hashOf(made))}
		if found := contextBefore(c.found, p).Get(environmentKey); found.Exists() {
			own[environmentFound] = found.Proto()
		}
		c.setMember(environmentsKey, p.ID(), structpb.NewStructValue(&structpb.Struct{Fields: own}))
	}
	c.set(environmentKey, made)
}

// hashOf returns the hash of an environment, which has no secrets. It is empty if protobuf cannot marshal
// the environment.
func hashOf(environment *structpb.Value) string {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(environment)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
