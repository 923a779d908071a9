package expression

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// A typeCheck explains the errors of CEL's checker in the tree of a source.
type typeCheck struct {
	Typing
	*ast.AST

	env    *Environment
	source Source
	text   *script
	nodes  map[int64]ast.NavigableExpr // of the tree
}

// at returns a diagnostic at the position of an error. The position of a call is its name, not its
// bracket.
func (c *typeCheck) at(err *common.Error, message string) *diagnostic.Diagnostic {
	line, column := c.text.position(c.offsetOf(err))
	return c.source.wrongAt(line, column, message)
}

// offset returns the offset of a node.
func (c *typeCheck) offset(e ast.Expr) int {
	l := c.SourceInfo().GetStartLocation(e.ID())
	return c.text.offset(l.Line(), l.Column())
}

// offsetOf returns the offset of an error.
func (c *typeCheck) offsetOf(err *common.Error) int {
	return c.text.nameBefore(c.text.offset(err.Location.Line(), err.Location.Column()))
}

// isPlaceError reports whether an error at a node is about its place in another node, and the node
// itself is valid. The checker assigns the error type to an invalid node, or any type to an invalid
// selection.
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

// explain returns a message for an error of the checker. The message is empty if it is not an error at
// run time.
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
		if ok && (parent.Kind() == ast.MapKind || parent.Kind() == ast.ListKind) {
			return needsOptionalEntry(c.textOf(e))
		}
		if !ok || parent.Kind() != ast.ComprehensionKind || parent.AsComprehension().IterRange().ID() != e.ID() {
			return fmt.Sprintf("must be true or false, but is %s%s", c.aType(t), c.compared(e))
		}
		if c.involves(t) {
			return "" // a map: the comprehension iterates over its keys
		}
		return fmt.Sprintf("cannot be iterated: it is %s, not a list or map%s", c.aType(t),
			c.withDefault([]ast.Expr{e}, "[]"))
	case selects:
		return c.explainSelection(c.typeOf(operand), field)
	case e.Kind() == ast.CallKind:
		return c.explainCall(e.AsCall())
	}
	return "" // not about the known types
}

// mayWork reports whether a call that the checker refuses can work at run time, with the types of the
// values: a condition chooses between values of different types, numbers of two types are compared, or
// lists and maps are compared, which are equal if they are empty.
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

// Dynamic reports whether a part of the path of a reference is wrapped in dyn(). Then the types are not
// checked.
func (x *Expression) Dynamic(r Reference) bool { return hasDyn(x.node(r.node)) }

func hasDyn(e ast.Expr) bool {
	if e == nil {
		return false
	}
	switch e.Kind() { //nolint:exhaustive // only nodes that references pass through
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

// selection returns the operand and the field of a node that selects a field.
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
		return "" // for example the type of an object that does not exist
	case of.Kind() == types.ListKind:
		return fmt.Sprintf("cannot select %s from a list: select one of its elements first, for example [0], "+
			"or iterate over it with map or filter", field)
	}
	return fmt.Sprintf("cannot select %s from %s", field, c.aType(of))
}

// withArticle returns a type with its article.
func withArticle(t string) string {
	switch {
	case strings.HasPrefix(t, "int") || t == anOptional:
		return "an " + t
	case t == "null":
		return t
	}
	return "a " + t
}

// aType returns the usual name of a type with its article.
func (t Typing) aType(of *types.Type) string { return withArticle(t.typeText(of)) }

func (c *typeCheck) typeOf(e ast.Expr) *types.Type { return c.GetType(e.ID()) }

func (c *typeCheck) typesOf(all []ast.Expr) []*types.Type {
	out := make([]*types.Type, 0, len(all))
	for _, e := range all {
		out = append(out, c.typeOf(e))
	}
	return out
}

