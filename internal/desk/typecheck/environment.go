package typecheck

import (
	"context"
	"math"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/environment"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/schema"
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

// like returns the schema of objects like this one, with exactly its fields and the types of its values. A null, or an
// item of a list, stands for any value.
func like(example *structpb.Struct) map[string]any {
	properties := map[string]any{}
	for name, v := range example.GetFields() {
		properties[name] = likeValue(v)
	}
	return map[string]any{"type": schema.Object, "properties": properties}
}

func likeValue(v *structpb.Value) map[string]any {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return map[string]any{"type": "string"}
	case *structpb.Value_BoolValue:
		return map[string]any{"type": "boolean"}
	case *structpb.Value_NumberValue:
		if k.NumberValue == math.Trunc(k.NumberValue) {
			return map[string]any{"type": "integer"}
		}
	case *structpb.Value_ListValue:
		return map[string]any{"type": "array"}
	case *structpb.Value_StructValue:
		return like(k.StructValue)
	}
	return map[string]any{}
}
