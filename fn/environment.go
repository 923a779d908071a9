package main

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/plan"
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
func contextBefore(context *structpb.Struct, id string) *structpb.Struct {
	context = withoutOwnGenerators(context, id)
	_, reports := context.GetFields()[exportsKey]
	environments, made := context.GetFields()[environmentsKey]
	if !reports && !made {
		return context
	}
	out := &structpb.Struct{Fields: maps.Clone(context.GetFields())}
	delete(out.Fields, exportsKey)
	delete(out.Fields, environmentsKey)
	own := environments.GetStructValue().GetFields()[id].GetStructValue().GetFields()
	if own == nil || own[environmentMade].GetStringValue() != hashOf(context.GetFields()[environmentKey]) {
		return out // another step has made it since
	}
	delete(out.Fields, environmentKey)
	if found, ok := own[environmentFound]; ok {
		out.Fields[environmentKey] = found
	}
	return out
}

// leaveEnvironment for later steps, if the input makes one. A step that requires
// nothing is called once, and leaves nothing for itself. Of two steps with one input
// that both require something the second one takes itself for the first: nothing in
// a request tells them apart.
func leaveEnvironment(rsp *fnv1.RunFunctionResponse, result *plan.Result, id string) {
	if result.Environment == nil {
		return
	}
	made := structpb.NewStructValue(result.Environment)
	if len(result.Requirements) > 0 {
		own := map[string]*structpb.Value{environmentMade: structpb.NewStringValue(hashOf(made))}
		if found, ok := contextBefore(rsp.GetContext(), id).GetFields()[environmentKey]; ok {
			own[environmentFound] = found
		}
		rsp.Context = with(rsp.GetContext(), []string{environmentsKey, id}, structpb.NewStructValue(&structpb.Struct{Fields: own}))
	}
	rsp.Context = with(rsp.GetContext(), []string{environmentKey}, made)
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
