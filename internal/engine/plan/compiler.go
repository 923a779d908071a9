package plan

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/environment"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/strict"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// The compiler compiles an input that the definition accepts. It goes through the sections in the order in which they
// need each other: variables, generators, the environment, exports, and last the sources, because only then it is known
// which of them are read.

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
	finds              []*Find
	named              []string // the composed resources in from
	count              int
	declaredGenerators Generators
	kindsWrong         []diagnostic.List // of the kind of each generator
	compiled           []Compiled        // each variable before the expressions that use it
	optional           bool              // the expressions that are compiled now are not required
	own                Kind              // of the generation that resource and secret stand for
	exports            []exportInput
	taken              map[string]*field.Path // composition resource names, and names of Secrets that are read
	exported           []string               // of the exports that are already compiled
	each               *ForEach               // whose item expressions see; nil for none

	suspicions   diagnostic.List // about expressions
	placeholders diagnostic.List // warnings about those of other tools

	ownEnvironment bool // the input itself looks up or sets the environment
}

func newCompiler(ctx context.Context, env *expression.Environment, in *v1beta1.Exports) *compiler {
	c := &compiler{
		ctx: ctx, env: env, readings: map[string]reading{}, sources: in.Sources,
		exports: exportsOf(in), taken: map[string]*field.Path{},
	}
	for i, s := range in.Sources {
		if IsSecret(s) { // secrets.<name> would mean the source and the export
			c.taken[s.Name] = sourcesPath(i).Child("name")
		}
	}
	for _, v := range in.Variables {
		c.declared = append(c.declared, v.Name)
	}
	c.ownEnvironment = in.Environment != nil && (len(in.Environment.EnvironmentConfigs) > 0 ||
		len(in.Environment.Set) > 0)
	for _, x := range c.exports {
		if x.From != "" && !slices.Contains(c.named, x.From) {
			c.named = append(c.named, x.From)
		}
	}
	return c
}

func (c *compiler) exportNames() (names []string) {
	for _, x := range c.exports {
		names = append(names, x.Name)
	}
	return names
}

// section returns the diagnostics of one part of the input.
func (c *compiler) section(compile func()) diagnostic.List {
	before := c.diagnostics
	defer func() { c.diagnostics = before }()
	c.diagnostics = nil
	compile()
	return c.diagnostics
}

// plan compiles the sections in the order in which they need each other, and then puts their diagnostics in the order
// of the input.
func (c *compiler) plan(in *v1beta1.Exports) *Plan {
	p := &Plan{}
	kind := c.section(func() { c.refuseKind(in) })
	c.declareGenerators(in.Generators)
	variables := c.section(func() { p.Variables = c.compileVariables(in.Variables) })
	generators := c.section(func() { c.generators(in.Generators) })
	p.Generators = c.declaredGenerators
	environment := c.section(func() { c.environment(p, in.Environment) })
	rest := c.section(func() {
		for _, x := range c.exports {
			p.Exports = append(p.Exports, c.export(x))
			c.exported = append(c.exported, x.Name)
		}
		for i, s := range in.Status {
			p.Status = append(p.Status, c.statusField(field.NewPath("status").Index(i), s, p.Status))
		}
		p.Authors = c.fromComposite(in.FromComposite)
	})
	sources := c.section(func() { p.Sources = c.compileSources() })
	c.diagnostics = slices.Concat(kind, environment, sources, variables, generators, rest)
	p.Details = DetailsUsed{c.outputs, c.finds}
	p.Input, p.Expressions, p.Needed = in, c.compiled, c.needed()
	p.Freshness = c.freshness(in)
	return p
}

func variablesPath(i int) *field.Path { return field.NewPath("variables").Index(i) }

func (c *compiler) compileVariables(list []v1beta1.Variable) (out []Variable) {
	for i, v := range list {
		x := c.compile(source(variablesPath(i).Child("value"), v.Value, expression.WantAny))
		if x != nil {
			c.readings[v.Name] = c.reading(x)
			out = append(out, Variable{v.Name, x, c.readings[v.Name].environment})
		}
		c.variables = append(c.variables, v.Name)
	}
	return out
}

