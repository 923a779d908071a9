package celast

import (
	"strings"

	"cel.dev/cel-go/common/ast"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// A nodeCost is an upper bound of what the checker computes for a node: the number of paths that its
// value may have, and the size of its type.
type nodeCost struct{ paths, parts int }

func (b nodeCost) or(other nodeCost) nodeCost {
	return nodeCost{b.paths + other.paths, max(b.parts, other.parts)}
}

// A local is a variable that the expression itself declares.
type local struct {
	name   string
	cost   nodeCost
	parent *local
}

func (l *local) of(name string) nodeCost {
	for ; l != nil; l = l.parent {
		if l.name == name {
			return l.cost
		}
	}
	return nodeCost{1, 1}
}

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

func (w *weigher) weigh(e ast.Expr, scope *local) nodeCost {
	if w.size.CheckingCost > limits.ExpressionCheckingCost {
		return nodeCost{1, 1}
	}
	b := w.node(e, scope)
	w.size.CheckingCost += b.paths + b.parts
	return b
}

func (w *weigher) node(e ast.Expr, scope *local) nodeCost {
	switch e.Kind() { //nolint:exhaustive // a literal has one type
	case ast.IdentKind:
		return scope.of(strings.TrimPrefix(e.AsIdent(), "."))
	case ast.CallKind:
		return w.call(e.AsCall(), scope)
	case ast.SelectKind:
		return w.weigh(e.AsSelect().Operand(), scope)
	case ast.ListKind:
		return nodeCost{1, 1 + w.largest(scope, e.AsList().Elements()...)}
	case ast.MapKind:
		keys, values := 0, 0
		for _, x := range e.AsMap().Entries() {
			keys = max(keys, w.largest(scope, x.AsMapEntry().Key()))
			values = max(values, w.largest(scope, x.AsMapEntry().Value()))
		}
		return nodeCost{1, 1 + keys + values}
	case ast.StructKind:
		for _, x := range e.AsStruct().Fields() {
			w.weigh(x.AsStructField().Value(), scope)
		}
	case ast.ComprehensionKind:
		return w.comprehension(e.AsComprehension(), scope)
	}
	return nodeCost{1, 1}
}

func (w *weigher) largest(scope *local, children ...ast.Expr) int {
	parts := 0
	for _, c := range children {
		parts = max(parts, w.weigh(c, scope).parts)
	}
	return parts
}

// call returns the cost of a call: its type is the type of an operand or is made of it, and its value
// may be any of its operands.
func (w *weigher) call(c ast.CallExpr, scope *local) nodeCost {
	var out nodeCost
	for _, o := range Operands(c) {
		out = out.or(w.weigh(o, scope))
	}
	return nodeCost{max(out.paths, 1), 1 + out.parts}
}

func (w *weigher) comprehension(c ast.ComprehensionExpr, scope *local) nodeCost {
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
	inner := &local{c.AccuVar(), nodeCost{1, init.parts}, scope}
	inner = &local{c.IterVar(), ranged, inner}
	if c.HasIterVar2() {
		inner = &local{c.IterVar2(), ranged, inner}
	}
	w.weigh(c.LoopCondition(), inner)
	step := w.weigh(c.LoopStep(), inner)
	return w.weigh(c.Result(), &local{c.AccuVar(), nodeCost{1, max(init.parts, step.parts)}, scope})
}
