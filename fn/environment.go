package main

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// environmentKey is where steps find and leave the merged environment.
const environmentKey = "apiextensions.crossplane.io/environment"

// environmentsKey is where a step that makes the environment leaves the one it
// found, and a hash of the one it made, by its input. Crossplane hands a step its own
// context when it calls it again with what it requires, and what the step did must
// not be done twice.
const environmentsKey = "export.fn.crossplane.io/environments"

// The members of what is left there.
const (
	environmentFound = "found"
	environmentMade  = "made"
)

// contextBefore is the context as earlier steps left it, for the step with the
// input of an ID: with the environment that it found, and without what this
// function keeps there for itself.
func contextBefore(context wire.Struct, id string) wire.Struct {
	environments := context.Get(environmentsKey)
	if !environments.Exists() && !context.Get(exportsKey).Exists() && !context.Get(generatorsKey).Exists() {
		return context
	}
	fields := maps.Collect(context.All())
	withoutOwnGenerators(fields, id)
	delete(fields, exportsKey)
	delete(fields, environmentsKey)
	own := environments.Struct().Get(id)
	if own.Kind() != wire.Object || !own.Struct().Get(environmentMade).Is(hashOf(context.Get(environmentKey).Proto())) {
		return wire.Compose(fields) // another step has made it since
	}
	delete(fields, environmentKey)
	if found := own.Struct().Get(environmentFound); found.Exists() {
		fields[environmentKey] = found
	}
	return wire.Compose(fields)
}

// leaveEnvironment for later steps, if the input makes one. A step that requires
// nothing is called once, and leaves nothing for itself. Of two steps with one input
// that both require something the second one takes itself for the first: nothing in
// a request tells them apart.
func leaveEnvironment(left *leaving, result *plan.Result, id string) {
	if result.Environment == nil {
		return
	}
	made := structpb.NewStructValue(result.Environment)
	if len(result.Requirements) > 0 {
		own := map[string]*structpb.Value{environmentMade: structpb.NewStringValue(hashOf(made))}
		if found := contextBefore(left.found, id).Get(environmentKey); found.Exists() {
			own[environmentFound] = found.Proto()
		}
		left.member(environmentsKey, id, structpb.NewStructValue(&structpb.Struct{Fields: own}))
	}
	left.field(environmentKey, made)
}

// hashOf an environment, which holds nothing secret. It is empty for one that
// protobuf cannot marshal, and so could not have been left by anybody.
func hashOf(environment *structpb.Value) string {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(environment)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
