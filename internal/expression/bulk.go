package expression

import (
	"strings"

	"github.com/google/cel-go/common/ast"

	"github.com/crossplane-contrib/function-export/internal/limits"
)

// A bulk is how large what the checker works out about a node is at most: the paths
// that its value may be, and the parts of its type.
type bulk struct{ paths, parts int }

func (b bulk) or(other bulk) bulk {
	return bulk{b.paths + other.paths, max(b.parts, other.parts)}
}

// A local is a variable that the expression declares itself.
type local struct {
	name   string
	bulk   bulk
	parent *local
}

func (l *local) of(name string) bulk {
	for ; l != nil; l = l.parent {
		if l.name == name {
			return l.bulk
		}
	}
	return bulk{1, 1}
}

// A weigher adds up the bulk of all nodes. It is quick where the checker is not: the
// type of {{x: x}: {x: x}} has the one of x four times, and true ? x : x may be all
// that x may be, twice.
type weigher struct{ total int }

// bulkOf an expression, over all its nodes. Above the limit it is not exact.
func bulkOf(e ast.Expr) int {
	w := &weigher{}
	w.weigh(e, nil)
	return w.total
}

func (w *weigher) weigh(e ast.Expr, scope *local) bulk {
	if w.total > limits.ExpressionBulk {
		return bulk{1, 1}
	}
	b := w.node(e, scope)
	w.total += b.paths + b.parts
	return b
}

func (w *weigher) node(e ast.Expr, scope *local) bulk {
	switch e.Kind() {
	case ast.IdentKind:
		return scope.of(strings.TrimPrefix(e.AsIdent(), "."))
	case ast.CallKind:
		return w.call(e.AsCall(), scope)
	case ast.SelectKind:
		return w.weigh(e.AsSelect().Operand(), scope)
	case ast.ListKind:
		return bulk{1, 1 + w.largest(scope, e.AsList().Elements()...)}
	case ast.MapKind:
		keys, values := 0, 0
		for _, x := range e.AsMap().Entries() {
			keys = max(keys, w.largest(scope, x.AsMapEntry().Key()))
			values = max(values, w.largest(scope, x.AsMapEntry().Value()))
		}
		return bulk{1, 1 + keys + values}
	case ast.StructKind:
		for _, x := range e.AsStruct().Fields() {
			w.weigh(x.AsStructField().Value(), scope)
		}
	case ast.ComprehensionKind:
		return w.comprehension(e.AsComprehension(), scope)
	}
	return bulk{1, 1}
}

func (w *weigher) largest(scope *local, children ...ast.Expr) int {
	parts := 0
	for _, c := range children {
		parts = max(parts, w.weigh(c, scope).parts)
	}
	return parts
}

// call has the type of an operand, or one of it, and may be any of its operands.
func (w *weigher) call(c ast.CallExpr, scope *local) bulk {
	var out bulk
	if c.IsMemberFunction() {
		out = w.weigh(c.Target(), scope)
	}
	for _, a := range c.Args() {
		out = out.or(w.weigh(a, scope))
	}
	return bulk{max(out.paths, 1), 1 + out.parts}
}

func (w *weigher) comprehension(c ast.ComprehensionExpr, scope *local) bulk {
	ranged, init := w.weigh(c.IterRange(), scope), w.weigh(c.AccuInit(), scope)
	if isBind(c) {
		return w.weigh(c.Result(), &local{c.AccuVar(), init, scope})
	}
	inner := &local{c.AccuVar(), bulk{1, init.parts}, scope}
	inner = &local{c.IterVar(), ranged, inner}
	if c.HasIterVar2() {
		inner = &local{c.IterVar2(), ranged, inner}
	}
	w.weigh(c.LoopCondition(), inner)
	step := w.weigh(c.LoopStep(), inner)
	return w.weigh(c.Result(), &local{c.AccuVar(), bulk{1, max(init.parts, step.parts)}, scope})
}

// nodes are how many there are of those that take the checker long.
type nodes struct{ comprehensions, empty int }

// countNodes counts comprehensions without cel.bind and its like, and the lists and
// maps that are empty, without those that a macro makes.
func countNodes(e ast.Expr) nodes {
	var n nodes
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		switch {
		case e.Kind() == ast.ComprehensionKind:
			c := e.AsComprehension()
			for _, made := range []ast.Expr{c.IterRange(), c.AccuInit()} {
				if isEmpty(made) && (isBind(c) || made.ID() == c.AccuInit().ID()) {
					n.empty--
				}
			}
			if !isBind(c) {
				n.comprehensions++
			}
		case isEmpty(e):
			n.empty++
		}
	}))
	return n
}

func isEmpty(e ast.Expr) bool {
	return e.Kind() == ast.ListKind && e.AsList().Size() == 0 || e.Kind() == ast.MapKind && e.AsMap().Size() == 0
}
