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
	Generation = "generation" // only in the manifest of a generator
)

// The variables of an item of a list, in an export or a generator with forEachExpression.
const (
	Item  = "item"
	Index = "index"

	// Key is also the only variable of an expression that renames a key.
	Key = "key"
)

// An Environment compiles expressions. It is safe for concurrent use. Creating one is slow, so a
// process creates only one.
type Environment struct {
	env     *cel.Env
	guards  guards
	adviser Adviser // may be nil
	items   bool    // it has the variables of an item, which only some sources see

	keys, authors, generations *Environment

	lists func() *Environment // may be nil

	functions    sync.Once // for CheckTree
	functionsEnv *checker.Env
	functionsErr error
}

// Adviser returns the writer of messages, which may be nil.
func (e *Environment) Adviser() Adviser { return e.adviser }

// Keys returns the environment of key expressions. Key is their only variable.
func (e *Environment) Keys() *Environment { return e.keys }

// Authors returns the environment of expressions that a composite author writes: without sources,
// context and variables.
func (e *Environment) Authors() *Environment { return e.authors }

// Generations returns the environment of expressions that create a generation: with Generation.
func (e *Environment) Generations() *Environment { return e.generations }

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

// NewEnvironment makes the environment. Without an adviser, messages only say what is wrong. An error is a defect of
// the program.
func NewEnvironment(a Adviser) (*Environment, error) {
	base, err := newEnvironment(a)
	if err != nil {
		return nil, err
	}
	stringMap := cel.MapType(cel.StringType, cel.StringType)
	secretMaps := cel.MapType(cel.StringType, stringMap)
	dynMap := cel.MapType(cel.StringType, cel.DynType)

	authors := []cel.EnvOption{
		cel.Variable(Composite, cel.DynType),
		cel.Variable(Resource, cel.DynType),
		cel.Variable(Self, cel.DynType),
		cel.Variable(Secret, stringMap),
		cel.Variable(Resources, dynMap),
		cel.Variable(Secrets, secretMaps),
		cel.Variable(Env, dynMap),
	}
	e, err := base.withGenerators(secretMaps, dynMap, authors)
	if err != nil {
		return nil, err
	}
	if e.authors, err = base.with(authors...); err != nil {
		return nil, err
	}
	if e.keys, err = base.with(cel.Variable(Key, cel.StringType)); err != nil {
		return nil, err
	}
	e.lists = sync.OnceValue(func() *Environment { // few inputs need it
		out, err := base.withGenerators(dynMap, dynMap, authors)
		if err != nil { // it differs only in a type
			return e
		}
		out.authors, out.keys = e.authors, e.keys
		return out
	})
	return e, nil
}

// withGenerators returns an environment with all variables. The outputs of generators have the type outputs.
func (e *Environment) withGenerators(outputs, dynMap *cel.Type, authors []cel.EnvOption) (*Environment, error) {
	all := append(slices.Clip(authors),
		cel.Variable(Sources, dynMap),
		cel.Variable(Context, dynMap),
		cel.Variable(Variables, dynMap),
		cel.Variable(Generated, outputs),
		cel.Variable(Previous, outputs),
		cel.Variable(Candidate, outputs),
		cel.Variable(Revisions, dynMap),
		cel.Variable(Item, cel.DynType),
		cel.Variable(Index, cel.IntType),
		cel.Variable(Key, cel.StringType),
	)
	out, err := e.with(all...)
	if err != nil {
		return nil, err
	}
	all = append(slices.Clip(all), cel.Variable(Generation, dynMap))
	if out.generations, err = e.with(all...); err != nil {
		return nil, err
	}
	out.generations.items, out.items = true, true
	return out, nil
}

// with returns the environment with variables. Both share all functions, which take most of the memory and of the time
// in which an environment is made.
func (e *Environment) with(variables ...cel.EnvOption) (*Environment, error) {
	env, err := e.env.Extend(variables...)
	if err != nil {
		return nil, fmt.Errorf("cannot extend CEL environment: %w", err)
	}
	return &Environment{env: env, guards: e.guards, adviser: e.adviser}, nil
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

// newEnvironment returns an environment without variables.
func newEnvironment(a Adviser) (*Environment, error) {
	env, err := cel.NewEnv(Libraries()...)
	if err != nil {
		return nil, fmt.Errorf("cannot create CEL environment: %w", err)
	}
	g, err := newGuards(env)
	if err != nil {
		return nil, err
	}
	return &Environment{env: env, guards: g, adviser: a}, nil
}
