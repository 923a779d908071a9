package expression

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
)

// This file finds all references of a checked tree: the paths below the variables that an expression can read. A local
// variable stands for the paths that its value may have, so that a secret is found through comprehensions and cel.bind,
// and a local variable of the same name is never taken for one.

// below returns the paths one step below others.
func below(ps []Reference, s Step) []Reference {
	out := slices.Clone(ps)
	for i, p := range out {
		out[i].Path = append(slices.Clip(p.Path), s)
	}
	return out
}

// A scope maps a local variable to the paths that its value may have. A value that does not come from a
// variable has no paths.
type scope struct {
	name   string
	paths  []Reference
	parent *scope
}

func (s *scope) find(name string) ([]Reference, bool) {
	for ; s != nil; s = s.parent {
		if s.name == name {
			return s.paths, true
		}
	}
	return nil, false
}

// A tracer walks a checked tree, and collects the references of the expression. A reference that is the value of a
// node, and not used yet, has only its variable, its path, and whether it is read under a condition.
type tracer struct {
	*Expression

	types  map[int64]*types.Type // of the tree's nodes
	branch int                   // how many conditions are above the node
}

// add a reference to the expression.
func (t *tracer) add(r Reference, node int64, tested bool) {
	r.tested, r.branch, r.node = tested, t.branch > 0 || r.branch, node
	r.must = slices.IndexFunc(r.Path, func(s Step) bool { return s.optional })
	switch {
	case r.must >= 0:
	case tested:
		r.must = len(r.Path) - 1
	default:
		r.must = len(r.Path)
	}
	t.references = append(t.references, r)
}

// use walks e, and records the paths of its value as used.
func (t *tracer) use(e ast.Expr, s *scope) {
	for _, p := range t.paths(e, s) {
		t.add(p, celast.AsWritten(e).ID(), false)
	}
}

func (t *tracer) under(e ast.Expr, s *scope) {
	t.branch++
	t.use(e, s)
	t.branch--
}

// paths walks e, and returns the paths of its value. It records the paths that are used inside e, but
// not the paths that it returns.
func (t *tracer) paths(e ast.Expr, s *scope) []Reference {
	switch e.Kind() { //nolint:exhaustive // a literal uses nothing
	case ast.IdentKind:
		return t.identPaths(e, s)
	case ast.SelectKind:
		return t.selectPaths(e, s)
	case ast.CallKind:
		return t.callPaths(e, s)
	case ast.ComprehensionKind:
		return t.comprehensionPaths(e.AsComprehension(), s)
	case ast.ListKind:
		for _, x := range e.AsList().Elements() {
			t.use(x, s)
		}
	case ast.MapKind:
		for _, x := range e.AsMap().Entries() {
			t.use(x.AsMapEntry().Key(), s)
			t.use(x.AsMapEntry().Value(), s)
		}
	case ast.StructKind:
		for _, x := range e.AsStruct().Fields() {
			t.use(x.AsStructField().Value(), s)
		}
	}
	return nil
}

func (t *tracer) identPaths(e ast.Expr, s *scope) []Reference {
	name, global := strings.CutPrefix(e.AsIdent(), ".") // the variable itself, even where a local one shadows it
	if ps, ok := s.find(name); ok && !global {
		return ps
	}
	if t.types[e.ID()].Kind() == types.TypeKind {
		return nil // int, string and so on: no variable is a type
	}
	t.idents = append(t.idents, e)
	return []Reference{{Variable: name}}
}

func (t *tracer) selectPaths(e ast.Expr, s *scope) []Reference {
	sel := e.AsSelect()
	ps := below(t.paths(sel.Operand(), s), Step{Key: sel.FieldName()})
	if !sel.IsTestOnly() {
		return ps
	}
	for _, p := range ps {
		t.add(p, e.ID(), true)
	}
	return nil
}

func (t *tracer) callPaths(e ast.Expr, s *scope) []Reference {
	c := e.AsCall()
	args := celast.Operands(c)
	form := c.FunctionName()
	if c.IsMemberFunction() {
		form = fmt.Sprintf(".%s/%d", form, len(c.Args()))
	}
	switch form {
	case operators.Index, operators.OptIndex, operators.OptSelect:
		return t.indexPaths(args, form != operators.Index, s)
	case operators.Conditional:
		t.use(args[0], s)
		return append(t.chosen(args[1], s), t.chosen(args[2], s)...)
	case operators.LogicalAnd, operators.LogicalOr:
		for _, a := range args {
			t.under(a, s) // the other side alone may determine the result
		}
		return nil
	case ".value/0":
		return t.optional(e, args[0], s)
	case ".or/1", ".orValue/1":
		return append(t.optional(e, args[0], s), t.chosen(args[1], s)...)
	case ".hasValue/0":
		for _, p := range t.optional(e, args[0], s) {
			t.add(p, e.ID(), true)
		}
		return nil
	case celast.OptionalCall:
		for _, p := range t.optional(e, args[0], s) {
			t.add(p, args[0].ID(), false)
		}
		return nil
	}
	if isIdentity(c) {
		return t.paths(args[0], s)
	}
	for _, a := range args {
		t.use(a, s)
	}
	return nil
}