// operandsOf returns the target of a call, if it has one, and its arguments.
func operandsOf(call ast.CallExpr) []ast.Expr {
	if !call.IsMemberFunction() {
		return call.Args()
	}
	return append([]ast.Expr{call.Target()}, call.Args()...)
}

// arithmetic are the operators that never accept objects.
var arithmetic = []string{ //nolint:gochecknoglobals // a table
	operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
	operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.LogicalNot,
}

// explainCall returns a message about operands that a call does not accept. The message is empty if the
// call may accept them.
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
			operators.In:        "can never be true: it looks for %s in %s%s",
			operators.Equals:    "can never be true: it compares %s with %s%s",
			operators.NotEquals: "is always true: it compares %s with %s%s",
		}[fn]
		return fmt.Sprintf(format, c.aType(have[0]), c.aType(have[1]), c.convert(fn, operands))
	case operators.Conditional:
		if !isKind(have[0], types.BoolKind, types.DynKind, types.ErrorKind) {
			return fmt.Sprintf("the condition of ?: is %s%s", c.aType(have[0]), c.compared(operands[0]))
		}
		if objects {
			return ""
		}
		return fmt.Sprintf("returns %s or %s%s", c.aType(have[1]), c.aType(have[2]), c.sameType(operands[1:]))
	}
	isList := func(t *types.Type) bool { return t.Kind() == types.ListKind }
	if fn == operators.Add && isList(have[0]) && isList(have[1]) || objects && !slices.Contains(arithmetic, fn) {
		return ""
	}
	names := make([]string, 0, len(have))
	for _, t := range have {
		names = append(names, c.typeText(t))
	}
	empty := cmp.Or(map[string]string{"merge": "{}"}[fn], "''")
	return fmt.Sprintf("%s does not accept %s%s", callName(fn), strings.Join(names, " and "),
		cmp.Or(c.withDefault(operands, empty)+c.mapped(call), callHint(call, names)))
}

// sameType returns the hint for the results of a condition, which have different types.
func (c *typeCheck) sameType(results []ast.Expr) string {
	for i, e := range results {
		other := c.typeOf(results[1-i])
		switch of := c.typeOf(e); {
		case of.Kind() == types.NullTypeKind:
			return ": for no value write optional.of(...) and optional.none(), with optional: true"
		case !isKind(other, types.StringKind) || !isKind(of, types.IntKind, types.DoubleKind, types.BoolKind):
			continue
		case e.Kind() == ast.LiteralKind:
			return fmt.Sprintf(": write the %s in quotes, '%v'", c.typeText(of), e.AsLiteral().Value())
		default:
			return fmt.Sprintf(": wrap the %s in string(...)", c.typeText(of))
		}
	}
	return ": make both the same type, or write dyn(...) around one"
}

// compared returns the hint for a condition that is not true or false.
func (c *typeCheck) compared(e ast.Expr) string {
	return cmp.Or(c.withDefault([]ast.Expr{e}, "false"), ": compare it with something")
}

// isNull reports whether a type is null or a list of null.
func isNull(t *types.Type) bool {
	return t.Kind() == types.NullTypeKind || slices.ContainsFunc(t.Parameters(), isNull)
}

// isComparable reports whether a type is a scalar that is often compared with other types.
func isComparable(t *types.Type) bool {
	return isKind(t, types.StringKind, types.IntKind, types.BoolKind, types.DoubleKind, types.BytesKind)
}

