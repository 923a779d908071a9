package plan

import (
	"context"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/environment"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// EnvironmentAfter is the environment that the input leaves of one before, if it is
// known from files: config finds an EnvironmentConfig by its name. One that is found
// by labels may be any, so that nothing is known then. A field whose value an
// expression gives is null.
func (p *Plan) EnvironmentAfter(before *structpb.Struct, config func(name string) *structpb.Struct) (after *structpb.Struct, known bool) {
	if before == nil {
		return nil, false
	}
	after = before
	if p.lookup != nil {
		selectors, faults := p.lookup.Selectors(wire.Struct{}, wire.Of(before))
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
		if len(faults) > 0 {
			return nil, false
		}
		if after, faults = p.lookup.Merge(budget.New(context.Background()), before, selectors, found); len(faults) > 0 {
			return nil, false
		}
	}
	for _, f := range p.set {
		var err error
		if f.at.String() == "" {
			return nil, false // it is a fault
		}
		if after, err = environment.Set(after, f.at, structpb.NewNullValue()); err != nil {
			return nil, false
		}
	}
	if after == nil {
		after = &structpb.Struct{}
	}
	return after, true
}
