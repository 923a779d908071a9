// Package expression contains the function's only CEL environment. It compiles an expression once,
// finds what the expression can read, and evaluates it within a budget.
//
// Compile turns a source text and its path in the input into an immutable Expression. Evaluate
// computes a value from the variables of one request, or returns one of two errors: Waiting for a
// missing input, or Failed. The errors contain no data: CEL's own run-time messages can quote a value
// and never leave this package. Expressions have no clock, no randomness, and no state between
// evaluations, and they iterate over maps in the order of the keys. Therefore, the same variables
// always produce the same value.
package expression

import (
	"fmt"
	"slices"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/ext"

	"github.com/crossplane-contrib/function-export/internal/engine/functions"
	"github.com/crossplane-contrib/function-export/internal/engine/kubernetes"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// The variables that an expression sees.
const (
	Composite = "composite"
	Resource  = "resource"
	Self      = "self" // Azure Service Operator's name of Resource.
	Secret    = "secret"
	Resources = "resources"
	Secrets   = "secrets"
	Sources   = "sources"
	Env       = "environment"
	Context   = "context"
	Variables = "variables"

	Generated  = "generated"
	Previous   = "previous"
	Candidate  = "candidate"
	Revisions  = "revisions"
	Generation = "generation"
)

// The variables of an item of a list, in an export or a generator with forEachExpression.
const (
	Item  = "item"
	Index = "index"

	// Key is also the only variable of an expression that renames a key.
	Key = "key"
)

// An Environment compiles expressions. It is safe for concurrent use. Creating one is slow, so a
// process creates only one. It has the variables of all expressions: [Source.Scope] says which of them one sees.
type Environment struct {
	env     *cel.Env
	guards  guards
	adviser Adviser

	lists func() *Environment // may be nil

	checker func() (*checker.Env, error) // with the functions, for CheckTree
}

// Adviser returns the writer of messages.
func (e *Environment) Adviser() Adviser { return e.adviser }

// Lists returns the environment of an input in which a generator creates one credential for each item of a list. Its
// outputs are one level deeper than those of other generators, so that their type is not known.
func (e *Environment) Lists() *Environment {
	if e.lists == nil {
		return e
	}
	return e.lists()
}

// CEL returns the environment below e, from which documentation is generated.
func (e *Environment) CEL() *cel.Env { return e.env }

// HasOutputs reports whether a variable has the outputs of generators.
func HasOutputs(variable string) bool {
	return variable == Generated || variable == Candidate || variable == Previous
}

// NewEnvironment makes the environment. An error is a defect of the program.
func NewEnvironment(a Adviser) (*Environment, error) {
	env, err := cel.NewEnv(Libraries()...)
	if err != nil {
		return nil, fmt.Errorf("cannot create CEL environment: %w", err)
	}
	g, err := newGuards(env)
	if err != nil {
		return nil, err
	}
	base := &Environment{env: env, guards: g, adviser: a}
	e, err := base.with(cel.MapType(cel.StringType, cel.MapType(cel.StringType, cel.StringType)))
	if err != nil {
		return nil, err
	}
	e.lists = sync.OnceValue(func() *Environment { // few inputs need it
		if out, err := base.with(cel.MapType(cel.StringType, cel.DynType)); err == nil {
			return out
		}
		return e // it differs only in a type
	})
	return e, nil
}

// with returns the environment with all variables. The outputs of generators have the type outputs. Both environments
// share all functions, which take most of the memory and of the time in which an environment is made.
func (e *Environment) with(outputs *cel.Type) (*Environment, error) {
	stringMap, dynMap := cel.MapType(cel.StringType, cel.StringType), cel.MapType(cel.StringType, cel.DynType)
	types := map[string]*cel.Type{
		Composite: cel.DynType, Resource: cel.DynType, Self: cel.DynType, Resources: dynMap,
		Secret: stringMap, Secrets: cel.MapType(cel.StringType, stringMap),
		Sources: dynMap, Env: dynMap, Context: dynMap, Variables: dynMap,
		Generated: outputs, Previous: outputs, Candidate: outputs, Revisions: dynMap, Generation: dynMap,
		Item: cel.DynType, Index: cel.IntType, Key: cel.StringType,
	}
	variables := make([]cel.EnvOption, 0, len(types))
	for name, t := range types {
		variables = append(variables, cel.Variable(name, t))
	}
	env, err := e.env.Extend(variables...)
	if err != nil {
		return nil, fmt.Errorf("cannot extend CEL environment: %w", err)
	}
	checker := sync.OnceValues(func() (*checker.Env, error) { return newChecker(env) })
	return &Environment{env: env, guards: e.guards, adviser: e.adviser, checker: checker}, nil
}

// Libraries returns what the language of expressions has besides CEL's own functions. The versions are fixed: a new
// version of a library can change what an expression means.
func Libraries() []cel.EnvOption {
	return slices.Concat([]cel.EnvOption{
		cel.OptionalTypes(cel.OptionalTypesVersion(4)), // from which on optMap does not copy its operand
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.EnableIdentifierEscapeSyntax(),
		cel.ParserRecursionLimit(limits.ExpressionRecursion),
		cel.ParserExpressionSizeLimit(limits.ExpressionCharacters),
		cel.ASTValidators(literalValidator{}),
		ext.Strings(ext.StringsVersion(5)),   // prints numbers exactly: 1e7 is 10000000
		ext.Encoders(ext.EncodersVersion(0)), // without its json.encode, because protojson adds random spaces
		ext.Math(ext.MathVersion(2)),
		ext.Lists(ext.ListsVersion(3), ext.ListsMaxRangeSize(limits.RangeElements)),
		ext.Sets(ext.SetsVersion(0)),
		ext.Bindings(ext.BindingsVersion(0)), // without cel.block, which only optimizers use
		ext.TwoVarComprehensions(ext.TwoVarComprehensionsVersion(0)),
		ext.Regex(ext.RegexVersion(0)),
	}, functions.Library(), kubernetes.Library())
}