// convert returns a hint how to compare an optional, or a string with a number or a boolean.
func (c *typeCheck) convert(fn string, operands []ast.Expr) string {
	if hint := c.withDefault(operands, "''"); hint != "" {
		return hint
	}
	if fn == operators.In && isKind(c.typeOf(operands[1]), types.StringKind) {
		return ": write text.contains(part)"
	}
	for i, o := range operands[:2] {
		other := operands[1-i]
		scalar, text := c.typeText(c.typeOf(o)), c.typeText(c.typeOf(other))
		if !isNumeric(scalar) && scalar != "bool" || text != "string" && text != "list(string)" {
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

func isMapName(name string) bool { return strings.HasPrefix(name, "map(") }

func isListName(name string) bool { return strings.HasPrefix(name, "list(") }

func callHint(call ast.CallExpr, names []string) string {
	fn, number := call.FunctionName(), slices.ContainsFunc(names, isNumeric)
	has := func(name string) bool { return slices.Contains(names, name) }
	sum := sumHint(has("string"), number || has("bool"), slices.ContainsFunc(names, isMapName),
		slices.ContainsFunc(names, isListName))
	switch {
	case fn == operators.Add && sum != "":
		return sum
	case has("string") && textHint(call, names) != "":
		return textHint(call, names)
	case has("int") && has("double"):
		return ": wrap the int in double(...)"
	case call.IsMemberFunction() && isNumeric(names[0]):
		return fmt.Sprintf(": wrap the %s in string(...)", names[0])
	case fn == "merge" && isMapName(names[0]) && isMapName(names[1]):
		return ": convert the values of one map, or write dyn(...) around it"
	case fn == "join":
		return ": convert its elements with .map(x, string(x))"
	}
	return ""
}

// textHint returns the hint for an operator that does not accept a text with the other operand.
func textHint(call ast.CallExpr, names []string) string {
	isText := func(e ast.Expr) bool { _, ok := literalString(e); return ok }
	switch fn := call.FunctionName(); {
	case fn == operators.Add && slices.Contains(names, "null"):
		return ": write '' for an empty text"
	case fn == operators.Subtract:
		return noSubtraction
	case !slices.Contains(comparisons, fn) || !slices.ContainsFunc(names, isNumeric):
		return ""
	case slices.ContainsFunc(call.Args(), isText):
		return ": leave out the quotes, or wrap the number in string(...)"
	}
	return ": wrap the string in int(...) or double(...)"
}

func isNumeric(name string) bool { return name == "int" || name == "double" || name == "number" }

// involves reports whether a type contains objects.
func (c *typeCheck) involves(t *types.Type) bool {
	return t.Kind() == types.StructKind && c.Objects.Has(t.TypeName()) || slices.ContainsFunc(t.Parameters(), c.involves)
}

// plain returns the type that a value has at run time: objects are maps.
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

// unencoded returns the hint for a text where a list or a map is wanted.
func unencoded(want *types.Type) string {
	switch want.Kind() { //nolint:exhaustive // no hint for all others
	case types.ListKind:
		return ": leave json.encode or join out, or write [ ] around it"
	case types.MapKind, types.StructKind:
		return ": leave json.encode out"
	}
	return ""
}

// Misfit returns the message for an expression whose type does not fit a field, with a hint. For an
// optional, it uses the type of the value.
func (t Typing) Misfit(returned *types.Type, field string, want *types.Type) string {
	plain := t.plain(withoutOptional(returned))
	isNumber := func(of *types.Type) bool { return t.Number != nil && of.IsExactType(t.Number) }
	how, convert := "", ""
	switch {
	case isKind(plain, types.StringKind) && isKind(want, types.IntKind):
		convert = "int"
	case isKind(plain, types.StringKind) && isNumber(want):
		convert = "double"
	case isKind(want, types.StringKind) && isNumber(plain):
		convert = "string"
	case isKind(want, types.StringKind):
		how = conversionHint(plain, "")
	case isKind(plain, types.StringKind):
		how = unencoded(want)
	}
	if how == stringHint {
		convert = "string"
	}
	switch isOptional := withoutOptional(returned) != returned; {
	case convert != "" && isOptional:
		how = fmt.Sprintf(": convert the optional value with .optMap(v, %s(v))", convert)
	case convert != "":
		how = fmt.Sprintf(": wrap it in %s(...)", convert)
	}
	return fmt.Sprintf("returns %s, but %s is %s%s", t.aType(plain), field, t.aType(want), how)
}