func (c *compiler) statusField(at *field.Path, s v1beta1.StatusField, before []StatusField) StatusField {
	segments, err := FieldNames(s.FieldPath)
	c.refuseErr(at.Child("fieldPath"), err)
	below, _ := environment.ParsePath(s.FieldPath) // names of fields are a path
	overlaps := func(b StatusField) bool {
		return err == nil && b.Segments != nil && (b.Below.Covers(below) || below.Covers(b.Below))
	}
	if i := slices.IndexFunc(before, overlaps); i >= 0 {
		c.refuse(at.Child("fieldPath"), "%q is also written by %s: keep one of them", s.FieldPath,
			before[i].At.Child("fieldPath"))
	}
	out := StatusField{At: at, Path: s.FieldPath, Below: below, Segments: segments, Optional: s.Optional}
	c.optional = s.Optional
	out.Value = c.output(source(at.Child("value"), s.Value, expression.WantJSON))
	c.optional = false
	c.refuseSecrets(out.Value, s.NonSensitive)
	return out
}

// output compiles an expression whose result is used outside of variables. Only objects that these
// expressions read, directly or through variables, are requested from Crossplane.
func (c *compiler) output(s expression.Source) *expression.Expression {
	x := c.compile(s)
	if x != nil {
		c.compiled[len(c.compiled)-1].required = !c.optional && !s.Own
		c.outputs.addAll(c.reading(x), expression.Place{})
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
	if c.count > limits.Expressions || c.ctx.Err() != nil {
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
	before := len(c.diagnostics)
	for _, r := range x.References() {
		c.checkReference(x, r)
	}
	if len(c.diagnostics) > before {
		return nil
	}
	c.compiled = append(c.compiled, Compiled{Expression: x, Own: c.own, ForEach: c.each})
	c.notePlaceholders(x)
	if len(c.suspicions) < limits.Diagnostics {
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
	case c.declaredGenerators.Named(name) != nil:
		return expression.PathText(expression.Generated, name)
	case source >= 0 && IsSecret(c.sources[source]):
		return expression.PathText(expression.Secrets, name)
	case source >= 0:
		return expression.PathText(expression.Sources, name)
	}
	return ""
}

// checkReference refuses a name that the input does not have.
func (c *compiler) checkReference(x *expression.Expression, r expression.Reference) {
	name, at := StepName(r, 0), Place(x, r)
	switch r.Variable {
	case expression.Sources:
		i := slices.IndexFunc(c.sources, func(s v1beta1.Source) bool { return s.Name == name })
		if i >= 0 && IsSecret(c.sources[i]) { // it would wait without end
			c.reportAt(at, "source %q is a Secret: read it as %s", name, expression.PathText(expression.Secrets, name))
		}
	case expression.Variables:
		c.checkVariable(at, name)
	case expression.Generated, expression.Candidate, expression.Previous:
		c.checkGenerated(at, r, name)
	case expression.Revisions:
		c.checkRevision(at, x.Source().Path, name)
	}
}

// checkVariable refuses a variable that does not exist, or is declared later.
func (c *compiler) checkVariable(at expression.Place, name string) {
	switch {
	case name == Anything || slices.Contains(c.variables, name):
	case slices.Contains(c.declared, name):
		c.reportAt(at, "variable %q is declared further down, but a variable may use only variables above it: move it up",
			name)
	default:
		c.reportAt(at, "there is no variable %q%s", name,
			suggest.ThereAre(name, c.declared, fmt.Sprintf("add - {name: %s, value: ...} under variables", name)))
	}
}

// identifier of CEL.
var identifier = lazy.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// refuse adds a diagnostic of a field.
func (c *compiler) refuse(at *field.Path, format string, args ...any) {
	c.report(at.String(), format, args...)
}

// refuseErr adds a diagnostic of a field for each error that is not nil.
func (c *compiler) refuseErr(at *field.Path, errs ...error) {
	for _, err := range errs {
		if err != nil {
			c.report(at.String(), "%s", err.Error())
		}
	}
}

func (c *compiler) refuseKind(in *v1beta1.Exports) {
	if in.APIVersion != v1beta1.APIVersion {
		c.report("apiVersion", "must be "+v1beta1.APIVersion)
	}
	if in.Kind != v1beta1.Kind {
		c.report("kind", "must be "+v1beta1.Kind)
	}
}

// ValidateObjectName refuses a name that is invalid for objects of all kinds.
func ValidateObjectName(name string) error {
	if diagnostics := path.IsValidPathSegmentName(name); len(diagnostics) > 0 {
		return fmt.Errorf("is not a valid name of an object: it %s", diagnostics[0])
	}
	return nil
}

// A Field is a field of the environment or of a manifest to write.
type Field struct {
	At       environment.Path
	Path     string // of the entry
	Optional bool
	Value    *expression.Expression
}

// nextField compiles the next field of a list. It refuses a field that cannot be written, and a field that replaces a
// value that an earlier entry writes.
func (c *compiler) nextField(list *field.Path, before []Field, path string, s expression.Source) Field {
	at := list.Index(len(before))
	p, err := environment.ParsePath(path)
	if err != nil {
		c.refuseErr(at.Child("fieldPath"), err)
	} else if i := slices.IndexFunc(before, func(f Field) bool { return p.Covers(f.At) }); i >= 0 {
		c.refuse(at.Child("fieldPath"), "replaces the value that %s writes: remove one of them, or move this one before it",
			list.Index(i))
	}
	s.Path, s.Want = at.Child("value").String(), expression.WantJSON
	return Field{At: p, Path: at.String(), Value: c.output(s)}
}

// SortedKeys of a map, with one allocation.
func SortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// notePlaceholders warns about the texts of an expression that contain a placeholder of another tool, unless it
// replaces one itself. Some texts are scripts or templates for another program, so a placeholder is only a warning.
func (c *compiler) notePlaceholders(x *expression.Expression) {
	if !strict.HasPlaceholder(x.Source().Text) {
		return
	}
	texts := x.Texts()
	if slices.ContainsFunc(texts, func(t expression.Text) bool { return t.Needle && strict.HasPlaceholder(t.Value) }) {
		return
	}
	for _, t := range texts {
		message := strict.PlaceholderIn(t.Value)
		if message != "" && !t.Raw && !t.Needle && len(c.placeholders) < limits.Diagnostics {
			w := t.Place.Wrong(message + "write for example '...' + composite.spec.field, or r'...' around a text that is " +
				"meant as it is")
			w.Warning = true
			c.placeholders = append(c.placeholders, w)
		}
	}
}

// Fields whose expressions may use revisions. In data, a revision of the same or a later export could change itself
// forever: each change of data is a new revision.
var (
	mayCount  = lazy.MustCompile(`^status\[|\.metadata\.(labels|annotations)Expression$|\.readyExpression$`)
	countData = lazy.MustCompile(`^(secrets|configMaps)\[[0-9]+\]\.data\[[0-9]+\]\.(value|valueMap)$`)
)

// checkRevision refuses revisions of an export that does not exist, and revisions in a field where they could change
// themselves.
func (c *compiler) checkRevision(at expression.Place, path, name string) {
	isData := countData().MatchString(path)
	switch {
	case !isData && !mayCount().MatchString(path):
		c.reportAt(at, "may not use revisions: they may be used in status, in labels and annotations of exports, "+
			"in readyExpression, and in data of a later export")
	case name == Anything && !isData:
	case name == Anything:
		c.reportAt(at, "must name the export whose revision it uses: write revisions.<export>")
	case !slices.Contains(c.exportNames(), name):
		c.reportAt(at, "there is no export %q%s", name, suggest.ThereAre(name, c.exportNames(), "add it"))
	case isData && !slices.Contains(c.exported, name):
		c.reportAt(at, "may use only revisions of exports above this one: the revision of %q could change itself forever",
			name)
	}
}
