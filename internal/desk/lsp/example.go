package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/schema"
)

// This file evaluates expressions with values that it makes up from the names and types of what they read. It never has
// a value of a cluster or of an object in a file.

// exampleOf returns the value of an expression of the same input with made-up values, or nothing if it has none.
func (e *expr) exampleOf(ctx context.Context, text string) string {
	source, env, _ := e.source()
	source.Text, source.Want = text, expression.WantAny
	x, wrong := env.Compile(source)
	if x == nil || len(wrong) > 0 {
		return ""
	}
	made := map[string]any{}
	for _, r := range x.References() {
		path := []any{r.Variable}
		for _, s := range r.Path {
			path = append(path, s.Key)
		}
		put(made, path, e.madeUp(path))
	}
	vars, err := cel.NewActivation(made)
	if err != nil {
		return ""
	}
	b := budget.New(ctx)
	result, err := x.Evaluate(ctx, vars, b)
	if err != nil {
		return ""
	}
	out, ok, err := x.JSON(result, b)
	if err != nil || !ok {
		return ""
	}
	shown, err := json.Marshal(out.AsInterface())
	const longest = 400
	if err != nil || len(shown) > longest {
		return ""
	}
	return "\n\nFor example `" + string(shown) + "`"
}

// madeUp returns a value for a path that an expression reads.
func (e *expr) madeUp(path []any) any {
	names := make([]string, 0, len(path))
	for _, step := range path {
		names = append(names, textOf(step)) // an item of a list has no name
	}
	last := names[len(names)-1]
	above := e.siteOf(strings.Join(e.spelled(names[:len(names)-1]), "") + "." + mark).object()
	of := e.siteOf(strings.Join(e.spelled(names), "") + "." + mark).of
	return e.sample(last, cmp.Or(of, types.DynType), e.Types.Schema(above, last), 0)
}

// put writes a value to a path, into objects that are made up as needed. An existing value stays. Items of lists are
// not made up.
func put(in any, path []any, value any) any {
	if len(path) == 0 {
		return cmp.Or(in, value)
	}
	object, _ := in.(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	name := textOf(path[0])
	object[name] = put(object[name], path[1:], value)
	return object
}

// deepestSample is how many levels of an object are made up.
const deepestSample = 2

// sample makes up a value of a type: the first one that its schema permits, or one with the name.
func (e *expr) sample(name string, t *types.Type, n schema.Node, depth int) any {
	switch {
	case celast.IsNumber(t):
		return int64(3)
	case n.Get("enum").List().Len() > 0:
		return n.Get("enum").List().At(0).Proto().AsInterface()
	case t.Kind() == types.BoolKind:
		return true
	case t.Kind() == types.ListKind && depth < deepestSample:
		return []any{e.sample(strings.TrimSuffix(name, "s"), t.Parameters()[0], schema.Node{}, depth+1)}
	case t.Kind() == types.MapKind && depth < deepestSample:
		return map[string]any{"key": e.sample("value", t.Parameters()[1], schema.Node{}, depth+1)}
	case t.Kind() != types.StructKind:
		return "example-" + name
	}
	object := map[string]any{}
	for _, field := range e.Types.Names(t.TypeName()) {
		if below, ok := e.Types.Field(t.TypeName(), field); ok && depth < deepestSample {
			object[field] = e.sample(field, below, e.Types.Schema(t.TypeName(), field), depth+1)
		}
	}
	return object
}
