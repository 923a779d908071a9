package celast

import (
	"strings"

	"cel.dev/cel-go/common/ast"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// A Size says how long CEL's checker takes for an expression.
type Size struct {
	Nodes        int
	Loops, Binds int // how deep comprehensions nest, and how deep cel.bind and similar macros

	// CheckingCost is the cost of all nodes. Above the limit it is not exact.
	CheckingCost int
}

// SizeOf returns the size of a parsed tree. The range of a comprehension counts as part of it, so that a chain of
// comprehensions also nests.
func SizeOf(a *ast.AST) Size {
	w := &weigher{}
	w.weigh(a.Expr(), nil)
	w.size.Nodes = ast.NodeCount(a)
	return w.size
}

// A weigher measures all nodes. It is fast even if the checker is slow: the type of {{x: x}: {x: x}} contains the type
// of x four times, and true ? x : x has all paths of x twice.
type weigher struct {
	size         Size
	loops, binds int // above the node
}

// A local is a variable that the expression itself declares.
type local struct {
	name   string
	cost   int
	parent *local
}

func (l *local) of(name string) int {
	for ; l != nil; l = l.parent {
		if l.name == name {
			return l.cost
		}
	}
	return 1
}

// weigh returns an upper bound of what the checker computes for a node: the size of its type, and the number of paths
// that its value may have.
func (w *weigher) weigh(e ast.Expr, scope *local) int {
	if w.size.CheckingCost > limits.ExpressionCheckingCost {
		return 1
	}
	n := 1
	switch e.Kind() { //nolint:exhaustive // a literal has one type
	case ast.IdentKind:
		n = scope.of(strings.TrimPrefix(e.AsIdent(), "."))
	case ast.CallKind: // its type is made of those of its operands, and its value may be any of them
		for _, o := range Operands(e.AsCall()) {
			n += w.weigh(o, scope)
		}
	case ast.SelectKind:
		n = w.weigh(e.AsSelect().Operand(), scope)
	case ast.ListKind:
		n += w.largest(scope, e.AsList().Elements()...)
	case ast.MapKind:
		var keys, values []ast.Expr
		for _, x := range e.AsMap().Entries() {
			keys, values = append(keys, x.AsMapEntry().Key()), append(values, x.AsMapEntry().Value())
		}
		n += w.largest(scope, keys...) + w.largest(scope, values...)
	case ast.StructKind:
		for _, x := range e.AsStruct().Fields() {
			w.weigh(x.AsStructField().Value(), scope)
		}
	case ast.ComprehensionKind:
		n = w.comprehension(e.AsComprehension(), scope)
	}
	w.size.CheckingCost += n
	return n
}

func (w *weigher) largest(scope *local, children ...ast.Expr) (most int) {
	for _, c := range children {
		most = max(most, w.weigh(c, scope))
	}
	return most
}

func (w *weigher) comprehension(c ast.ComprehensionExpr, scope *local) int {
	depth, most := &w.loops, &w.size.Loops
	if IsBind(c) {
		depth, most = &w.binds, &w.size.Binds
	}
	*depth++
	defer func() { *depth-- }()
	*most = max(*most, *depth)

	ranged, init := w.weigh(c.IterRange(), scope), w.weigh(c.AccuInit(), scope)
	if IsBind(c) {
		return w.weigh(c.Result(), &local{c.AccuVar(), init, scope})
	}
	inner := &local{c.IterVar(), ranged, &local{c.AccuVar(), init, scope}}
	if c.HasIterVar2() {
		inner = &local{c.IterVar2(), ranged, inner}
	}
	w.weigh(c.LoopCondition(), inner)
	step := w.weigh(c.LoopStep(), inner)
	return w.weigh(c.Result(), &local{c.AccuVar(), max(init, step), scope})
}
