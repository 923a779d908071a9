// Package plan turns an input into an immutable plan, or into all of its diagnostics.
//
// A plan holds what the input says in the form in which a request needs it: compiled expressions,
// parsed paths, and the names of all that is read. Secret data cannot flow out of the data of
// Secrets in a plan that compiles. Nothing of a plan may be changed.
package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/environment"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/schema"
	"github.com/crossplane-contrib/function-export/internal/suggest"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// DefaultTTL is how long Crossplane waits before it calls again.
const DefaultTTL = 60 * time.Second

// A Plan is a compiled input. It is immutable, and safe for concurrent use.
type Plan struct {
	Variables  []Variable
	Sources    []Source
	Exports    []Export
	Status     []StatusField
	Inputs     []string // composed resources and Secret sources that expressions name
	Lookup     *environment.Lookup
	Set        []EnvironmentField
	Generators []Generator
	Authors    *Authors // nil without fromComposite
	Details    DetailsUsed
	ttl        time.Duration
	id         string

	// For the check of types:
	Strict         bool
	Needed         []*expression.Expression
	Expressions    []Compiled
	Declared       []v1beta1.Source
	CompositePaths []CompositePath
}

// ID names the input: equal inputs have one, and others have others.
func (p *Plan) ID() string { return p.id }

// TTL is how long Crossplane must wait before it calls again. 0 means without an end.
func (p *Plan) TTL() time.Duration { return p.ttl }

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

// Compile an input. Either the plan or the list of diagnostics is nil. All diagnostics are
// reported at once, in the order of the input. If a list is over its limit, expressions are
// not compiled.
func Compile(ctx context.Context, env *expression.Environment, input *structpb.Struct) (*Plan, diagnostic.List) {
	p, diagnostics := CompilePartly(ctx, env, input)
	if len(diagnostics) > 0 {
		return nil, diagnostics
	}
	return p, nil
}

// CompilePartly is Compile, but returns a plan of the valid parts also if there are diagnostics. The plan
// is nil if a list is over its limit.
func CompilePartly(ctx context.Context, env *expression.Environment, input *structpb.Struct) (*Plan, diagnostic.List) {
	in, d := decode(input)
	c := &compiler{
		ctx: ctx, env: env, readings: map[string]reading{}, inputs: map[string]bool{},
		details: DetailsUsed{Inputs: map[string][]string{}},
	}
	var p *Plan
	c.diagnostics = validate(input, in, d, func() diagnostic.List { //nolint:contextcheck // the compiler holds the context
		p = c.plan(in)
		return c.diagnostics
	})
	if err := ctx.Err(); err != nil {
		c.diagnostics = append(c.diagnostics, wrong(nil, "was not compiled: %s", err.Error()))
	}
	SortDiagnostics(c.diagnostics)
	return p, c.diagnostics
}

// A compiler collects the diagnostics of one input, and what its expressions read.
type compiler struct {
	ctx                context.Context //nolint:containedctx // lives as long as one Compile
	env                *expression.Environment
	diagnostics        diagnostic.List
	sources            []v1beta1.Source
	declared           []string           // all variables
	variables          []string           // those compiled so far
	readings           map[string]reading // of variables, by name
	outputs            reading            // of all expressions but variables
	inputs             map[string]bool    // composed resources and Secret sources that expressions name
	details            DetailsUsed
	count              int
	declaredGenerators []Generator
	compiled           []Compiled // in the order of the input
	own                Kind       // of the generation that an expression is about

	ownEnvironment bool // the input finds or sets the environment itself
}

func (c *compiler) plan(in *v1beta1.Exports) *Plan {
	p := &Plan{ttl: DefaultTTL}
	if in.TTL != nil {
		p.ttl = in.TTL.Duration
	}
	c.sources = in.Sources
	for _, v := range in.Variables {
		c.declared = append(c.declared, v.Name)
	}
	c.ownEnvironment = in.Environment != nil && (len(in.Environment.EnvironmentConfigs) > 0 || len(in.Environment.Set) > 0)
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
	}
	for i, s := range in.Status {
		p.Status = append(p.Status, c.statusField(field.NewPath("status").Index(i), s))
	}
	p.Authors = c.fromComposite(in.FromComposite)
	p.Sources = c.compileSources() // last: which are read is known now
	p.Details = c.details
	p.Inputs = SortedKeys(c.inputs)
	p.Strict = in.TypeChecking == v1beta1.TypeCheckingStrict
	p.Expressions, p.Declared, p.CompositePaths = c.compiled, in.Sources, compositePaths(in)
	p.Needed = p.neededExpressions()
	return p
}

