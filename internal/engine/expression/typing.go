package expression

import (
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/containers"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// Objects are object types with their fields.
type Objects interface {
	// Has reports whether a type is one of them.
	Has(name string) bool
	// Field returns the type of a field, and whether the field may exist.
	Field(name, field string) (*types.Type, bool)
	// Lacks returns the message for a field that does not exist, with a hint.
	Lacks(name, field string) string
}

// A Typing contains the known types of an expression's variables.
type Typing struct {
	// Objects that the types of Variables are made of.
	Objects Objects

	// Number is the type of a value that may be an int or a double. It may be nil.
	Number *types.Type

	// Variables whose type is known. The other variables keep their declared type.
	Variables map[string]*types.Type

	number  *types.Type // of each Number, during one check
	numbers *bool       // whether there is one
}

// noObjects has no object types: only the declared types of variables are known.
type noObjects struct{}

func (noObjects) Has(string) bool                          { return false }
func (noObjects) Field(string, string) (*types.Type, bool) { return nil, false }
func (noObjects) Lacks(string, string) string              { return "" }

// CheckTypes finds errors that are certain once types are known: a field that does not exist, a string
// instead of a number, or a comparison that cannot be true. The error of a branch or of a default is
// certain only if it is the result. It returns the type of the result, in which
// objects are object types. The order of the diagnostics has no meaning.
//
// At run time an object is a map, but CEL's checker does not know this. Therefore, CheckTypes ignores
// errors about objects that are compared, iterated, measured or passed instead of a map. It does not
// check values that are wrapped in dyn().
func (e *Environment) CheckTypes(x *Expression, t Typing) (*types.Type, diagnostic.List) {
	s := x.source
	parsed, iss := e.env.ParseSource(common.NewStringSource(s.Text, s.Path))
	if iss.Err() != nil {
		return types.DynType, nil // the expression has already been compiled
	}
	tree := parsed.NativeRep()
	selectKeys(tree)
	t.numbers = new(bool)
	result, out := e.checkTypes(s, tree, t, types.DoubleType)
	if *t.numbers {
		whole, other := e.checkTypes(s, tree, t, types.IntType)
		result, out.All = t.either(result, whole), inBoth(out.All, other.All)
	}
	list := out.Diagnostics()
	for _, d := range list {
		d.Rule = diagnostic.Type
	}
	return result, list
}

// checkTypes checks the types of a tree in which each Number is of one type.
func (e *Environment) checkTypes(s Source, tree *ast.AST, t Typing, number *types.Type) (*types.Type, *Errors) {
	t.number = number
	c, errs := e.check(s, tree, t)
	out := &Errors{Source: s, Environment: e, Typing: t, Tree: c.tree}
	for _, err := range errs {
		if found := c.classify(err); c.isCertain(found) {
			out.All = append(out.All, found)
		}
	}
	if len(out.All) == 0 {
		out.All = c.results()
	}
	return c.tree.GetType(tree.Expr().ID()), out
}

// Misfit returns the diagnostic of an expression whose result does not fit a field.
func (x *Expression) Misfit(t Typing, returned *types.Type, field string, want *types.Type) *diagnostic.Diagnostic {
	err := &Error{Class: Misfit, Name: field, Types: []*types.Type{returned, want}}
	out := &Errors{Source: x.source, Environment: x.env, Typing: t, All: []*Error{err}}
	return out.Diagnostics()[0]
}

// A typeCheck classifies the errors of CEL's checker in the tree of a source.
type typeCheck struct {
	Typing

	tree   *ast.AST
	source Source
	nodes  map[int64]ast.NavigableExpr // of the tree
	env    *cel.Env
}

// check runs CEL's checker on the tree of a source, and returns its errors in the order of the source.
func (e *Environment) check(s Source, tree *ast.AST, t Typing) (*typeCheck, []*Error) {
	c := &typeCheck{t, tree, s, map[int64]ast.NavigableExpr{}, e.env}
	env, err := e.checker(t)
	if err != nil { // a defect of the program
		return c, nil
	}
	checked, errs := checker.Check(tree, common.NewStringSource(s.Text, s.Path), env)
	c.tree = checked
	for _, n := range ast.MatchDescendants(ast.NavigateAST(checked), ast.AllMatcher()) {
		c.nodes[n.ID()] = n
	}
	out := s.errorsOf(Checked, errs.GetErrors())
	for _, err := range out {
		if n, ok := c.nodes[err.id]; ok {
			err.Node = n
		}
	}
	return c, out
}

func (c *typeCheck) typeOf(e ast.Expr) *types.Type { return c.tree.GetType(e.ID()) }

func (c *typeCheck) typesOf(all ...ast.Expr) []*types.Type {
	out := make([]*types.Type, 0, len(all))
	for _, e := range all {
		out = append(out, c.typeOf(e))
	}
	return out
}

// classify adds the class of an error at a node, with the names and types that belong to it.
func (c *typeCheck) classify(err *Error) *Error {
	e, ok := err.Node.(ast.NavigableExpr)
	if !ok {
		return err
	}
	parent, _ := e.Parent()
	operand, field, selects := celast.Selection(e)
	switch {
	case c.isPlaceError(e):
		err.Types = c.typesOf(e)
		err.Class = classOfPlace(e, parent)
	case selects:
		err.Class, err.Name, err.Text, err.Types = NoField, field, "", c.typesOf(operand)
		if of := celast.WithoutOptional(err.Types[0]); of.Kind() == types.StructKind && c.Objects.Has(of.TypeName()) {
			err.Text = c.Objects.Lacks(of.TypeName(), field)
		}
	case e.Kind() == ast.IdentKind:
		err.Class, err.Name = NoVariable, strings.TrimLeft(e.AsIdent(), ".")
	case e.Kind() == ast.CallKind:
		err.Class, err.Name, err.Types = NoOverload, e.AsCall().FunctionName(), c.typesOf(celast.Operands(e.AsCall())...)
		if c.env.Functions()[err.Name] == nil {
			err.Class = NoFunction
		}
	}
	return err
}

// classOfPlace returns the class of an error about the place of a valid node in another one.
func classOfPlace(e, parent ast.NavigableExpr) Class {
	switch {
	case parent == nil:
	case parent.Kind() == ast.MapKind || parent.Kind() == ast.ListKind:
		return NoOptional
	case parent.Kind() == ast.ComprehensionKind && parent.AsComprehension().IterRange().ID() == e.ID():
		return NoRange
	}
	return NoBool
}

// isPlaceError reports whether an error at a node is about its place in another node, and the node
// itself is valid. The checker assigns the error type to an invalid node, or any type to an invalid
// selection.
func (c *typeCheck) isPlaceError(e ast.Expr) bool {
	if e.Kind() != ast.SelectKind && !celast.IsCall(e, operators.OptSelect) {
		return c.typeOf(e).Kind() != types.ErrorKind
	}
	operand, field, _ := celast.Selection(e)
	switch of := celast.WithoutOptional(c.typeOf(operand)); of.Kind() { //nolint:exhaustive // all others have no fields
	case types.MapKind, types.DynKind, types.ErrorKind, types.TypeParamKind:
		return true
	case types.StructKind:
		_, ok := c.Objects.Field(of.TypeName(), field)
		return ok
	}
	return false
}

// isCertain reports whether an error of the checker is also one at run time, where an object is a map.
func (c *typeCheck) isCertain(err *Error) bool {
	switch err.Class { //nolint:exhaustive // all others are not about the known types
	case NoOptional, NoBool:
		return true
	case NoRange:
		return !c.involves(err.Types[0]) // a map: the comprehension iterates over its keys
	case NoField:
		return !celast.IsKind(celast.WithoutOptional(err.Types[0]), types.NullTypeKind)
	case NoOverload:
		return !c.mayWork(err)
	}
	return false
}

// arithmetic are the operators that never accept objects.
var arithmetic = []string{ //nolint:gochecknoglobals // a table
	operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
	operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.LogicalNot,
}

// mayWork reports whether a call that the checker refuses can work at run time, with the types of the
// values: a condition chooses between values of different types, numbers of two types are compared, lists and maps
// are compared, which are equal if they are empty, or an object is used as a map.
func (c *typeCheck) mayWork(err *Error) bool {
	have, fn := err.Types, err.Name
	objects := slices.ContainsFunc(have, c.involves)
	a, b := have[0], have[len(have)-1]
	switch fn {
	case operators.Conditional:
		return celast.IsKind(a, types.BoolKind, types.DynKind, types.ErrorKind)
	case operators.Equals, operators.NotEquals, operators.In:
		scalar := slices.ContainsFunc(have, isScalarType) // only a scalar is never equal to an object
		return slices.ContainsFunc(have, celast.IsNull) || objects && (fn == operators.In || !scalar) || mayEqual(fn, a, b)
	case operators.Add:
		return celast.IsKind(a, types.ListKind) && celast.IsKind(b, types.ListKind)
	case "or", "orValue":
		return true
	}
	return strings.HasPrefix(fn, "sets.") || objects && !slices.Contains(arithmetic, fn)
}

// mayEqual reports whether values of two types can be equal: numbers, and empty lists or maps.
func mayEqual(fn string, a, b *types.Type) bool {
	if fn == operators.In {
		return len(b.Parameters()) > 0 && celast.IsNumber(a) && celast.IsNumber(b.Parameters()[0])
	}
	return celast.IsNumber(a) && celast.IsNumber(b) || a.Kind() == b.Kind() && celast.IsKind(a, types.ListKind, types.MapKind)
}

// isScalarType reports whether a type is a scalar that is often compared with other types.
func isScalarType(t *types.Type) bool {
	return celast.IsKind(t, types.StringKind, types.IntKind, types.BoolKind, types.DoubleKind, types.BytesKind)
}

// involves reports whether a type contains objects.
func (c *typeCheck) involves(t *types.Type) bool {
	return t.Kind() == types.StructKind && c.Objects.Has(t.TypeName()) || slices.ContainsFunc(t.Parameters(), c.involves)
}

// checker returns CEL's checker with the known types.
func (e *Environment) checker(t Typing) (*checker.Env, error) {
	e.functions.Do(func() {
		e.functionsEnv, e.functionsErr = checker.NewEnv(containers.DefaultContainer, e.env.CELTypeProvider(),
			checker.CrossTypeNumericComparisons(true))
		for _, f := range e.env.Functions() {
			if e.functionsErr == nil {
				e.functionsErr = e.functionsEnv.AddFunctions(f)
			}
		}
	})
	if e.functionsErr != nil {
		return nil, e.functionsErr
	}
	env, err := checker.NewEnv(containers.DefaultContainer, objectProvider{e.env.CELTypeProvider(), t},
		checker.CrossTypeNumericComparisons(true), checker.ValidatedDeclarations(e.functionsEnv))
	if err != nil {
		return nil, err
	}
	for _, v := range e.env.Variables() {
		if known, ok := t.Variables[v.Name()]; ok {
			v = decls.NewVariable(v.Name(), t.as(known))
		}
		if err := env.AddIdents(v); err != nil {
			return nil, err
		}
	}
	return env, nil
}

// An objectProvider provides object types in addition to CEL's own types.
type objectProvider struct {
	types.Provider
	typing Typing
}

// FindStructType finds an object type.
func (p objectProvider) FindStructType(name string) (*types.Type, bool) {
	if p.typing.Objects.Has(name) {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldType finds a field of an object type.
func (p objectProvider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if p.typing.Objects.Has(name) {
		t, ok := p.typing.Objects.Field(name, field)
		if ok {
			t = p.typing.as(t)
		}
		return &types.FieldType{Type: t}, ok
	}
	return p.Provider.FindStructFieldType(name, field)
}

// selectKeys replaces x['key'] by x.key, which is valid for object types and for maps.
func selectKeys(a *ast.AST) {
	factory := ast.NewExprFactory()
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 2 {
			return
		}
		args := e.AsCall().Args()
		key, ok := celast.Text(args[1])
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
