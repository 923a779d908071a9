package files

import (
	"context"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/rules"
	"github.com/crossplane-contrib/function-export/internal/desk/typecheck"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// A Checked step is one with all that the check knows about it.
type Checked struct {
	Step

	Plan        *plan.Plan // of its valid parts; nil if the input cannot be read
	Known       *typecheck.Known
	Types       *typecheck.Inspection
	Diagnostics []Diagnostic
}

// Check returns the diagnostics of the steps of a file.
func (k *Knowledge) Check(ctx context.Context, env *expression.Environment, steps []Step) []Diagnostic {
	out := make([]Diagnostic, 0, len(steps))
	for _, c := range k.CheckEach(ctx, env, steps) {
		out = append(out, c.Diagnostics...)
	}
	return out
}

// CheckEach checks the steps of a file. Rules are for inputs that compile, because the cause of what they find is often
// another mistake.
func (k *Knowledge) CheckEach(ctx context.Context, env *expression.Environment, steps []Step) []*Checked {
	plans, wrong := make([]*plan.Plan, len(steps)), make([]diagnostic.List, len(steps))
	for i, s := range steps {
		plans[i], wrong[i] = s.compile(ctx, env, plan.CompilePartly)
	}
	out := make([]*Checked, 0, len(steps))
	for i, s := range steps {
		c := &Checked{Step: s, Plan: plans[i]}
		all := wrong[i]
		if p := plans[i]; p != nil {
			var found diagnostic.List
			view := k.view(steps, plans, i)
			c.Known = view.Known
			c.Types, found = typecheck.Inspect(p, c.Known)
			all = slices.Concat(all, p.Warnings, found)
			if len(wrong[i]) == 0 {
				found = rules.Check(view, k.Settings.Level(s.File))
				all = append(all, withoutPlacesOf(all, found)...)
			}
		}
		c.Diagnostics = s.AllInFile(all)
		out = append(out, c)
	}
	return out
}

// withoutPlacesOf returns the diagnostics of rules about fields that have no error, and at places that have no warning.
func withoutPlacesOf(before, found diagnostic.List) diagnostic.List {
	return slices.DeleteFunc(found, func(d *diagnostic.Diagnostic) bool {
		return slices.ContainsFunc(before, func(b *diagnostic.Diagnostic) bool {
			return b.Path == d.Path && (!b.Warning || b.Line == d.Line && b.Column == d.Column)
		})
	})
}

// Compile compiles the input of a step.
func (s Step) Compile(ctx context.Context, env *expression.Environment) (*plan.Plan, diagnostic.List) {
	return s.compile(ctx, env, plan.Compile)
}

// compile passes an input on as Crossplane does.
func (s Step) compile(ctx context.Context, env *expression.Environment, by func(context.Context,
	*expression.Environment, *structpb.Struct) (*plan.Plan, diagnostic.List)) (*plan.Plan, diagnostic.List) {
	if s.Input == nil {
		return by(ctx, env, nil)
	}
	input, err := structpb.NewStruct(s.Input)
	if err != nil {
		return nil, diagnostic.List{{Path: "input", Rule: diagnostic.Input, Message: "contains something that is not JSON"}}
	}
	return by(ctx, env, input)
}
