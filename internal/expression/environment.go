// Package expression is the one CEL environment of the function: it compiles an
// expression once, finds what the expression can read, and evaluates it within
// a budget.
//
// Source text and its path in the input come in; an immutable Expression comes
// out, and from it, given the variables of one request, a value, or one of two
// errors: Waiting for an input that is not there yet, or Failed. Neither holds
// data: CEL's own run-time messages can quote a value and never leave this
// package. There is no clock, no randomness and no state between evaluations
// here, and maps are walked in the order of their keys, so that the same
// variables always give the same value.
package expression

import (
	"fmt"
	"slices"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/ext"

	"github.com/crossplane-contrib/function-export/internal/limits"
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
	Generation = "generation" // of the manifest of a generator only
)

// Key is the one variable of a key expression.
const Key = "key"

// The functions that no source can name: those that Compile puts into it, and
// what sortBy expands to.
const (
	orderedCall  = "@ordered"
	optionalCall = "@optional"
	sortByCall   = "@sortByAssociatedKeys"
)

// An Environment compiles expressions. It is safe for concurrent use, and takes
// so long to make that a process has one.
type Environment struct {
	env     *cel.Env
	guards  guards
	shorten string // what to do about an expression that is too large
	several string // how the input has several keys, if it has a way of its own

	keys, authors, generations *Environment

	functions    sync.Once // for CheckTypes
	functionsEnv *checker.Env
	functionsErr error
}

// Keys is the environment of key expressions, which see Key and nothing else.
func (e *Environment) Keys() *Environment { return e.keys }

// Authors is the environment of expressions that the composite's author writes:
// without sources, context and variables.
func (e *Environment) Authors() *Environment { return e.authors }

// Generations is the environment of expressions that create a generation: with Generation.
func (e *Environment) Generations() *Environment { return e.generations }

// CEL is the environment below e, from which documentation is generated.
func (e *Environment) CEL() *cel.Env { return e.env }

// NewEnvironment makes the environment. An error is a defect of the program.
func NewEnvironment() (*Environment, error) {
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
	all := append(slices.Clip(authors),
		cel.Variable(Sources, dynMap),
		cel.Variable(Context, dynMap),
		cel.Variable(Variables, dynMap),
		cel.Variable(Generated, secretMaps),
		cel.Variable(Previous, secretMaps),
	)
	e, err := newEnvironment(all...)
	if err != nil {
		return nil, err
	}
	if e.generations, err = newEnvironment(append(slices.Clip(all), cel.Variable(Generation, dynMap))...); err != nil {
		return nil, err
	}
	e.generations.shorten = "split it into variables"
	if e.authors, err = newEnvironment(authors...); err != nil {
		return nil, err
	}
	if e.keys, err = newEnvironment(cel.Variable(Key, cel.StringType)); err != nil {
		return nil, err
	}
	e.shorten, e.several = "split it into variables", "use valueMap for several, "
	return e, nil
}

func newEnvironment(variables ...cel.EnvOption) (*Environment, error) {
	// The versions are fixed: a new version of a library can change what an expression means.
	options := []cel.EnvOption{
		cel.OptionalTypes(cel.OptionalTypesVersion(2)),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.EnableIdentifierEscapeSyntax(),
		cel.ParserRecursionLimit(limits.ExpressionRecursion),
		cel.ParserExpressionSizeLimit(limits.ExpressionCharacters),
		cel.ASTValidators(literalValidator{}),
		ext.Strings(ext.StringsVersion(5)),   // prints numbers exactly: 1e7 is 10000000
		ext.Encoders(ext.EncodersVersion(0)), // without its json.encode, which protojson spaces at random
		ext.Math(ext.MathVersion(2)),
		ext.Lists(ext.ListsVersion(3), ext.ListsMaxRangeSize(limits.RangeElements)),
		ext.Sets(ext.SetsVersion(0)),
		ext.Bindings(ext.BindingsVersion(0)), // without cel.block, an optimizer's internal
		ext.TwoVarComprehensions(ext.TwoVarComprehensionsVersion(0)),
		ext.Regex(ext.RegexVersion(0)),
	}
	env, err := cel.NewEnv(slices.Concat(options, library(), ordered(), variables)...)
	if err != nil {
		return nil, fmt.Errorf("cannot make CEL environment: %w", err)
	}
	g, err := newGuards(env)
	if err != nil {
		return nil, err
	}
	return &Environment{env: env, guards: g, shorten: "make it shorter"}, nil
}