func (c *compiler) statusField(at *field.Path, s v1beta1.StatusField) StatusField {
	segments, _ := statusSegments(s.FieldPath) // refused by validate
	out := StatusField{At: at, Path: s.FieldPath, Segments: segments, Optional: s.Optional}
	out.Value = c.output(source(at.Child("value"), s.Value, expression.WantJSON))
	c.refuseSecrets(out.Value, s.NonSensitive)
	return out
}

// output compiles an expression whose result is used outside of variables. Only what these
// expressions read, by themselves or through variables, is requested from Crossplane.
func (c *compiler) output(s expression.Source) *expression.Expression {
	x := c.compile(s)
	if x != nil {
		c.outputs.addAll(c.reading(x), expression.Place{})
		c.details.add(s.Path, c.reading(x).uses)
	}
	return x
}

// source of an expression at a field.
func source(at *field.Path, text string, want expression.Want) expression.Source {
	return expression.Source{Text: text, Path: at.String(), Want: want}
}

// compile one expression. It returns nil if there was a diagnostic.
func (c *compiler) compile(s expression.Source) *expression.Expression {
	c.count++
	if c.count == limits.Expressions+1 {
		c.report(s.Path, "is one expression over the limit of %d: split the input into several pipeline steps",
			limits.Expressions)
	}
	if c.count > limits.Expressions || c.ctx.Err() != nil || s.Text == "" { // refused by validate
		return nil
	}
	x, wrong := c.env.Compile(s, c.declaredAs)
	c.diagnostics = append(c.diagnostics, wrong...)
	if x == nil {
		return nil
	}
	c.noteInputs(x)
	declared, placed, generated := c.checkVariables(x), c.refuseMisplaced(x), c.checkGenerated(x)
	if !declared || !placed || !generated {
		return nil
	}
	c.compiled = append(c.compiled, Compiled{x, c.env, c.own})
	return x
}

// declaredAs is how an expression spells what the input declares by a name; empty if it
// declares nothing by it.
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

// noteInputs notes which composed resources an expression names.
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
			c.reportAt(Place(x, r), "%q is a generation: read it as %s", name, expression.PathText(expression.Generated, g))
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
			c.reportAt(x.Place(r), "variable %q stands further down, and a variable may use only those above it: move it up",
				name)
			continue
		}
		c.reportAt(x.Place(r), "there is no variable %q%s", name, suggest.ThereAre(name, c.declared))
	}
	return ok
}

// ExportNamed reports whether an export has a name.
func (p *Plan) ExportNamed(name string) bool {
	return slices.ContainsFunc(p.Exports, func(e Export) bool { return e.Name == name })
}

// Generator of a name, or nil.
func (p *Plan) Generator(name string) *Generator {
	i := slices.IndexFunc(p.Generators, func(m Generator) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Generators[i]
}

// RotateAnnotation of a composite asks for another generation: <generator>=<anything new>, for
// each generator once.
const RotateAnnotation = object.StatePrefix + "rotate"

// MetadataOf an object.
func MetadataOf(o wire.Struct) wire.Struct { return o.Get("metadata").Struct() }

// Shorten lists the first of many, and counts the rest.
func Shorten(items []string, separator string) string {
	if n := len(items) - limits.MessageItems; n > 0 {
		return fmt.Sprintf("%s%sand %d more", strings.Join(items[:limits.MessageItems], separator), separator, n)
	}
	return strings.Join(items, separator)
}

// NoNamespace says that an object has no namespace, neither its own nor that of the composite.
const NoNamespace = "must be set: the composite is cluster scoped and has no claim"

// TwoMeanings says that a Secret source has the name of a composed resource.
func TwoMeanings(name string) string {
	return fmt.Sprintf("%q is the name of a composed resource, too, so that %s would mean two things: rename the source",
		name, expression.PathText(expression.Secrets, name))
}

// ComposedTwice says that another step composes a resource of an export's name.
func ComposedTwice(name string) string {
	return fmt.Sprintf("another step of the pipeline composes a resource named %q, too: rename one of them", name)
}

// A Kind of objects.
type Kind = schema.Kind
