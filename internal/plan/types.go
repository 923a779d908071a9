package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/expression"
)

// What the check of types needs to know.

// A Compiled expression, and what it was compiled in.
type Compiled struct {
	*expression.Expression

	Env *expression.Environment
	Own Kind // of the generation that it is about, or zero
}

// A CompositePath is a literal field of the input that holds a path of the composite.
type CompositePath struct{ At, Path string }

// compositePaths of the input.
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

// neededExpressions are those that something waits for which is not optional, by
// themselves or through variables.
func (p *Plan) neededExpressions() []*expression.Expression { //nolint:gocyclo // one loop for each list of the input
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
		add(m.Keepers)
		if t, ok := m.Makes.(*OneTime); ok {
			add(t.Secret)
		}
	}
	return out
}
