// Package celast answers questions about the nodes and the types of a CEL expression that both the compiler and the
// advice to people ask.
//
// The package has no state.
package celast

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// The functions that the compiler adds to a tree. A source cannot name them.
const (
	OrderedCall  = "@ordered"
	OptionalCall = "@optional"
	SortByCall   = "@sortByAssociatedKeys" // CEL's own expansion of sortBy
)

// IsCall reports whether a node is a call of a function or an operator.
func IsCall(e ast.Expr, function string) bool {
	return e.Kind() == ast.CallKind && e.AsCall().FunctionName() == function
}

// Operands returns the target of a call, if it has one, and its arguments.
func Operands(call ast.CallExpr) []ast.Expr {
	if !call.IsMemberFunction() {
		return call.Args()
	}
	return append([]ast.Expr{call.Target()}, call.Args()...)
}

// AsWritten returns a node without the call that the compiler added around it.
func AsWritten(e ast.Expr) ast.Expr {
	switch e.AsCall().FunctionName() { // it is empty for an expression that is no call
	case OrderedCall, OptionalCall:
		return e.AsCall().Args()[0]
	}
	return e
}

// Key returns a literal that is a key or an index: a string or an int64. It returns nil for all other nodes.
func Key(e ast.Expr) any {
	if e.Kind() != ast.LiteralKind {
		return nil
	}
	switch v := e.AsLiteral().Value().(type) {
	case string, int64:
		return v
	}
	return nil // a uint or double may also be an index: any key
}

// Text returns the value of a string literal.
func Text(e ast.Expr) (string, bool) {
	s, ok := Key(e).(string)
	return s, ok
}

// Selection returns the operand and the field of a node that selects a field.
func Selection(e ast.Expr) (operand ast.Expr, field string, ok bool) {
	if e.Kind() == ast.SelectKind {
		return e.AsSelect().Operand(), e.AsSelect().FieldName(), true
	}
	if e.Kind() != ast.CallKind {
		return nil, "", false
	}
	switch args := e.AsCall().Args(); e.AsCall().FunctionName() {
	case operators.OptSelect, operators.Index:
		field, ok := Text(args[1])
		return args[0], field, ok
	}
	return nil, "", false
}

// IsBind reports whether a comprehension is the expansion of cel.bind, optMap or optFlatMap: a fold over an empty list
// literal.
func IsBind(c ast.ComprehensionExpr) bool {
	return c.IterRange().Kind() == ast.ListKind && c.IterRange().AsList().Size() == 0
}

// HasDyn reports whether a part of a path is wrapped in dyn(). Then its types are not checked.
func HasDyn(e ast.Expr) bool {
	if e == nil {
		return false
	}
	switch e.Kind() { //nolint:exhaustive // only nodes that paths pass through
	case ast.SelectKind:
		return HasDyn(e.AsSelect().Operand())
	case ast.CallKind:
		c := e.AsCall()
		return c.FunctionName() == "dyn" || slices.ContainsFunc(Operands(c)[:min(1, len(Operands(c)))], HasDyn)
	}
	return false
}

// IsKind reports whether a type is of one of some kinds.
func IsKind(t *types.Type, kinds ...types.Kind) bool { return slices.Contains(kinds, t.Kind()) }

// IsNumber reports whether a type is one of the types of numbers.
func IsNumber(t *types.Type) bool { return IsKind(t, types.IntKind, types.UintKind, types.DoubleKind) }

// IsNull reports whether a type is null or a list of null.
func IsNull(t *types.Type) bool {
	return t.Kind() == types.NullTypeKind || slices.ContainsFunc(t.Parameters(), IsNull)
}

// WithoutOptional returns the type in an optional.
func WithoutOptional(t *types.Type) *types.Type {
	if t.Kind() == types.OpaqueKind && t.TypeName() == "optional_type" && len(t.Parameters()) == 1 {
		return t.Parameters()[0]
	}
	return t
}

// IsOptional reports whether a type is an optional.
func IsOptional(t *types.Type) bool { return WithoutOptional(t) != t }

// MapParameters returns a type whose parameters, except for the keys of a map, are replaced.
func MapParameters(t *types.Type, replace func(*types.Type) *types.Type) *types.Type {
	switch {
	case t.Kind() == types.ListKind:
		return types.NewListType(replace(t.Parameters()[0]))
	case t.Kind() == types.MapKind:
		return types.NewMapType(t.Parameters()[0], replace(t.Parameters()[1]))
	case IsOptional(t):
		return types.NewOptionalType(replace(WithoutOptional(t)))
	}
	return t
}
