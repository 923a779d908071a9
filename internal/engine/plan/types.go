package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// The check of types uses the declarations of this file.

// A Compiled is an expression with the environment that it was compiled in.
type Compiled struct {
	*expression.Expression

	Env *expression.Environment
	Own Kind // of the generation that resource and secret stand for, or zero

	ForEach *ForEach // whose item it sees, or nil
}

// PathOf returns the path that is the whole value of a variable, or nil.
func (p *Plan) PathOf(variable string) *expression.Reference {
	for _, v := range p.Variables {
		if v.Name == variable {
			whole, _ := v.Value.Reading(v.Value.Tree().Expr())
			return whole
		}
	}
	return nil
}

// A CompositePath is a literal field of the input that contains a path of the composite.
type CompositePath struct{ At, Path string }

// compositePaths returns the paths of the composite in the input.
func compositePaths(in *v1beta1.Exports) []CompositePath {
	var out []CompositePath
	if in.Environment != nil {
		list := EnvironmentPath().Child("environmentConfigs")
		for i, e := range in.Environment.EnvironmentConfigs {
			if e.Selector == nil {
				continue
			}
			labels := list.Index(i).Child("selector", "matchLabels")
			for j, l := range e.Selector.MatchLabels {
				if l.Type == v1beta1.EnvironmentLabelFromComposite || l.Type == "" {
					at := labels.Index(j).Child("valueFromFieldPath")
					out = append(out, CompositePath{at.String(), l.ValueFromFieldPath})
				}
			}
		}
	}
	if in.FromComposite != nil {
		out = append(out, CompositePath{field.NewPath("fromComposite", "fieldPath").String(), in.FromComposite.FieldPath})
	}
	return out
}

// neededExpressions returns the expressions that something waits for that is not optional,
// directly or through variables.
func (p *Plan) neededExpressions() []*expression.Expression {
	var out []*expression.Expression
	var add func(...*expression.Expression)
	add = func(list ...*expression.Expression) {
		for _, x := range list {
			if x == nil || slices.Contains(out, x) {
				continue
			}
			out = append(out, x)
			for _, r := range x.Reads() {
				i := slices.IndexFunc(p.Variables, func(v Variable) bool { return v.Name == StepName(r.Reference, 0) })
				if r.Variable == expression.Variables && !r.Branched && i >= 0 {
					add(p.Variables[i].Value)
				}
			}
		}
	}
	need := func(optional bool, x *expression.Expression) {
		if !optional {
			add(x)
		}
	}
	for _, e := range p.Exports {
		add(e.ForEach.expressions()...)
		add(e.Metadata.expressions()...)
		for _, d := range e.Data {
			need(d.Optional, d.Value)
		}
		for _, b := range e.DataFrom {
			need(b.Optional, b.Value)
		}
	}
	for _, s := range p.Status {
		need(s.Optional, s.Value)
	}
	for _, f := range p.Set {
		need(f.Optional, f.Value)
	}
	for _, m := range p.Generators {
		add(m.ForEach.expressions()...)
		add(m.Keepers)
		add(m.Source())
	}
	return out
}
