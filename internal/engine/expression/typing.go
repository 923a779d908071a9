package expression

import (
	"fmt"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/containers"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
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

	// Values returns the possible strings of a reference, or nothing if all values are possible. It may
	// be nil.
	Values func(Reference) []string

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
	result, out := e.checkTypes(x, tree, t, types.DoubleType)
	if *t.numbers {
		whole, other := e.checkTypes(x, tree, t, types.IntType)
		result, out = t.either(result, whole), inBoth(out, other)
	}
	out = append(out, x.checkValues(t)...)
	for _, d := range out {
		d.Rule = diagnostic.Type
	}
	return result, out
}

// checkTypes checks the types of a tree in which each Number is of one type.
func (e *Environment) checkTypes(x *Expression, tree *ast.AST, t Typing, number *types.Type) (*types.Type, diagnostic.List) {
	t.number = number
	c, errs := e.check(x.source, tree, t)
	if c == nil {
		return types.DynType, nil
	}
	var out diagnostic.List
	for _, err := range errs {
		if message := c.explain(err); message != "" && !c.mayWork(err.ExprID) {
			out = append(out, c.at(err, message))
		}
	}
	if len(out) == 0 {
		out = c.results()
	}
	return c.GetType(tree.Expr().ID()), out
}

// check runs CEL's checker on the tree of a source, and returns its errors in the order of the source. It
// returns nothing if the checker cannot be created, which is a defect of the program.
func (e *Environment) check(s Source, tree *ast.AST, t Typing) (*typeCheck, []*cel.Error) {
	env, err := e.checker(t)
	if err != nil {
		return nil, nil
	}
	checked, errs := checker.Check(tree, common.NewStringSource(s.Text, s.Path), env)
	c := &typeCheck{t, checked, e, s, newScript(s.Text), map[int64]ast.NavigableExpr{}}
	for _, n := range ast.MatchDescendants(ast.NavigateAST(checked), ast.AllMatcher()) {
		c.nodes[n.ID()] = n
	}
	return c, sortedErrors(errs.GetErrors())
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

// checkValues refuses a comparison with a string that a value can never equal.
func (x *Expression) checkValues(t Typing) diagnostic.List {
	if t.Values == nil {
		return nil
	}
	var out diagnostic.List
	ast.PostOrderVisit(x.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		what := "can never be true"
		switch {
		case isCall(e, operators.NotEquals):
			what = "is always true"
		case !isCall(e, operators.Equals):
			return
		}
		args := e.AsCall().Args()
		for i, a := range args {
			literal, ok := literalString(a)
			other := asWritten(args[1-i])
			refs := x.byNode[other.ID()]
			if _, _, selects := selection(other); !ok || !selects || len(refs) != 1 || hasDyn(other) {
				continue
			}
			r := x.references[refs[0]]
			if r.tested {
				continue
			}
			if values := t.Values(r); len(values) > 0 && !slices.Contains(values, literal) {
				line, column := x.position(a.ID())
				message := fmt.Sprintf("%s: %s is never '%s': it is one of %s", what, x.name(r), literal, suggest.List(values))
				out = append(out, x.source.wrongAt(line, column, message))
			}
		}
	}))
	return out
}
