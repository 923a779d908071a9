package typecheck

import (
	"context"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/environment"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// EnvironmentAfter returns the environment after the step, if files determine it. config finds an
// EnvironmentConfig by its name. If the input selects one by labels, the environment is unknown. A
// field whose value an expression returns is null.
func EnvironmentAfter(
	p *plan.Plan, before *structpb.Struct, config func(name string) *structpb.Struct,
) (after *structpb.Struct, known bool) {
	if before == nil {
		return nil, false
	}
	after = before
	if p.Lookup != nil {
		selectors, diagnostics := p.Lookup.Selectors(wire.Struct{}, wire.Of(before))
		found := make([][]wire.Struct, len(selectors))
		for i, s := range selectors {
			if s == nil || s.Name == "" {
				return nil, false
			}
			c := config(s.Name)
			if c == nil {
				return nil, false
			}
			found[i] = []wire.Struct{wire.Of(c)}
		}
		if len(diagnostics) > 0 {
			return nil, false
		}
		after, diagnostics = p.Lookup.Merge(budget.New(context.Background()), before, selectors, found)
		if len(diagnostics) > 0 {
			return nil, false
		}
	}
	for _, f := range p.Set {
		var err error
		if f.At.String() == "" {
			return nil, false // the plan refuses it
		}
		if after, err = environment.Set(after, f.At, structpb.NewNullValue()); err != nil {
			return nil, false
		}
	}
	if after == nil {
		after = &structpb.Struct{}
	}
	return after, true
}
