package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Place is one or more fields whose expressions may use the same variables.
type Place struct {
	Fields []string
	May    []string // for each variable: yes, no or something between
}

// The cells of the table: how much of a variable an expression may use.
const (
	yes    = "✓"
	no     = ""
	listed = "listed"  // only what nonSensitive lists
	before = "earlier" // only the environment of earlier steps
	each   = "item"    // only with forEachExpression
)

// A prober compiles variants of an input that has every field.
type prober struct {
	env *expression.Environment
	// exports is the input. Each use replaces all of its expressions.
	exports []byte
}

// visibility finds out where expressions may use which variable.
func visibility(env *expression.Environment, full []byte, variables []Variable) ([]Place, error) {
	p := prober{env, full}
	var order []string
	may := map[string][]string{}
	for _, v := range variables {
		if len(v.uses) != 1 {
			return nil, fmt.Errorf("cannot find out where %s may be used: it needs one use", v.Name)
		}
		for _, f := range p.fields(v) {
			if !slices.Contains(order, f.name) {
				order = append(order, f.name)
			}
			may[f.name] = append(may[f.name], f.may)
		}
		for kind, text := range p.authors(v) {
			may[kind] = append(may[kind], text)
		}
	}
	first := []string{"secrets", "configMaps", "metadata", "rewrite", "status", "variables", "environment", "sources"}
	rank := func(name string) int {
		segment, _, _ := strings.Cut(strings.ReplaceAll(name, "[]", ""), ".")
		if i := slices.Index(first, segment); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortStableFunc(order, func(a, b string) int { return rank(a) - rank(b) })
	order = append(order, authorsKinds...)
	var out []Place
	for _, name := range order {
		if len(may[name]) != len(variables) {
			return nil, fmt.Errorf("cannot find out what %s may use", name)
		}
		i := slices.IndexFunc(out, func(p Place) bool { return slices.Equal(p.May, may[name]) })
		if i < 0 {
			out, i = append(out, Place{May: may[name]}), len(out)
		}
		if !slices.Contains(authorsKinds, name) {
			name = code(name)
		}
		out[i].Fields = append(out[i].Fields, name)
	}
	if len(out) < 3 {
		return nil, errors.New("cannot find out where variables may be used: all expressions seem to be alike")
	}
	return out, nil
}

// allPlaces is an error for each expression of the input about which nothing was found out.
func allPlaces(objects []*Object, places []Place) error {
	var all []string
	for _, p := range places {
		all = append(all, p.Fields...)
	}
	var missing []error
	for _, o := range objects {
		for _, f := range o.Fields {
			if path := code(placeOf(o.Path + "." + f.Name)); strings.HasPrefix(f.Type, "CEL") && !slices.Contains(all, path) {
				missing = append(missing, fmt.Errorf("cannot find out what %s may use: the input with all fields lacks it", path))
			}
		}
	}
	return errors.Join(missing...)
}

// A use is what a field may use of a variable.
type use struct{ name, may string }

// fields returns what each expression of the input may use of a variable.
func (p prober) fields(v Variable) []use {
	refused := p.refused(v, true, true)
	var once map[string]bool
	if ofItem(v) {
		once, refused = refused, p.each().refused(v, true, true)
	}
	var unlisted, unset map[string]bool
	if v.key != "" {
		unlisted = p.refused(v, false, true)
	}
	if v.Name == expression.Env {
		unset = p.refused(v, true, false)
	}
	var out []use
	for _, path := range p.paths() {
		u := use{placeOf(path), yes}
		switch {
		case refused[path] && unset != nil && !unset[path]:
			u.may = before
		case refused[path]:
			u.may = no
		case once[path]:
			u.may = each
		case unlisted[path]:
			u.may = listed
		}
		if i := slices.IndexFunc(out, func(o use) bool { return o.name == u.name }); i < 0 {
			out = append(out, u)
		}
	}
	return out
}

// ofItem reports whether a variable exists only with forEachExpression, except in the expression that renames a key.
func ofItem(v Variable) bool {
	return slices.Contains([]string{expression.Item, expression.Index, expression.Key}, v.Name)
}

// each returns a prober whose exports and generators all have forEachExpression.
func (p prober) each() prober {
	in := map[string]any{}
	if yaml.Unmarshal(p.exports, &in) != nil {
		return prober{}
	}
	for _, name := range []string{"secrets", "configMaps", "generators"} {
		for _, item := range in[name].([]any) { //nolint:forcetypeassert // it has each field
			one := item.(map[string]any) //nolint:forcetypeassert // it is an object
			one["forEachExpression"], one["keyExpression"] = "[]", "item"
		}
	}
	out, err := yaml.Marshal(in)
	if err != nil {
		return prober{}
	}
	return prober{p.env, out}
}

// refused are the paths of expressions that may not use a variable, whichever type their results need:
// with what it uses listed as nonSensitive or not, and with or without an environment of the input.
func (p prober) refused(v Variable, listed, environment bool) map[string]bool {
	var out map[string]bool
	for _, form := range []string{"%s", "{'k': string(%s)}", "string(%s) == 'x'", "[%s]", "string(%s) + string(index)",
		"string(%s) == string(generation.number)"} {
		in := p.input()
		fill(in, definition.Exports(), "", fmt.Sprintf(form, v.uses[0]), v.key, listed)
		if !environment {
			delete(in, "environment")
		}
		_, diagnostics := p.compile(in)
		now := map[string]bool{}
		for _, path := range p.paths() {
			now[path] = slices.ContainsFunc(diagnostics, func(d *diagnostic.Diagnostic) bool { return d.Path == path })
		}
		if out == nil {
			out = now
		}
		for path := range now {
			out[path] = out[path] && now[path]
		}
	}
	return out
}

func (p prober) input() map[string]any {
	in := map[string]any{}
	if yaml.Unmarshal(p.exports, &in) != nil {
		return nil
	}
	// A variable may use those above it only, and no output of a generator may be unknown.
	first := map[string]any{"name": "first", "value": "'text'"}
	in["variables"] = append([]any{first}, in["variables"].([]any)...) //nolint:forcetypeassert // it has each field
	return in
}

func (p prober) compile(in map[string]any) (*plan.Plan, diagnostic.List) {
	text, err := yaml.Marshal(in)
	if err != nil {
		return nil, nil
	}
	j, err := yaml.YAMLToJSON(text)
	s := &structpb.Struct{}
	if err != nil || protojson.Unmarshal(j, s) != nil {
		return nil, nil
	}
	return plan.Compile(context.Background(), p.env, s)
}

// paths of the expressions, in the order of the input.
func (p prober) paths() []string { return fill(p.input(), definition.Exports(), "", "", "", false) }

// fill replaces all expressions below a value, lists a key wherever nonSensitive can, and returns the paths of the
// expressions.
func fill(v any, s *definition.Schema, path, text, key string, listed bool) []string {
	var out []string
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			out = append(out, fill(item, s.Items, fmt.Sprintf("%s[%d]", path, i), text, key, listed)...)
		}
	case map[string]any:
		if s.Properties["nonSensitive"] != nil {
			v["nonSensitive"] = nonSensitive(key, listed)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at, below := strings.TrimPrefix(path+"."+name, "."), s.Properties[name]
			switch _, isText := v[name].(string); {
			case at == "variables[0].value":
			case strings.HasSuffix(path, ".resource.outputs"):
				v[name] = text
				out = append(out, path+"["+name+"]")
			case isText && below != nil && isExpression(name, below):
				v[name] = text
				out = append(out, at)
			case below != nil:
				out = append(out, fill(v[name], below, at, text, key, listed)...)
			}
		}
	}
	return out
}