// optional returns the paths of an operand of e that must be an optional. A part of the data is one only if a step of
// its path is optional. A variable of the input can have any value.
func (t *tracer) optional(e, operand ast.Expr, s *scope) []Reference {
	ps := t.paths(operand, s)
	data := func(p Reference) bool {
		return p.Variable != Variables && !slices.ContainsFunc(p.Path, func(s Step) bool { return s.optional })
	}
	if celast.IsKind(t.types[operand.ID()], types.DynKind) && len(ps) > 0 &&
		!slices.ContainsFunc(ps, func(p Reference) bool { return !data(p) }) {
		t.plain[e.ID()] = true
	}
	return ps
}

// chosen returns the paths of the value that a condition chooses.
func (t *tracer) chosen(e ast.Expr, s *scope) []Reference {
	t.branch++
	ps := slices.Clone(t.paths(e, s))
	t.branch--
	for i := range ps {
		ps[i].branch = true
	}
	return ps
}

// isIdentity reports whether a call returns its only argument, also within an optional.
func isIdentity(c ast.CallExpr) bool {
	switch c.FunctionName() {
	case "dyn", "optional.of", "optional.ofNonZeroValue", celast.OrderedCall:
		return true
	}
	return false
}

func (t *tracer) indexPaths(args []ast.Expr, optional bool, s *scope) []Reference {
	step := Step{optional: optional, Key: celast.Key(args[1]), ItemKey: isItemKey(args[1], s)}
	if step.Any() {
		step.parts = t.partsOf(args[1], s)
	}
	t.use(args[1], s)
	return below(t.paths(args[0], s), step)
}

// isItemKey reports whether an expression is the variable with the key of an item.
func isItemKey(e ast.Expr, s *scope) bool {
	_, local := s.find(e.AsIdent()) // it is empty for an expression that is no variable
	return !local && strings.TrimPrefix(e.AsIdent(), ".") == Key
}

func (t *tracer) comprehensionPaths(c ast.ComprehensionExpr, s *scope) []Reference {
	if celast.IsBind(c) {
		return t.paths(c.Result(), &scope{c.AccuVar(), t.paths(c.AccuInit(), s), s})
	}
	ranged := t.paths(c.IterRange(), s)
	for _, p := range ranged {
		t.add(p, celast.AsWritten(c.IterRange()).ID(), false)
	}
	elements := below(ranged, Step{})
	t.use(c.AccuInit(), s)

	// A single variable is the element of a list or the key of a map. Assume the element, because a key
	// has nothing below it. If there are two variables, the second one is the value.
	inner := &scope{name: c.AccuVar(), parent: s}
	if c.HasIterVar2() {
		inner = &scope{name: c.IterVar(), parent: inner}
		inner = &scope{c.IterVar2(), elements, inner}
	} else {
		inner = &scope{c.IterVar(), elements, inner}
	}
	t.under(c.LoopCondition(), inner)
	t.under(c.LoopStep(), inner)
	t.use(c.Result(), &scope{name: c.AccuVar(), parent: s})
	return nil
}

// partsOf returns the parts of an index that is a value or several joined texts, without secrets. Otherwise it returns
// nil.
func (t *tracer) partsOf(e ast.Expr, s *scope) []part {
	if text, ok := celast.Text(e); ok {
		return []part{{text: text}}
	}
	if c := e.AsCall(); c.FunctionName() == operators.Add && len(c.Args()) == 2 {
		left, right := t.partsOf(c.Args()[0], s), t.partsOf(c.Args()[1], s)
		if left == nil || right == nil {
			return nil
		}
		return append(left, right...)
	}
	ps := (&tracer{Expression: &Expression{plain: t.plain}, types: t.types}).paths(e, s)
	if len(ps) != 1 || !slices.Contains(nameable, ps[0].Variable) {
		return nil
	}
	return []part{{read: ps[0]}}
}
