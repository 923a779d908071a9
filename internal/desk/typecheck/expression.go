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
// A number of a schema is an int at run time if it is whole, and a double otherwise. It is checked as an int, and its
// use as a double is no error.
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
	out := env.CheckTree(s, tree, t)
	out.All = slices.DeleteFunc(out.All, func(err *expression.Error) bool { return !(known{t.Objects}).isCertain(err) })
	if len(out.All) == 0 {
		out.All = out.Results()
	}
	list := out.Diagnostics()
	for _, d := range list {
		d.Rule = diagnostic.Type
	}
	return out.Tree.GetType(tree.Expr().ID()), list
}

// A known set of objects.
type known struct{ expression.Objects }

// isCertain reports whether an error of the checker is also one at run time, where an object is a map.
func (k known) isCertain(err *expression.Error) bool {
	switch err.Class { //nolint:exhaustive // all others are not about the known types
	case expression.NoOptional, expression.NoBool:
		return true
	case expression.NoRange:
		return !k.involves(err.Types[0]) // a map: the comprehension iterates over its keys
	case expression.NoField:
		return !celast.IsKind(celast.WithoutOptional(err.Types[0]), types.NullTypeKind)
	case expression.NoOverload:
		return !k.mayWork(err)
	}
	return false
}

// arithmetic are the operators that accept numbers, and never objects. Those on two operands accept no text beside a
// number.
var arithmetic = []string{ //nolint:gochecknoglobals // a table
	operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
	operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.LogicalNot,
}

// mayWork reports whether a call that the checker refuses can work at run time, with the types of the
// values: a condition chooses between values of different types, numbers of two types are compared, lists and maps
// are compared, which are equal if they are empty, an object is used as a map, or a number of a schema is a double.
func (k known) mayWork(err *expression.Error) bool {
	have, fn := err.Types, err.Name
	objects := slices.ContainsFunc(have, k.involves)
	a, b := have[0], have[len(have)-1]
	switch fn {
	case operators.Conditional:
		return celast.IsKind(a, types.BoolKind, types.DynKind, types.ErrorKind)
	case operators.Equals, operators.NotEquals, operators.In:
		scalar := slices.ContainsFunc(have, isScalar) // only a scalar is never equal to an object
		return slices.ContainsFunc(have, celast.IsNull) || objects && (fn == operators.In || !scalar) || mayEqual(fn, a, b)
	case "or", "orValue":
		return true
	case operators.Add:
		return celast.IsKind(a, types.ListKind) && celast.IsKind(b, types.ListKind) || mayBeDouble(fn, have)
	}
	return strings.HasPrefix(fn, "sets.") || mayBeDouble(fn, have) || objects && !slices.Contains(arithmetic, fn)
}

// mayBeDouble reports whether a call that accepts no int works with a double, if a number of a schema is one.
func mayBeDouble(fn string, have []*types.Type) bool {
	isNumeric := strings.HasPrefix(fn, "math.") || slices.Contains(arithmetic, fn) && fn != operators.LogicalNot
	isOther := func(t *types.Type) bool { return !celast.IsNumber(t) }
	return isNumeric && slices.Contains(have, Number) && !slices.ContainsFunc(have, isOther)
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
func (k known) involves(t *types.Type) bool {
	return t.Kind() == types.StructKind && k.Has(t.TypeName()) || slices.ContainsFunc(t.Parameters(), k.involves)
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
