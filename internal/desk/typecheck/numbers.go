package typecheck

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// Numbers returns examples of objects, by kind, with the fields that expressions of some plans use as whole numbers.
func (k *Known) Numbers(plans ...*plan.Plan) map[plan.Kind][]map[string]any {
	out := map[plan.Kind][]map[string]any{}
	for _, p := range plans {
		for _, x := range p.Expressions {
			ast.PreOrderVisit(x.Tree().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
				for _, o := range wholeNumbers(e) {
					if r, _ := x.Reading(celast.AsWritten(o)); r != nil && !x.Dynamic(*r) {
						kind, path := k.fieldOf(p, x.Expression, *r)
						if object, ok := exampleOf(path).(map[string]any); ok && kind.Kind != "" {
							out[kind] = append(out[kind], object)
						}
					}
				}
			}))
		}
	}
	return out
}

// verb matches a verb of format.
var verb = lazy.MustCompile(`%(?:\.\d+)?[a-zA-Z%]`)

// wholeNumbers returns the operands of a call that must be whole numbers: the values for %d, the operand of + 1, and
// the value with the default 5432.
func wholeNumbers(e ast.Expr) (out []ast.Expr) {
	if e.Kind() != ast.CallKind {
		return nil
	}
	isWhole := func(e ast.Expr) bool { _, ok := celast.Key(e).(int64); return ok }
	call := e.AsCall()
	operands := celast.Operands(call)
	switch fn := call.FunctionName(); {
	case fn == "format" && len(operands) == 2 && operands[1].Kind() == ast.ListKind:
		text, _ := celast.Text(operands[0])
		verbs := slices.DeleteFunc(verb().FindAllString(text, -1), func(v string) bool { return v == "%%" })
		for i, value := range operands[1].AsList().Elements() {
			if i < len(verbs) && strings.HasSuffix(verbs[i], "d") {
				out = append(out, value)
			}
		}
	case len(operands) == 2 && isWhole(operands[1]) && (slices.Contains(arithmetic, fn) || fn == "orValue"):
		out = operands[:1]
	case len(operands) == 2 && isWhole(operands[0]) && slices.Contains(arithmetic, fn):
		out = operands[1:]
	}
	return out
}

// fieldOf returns the kind of the object that a reference reads, and the field.
func (k *Known) fieldOf(
	p *plan.Plan, x *expression.Expression, r expression.Reference,
) (kind plan.Kind, path []expression.Step) {
	switch path = r.Path; r.Variable {
	case expression.Variables:
		if whole := p.PathOf(plan.StepName(r, 0)); whole != nil && whole.Variable != expression.Variables {
			return k.fieldOf(p, x, expression.Reference{Variable: whole.Variable,
				Path: slices.Concat(whole.Path, path[1:])})
		}
	case expression.Composite:
		kind = k.Composite
	case expression.Resources:
		kind, path = k.Resources[plan.StepName(r, 0)], path[min(1, len(path)):]
	case expression.Resource, expression.Self:
		switch from := x.Source().From; {
		case x.Source().Own:
		case from != "":
			kind = k.Resources[from]
		default:
			kind = k.Composite
		}
	}
	return kind, path
}

// exampleOf returns an object with a whole number in a field, or nil if a step of its path is no name.
func exampleOf(path []expression.Step) any {
	if len(path) == 0 {
		return 1.0
	}
	name, isName := path[0].Key.(string)
	below := exampleOf(path[1:])
	if !isName || below == nil {
		return nil
	}
	return map[string]any{name: below}
}
