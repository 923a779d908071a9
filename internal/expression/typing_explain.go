package expression

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/diagnostic"
)

// A typeCheck explains what CEL's checker found in the tree of a source.
type typeCheck struct {
	Typing
	*ast.AST

	env    *Environment
	source Source
	text   *script
	nodes  map[int64]ast.NavigableExpr // of the tree
}

// at is a diagnostic at an error. One of a call is at its name, not at its bracket.
func (c *typeCheck) at(err *common.Error, message string) *diagnostic.Diagnostic {
	line, column := c.text.position(c.text.nameBefore(c.text.offset(err.Location.Line(), err.Location.Column())))
	return c.source.wrongAt(line, column, message)
}

// isPlaceError reports whether an error at a node is about its place in another one: the
// node by itself is right. The checker gives what is wrong the type of an error, or for a
// selection, any type.
func (c *typeCheck) isPlaceError(e ast.Expr) bool {
	if e.Kind() != ast.SelectKind && !isCall(e, operators.OptSelect) {
		return c.typeOf(e).Kind() != types.ErrorKind
	}
	operand, field, _ := selection(e)
	switch of := withoutOptional(c.typeOf(operand)); of.Kind() { //nolint:exhaustive // all others have no fields
	case types.MapKind, types.DynKind, types.ErrorKind, types.TypeParamKind:
		return true
	case types.StructKind:
		_, ok := c.Objects.Field(of.TypeName(), field)
		return ok
	}
	return false
}

// explain an error of the checker. It is empty for one that is none.
func (c *typeCheck) explain(err *common.Error) string {
	e := c.nodes[err.ExprID]
	if e == nil {
		return ""
	}
	t := c.GetType(err.ExprID)
	operand, field, selects := selection(e)
	switch {
	case c.isPlaceError(e):
		parent, ok := e.Parent()
		if !ok || parent.Kind() != ast.ComprehensionKind || parent.AsComprehension().IterRange().ID() != e.ID() {
			return fmt.Sprintf("must be true or false, but is %s: compare it with something", c.aType(t))
		}
		if c.involves(t) {
			return "" // a map, whose keys are walked
		}
		return fmt.Sprintf("cannot be walked: it is %s, and no list or map", c.aType(t))
	case selects:
		return c.explainSelection(c.typeOf(operand), field)
	case e.Kind() == ast.CallKind:
		return c.explainCall(e.AsCall())
	}
	return "" // not of the types that are known
}

// mayWork reports whether a call that the checker refuses can do at run time, where
// types are those of the values: one of several values is chosen, whose types differ,
// numbers of two types are compared, or lists and maps, which are equal if they are
// empty.
func (c *typeCheck) mayWork(id int64) bool {
	e := c.nodes[id]
	if e == nil || e.Kind() != ast.CallKind {
		return false
	}
	call := e.AsCall()
	switch fn := call.FunctionName(); fn {
	case operators.Conditional:
		return isKind(c.typeOf(call.Args()[0]), types.BoolKind, types.DynKind, types.ErrorKind)
	case operators.Equals, operators.NotEquals:
		a, b := c.typeOf(call.Args()[0]), c.typeOf(call.Args()[1])
		return isNumber(a) && isNumber(b) || a.Kind() == b.Kind() && isKind(a, types.ListKind, types.MapKind)
	case operators.In:
		list := c.typeOf(call.Args()[1])
		return len(list.Parameters()) > 0 && isNumber(c.typeOf(call.Args()[0])) && isNumber(list.Parameters()[0])
	case "or", "orValue":
		return call.IsMemberFunction()
	default:
		return strings.HasPrefix(fn, "sets.")
	}
}

func isNumber(t *types.Type) bool {
	return isKind(t, types.IntKind, types.UintKind, types.DoubleKind)
}

// Dynamic reports whether dyn() is written around something on the way to what a
// reference reads: whoever writes it knows better.
func (x *Expression) Dynamic(r Reference) bool { return hasDyn(x.node(r.node)) }

