package typecheck

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// CheckExpression finds errors that are certain once types are known: a field that does not exist, a string
// instead of a number, or a comparison that cannot be true. The error of a branch or of a default is
// certain only if it is the result. It returns the type of the result, in which
// objects are object types. The order of the diagnostics has no meaning.
//
// At run time an object is a map, but CEL's checker does not know this. Therefore, errors about objects that are
// compared, iterated, measured or passed instead of a map are ignored. Values in dyn() are not checked.
//
// A number of a schema is an int at run time if it is whole, and a double otherwise. If there is one, the expression is
// checked once for each, and an error is certain if both have it.
func CheckExpression(
	env *expression.Environment, x *expression.Expression, t expression.Typing,
) (*types.Type, diagnostic.List) {
	s := x.Source()
	parsed, iss := env.CEL().ParseSource(common.NewStringSource(s.Text, s.Path))
	if iss.Err() != nil {
		return types.DynType, nil // the expression has already been compiled
	}
	tree := parsed.NativeRep()
	selectKeys(tree)
	doubles := reading{Objects: t.Objects, of: t.Number, is: types.DoubleType, used: new(bool)}
	result, out := doubles.check(env, s, tree, t)
	if *doubles.used {
		ints := reading{Objects: t.Objects, of: t.Number, is: types.IntType, used: new(bool)}
		whole, other := ints.check(env, s, tree, t)
		result, out.All = either(result, whole, t.Number), inBoth(out.All, other.All)
		out.Typing.Numbers = true
	}
	list := out.Diagnostics()
	for _, d := range list {
		d.Rule = diagnostic.Type
	}
	return result, list
}

// A reading of objects has one type for all numbers of schemas.
type reading struct {
	expression.Objects

	of, is *types.Type
	used   *bool // whether there is a number
}

// Field returns the type of a field.
func (r reading) Field(name, field string) (*types.Type, bool) {
	t, ok := r.Objects.Field(name, field)
	if ok {
		t = r.as(t)
	}
	return t, ok
}

func (r reading) as(t *types.Type) *types.Type {
	if r.of == nil || !t.IsExactType(r.of) {
		return celast.MapParameters(t, r.as)
	}
	*r.used = true
	return r.is
}

// check returns the type of the result of a tree, and its certain errors.
func (r reading) check(
	env *expression.Environment, s expression.Source, tree *ast.AST, t expression.Typing,
) (*types.Type, *expression.Errors) {
	variables := make(map[string]*types.Type, len(t.Variables))
	for name, v := range t.Variables {
		variables[name] = r.as(v)
	}
	t.Objects, t.Variables = r, variables
	out := env.CheckTree(s, tree, t)
	out.All = slices.DeleteFunc(out.All, func(err *expression.Error) bool { return !r.isCertain(err) })
	if len(out.All) == 0 {
		out.All = out.Results()
	}
	return out.Tree.GetType(tree.Expr().ID()), out
}

// either returns the type of a result that has one type if numbers are doubles, and another one if
// they are ints.
func either(double, whole, number *types.Type) *types.Type {
	switch a, b := double.Parameters(), whole.Parameters(); {
	case double.IsExactType(whole):
		return double
	case celast.IsKind(double, types.DoubleKind) && celast.IsKind(whole, types.IntKind):
		return number
	case double.Kind() == whole.Kind() && len(a) > 0 && len(a) == len(b):
		last := len(a) - 1
		return celast.MapParameters(double, func(*types.Type) *types.Type { return either(a[last], b[last], number) })
	}
	return types.DynType
}

// inBoth returns the errors whose position also has one in the other list.
func inBoth(list, other []*expression.Error) []*expression.Error {
	return slices.DeleteFunc(list, func(e *expression.Error) bool {
		return !slices.ContainsFunc(other, func(o *expression.Error) bool {
			return o.Line == e.Line && o.Column == e.Column
		})
	})
}

// isCertain reports whether an error of the checker is also one at run time, where an object is a map.
func (r reading) isCertain(err *expression.Error) bool {
	switch err.Class { //nolint:exhaustive // all others are not about the known types
	case expression.NoOptional, expression.NoBool:
		return true
	case expression.NoRange:
		return !r.involves(err.Types[0]) // a map: the comprehension iterates over its keys
	case expression.NoField:
		return !celast.IsKind(celast.WithoutOptional(err.Types[0]), types.NullTypeKind)
	case expression.NoOverload:
		return !r.mayWork(err)
	}
	return false
}

// arithmetic are the operators that never accept objects.
var arithmetic = []string{ //nolint:gochecknoglobals // a table
	operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
	operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.LogicalNot,
}

// mayWork reports whether a call that the checker refuses can work at run time, with the types of the
// values: a condition chooses between values of different types, numbers of two types are compared, lists and maps
// are compared, which are equal if they are empty, or an object is used as a map.
func (r reading) mayWork(err *expression.Error) bool {
	have, fn := err.Types, err.Name
	objects := slices.ContainsFunc(have, r.involves)
	a, b := have[0], have[len(have)-1]
	switch fn {
	case operators.Conditional:
		return celast.IsKind(a, types.BoolKind, types.DynKind, types.ErrorKind)
	case operators.Equals, operators.NotEquals, operators.In:
		scalar := slices.ContainsFunc(have, isScalar) // only a scalar is never equal to an object
		return slices.ContainsFunc(have, celast.IsNull) || objects && (fn == operators.In || !scalar) || mayEqual(fn, a,
			b)
	case operators.Add:
		return celast.IsKind(a, types.ListKind) && celast.IsKind(b, types.ListKind)
	case "or", "orValue":
		return true
	}
	return strings.HasPrefix(fn, "sets.") || objects && !slices.Contains(arithmetic, fn)
}

// mayEqual reports whether values of two types can be equal: numbers, and empty lists or maps.
func mayEqual(fn string, a, b *types.Type) bool {
	if fn == operators.In {
		return len(b.Parameters()) > 0 && celast.IsNumber(a) && celast.IsNumber(b.Parameters()[0])
	}
	return celast.IsNumber(a) && celast.IsNumber(b) || a.Kind() == b.Kind() && celast.IsKind(a, types.ListKind,
		types.MapKind)
}

// isScalar reports whether a type is a scalar that is often compared with other types.
func isScalar(t *types.Type) bool {
	return celast.IsKind(t, types.StringKind, types.IntKind, types.BoolKind, types.DoubleKind, types.BytesKind)
}

// involves reports whether a type contains objects.
func (r reading) involves(t *types.Type) bool {
	return t.Kind() == types.StructKind && r.Has(t.TypeName()) || slices.ContainsFunc(t.Parameters(), r.involves)
}

// selectKeys replaces x['key'] by x.key, which is valid for object types and for maps.
func selectKeys(a *ast.AST) {
	factory := ast.NewExprFactory()
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 2 {
			return
		}
		args := e.AsCall().Args()
		key, ok := celast.Text(args[1])
		if !ok {
			return
		}
		switch e.AsCall().FunctionName() {
		case operators.Index:
			e.SetKindCase(factory.NewSelect(e.ID(), args[0], key))
		case operators.OptIndex:
			e.SetKindCase(factory.NewCall(e.ID(), operators.OptSelect, args...))
		}
	}))
}
