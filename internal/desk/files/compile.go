package files

import (
	"context"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// InputOf returns the input of a step, as Crossplane passes it; nil if it has none.
func InputOf(s Step) (*structpb.Struct, *diagnostic.Diagnostic) {
	if s.Input == nil {
		return nil, nil //nolint:nilnil // a step without an input
	}
	input, err := structpb.NewStruct(s.Input)
	if err != nil {
		return nil, &diagnostic.Diagnostic{Path: "input", Rule: diagnostic.Input, Message: "contains something that is not JSON"}
	}
	return input, nil
}

// Compile compiles the input of a step.
func (s Step) Compile(ctx context.Context, env *expression.Environment) (*plan.Plan, diagnostic.List) {
	input, wrong := InputOf(s)
	if wrong != nil {
		return nil, diagnostic.List{wrong}
	}
	return plan.Compile(ctx, env, input)
}
