package expression

import (
	"cmp"

	"cel.dev/cel-go/common/ast"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
)

// orderRanges wraps the range of each comprehension of a parsed tree, and each value that must be an
// optional. It changes the tree. The call is a new node at the same position. The wrapped node keeps its
// ID.
func orderRanges(a *ast.AST) {
	next, fac, info := ast.MaxID(a), ast.NewExprFactory(), a.SourceInfo()
	wrap := func(function string, e ast.Expr) {
		next++
		if r, ok := info.GetOffsetRange(e.ID()); ok {
			info.SetOffsetRange(next, r)
		}
		e.SetKindCase(fac.NewCall(0, function, fac.CopyExpr(e)))
		call := next
		e.RenumberIDs(func(id int64) int64 { // begins with the call
			id, call = cmp.Or(call, id), 0
			return id
		})
	}
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() { //nolint:exhaustive // the others contain neither
		case ast.ComprehensionKind:
			if c := e.AsComprehension(); !celast.IsBind(c) {
				wrap(celast.OrderedCall, c.IterRange())
			}
		case ast.ListKind:
			for _, i := range e.AsList().OptionalIndices() {
				wrap(celast.OptionalCall, e.AsList().Elements()[i])
			}
		case ast.MapKind:
			for _, entry := range e.AsMap().Entries() {
				if m := entry.AsMapEntry(); m.IsOptional() {
					wrap(celast.OptionalCall, m.Value())
				}
			}
		}
	}))
}
