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
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Plan is a compiled input. It is immutable, and safe for concurrent use.
type Plan struct {
	Variables  []Variable
	Sources    []Source
	Exports    []Export
	Status     []StatusField
	Inputs     []string // composed resources and Secret sources that expressions name
	Lookup     *environment.Lookup
	Set        []EnvironmentField
	Generators Generators
	Authors    *Authors // nil without fromComposite
	Details    DetailsUsed
	Freshness  Freshness
	id         string

	Warnings diagnostic.List // that do not keep the input from being used

	// For the check of types:
	Strict         bool
	Needed         []*expression.Expression
	Expressions    []Compiled
	Declared       []v1beta1.Source
	CompositePaths []CompositePath
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
	Segments []string
	Optional bool
	Value    *expression.Expression
}

// Compile an input. Either the plan or the list of diagnostics is nil. It returns all diagnostics at once, in the
// order of the input. Warnings are in the plan. If a list is over its limit, expressions are not compiled.
func Compile(ctx context.Context, env *expression.Environment, input *structpb.Struct) (*Plan, diagnostic.List) {
	p, diagnostics := CompilePartly(ctx, env, input)
	if len(diagnostics) > 0 {
		return nil, diagnostics
	}
	return p, nil
}

// CompilePartly is like Compile, but even if there are diagnostics, it returns a plan of the valid
// parts. The plan is nil if the input or a list in it is over its limit.
func CompilePartly(ctx context.Context, env *expression.Environment, input *structpb.Struct) (*Plan, diagnostic.List) {
	if _, size := DigestOf(wire.Of(input)); size > limits.InputBytes {
		return nil, tooLarge(size)
	}
	in, d := decode(input)
	c := &compiler{
		ctx: ctx, env: env, input: input, readings: map[string]reading{}, inputs: map[string]bool{},
		details: DetailsUsed{Inputs: map[string][]string{}},
	}
	var p *Plan
	c.diagnostics = validate(input, in, d, func() diagnostic.List { //nolint:contextcheck // the compiler holds the context
		c.texts = d.texts
		p = c.plan(in)
		return c.diagnostics
	})
	if err := ctx.Err(); err != nil {
		c.diagnostics = append(c.diagnostics, wrong(nil, "was not compiled: %s", err.Error()))
	}
	SortDiagnostics(c.diagnostics)
	if p != nil {
		p.Warnings = c.warnings()
		SortDiagnostics(p.Warnings)
	}
	return p, c.diagnostics
}

// A compiler collects the diagnostics of one input, and the references of its expressions.
type compiler struct {
	ctx                context.Context //nolint:containedctx // lives as long as one Compile
	env                *expression.Environment
	input              *structpb.Struct
	diagnostics        diagnostic.List
	sources            []v1beta1.Source
	declared           []string           // all variables
	variables          []string           // variables that are already compiled
	readings           map[string]reading // of variables, by name
	outputs            reading            // of all expressions except variables
	inputs             map[string]bool    // composed resources and Secret sources that expressions name
	details            DetailsUsed
	named              []string // the composed resources in from
	count              int
	declaredGenerators []Generator
	compiled           []Compiled // in the order of the input
	own                Kind       // of the generation that resource and secret stand for
	exportNames        []string   // of all exports, in the order of the input
	exported           []string   // of the exports that are already compiled
	each               *ForEach   // whose item expressions see; nil for none

	suspicions diagnostic.List // about expressions
	cautions   diagnostic.List // about generators
	texts      []textFound     // with placeholders of other tools
	replaced   []string        // texts that expressions search for

	ownEnvironment bool // the input itself looks up or sets the environment
}

func (c *compiler) plan(in *v1beta1.Exports) *Plan {
	p := &Plan{}
	c.sources = in.Sources
	for _, v := range in.Variables {
		c.declared = append(c.declared, v.Name)
	}
	c.ownEnvironment = in.Environment != nil && (len(in.Environment.EnvironmentConfigs) > 0 || len(in.Environment.Set) > 0)
	for _, x := range exportsOf(in) {
		if x.From != "" && !slices.Contains(c.named, x.From) {
			c.named = append(c.named, x.From)
		}
	}
	for _, x := range exportsOf(in) {
		c.exportNames = append(c.exportNames, x.Name)
	}
	c.declareGenerators(in.Generators)
	for i, v := range in.Variables {
		at := field.NewPath("variables").Index(i)
		x := c.compile(source(at.Child("value"), v.Value, expression.WantAny))
		if x != nil {
			c.readings[v.Name] = c.reading(x)
			p.Variables = append(p.Variables, Variable{v.Name, x, c.readings[v.Name].environment})
		}
		c.variables = append(c.variables, v.Name)
	}
	c.generators(in.Generators)
	p.Generators = c.declaredGenerators
	c.environment(p, in.Environment)
	for _, x := range exportsOf(in) {
		p.Exports = append(p.Exports, c.export(x))
		c.exported = append(c.exported, x.Name)
	}
	for i, s := range in.Status {
		p.Status = append(p.Status, c.statusField(field.NewPath("status").Index(i), s))
	}
	p.Authors = c.fromComposite(in.FromComposite)
	p.Sources = c.compileSources() // last, because only now it is known which of them are read
	p.Details = c.details
	p.Inputs = SortedKeys(c.inputs)
	p.Strict = in.TypeChecking == v1beta1.TypeCheckingStrict
	p.Expressions, p.Declared, p.CompositePaths = c.compiled, in.Sources, compositePaths(in)
	p.Needed = p.neededExpressions()
	p.Freshness = c.freshness(in)
	c.cautionRotations(p)
	return p
}

