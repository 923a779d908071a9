package expression

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// KeyOrdered is a map that iterates in the order of its keys by itself.
type KeyOrdered interface {
	traits.Mapper
	// KeyOrdered does nothing. It marks the type.
	KeyOrdered()
}

// ordered declares the identity function that the range of each comprehension
// is wrapped in. Its name has a character that no source can have.
//
// cel-go walks a map in the order of a Go map, which is random: a list made from
// one, and what is exported from it, would change on every reconcile. The call
// is also where an iteration is paid for, before it begins.
func ordered() cel.EnvOption {
	t := cel.TypeParamType("T")
	return cel.Function(orderedCall, cel.Overload("export_ordered", []*cel.Type{t}, t, cel.UnaryBinding(order)))
}

func order(v ref.Val) ref.Val {
	switch m := v.(type) {
	case KeyOrdered:
		return v
	case traits.Mapper:
		return orderedMap{m}
	}
	return v
}

// orderRanges wraps the range of each comprehension of a parsed tree, in place.
// The call takes over the node of the range, and so its position; the range
// itself gets a new one.
func orderRanges(a *ast.AST) {
	next, fac, info := ast.MaxID(a), ast.NewExprFactory(), a.SourceInfo()
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.ComprehensionKind || isBind(e.AsComprehension()) {
			return
		}
		at := e.AsComprehension().IterRange()
		next++
		inner := fac.CopyExpr(at)
		inner.RenumberIDs(func(id int64) int64 {
			if id == at.ID() {
				return next
			}
			return id
		})
		if r, ok := info.GetOffsetRange(at.ID()); ok {
			info.SetOffsetRange(next, r)
		}
		at.SetKindCase(fac.NewCall(at.ID(), orderedCall, inner))
	}))
}

// An orderedMap walks a map in the order of its keys.
type orderedMap struct{ traits.Mapper }

func (m orderedMap) KeyOrdered() {}

func (m orderedMap) keys() []ref.Val {
	n, _ := m.Size().(types.Int)
	keys := make([]ref.Val, 0, int(n))
	for it := m.Mapper.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

// compareKeys orders keys of one type by value, and keys of several types by
// the name of their type.
func compareKeys(a, b ref.Val) int {
	if c, ok := a.(traits.Comparer); ok && a.Type() == b.Type() {
		if r, ok := c.Compare(b).(types.Int); ok {
			return int(r)
		}
	}
	return cmp.Or(cmp.Compare(a.Type().TypeName(), b.Type().TypeName()), cmp.Compare(fmt.Sprint(a.Value()), fmt.Sprint(b.Value())))
}

// Iterator walks the keys in their order.
func (m orderedMap) Iterator() traits.Iterator {
	return types.NewRefValList(types.DefaultTypeAdapter, m.keys()).(traits.Lister).Iterator()
}

// Fold walks the entries in the order of their keys.
func (m orderedMap) Fold(f traits.Folder) {
	for _, k := range m.keys() {
		v, _ := m.Find(k)
		if !f.FoldEntry(k, v) {
			return
		}
	}
}