func hasDyn(e ast.Expr) bool {
	if e == nil {
		return false
	}
	switch e.Kind() { //nolint:exhaustive // of what references go through
	case ast.SelectKind:
		return hasDyn(e.AsSelect().Operand())
	case ast.CallKind:
		c := e.AsCall()
		if c.FunctionName() == "dyn" {
			return true
		}
		return c.IsMemberFunction() && hasDyn(c.Target()) || len(c.Args()) > 0 && hasDyn(c.Args()[0])
	}
	return false
}

// selection is what a node selects, of what.
func selection(e ast.Expr) (operand ast.Expr, field string, ok bool) {
	if e.Kind() == ast.SelectKind {
		return e.AsSelect().Operand(), e.AsSelect().FieldName(), true
	}
	if e.Kind() != ast.CallKind {
		return nil, "", false
	}
	switch args := e.AsCall().Args(); e.AsCall().FunctionName() {
	case operators.OptSelect, operators.Index:
		field, ok := literalKey(args[1]).(string)
		return args[0], field, ok
	}
	return nil, "", false
}

func (c *typeCheck) explainSelection(of *types.Type, field string) string {
	of = withoutOptional(of)
	switch {
	case of.Kind() == types.StructKind && c.Objects.Has(of.TypeName()):
		return c.Objects.Lacks(of.TypeName(), field)
	case of.Kind() == types.NullTypeKind:
		return "" // as of an object that is not there
	case of.Kind() == types.ListKind:
		return fmt.Sprintf("cannot select %s of a list: select one of its elements first, for example [0], "+
			"or walk it with map or filter", field)
	}
	return fmt.Sprintf("cannot select %s of what is %s", field, c.aType(of))
}

// withArticle is a type in a sentence.
func withArticle(t string) string {
	if strings.HasPrefix(t, "int") {
		return "an " + t
	}
	return "a " + t
}

// aType is a type in a sentence, as people call it.
func (t Typing) aType(of *types.Type) string { return withArticle(t.typeText(of)) }

func (c *typeCheck) typeOf(e ast.Expr) *types.Type { return c.GetType(e.ID()) }

func (c *typeCheck) typesOf(all []ast.Expr) []*types.Type {
	out := make([]*types.Type, 0, len(all))
	for _, e := range all {
		out = append(out, c.typeOf(e))
	}
	return out
}

// operandsOf a call are its target, if it has one, and its arguments.
func operandsOf(call ast.CallExpr) []ast.Expr {
	if !call.IsMemberFunction() {
		return call.Args()
	}
	return append([]ast.Expr{call.Target()}, call.Args()...)
}

// arithmetic are the operators that no object ever has.
var arithmetic = []string{ //nolint:gochecknoglobals // a table
	operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
	operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.LogicalNot,
}

// explainCall says which operands a call does not take. It is empty if it may take them.
func (c *typeCheck) explainCall(call ast.CallExpr) string {
	fn, operands := call.FunctionName(), operandsOf(call)
	have := c.typesOf(operands)
	objects := slices.ContainsFunc(have, c.involves)
	switch fn {
	case operators.Equals, operators.NotEquals, operators.In:
		scalar := slices.ContainsFunc(have, isComparable)
		if slices.ContainsFunc(have, isNull) || objects && (fn == operators.In || !scalar) {
			return "" // anything may be null, and only a scalar is never equal to an object
		}
		format := map[string]string{
			operators.In:        "can never hold: %s is looked for in %s%s",
			operators.Equals:    "can never hold: it compares %s with %s%s",
			operators.NotEquals: "always holds: it compares %s with %s%s",
		}[fn]
		return fmt.Sprintf(format, c.aType(have[0]), c.aType(have[1]), c.convert(operands))
	case operators.Conditional:
		if !isKind(have[0], types.BoolKind, types.DynKind, types.ErrorKind) {
			return fmt.Sprintf("the condition of ?: is %s: compare it with something", c.aType(have[0]))
		}
		if objects {
			return ""
		}
		return fmt.Sprintf("gives %s or %s: make both the same type, or write dyn(...) around one",
			c.aType(have[1]), c.aType(have[2]))
	}
	isList := func(t *types.Type) bool { return t.Kind() == types.ListKind }
	if fn == operators.Add && isList(have[0]) && isList(have[1]) || objects && !slices.Contains(arithmetic, fn) {
		return ""
	}
	names := make([]string, 0, len(have))
	for _, t := range have {
		names = append(names, c.typeText(t))
	}
	return fmt.Sprintf("%s does not take %s%s", callName(fn), strings.Join(names, " and "), callHint(fn, names))
}