func (c *compiler) statusField(at *field.Path, s v1beta1.StatusField) StatusField {
	segments, _ := statusSegments(s.FieldPath) // refused by validate
	out := StatusField{At: at, Path: s.FieldPath, Segments: segments, Optional: s.Optional}
	out.Value = c.output(source(at.Child("value"), s.Value, expression.WantJSON))
	c.refuseSecrets(out.Value, s.NonSensitive)
	return out
}

// output compiles an expression whose result is used outside of variables. Only objects that these
// expressions read, directly or through variables, are requested from Crossplane.
func (c *compiler) output(s expression.Source) *expression.Expression {
	x := c.compile(s)
	if x != nil {
		c.outputs.addAll(c.reading(x), expression.Place{})
		c.details.add(s.Path, c.reading(x).uses)
	}
	return x
}

// source returns the source of the expression in a field.
func source(at *field.Path, text string, want expression.Want) expression.Source {
	return expression.Source{Text: text, Path: at.String(), Want: want}
}

// compile one expression. It returns nil if there was a diagnostic.
func (c *compiler) compile(s expression.Source) *expression.Expression {
	c.count++
	if c.count == limits.Expressions+1 {
		c.report(s.Path, "exceeds the limit of %d expressions: split the input into several pipeline steps",
			limits.Expressions)
	}
	if c.count > limits.Expressions || c.ctx.Err() != nil || s.Text == "" { // refused by validate
		return nil
	}
	if s.Items == expression.NoItems && c.each != nil {
		s.Items = expression.AllItems
	}
	x, wrong := c.env.Compile(s, c.declaredAs)
	c.diagnostics = append(c.diagnostics, wrong...)
	if x == nil {
		return nil
	}
	c.noteInputs(x)
	declared, placed, generated, counted := c.checkVariables(x), c.refuseMisplaced(x), c.checkGenerated(x), c.checkRevisions(x)
	if !declared || !placed || !generated || !counted {
		return nil
	}
	c.compiled = append(c.compiled, Compiled{x, c.env, c.own, c.each})
	c.notePlaceholders(x)
	if len(c.suspicions) < mostWarnings {
		c.suspicions = append(c.suspicions, x.Suspicions()...)
	}
	return x
}

// declaredAs returns how an expression refers to the declaration with a name, or an empty text if
// the input does not declare the name.
func (c *compiler) declaredAs(name string) string {
	source := slices.IndexFunc(c.sources, func(s v1beta1.Source) bool { return s.Name == name })
	switch {
	case name == "":
	case slices.Contains(c.declared, name):
		return expression.PathText(expression.Variables, name)
	case c.generator(name) != nil:
		return expression.PathText(expression.Generated, name)
	case source >= 0 && IsSecret(c.sources[source]):
		return expression.PathText(expression.Secrets, name)
	case source >= 0:
		return expression.PathText(expression.Sources, name)
	}
	return ""
}

// noteInputs records which composed resources an expression names.
func (c *compiler) noteInputs(x *expression.Expression) {
	for _, r := range x.References() {
		name := Anything
		switch r.Variable {
		case expression.Resource, expression.Self, expression.Secret:
			name = x.Source().From
		case expression.Resources, expression.Secrets:
			name = StepName(r, 0)
		}
		if name != Anything && name != "" {
			c.inputs[name] = true
		}
		if g, _, ok := ParseGeneration(name); ok {
			c.reportAt(Place(x, r), "%q is a generation: read it as %s", name, SpelledAs(expression.Generated, g))
		}
	}
}

// checkVariables refuses a variable that does not exist, or is declared later.
func (c *compiler) checkVariables(x *expression.Expression) bool {
	ok := true
	for _, r := range x.References() {
		name := StepName(r, 0)
		if r.Variable != expression.Variables || name == Anything || slices.Contains(c.variables, name) {
			continue
		}
		ok = false
		if slices.Contains(c.declared, name) {
			c.reportAt(x.Place(r), "variable %q is declared further down, but a variable may use only variables above it: move it up",
				name)
			continue
		}
		c.reportAt(x.Place(r), "there is no variable %q%s", name,
			suggest.ThereAre(name, c.declared, fmt.Sprintf("add - {name: %s, value: ...} under variables", name)))
	}
	return ok
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
	return fmt.Sprintf("%q is also the name of a composed resource, so that %s would mean two things: rename the source",
		name, expression.PathText(expression.Secrets, name))
}

// ComposedTwice returns the message for a resource of another step with the name of an export.
func ComposedTwice(name string) string {
	return fmt.Sprintf("another step of the pipeline also composes a resource named %q: rename one of them", name)
}

// A Kind of objects.
type Kind = schema.Kind
