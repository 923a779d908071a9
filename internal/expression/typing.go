package expression

import (
	"fmt"
	"slices"
	"strings"

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
		if message := c.explain(err); message != "" && !c.mayWork(err.ExprID) {
			line, column := text.position(text.nameBefore(text.offset(err.Location.Line(), err.Location.Column())))
			faults = append(faults, Fault{Path: fmt.Sprintf("%s:%d:%d", s.Path, line, column), Message: message})
		}
	}
	faults = append(faults, x.checkValues(t)...)
	result := checked.GetType(tree.Expr().ID())
	plain := c.plain(result)
	for plain != withoutOptional(plain) {
		plain = withoutOptional(plain) // of one inside of another
	}
	if message := s.Want.refuse(plain, e.several); message != "" && len(faults) == 0 {
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
			if hasDyn(other) || len(values) == 0 || slices.Contains(values, literal) {
				continue
			}
			what := "can never hold"
			if fn == operators.NotEquals {
				what = "always holds"
			}
			f := x.failedAt(a.ID(), fmt.Sprintf("%s: %s is never '%s': it is one of %s", what, x.references[refs[0]].text(x.source.from()), literal, someOf(values)))
			faults = append(faults, Fault{Path: f.Path, Message: f.Reason})
		}
	}))
	return faults
}

// valuesListed are so many that a reader finds the one that was meant.
const valuesListed = 12

func someOf(values []string) string {
	if n := len(values) - valuesListed; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(values[:valuesListed], ", "), n)
	}
	return strings.Join(values, ", ")
}
