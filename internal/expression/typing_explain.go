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
)

// A typeCheck explains what CEL's checker found.
type typeCheck struct {
	Typing
	*ast.AST
}

// explain an error of the checker. It is empty for one that is no fault.
func (c typeCheck) explain(err *common.Error) string {
	e := c.node(err.ExprID)
	if e == nil {
		return ""
	}
	t := c.GetType(err.ExprID)
	operand, field, selects := selection(e)
	switch {
	// Of one node there can be two errors: of itself, and of its place in another.
	case strings.HasPrefix(err.Message, "expression of type"):
		if c.involves(t) {
			return "" // a map, whose keys are walked
		}
		return fmt.Sprintf("cannot be walked: it is %s, and no list or map", withArticle(c.typeText(t)))
	case strings.HasPrefix(err.Message, "expected type"):
		return fmt.Sprintf("must be true or false, but is %s: compare it with something", withArticle(c.typeText(t)))
	case selects:
		return c.explainSelection(c.GetType(operand.ID()), field)
	case e.Kind() == ast.CallKind:
		return c.explainCall(e.AsCall())
	}
	return "" // not of the types that are known
}

// mayWork reports whether a call that the checker refuses can do at run time, where
// types are those of the values: one of several values is chosen, whose types differ,
// numbers of two types are compared, or lists and maps, which are equal if they are
// empty.
func (c typeCheck) mayWork(id int64) bool {
	e := c.node(id)
	if e == nil || e.Kind() != ast.CallKind {
		return false
	}
	call := e.AsCall()
	switch fn := call.FunctionName(); fn {
	case operators.Conditional:
		return isKind(c.GetType(call.Args()[0].ID()), types.BoolKind, types.DynKind, types.ErrorKind)
	case operators.Equals, operators.NotEquals:
		a, b := c.GetType(call.Args()[0].ID()), c.GetType(call.Args()[1].ID())
		return isNumber(a) && isNumber(b) || a.Kind() == b.Kind() && isKind(a, types.ListKind, types.MapKind)
	case operators.In:
		list := c.GetType(call.Args()[1].ID())
		return len(list.Parameters()) > 0 && isNumber(c.GetType(call.Args()[0].ID())) && isNumber(list.Parameters()[0])
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

func (c typeCheck) node(id int64) (found ast.Expr) {
	ast.PostOrderVisit(c.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() == id {
			found = e
		}
	}))
	return found
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

func (c typeCheck) explainSelection(of *types.Type, field string) string {
	of = withoutOptional(of)
	switch {
	case of.Kind() == types.StructKind && c.Objects.Has(of.TypeName()):
		return c.Objects.Lacks(of.TypeName(), field)
	case of.Kind() == types.NullTypeKind:
		return "" // as of an object that is not there
	case of.Kind() == types.ListKind:
		return fmt.Sprintf("cannot select %s of a list: select one of its elements first, for example [0], or walk it with map or filter", field)
	}
	return fmt.Sprintf("cannot select %s of what is %s", field, withArticle(c.typeText(of)))
}

// withArticle is a type in a sentence.
func withArticle(t string) string {
	if strings.HasPrefix(t, "int") {
		return "an " + t
	}
	return "a " + t
}

// arithmetic are the operators that no object ever has.
var arithmetic = map[string]bool{ //nolint:gochecknoglobals // a table
	operators.Add: true, operators.Subtract: true, operators.Multiply: true, operators.Divide: true, operators.Modulo: true, operators.Negate: true,
	operators.Less: true, operators.LessEquals: true, operators.Greater: true, operators.GreaterEquals: true, operators.LogicalNot: true,
}

func (c typeCheck) explainCall(call ast.CallExpr) string {
	operands := slices.Clone(call.Args())
	if call.IsMemberFunction() {
		operands = append([]ast.Expr{call.Target()}, operands...)
	}
	names := make([]string, 0, len(operands))
	objects, null, lists := false, false, true
	for _, o := range operands {
		t := c.GetType(o.ID())
		names = append(names, c.typeText(t))
		objects = objects || c.involves(t)
		null = null || isNull(t)
		lists = lists && t.Kind() == types.ListKind
	}
	fn := call.FunctionName()
	equality := fn == operators.Equals || fn == operators.NotEquals || fn == operators.In
	switch {
	case equality && null: // null is a value that anything may have
		return ""
	case lists && fn == operators.Add: // whatever is in them
		return ""
	case fn == operators.Conditional && !isKind(c.GetType(operands[0].ID()), types.BoolKind, types.DynKind, types.ErrorKind):
		return fmt.Sprintf("the condition of ?: is %s: compare it with something", withArticle(names[0]))
	case objects && fn != operators.Equals && fn != operators.NotEquals && !arithmetic[fn], objects && equality && !c.againstScalar(operands):
		return ""
	case equality && fn == operators.In:
		return fmt.Sprintf("can never hold: %s is looked for in %s", withArticle(names[0]), withArticle(names[1])) + c.convert(operands)
	case equality && fn == operators.Equals:
		return fmt.Sprintf("can never hold: it compares %s with %s", withArticle(names[0]), withArticle(names[1])) + c.convert(operands)
	case equality:
		return fmt.Sprintf("always holds: it compares %s with %s", withArticle(names[0]), withArticle(names[1])) + c.convert(operands)
	case fn == operators.Conditional:
		return fmt.Sprintf("gives %s or %s: make both the same type, or write dyn(...) around one", withArticle(names[1]), withArticle(names[2]))
	}
	return fmt.Sprintf("%s does not take %s", callName(fn), strings.Join(names, " and ")) + mendCall(fn, names)
}

// isNull reports whether a type is that of null, or of a list of it.
func isNull(t *types.Type) bool {
	return t.Kind() == types.NullTypeKind || slices.ContainsFunc(t.Parameters(), isNull)
}

// againstScalar reports whether one of the operands is a scalar, which no object is
// equal to.
func (c typeCheck) againstScalar(operands []ast.Expr) bool {
	return slices.ContainsFunc(operands, func(o ast.Expr) bool {
		return isKind(c.GetType(o.ID()), types.StringKind, types.IntKind, types.BoolKind, types.DoubleKind, types.BytesKind)
	})
}

// convert says how a string is compared with a number or a boolean.
func (c typeCheck) convert(operands []ast.Expr) string {
	for i, o := range operands[:2] {
		other := operands[1-i]
		scalar := c.typeText(c.GetType(o.ID()))
		if !slices.Contains([]string{"int", "double", "bool"}, scalar) || !slices.Contains([]string{"string", "list(string)"}, c.typeText(c.GetType(other.ID()))) {
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

func mendCall(fn string, names []string) string {
	switch number := slices.Contains(names, "int") || slices.Contains(names, "double"); {
	case fn == operators.Add && slices.Contains(names, "string") && (number || slices.Contains(names, "bool")):
		return ": wrap what is no string in string(...)"
	case slices.Contains(names, "int") && slices.Contains(names, "double"):
		return ": wrap the int in double(...)"
	}
	return ""
}

// involves reports whether objects are in a type.
func (c typeCheck) involves(t *types.Type) bool {
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

// Misfit says that an expression does not return what a field takes, and how to mend
// it. An optional is what it may hold.
func (t Typing) Misfit(returned *types.Type, field string, want *types.Type) string {
	returned = t.plain(withoutOptional(returned))
	how := ""
	if isKind(want, types.StringKind) {
		how = mend(returned, "")
	}
	return fmt.Sprintf("returns %s, but %s is %s%s", withArticle(t.typeText(returned)), field, withArticle(t.typeText(want)), how)
}

// typeText is a type for people.
func (t Typing) typeText(of *types.Type) string {
	return cel.FormatCELType(t.plain(of))
}
