package expression

import (
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

	// Variables whose type is known. The other variables keep their declared type.
	Variables map[string]*types.Type
}

// noObjects has no object types: only the declared types of variables are known.
type noObjects struct{}

func (noObjects) Has(string) bool                          { return false }
func (noObjects) Field(string, string) (*types.Type, bool) { return nil, false }
func (noObjects) Lacks(string, string) string              { return "" }

// Number is the name of a type whose values may be ints and doubles: a nullable int.
const Number = "number"

// Text returns the usual name of a type.
func (t Typing) Text(of *types.Type) string {
	if celast.IsOptional(of) {
		return "optional"
	}
	return strings.ReplaceAll(cel.FormatCELType(t.Plain(of)), "wrapper(int)", Number)
}

// Plain returns the type that a value has at run time: objects are maps.
func (t Typing) Plain(of *types.Type) *types.Type {
	switch {
	case of.Kind() == types.StructKind && t.Objects.Has(of.TypeName()):
		return types.NewMapType(types.StringType, types.DynType)
	case of.Kind() == types.ErrorKind:
		return types.DynType
	}
	return celast.MapParameters(of, t.Plain)
}

// CheckTree runs CEL's checker on the tree of a source. It returns the tree with its types, and the errors with their
// classes, and with the names and types that belong to these, in the order of the source.
func (e *Environment) CheckTree(s Source, tree *ast.AST, t Typing) *Errors {
	c := &Errors{Source: s, Environment: e, Typing: t, Tree: tree}
	env, err := e.checkerOf(s, t)
	if err != nil { // a defect of the program
		return c
	}
	checked, errs := checker.Check(tree, common.NewStringSource(s.Text, s.Path), env)
	c.Tree, c.All = checked, s.errorsOf(Checked, errs.GetErrors())
	nodes := map[int64]ast.NavigableExpr{}
	for _, n := range ast.MatchDescendants(ast.NavigateAST(checked), ast.AllMatcher()) {
		nodes[n.ID()] = n
	}
	for _, err := range c.All {
		if n, ok := nodes[err.id]; ok {
			err.Node = n
			c.classify(err, n)
		}
	}
	return c
}

func (c *Errors) typeOf(e ast.Expr) *types.Type { return c.Tree.GetType(e.ID()) }

func (c *Errors) typesOf(all ...ast.Expr) []*types.Type {
	out := make([]*types.Type, 0, len(all))
	for _, e := range all {
		out = append(out, c.typeOf(e))
	}
	return out
}

// classify adds the class of an error at a node, with the names and types that belong to it.
func (c *Errors) classify(err *Error, e ast.NavigableExpr) {
	parent, _ := e.Parent()
	operand, field, selects := celast.Selection(e)
	switch {
	case c.isPlaceError(e):
		err.Types = c.typesOf(e)
		err.Class = classOfPlace(e, parent)
	case selects:
		err.Class, err.Name, err.Text, err.Types = NoField, field, "", c.typesOf(operand)
		if of := celast.WithoutOptional(err.Types[0]); of.Kind() == types.StructKind && c.Typing.Objects.Has(of.TypeName()) {
			err.Text = c.Typing.Objects.Lacks(of.TypeName(), field)
		}
	case e.Kind() == ast.IdentKind:
		err.Class, err.Name = NoVariable, strings.TrimLeft(e.AsIdent(), ".")
	case e.Kind() == ast.CallKind:
		err.Class, err.Name = NoOverload, e.AsCall().FunctionName()
		err.Types = c.typesOf(celast.Operands(e.AsCall())...)
		if c.Environment.env.Functions()[err.Name] == nil {
			err.Class = NoFunction
		}
	}
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
func (c *Errors) isPlaceError(e ast.Expr) bool {
	if e.Kind() != ast.SelectKind && !celast.IsCall(e, operators.OptSelect) {
		return c.typeOf(e).Kind() != types.ErrorKind
	}
	operand, field, _ := celast.Selection(e)
	switch of := celast.WithoutOptional(c.typeOf(operand)); of.Kind() { //nolint:exhaustive // all others have no fields
	case types.MapKind, types.DynKind, types.ErrorKind, types.TypeParamKind:
		return true
	case types.StructKind:
		_, ok := c.Typing.Objects.Field(of.TypeName(), field)
		return ok
	}
	return false
}

// newChecker returns CEL's checker with the functions of an environment, and without its variables.
func newChecker(env *cel.Env) (*checker.Env, error) {
	out, err := checker.NewEnv(containers.DefaultContainer, env.CELTypeProvider(),
		checker.CrossTypeNumericComparisons(true))
	for _, f := range env.Functions() {
		if err == nil {
			err = out.AddFunctions(f)
		}
	}
	return out, err
}

// checkerOf returns CEL's checker with the variables that a source sees, and their known types.
func (e *Environment) checkerOf(s Source, t Typing) (*checker.Env, error) {
	functions, err := e.checker()
	if err != nil {
		return nil, err
	}
	env, err := checker.NewEnv(containers.DefaultContainer, objectProvider{e.env.CELTypeProvider(), t},
		checker.CrossTypeNumericComparisons(true), checker.ValidatedDeclarations(functions))
	if err != nil {
		return nil, err
	}
	for _, v := range e.env.Variables() {
		if !s.sees(v.Name()) && v.Type().Kind() != types.TypeKind {
			continue
		}
		if known, ok := t.Variables[v.Name()]; ok {
			v = decls.NewVariable(v.Name(), known)
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
		return &types.FieldType{Type: t}, ok
	}
	return p.Provider.FindStructFieldType(name, field)
}