// isNull reports whether a type is that of null, or of a list of it.
func isNull(t *types.Type) bool {
	return t.Kind() == types.NullTypeKind || slices.ContainsFunc(t.Parameters(), isNull)
}

// isComparable reports whether a type is that of a scalar that people compare with others.
func isComparable(t *types.Type) bool {
	return isKind(t, types.StringKind, types.IntKind, types.BoolKind, types.DoubleKind, types.BytesKind)
}

// convert says how a string is compared with a number or a boolean.
func (c *typeCheck) convert(operands []ast.Expr) string {
	for i, o := range operands[:2] {
		other := operands[1-i]
		scalar, text := c.typeText(c.typeOf(o)), c.typeText(c.typeOf(other))
		if !slices.Contains([]string{"int", "double", "bool"}, scalar) || text != "string" && text != "list(string)" {
			continue
		}
		switch {
		case o.Kind() == ast.LiteralKind:
			return fmt.Sprintf(": write it in quotes, '%v'", o.AsLiteral().Value())
		case other.Kind() == ast.LiteralKind || other.Kind() == ast.ListKind:
			return fmt.Sprintf(": leave out the quotes, or wrap the %s in string(...)", scalar)
		}
		return fmt.Sprintf(": wrap the %s in string(...)", scalar)
	}
	return ""
}

func callHint(fn string, names []string) string {
	switch number := slices.Contains(names, "int") || slices.Contains(names, "double"); {
	case fn == operators.Add && slices.Contains(names, "string") && (number || slices.Contains(names, "bool")):
		return ": wrap what is no string in string(...)"
	case slices.Contains(names, "int") && slices.Contains(names, "double"):
		return ": wrap the int in double(...)"
	}
	return ""
}

// involves reports whether objects are in a type.
func (c *typeCheck) involves(t *types.Type) bool {
	return t.Kind() == types.StructKind && c.Objects.Has(t.TypeName()) || slices.ContainsFunc(t.Parameters(), c.involves)
}

// plain is the type that a value has at run time, where an object is a map.
func (t Typing) plain(of *types.Type) *types.Type {
	switch {
	case of.Kind() == types.StructKind && t.Objects.Has(of.TypeName()):
		return types.NewMapType(types.StringType, types.DynType)
	case of.Kind() == types.ListKind:
		return types.NewListType(t.plain(of.Parameters()[0]))
	case of.Kind() == types.MapKind:
		return types.NewMapType(of.Parameters()[0], t.plain(of.Parameters()[1]))
	case withoutOptional(of) != of:
		return types.NewOptionalType(t.plain(withoutOptional(of)))
	case of.Kind() == types.ErrorKind:
		return types.DynType
	}
	return of
}

// Misfit says that an expression does not return what a field takes, and a hint what
// to write. An optional is what it may hold.
func (t Typing) Misfit(returned *types.Type, field string, want *types.Type) string {
	returned = t.plain(withoutOptional(returned))
	how := ""
	if isKind(want, types.StringKind) {
		how = conversionHint(returned, "")
	}
	return fmt.Sprintf("returns %s, but %s is %s%s", t.aType(returned), field, t.aType(want), how)
}

// typeText is a type for people.
func (t Typing) typeText(of *types.Type) string {
	return cel.FormatCELType(t.plain(of))
}
