package expression

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/containers"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// Objects are object types: which fields each has.
type Objects interface {
	// Has reports whether a type is one of them.
	Has(name string) bool
	// Field is the type of a field, and whether there may be one.
	Field(name, field string) (*types.Type, bool)
	// Lacks says that there is no such field, and how to mend it.
	Lacks(name, field string) string
}

// A Typing is what is known of the types of an expression's variables.
type Typing struct {
	// Objects that the types of Variables are made of.
	Objects Objects

	// Variables whose type is known. All others are as they are without.
	Variables map[string]*types.Type

	// Values are the strings that what a reference reads is one of; none if it may be
	// any. It may be nil.
	Values func(Reference) []string
}

// CheckTypes looks for what can never work, now that types are known: a field that
// is not there, a string where a number is, a comparison that cannot hold. It
// returns the type of the result, in which objects are object types. The order of
// the faults says nothing.
//
// CEL's checker takes an object for something else than a map, which at run time it
// is: what it has against objects that are compared, iterated, measured or given
// where a map could be is no fault. What dyn() is written around is not looked at.
func (e *Environment) CheckTypes(x *Expression, t Typing) (*types.Type, []Fault) {
	s := x.source
	parsed, iss := e.env.ParseSource(common.NewStringSource(s.Text, s.Path))
	if iss.Err() != nil {
		return types.DynType, nil // it did compile
	}
	tree := parsed.NativeRep()
	selectKeys(tree)
	env, err := e.checker(t)
	if err != nil {
		return types.DynType, nil // a defect, and none of the input
	}
	checked, errs := checker.Check(tree, common.NewStringSource(s.Text, s.Path), env)
	c, text := typeCheck{t, checked}, newScript(s.Text)
	var faults []Fault
	for _, err := range errs.GetErrors() {
		if message := c.explain(err); message != "" {
			line, column := text.position(text.nameBefore(text.offset(err.Location.Line(), err.Location.Column())))
			faults = append(faults, Fault{Path: fmt.Sprintf("%s:%d:%d", s.Path, line, column), Message: message})
		}
	}
	faults = append(faults, x.checkValues(t)...)
	result := checked.GetType(tree.Expr().ID())
	if message := s.Want.refuse(c.plain(result), e.several); message != "" && len(faults) == 0 {
		faults = append(faults, Fault{Path: s.Path + ":1:1", Message: message, Mistyped: true})
	}
	return result, faults
}

// checker is CEL's, with what is known.
func (e *Environment) checker(t Typing) (*checker.Env, error) {
	e.functions.Do(func() {
		e.functionsEnv, e.functionsErr = checker.NewEnv(containers.DefaultContainer, e.env.CELTypeProvider(), checker.CrossTypeNumericComparisons(true))
		for _, f := range e.env.Functions() {
			if e.functionsErr == nil {
				e.functionsErr = e.functionsEnv.AddFunctions(f)
			}
		}
	})
	if e.functionsErr != nil {
		return nil, e.functionsErr
	}
	env, err := checker.NewEnv(containers.DefaultContainer, objectProvider{e.env.CELTypeProvider(), t.Objects},
		checker.CrossTypeNumericComparisons(true), checker.ValidatedDeclarations(e.functionsEnv))
	if err != nil {
		return nil, err
	}
	for _, v := range e.env.Variables() {
		if known, ok := t.Variables[v.Name()]; ok {
			v = decls.NewVariable(v.Name(), known)
		}
		if err := env.AddIdents(v); err != nil {
			return nil, err
		}
	}
	return env, nil
}

// An objectProvider has object types beside CEL's own.
type objectProvider struct {
	types.Provider
	objects Objects
}

// FindStructType finds an object type.
func (p objectProvider) FindStructType(name string) (*types.Type, bool) {
	if p.objects.Has(name) {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldType finds a field of an object type.
func (p objectProvider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if p.objects.Has(name) {
		t, ok := p.objects.Field(name, field)
		return &types.FieldType{Type: t}, ok
	}
	return p.Provider.FindStructFieldType(name, field)
}

// selectKeys turns x['key'] into x.key, which an object type has, and a map as well.
func selectKeys(a *ast.AST) {
	factory := ast.NewExprFactory()
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 2 {
			return
		}
		args := e.AsCall().Args()
		key, ok := literalKey(args[1]).(string)
		if !ok {
			return
		}
		switch e.AsCall().FunctionName() {
		case operators.Index:
			e.SetKindCase(factory.NewSelect(e.ID(), args[0], key))
		case operators.OptIndex:
			e.SetKindCase(factory.NewCall(e.ID(), operators.OptSelect, args...))
		}
	}))
}

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
func (c typeCheck) plain(t *types.Type) *types.Type {
	switch {
	case t.Kind() == types.StructKind && c.Objects.Has(t.TypeName()):
		return types.NewMapType(types.StringType, types.DynType)
	case t.Kind() == types.ListKind:
		return types.NewListType(c.plain(t.Parameters()[0]))
	case t.Kind() == types.MapKind:
		return types.NewMapType(t.Parameters()[0], c.plain(t.Parameters()[1]))
	case withoutOptional(t) != t:
		return types.NewOptionalType(c.plain(withoutOptional(t)))
	case t.Kind() == types.ErrorKind:
		return types.DynType
	}
	return t
}

// typeText is a type for people.
func (c typeCheck) typeText(t *types.Type) string {
	if t.Kind() == types.StructKind && c.Objects.Has(t.TypeName()) {
		return "map(string, dyn)"
	}
	return cel.FormatCELType(c.plain(t))
}

// checkValues refuses a comparison with a string that a value never is.
func (x *Expression) checkValues(t Typing) []Fault {
	if t.Values == nil {
		return nil
	}
	var faults []Fault
	ast.PostOrderVisit(x.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		fn, args := e.AsCall().FunctionName(), e.AsCall().Args()
		if fn != operators.Equals && fn != operators.NotEquals {
			return
		}
		for i, a := range args {
			literal, ok := literalKey(a).(string)
			other := asWritten(args[1-i])
			refs := x.byNode[other.ID()]
			if _, _, selects := selection(other); !ok || !selects || len(refs) != 1 || x.references[refs[0]].presence {
				continue
			}
			values := t.Values(x.references[refs[0]])
			if len(values) == 0 || slices.Contains(values, literal) {
				continue
			}
			what := "can never hold"
			if fn == operators.NotEquals {
				what = "always holds"
			}
			f := x.failedAt(a.ID(), fmt.Sprintf("%s: %s is never '%s': it is one of %s", what, x.references[refs[0]].text(x.source.from()), literal, strings.Join(values, ", ")))
			faults = append(faults, Fault{Path: f.Path, Message: f.Reason})
		}
	}))
	return faults
}