// nonSensitive lists keys, or another one.
func nonSensitive(keys string, listed bool) []any {
	if !listed {
		return []any{"other.key"}
	}
	out := []any{}
	for _, k := range strings.Fields(keys) {
		out = append(out, k)
	}
	return out
}

var index = regexp.MustCompile(`\[\d*\]`)

// placeOf is the name of a place: the path of a field without what both kinds of exports have, and
// without the names of outputs.
func placeOf(path string) string {
	if before, _, ok := strings.Cut(path, ".outputs["); ok {
		path = before + ".outputs"
	}
	if _, after, ok := strings.Cut(path, "].metadata."); ok {
		path = "metadata." + after
	}
	if _, after, ok := strings.Cut(path, ".rewrite["); ok {
		path = "rewrite[" + after
	}
	return index.ReplaceAllString(path, "[]")
}

// The lists of composite authors, in words.
var authorsKinds = []string{ //nolint:gochecknoglobals // a table
	"composite authors: `secretExpressions`, `dynamicSecrets`",
	"composite authors: `configMapExpressions`, `dynamicConfigMaps`",
}

// authors returns what the expressions of composite authors may use if everything is allowed.
func (p prober) authors(v Variable) map[string]string {
	in := p.input()
	in["fromComposite"].(map[string]any)["allow"] = map[string]any{ //nolint:forcetypeassert // it has each field
		"secrets": []any{"db"}, "resources": []any{"db"}, "environment": true,
	}
	compiled, _ := p.compile(in)
	if compiled == nil {
		return nil
	}
	out := map[string]string{}
	for i, list := range []string{"secretExpressions", "configMapExpressions"} {
		entry := map[string]any{"name": "a", "key": "k", "value": v.uses[0]}
		s, err := structpb.NewStruct(map[string]any{"spec": map[string]any{"operatorSpec": map[string]any{list: []any{entry}}}})
		if err != nil {
			return nil
		}
		asked := compiled.Authors.Read(wire.Of(s))
		out[authorsKinds[i]] = yes
		for _, e := range asked.Exports {
			if len(e.Faults) > 0 {
				out[authorsKinds[i]] = no
			}
		}
	}
	return out
}
