package lsp

import (
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

// exampleOf returns an expression of the same input with its value, if it can be evaluated.
func (e *expr) exampleOf(ctx context.Context, text string) string {
	value, ok := e.evaluate(ctx, text, 0)
	if !ok {
		return ""
	}
	shown, err := json.Marshal(value)
	const longest = 400
	if err != nil || len(shown) > longest {
		return ""
	}
	return "\n\nFor example `" + string(shown) + "`"
}

// evaluate returns the value of an expression with made-up values. Variables use earlier ones.
func (e *expr) evaluate(ctx context.Context, text string, depth int) (any, bool) {
	source, env, _ := e.source()
	source.Text, source.Want = text, expression.WantAny
	x, wrong := env.Compile(source)
	if x == nil || len(wrong) > 0 || depth > len(e.namesIn("variables", "")) {
		return nil, false
	}
	made := map[string]any{}
	for _, r := range x.References() {
		path := make([]any, 0, len(r.Path))
		for _, s := range r.Path {
			path = append(path, s.Key)
		}
		var given any
		if name := first2(path); r.Variable == expression.Variables && name != "" {
			for _, v := range e.step.expressions {
				if v.at == e.variable(name) {
					given, _ = v.evaluate(ctx, v.text, depth+1)
				}
			}
			path = path[:1]
		}
		made[r.Variable] = e.put(made[r.Variable], r.Variable, e.typeOfVariable(r.Variable), path, given, schema.Node{})
	}
	vars, err := cel.NewActivation(made)
	if err != nil {
		return nil, false
	}
	b := budget.New(ctx)
	result, err := x.Evaluate(ctx, vars, b)
	if err != nil {
		return nil, false
	}
	out, ok, err := x.JSON(result, b)
	if err != nil || !ok {
		return nil, false
	}
	return out.AsInterface(), true
}

func first2(path []any) string {
	if len(path) == 0 {
		return ""
	}
	return textOf(path[0])
}

// variable returns the path of the expression of a variable.
func (e *expr) variable(name string) string {
	for _, v := range e.Plan.Variables {
		if v.Name == name {
			return v.Value.Source().Path
		}
	}
	return ""
}

func (e *expr) typeOfVariable(name string) *types.Type {
	if t := e.siteOf(name + "." + mark).of; t != nil {
		return t
	}
	return types.DynType
}

// put returns a value with a made-up one at a path, in objects and lists that are made up as needed.
func (e *expr) put(in any, name string, t *types.Type, path []any, given any, n schema.Node) any {
	if len(path) == 0 {
		if given != nil || in != nil {
			return orElse(given, in)
		}
		return e.sample(name, t, n, 0)
	}
	switch key := path[0].(type) {
	case string:
		object, _ := in.(map[string]any)
		if object == nil {
			object = map[string]any{}
		}
		below, node := types.DynType, schema.Node{}
		switch {
		case t.Kind() == types.StructKind && e.Types.Has(t.TypeName()):
			if found, ok := e.Types.Field(t.TypeName(), key); ok {
				below, node = found, e.Types.Schema(t.TypeName(), key)
			}
		case t.Kind() == types.MapKind:
			below = t.Parameters()[1]
		}
		object[key] = e.put(object[key], key, celast.WithoutOptional(below), path[1:], given, node)
		return object
	case int64:
		list, _ := in.([]any)
		for int64(len(list)) <= key && key < 8 {
			list = append(list, e.put(nil, name, element(t), path[1:], given, schema.Node{}))
		}
		return list
	}
	if in != nil {
		return in
	}
	if t.Kind() == types.MapKind || t.Kind() == types.StructKind {
		return e.sample(name, t, n, 0)
	}
	return []any{e.put(nil, name, element(t), path[1:], given, schema.Node{})}
}

func orElse(a, b any) any {
	if a != nil {
		return a
	}
	return b
}

func element(t *types.Type) *types.Type {
	if t.Kind() == types.ListKind {
		return t.Parameters()[0]
	}
	return types.DynType
}

// deepestSample is how many levels of an object are made up.
const deepestSample = 2

// sample makes up a value of a type: what its schema names, or one that the name suggests.
func (e *expr) sample(name string, t *types.Type, n schema.Node, depth int) any {
	for _, keyword := range []string{"default", "example"} {
		if v := n.Get(keyword); !v.IsNull() {
			return v.Proto().AsInterface()
		}
	}
	if one := n.Get("enum").List(); one.Len() > 0 {
		return one.At(0).Proto().AsInterface()
	}
	switch {
	case t.Kind() == types.BoolKind:
		return true
	case t.Kind() == types.ListKind && depth < deepestSample:
		return []any{e.sample(strings.TrimSuffix(name, "s"), t.Parameters()[0], schema.Node{}, depth+1)}
	case t.Kind() == types.MapKind && depth < deepestSample:
		return map[string]any{"key": e.sample("value", t.Parameters()[1], schema.Node{}, depth+1)}
	case t.Kind() == types.StructKind && e.Types.Has(t.TypeName()):
		object := map[string]any{}
		for _, field := range e.Types.Names(t.TypeName()) {
			if below, ok := e.Types.Field(t.TypeName(), field); ok && depth < deepestSample {
				object[field] = e.sample(field, below, e.Types.Schema(t.TypeName(), field), depth+1)
			}
		}
		return object
	case t.TypeName() == "number" || celast.IsNumber(t):
		return sampleNumber(name)
	}
	return sampleText(name, n.Get("format").Text())
}

func sampleNumber(name string) any {
	if strings.Contains(strings.ToLower(name), "port") {
		return int64(5432)
	}
	return int64(3)
}

// samples are texts for fields whose names contain another text.
var samples = []struct{ part, text string }{ //nolint:gochecknoglobals // a table
	{"port", "5432"}, {"endpoint", "db.example.org"}, {"host", "db.example.org"}, {"address", "db.example.org"},
	{"fqdn", "db.example.org"}, {"url", "https://example.org"}, {"uri", "https://example.org"},
	{"arn", "arn:aws:iam::123456789012:role/example"}, {"region", "eu-west-1"}, {"namespace", "team-a"},
	{"date-time", "2026-01-02T03:04:05Z"}, {"uid", "0b0c5c3e-5c0a-4d59-9d7b-6f2f0c4c2a11"}, {"uuid", "0b0c5c3e-5c0a-4d59-9d7b-6f2f0c4c2a11"},
}

func sampleText(name, format string) any {
	for _, s := range samples {
		if strings.Contains(strings.ToLower(name+" "+format), s.part) {
			return s.text
		}
	}
	return "example-" + name
}
