// Package plan compiles an input into an immutable plan, or returns all of its diagnostics.
//
// A plan contains the input in the form that a request needs: compiled expressions, parsed paths,
// and the names of everything that is read. If an input compiles, its secret data flows only into
// the data of Secrets. No part of a plan may be changed.
package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/environment"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/schema"
	"github.com/crossplane-contrib/function-export/internal/engine/strict"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Plan is a compiled input. It is immutable, and safe for concurrent use.
type Plan struct {
	Variables  []Variable
	Sources    []Source
	Exports    []Export
	Status     []StatusField
	Lookup     *environment.Lookup
	Set        []Field // of the environment
	Generators Generators
	Authors    *Authors // nil without fromComposite
	Details    DetailsUsed
	Freshness  Freshness
	id         string

	Warnings diagnostic.List // that do not keep the input from being used

	// For the check of types:
	Needed      []*expression.Expression
	Expressions []Compiled
	Input       *v1beta1.Exports
}

// ID identifies the input: equal inputs have the same ID, and different inputs have different IDs.
func (p *Plan) ID() string { return p.id }

// A Variable of the input, compiled.
type Variable struct {
	Name  string
	Value *expression.Expression

	Environment bool // it reads the environment
}

// A StatusField is a field of the composite's status to write.
type StatusField struct {
	At       *field.Path
	Path     string
	Below    environment.Path // the path below status
	Segments []string         // its names
	Optional bool
	Value    *expression.Expression
}

// Compile an input. Either the plan or the list of diagnostics is nil. Warnings are in the plan.
func Compile(ctx context.Context, env *expression.Environment, input *structpb.Struct) (*Plan, diagnostic.List) {
	p, diagnostics := CompilePartly(ctx, env, input)
	if len(diagnostics) > 0 {
		return nil, diagnostics
	}
	return p, nil
}

// CompilePartly is like Compile, but returns a plan of the valid parts if only expressions have diagnostics.
//
// An input is read in two steps, each in the order of the input: first by its definition, then expressions and what
// they use. A step that finds mistakes reports all that it finds, and is the last one, so that no mistake is reported
// as the cause of another one.
func CompilePartly(ctx context.Context, env *expression.Environment, input *structpb.Struct) (*Plan, diagnostic.List) {
	if _, size := DigestOf(wire.Of(input)); size > limits.InputBytes {
		return nil, tooLarge(size)
	}
	in, placeholders, wrong := strict.Decode(input, adviserOf(env))
	if len(wrong) > 0 {
		return nil, wrong
	}
	c := newCompiler(ctx, env, in)
	c.input, c.placeholders = input, placeholders
	p := c.plan(in) //nolint:contextcheck // the compiler holds the context
	if err := ctx.Err(); err != nil {
		c.report("input", "was not compiled: %s", err.Error())
	}
	if len(c.diagnostics) == 0 {
		p.Warnings = slices.Concat(c.suspicions, c.placeholders)
	}
	return p, c.diagnostics
}

// adviserOf returns the adviser about fields, or nil.
func adviserOf(env *expression.Environment) strict.Adviser {
	a, _ := env.Adviser().(strict.Adviser)
	return a
}

// ExportNamed reports whether an export composes, or can compose, a resource with a composition resource name.
func (p *Plan) ExportNamed(name string) bool {
	return slices.ContainsFunc(p.Exports, func(e Export) bool {
		return e.ForEach == nil && e.Name == name || e.ForEach != nil && strings.HasPrefix(name, ItemName(e.Name, ""))
	})
}

// With adds an entry to a map that may be nil.
func With[K comparable, V any](m map[K]V, name K, v V) map[K]V {
	if m == nil {
		m = map[K]V{}
	}
	m[name] = v
	return m
}

// RotateAnnotation is the annotation of a composite that asks for new generations. It contains
// <generator>=<new text> at most once for each generator.
const RotateAnnotation = object.StatePrefix + "rotate"

// MetadataOf returns the metadata of an object.
func MetadataOf(o wire.Struct) wire.Struct { return o.Get("metadata").Struct() }

// UIDOf returns the UID of an object, or nothing for an object in a file that has none.
func UIDOf(o wire.Struct) string { return MetadataOf(o).Get("uid").Text() }

// Shorten lists the first items, and counts the rest.
func Shorten(items []string, separator string) string {
	if n := len(items) - limits.MessageItems; n > 0 {
		return fmt.Sprintf("%s%sand %d more", strings.Join(items[:limits.MessageItems], separator), separator, n)
	}
	return strings.Join(items, separator)
}

// NoNamespace is the message for an object without a namespace of its own and without the
// namespace of a composite.
const NoNamespace = "must be set, because the composite is cluster scoped and has no claim: " +
	"write the namespace of the object, for example namespace: default"

// DetailsIgnored is the message for connectionDetails of a composite that has none.
const DetailsIgnored = "has no effect: Crossplane publishes connection details only of legacy composites: " +
	"leave it out, and read the exported Secret itself"

// TwoMeanings returns the message for a Secret source with the name of a composed resource.
func TwoMeanings(name string) string {
	return fmt.Sprintf("%q is also the name of a composed resource, so that %s would mean two things: rename the "+
		"source",
		name, expression.PathText(expression.Secrets, name))
}

// ComposedTwice returns the message for a resource of another step with the name of an export.
func ComposedTwice(name string) string {
	return fmt.Sprintf("another step of the pipeline also composes a resource named %q: rename one of them", name)
}

// A Kind of objects.
type Kind = schema.Kind

// The check of types uses the declarations of this file.

// A Compiled is an expression with the environment that it was compiled in.
type Compiled struct {
	*expression.Expression

	Own Kind // of the generation that resource and secret stand for, or zero

	ForEach *ForEach // whose item it sees, or nil

	required bool // something waits for it
}

// PathOf returns the path that is the whole value of a variable, or nil.
func (p *Plan) PathOf(variable string) *expression.Reference {
	for _, v := range p.Variables {
		if v.Name == variable {
			whole, _ := v.Value.Reading(v.Value.Tree().Expr())
			return whole
		}
	}
	return nil
}

// needed returns the expressions that something waits for that is not optional, directly or through variables. Each
// variable is compiled before the expressions that use it.
func (c *compiler) needed() (out []*expression.Expression) {
	variables := map[string]bool{}
	for _, x := range slices.Backward(c.compiled) {
		if !x.required && !variables[x.Source().Path] {
			continue
		}
		out = append(out, x.Expression)
		for _, r := range x.Reads() {
			i := slices.Index(c.variables, StepName(r, 0))
			if r.Variable == expression.Variables && !r.Branched() && i >= 0 {
				variables[variablesPath(i).Child("value").String()] = true
			}
		}
	}
	slices.Reverse(out)
	return out
}
