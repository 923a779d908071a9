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

// EnvironmentAfter returns the environment after the step, or nil if files do not determine it. config finds an
// EnvironmentConfig by its name. If the input selects one by labels, the environment is unknown. A
// field whose value an expression returns is null.
func EnvironmentAfter(
	p *plan.Plan, before *structpb.Struct, config func(name string) *structpb.Struct,
) *structpb.Struct {
	after := before
	if p.Lookup != nil && before != nil {
		after = merged(p.Lookup, before, config)
	}
	for _, f := range p.Set {
		if after == nil || f.At.String() == "" {
			return nil // unknown, or the plan refuses it
		}
		var err error
		if after, err = environment.Set(after, f.At, structpb.NewNullValue()); err != nil {
			return nil
		}
	}
	return after
}

// merged returns an environment with the EnvironmentConfigs that an input looks up, or nil if one is unknown.
func merged(l *environment.Lookup, before *structpb.Struct, config func(name string) *structpb.Struct) *structpb.Struct {
	selectors, wrong := l.Selectors(wire.Struct{}, wire.Of(before))
	if len(wrong) > 0 {
		return nil
	}
	found := make([][]wire.Struct, len(selectors))
	for i, s := range selectors {
		if s == nil || s.Name == "" {
			return nil
		}
		c := config(s.Name)
		if c == nil {
			return nil
		}
		found[i] = []wire.Struct{wire.Of(c)}
	}
	after, wrong := l.Merge(budget.New(context.Background()), before, selectors, found)
	if len(wrong) > 0 {
		return nil
	}
	if after == nil {
		return &structpb.Struct{}
	}
	return after
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
