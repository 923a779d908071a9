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

// Version pins of the libraries: a new version of one can change what an
// expression means.
const (
	stringsVersion   = 5 // prints numbers exactly: 1e7 is 10000000
	mathVersion      = 2
	listsVersion     = 3
	setsVersion      = 0
	encodersVersion  = 0 // without its json.encode, which protojson spaces at random
	bindingsVersion  = 0 // without cel.block, an optimizer's internal
	regexVersion     = 0
	twoVarVersion    = 0
	optionalsVersion = 2
)

// An Environment compiles expressions. It is safe for concurrent use, and takes
// so long to make that a process has one.
type Environment struct {
	env     *cel.Env
	guards  guards
	keys    *Environment
	tenants *Environment
	making  *Environment
	shorten string // what to do about an expression that is too large
	several string // how the input has several keys, if it has a way of its own

	functions    sync.Once // for CheckTypes
	functionsEnv *checker.Env
	functionsErr error
}

// Keys is the environment of key expressions, which see Key and nothing else.
func (e *Environment) Keys() *Environment { return e.keys }

// Tenants is the environment of expressions that the composite's author writes:
// without sources, context and variables.
func (e *Environment) Tenants() *Environment { return e.tenants }

// Making is the environment of expressions that make a generation: with Generation.
func (e *Environment) Making() *Environment { return e.making }

// NewEnvironment makes the environment. An error is a defect of the program.
func NewEnvironment() (*Environment, error) {
	stringMap := cel.MapType(cel.StringType, cel.StringType)
	dynMap := cel.MapType(cel.StringType, cel.DynType)

	tenants := []cel.EnvOption{
		cel.Variable(Composite, cel.DynType),
		cel.Variable(Resource, cel.DynType),
		cel.Variable(Self, cel.DynType),
		cel.Variable(Secret, stringMap),
		cel.Variable(Resources, dynMap),
		cel.Variable(Secrets, cel.MapType(cel.StringType, stringMap)),
		cel.Variable(Env, dynMap),
	}
	secretMaps := cel.MapType(cel.StringType, stringMap)
	all := append(slices.Clone(tenants),
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
	if e.making, err = newEnvironment(append(slices.Clone(all), cel.Variable(Generation, dynMap))...); err != nil {
		return nil, err
	}
	e.making.shorten = "split it into variables"
	if e.tenants, err = newEnvironment(tenants...); err != nil {
		return nil, err
	}
	if e.keys, err = newEnvironment(cel.Variable(Key, cel.StringType)); err != nil {
		return nil, err
	}
	e.shorten, e.several = "split it into variables", "use valueMap for several, "
	return e, nil
}

func newEnvironment(variables ...cel.EnvOption) (*Environment, error) {
	env, err := cel.NewEnv(append([]cel.EnvOption{
		cel.OptionalTypes(cel.OptionalTypesVersion(optionalsVersion)),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.EnableIdentifierEscapeSyntax(),
		cel.ParserRecursionLimit(limits.ExpressionRecursion),
		cel.ParserExpressionSizeLimit(limits.ExpressionCharacters),
		cel.ASTValidators(literalValidator{}),
		ext.Strings(ext.StringsVersion(stringsVersion)),
		ext.Encoders(ext.EncodersVersion(encodersVersion)),
		ext.Math(ext.MathVersion(mathVersion)),
		ext.Lists(ext.ListsVersion(listsVersion), ext.ListsMaxRangeSize(limits.RangeElements)),
		ext.Sets(ext.SetsVersion(setsVersion)),
		ext.Bindings(ext.BindingsVersion(bindingsVersion)),
		ext.TwoVarComprehensions(ext.TwoVarComprehensionsVersion(twoVarVersion)),
		ext.Regex(ext.RegexVersion(regexVersion)),
		library(),
		ordered(),
	}, variables...)...)
	if err != nil {
		return nil, fmt.Errorf("cannot make CEL environment: %w", err)
	}
	g, err := newGuards(env)
	if err != nil {
		return nil, err
	}
	return &Environment{env: env, guards: g, shorten: "make it shorter"}, nil
}
