// Package plan turns an input into an immutable plan, once, and runs it.
//
// An input comes in as the Struct that Crossplane hands over, and either all
// its faults come out, each with its path, or a Plan. A Plan takes what one
// request observes and gives what to require, which objects to desire, hold or
// leave alone, and why. It keeps nothing between requests: the same request
// gives the same answer. Secret data reaches the data of Secrets, and nothing
// else that comes out of here.
package plan

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/environment"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/suggest"
)

// DefaultTTL is how long Crossplane waits before it calls again.
const DefaultTTL = 60 * time.Second

// A Plan is a compiled input. It is immutable, and safe for concurrent use.
type Plan struct {
	variables []variable
	sources   []source
	exports   []export
	status    []statusField
	inputs    []string // composed resources and Secret sources that expressions name
	lookup    *environment.Lookup
	set       []environmentField
	makers    []maker
	tenants   *tenants // nil without fromComposite
	details   detailsUsed
	ttl       time.Duration
	id        string

	// For CheckTypes:
	strict         bool
	needed         []*expression.Expression
	expressions    []compiled
	declared       []v1beta1.Source
	compositePaths []compositePath
}

// ID names the input: equal inputs have one, and others have others.
func (p *Plan) ID() string { return p.id }

// TTL is how long Crossplane shall wait before it calls again. 0 is for ever.
func (p *Plan) TTL() time.Duration { return p.ttl }

// An export is one object to compose.
type export struct {
	kind     object.Kind
	name     string // in the pipeline
	title    string // in texts
	path     *field.Path
	tenant   bool     // the composite's author asks for it; path is in the composite
	faults   []string // of what the author wrote
	metadata metadata
	from     string
	dataFrom []bulk
	data     []entry
	lastWins bool // of two entries that write one key
	secret   secretFields
	// immutable as the input has it.
	immutable *bool

	generators []string // whose outputs it may hold
}

// String is the export in texts.
func (e export) String() string { return fmt.Sprintf("%s %q", e.kind, e.title) }

// at is the path of a field of the export, which a tenant's does not have.
func (e export) at(names ...string) *field.Path {
	if e.tenant {
		return e.path
	}
	return e.path.Child(names[0], names[1:]...)
}

// namePath is the path of the field that names the object.
func (e export) namePath() *field.Path {
	if e.tenant {
		return e.path.Child("name")
	}
	return e.path.Child("metadata", "name")
}

// secretFields are those that a Secret has and a ConfigMap lacks.
type secretFields struct {
	objectType        string
	connectionDetails bool
}

type metadata struct {
	name, namespace                                                  string
	labels, annotations                                              map[string]string
	nameExpr, namespaceExpr, labelsExpression, annotationsExpression *expression.Expression

	labelValues, annotationValues map[string]*expression.Expression // a tenant's, by key
}

type entry struct {
	path     string
	key      string
	optional bool
	value    *expression.Expression
}

type variable struct {
	name  string
	value *expression.Expression

	environment bool // it reads the environment
}

type statusField struct {
	at       *field.Path
	path     string
	segments []string
	optional bool
	value    *expression.Expression
}

// Compile an input. Either the plan is nil or the faults are. All faults come at
// once, in the order of the input; only a list that is over its limit is not
// looked into further.
func Compile(ctx context.Context, env *expression.Environment, input *structpb.Struct) (*Plan, field.ErrorList) {
	p, faults := compile(ctx, env, input)
	if len(faults) > 0 {
		return nil, faults
	}
	return p, nil
}

// compile is Compile which returns what could be compiled beside the faults. The plan
// is nil if nothing was looked into.
func compile(ctx context.Context, env *expression.Environment, input *structpb.Struct) (*Plan, field.ErrorList) {
	in, d := decode(input)
	c := &compiler{ctx: ctx, env: env, faults: d.faults, readings: map[string]reading{}, inputs: map[string]bool{}, details: detailsUsed{inputs: map[string][]string{}}}
	bounded := true
	for _, f := range validate(in) {
		bounded = bounded && f.Type != field.ErrorTypeTooMany
		if !d.explains(f) {
			c.faults = append(c.faults, f)
		}
	}
	var p *Plan
	if bounded {
		p = c.plan(in)
		decoded := len(d.faults)
		c.faults = append(c.faults[:decoded:decoded], slices.DeleteFunc(c.faults[decoded:], d.explains)...)
	}
	if err := ctx.Err(); err != nil {
		c.faults = append(c.faults, invalid(nil, "was not compiled: %s", err.Error()))
	}
	sortFaults(c.faults)
	return p, c.faults
}

// A compiler collects the faults of one input, and what its expressions read.
type compiler struct {
	ctx       context.Context //nolint:containedctx // lives as long as one Compile
	env       *expression.Environment
	faults    field.ErrorList
	sources   []v1beta1.Source
	declared  []string           // all variables
	variables []string           // those compiled so far
	readings  map[string]reading // of variables, by name
	outputs   reading            // of all expressions but variables
	inputs    map[string]bool    // composed resources and Secret sources that expressions name
	details   detailsUsed
	count     int
	makers    []maker
	compiled  []compiled // in the order of the input
	own       Kind       // of the generation that an expression is about

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
		x := c.compile(expression.Source{Text: v.Value, Path: at.Child("value").String(), Want: expression.WantAny})
		if x != nil {
			c.readings[v.Name] = c.reading(x)
			p.variables = append(p.variables, variable{v.Name, x, c.readings[v.Name].environment})
		}
		c.variables = append(c.variables, v.Name)
	}
	c.generators(in.Generators)
	p.makers = c.makers
	c.environment(p, in.Environment)
	for i, s := range in.Secrets {
		p.exports = append(p.exports, c.secret(field.NewPath("secrets").Index(i), s))
	}
	for i, m := range in.ConfigMaps {
		p.exports = append(p.exports, c.configMap(field.NewPath("configMaps").Index(i), m))
	}
	for i, s := range in.Status {
		p.status = append(p.status, c.statusField(field.NewPath("status").Index(i), s))
	}
	p.tenants = c.fromComposite(in.FromComposite)
	p.sources = c.compileSources() // last: which are read is known now
	p.details = c.details
	p.inputs = sortedKeys(c.inputs)
	p.strict = in.TypeChecking == v1beta1.TypeCheckingStrict
	p.expressions, p.declared, p.compositePaths = c.compiled, in.Sources, compositePaths(in)
	p.needed = p.neededExpressions()
	return p
}

func (c *compiler) secret(at *field.Path, s v1beta1.SecretExport) export {
	e := export{kind: object.Secret, name: s.Name, title: s.Name, path: at, from: s.From, immutable: s.Immutable, secret: secretFields{s.Type, s.ConnectionDetails}}
	if e.secret.objectType == "" {
		e.secret.objectType = "Opaque"
	}
	e.metadata = c.metadata(at.Child("metadata"), s.Metadata, s.From)
	for i, d := range s.Data {
		e.data = append(e.data, c.entry(at.Child("data").Index(i), d, s.From, nil, true))
	}
	e.dataFrom = c.bulks(at, s.DataFrom, s.From, true)
	e.lastWins = s.ConflictPolicy == v1beta1.ConflictLastWins
	c.refuseKeys(e)
	e.generators = c.usedGenerators(e)
	return e
}

func (c *compiler) configMap(at *field.Path, m v1beta1.ConfigMapExport) export {
	e := export{kind: object.ConfigMap, name: m.Name, title: m.Name, path: at, from: m.From, immutable: m.Immutable}
	e.metadata = c.metadata(at.Child("metadata"), m.Metadata, m.From)
	for i, d := range m.Data {
		e.data = append(e.data, c.entry(at.Child("data").Index(i), d.SecretData, m.From, d.NonSensitive, false))
	}
	e.dataFrom = c.bulks(at, m.DataFrom, m.From, false)
	e.lastWins = m.ConflictPolicy == v1beta1.ConflictLastWins
	c.refuseKeys(e)
	e.generators = c.usedGenerators(e)
	return e
}

func (c *compiler) entry(at *field.Path, d v1beta1.SecretData, from string, nonSensitive []string, secret bool) entry {
	e := entry{path: at.Child("value").String(), key: d.Key, optional: d.Optional}
	s := expression.Source{Text: d.Value, From: from, Want: expression.WantText}
	if d.ValueMap != "" {
		e.path = at.Child("valueMap").String()
		s.Text, s.Want = d.ValueMap, expression.WantTextMap
	}
	s.Path = e.path
	e.value = c.output(s)
	if !secret {
		c.refuseSecrets(e.value, nonSensitive)
	}
	return e
}

// refuseKeys refuses what value maps spell and no object can have, or what
// another entry writes, too. Two entries with a key of their own are compared by
// validate.
func (c *compiler) refuseKeys(x export) {
	first := map[string]string{}
	for _, e := range x.data {
		if e.key != "" {
			first[e.key] = e.path
		}
	}
	for _, e := range x.data {
		if e.key != "" || e.value == nil {
			continue
		}
		for _, k := range e.value.Keys() {
			if err := object.ValidateKey(k); err != nil {
				c.fault(e.path, "%s", err.Error())
			}
			if other, ok := first[k]; ok && !x.lastWins {
				c.fault(e.path, "key %q is written by %s, too: keep one of them", k, other)
				continue
			}
			first[k] = e.path
		}
	}
}

func (c *compiler) metadata(at *field.Path, m *v1beta1.Metadata, from string) metadata {
	if m == nil {
		return metadata{}
	}
	out := metadata{name: m.Name, namespace: m.Namespace, labels: m.Labels, annotations: m.Annotations}
	compile := func(name, text string, want expression.Want) *expression.Expression {
		if text == "" {
			return nil
		}
		x := c.output(expression.Source{Text: text, Path: at.Child(name).String(), From: from, Want: want})
		return x
	}
	out.nameExpr = compile("nameExpression", m.NameExpression, expression.WantString)
	out.namespaceExpr = compile("namespaceExpression", m.NamespaceExpression, expression.WantString)
	out.labelsExpression = compile("labelsExpression", m.LabelsExpression, expression.WantLabels)
	out.annotationsExpression = compile("annotationsExpression", m.AnnotationsExpression, expression.WantLabels)
	for _, x := range []*expression.Expression{out.nameExpr, out.namespaceExpr} {
		c.refuseUnknown(x)
	}
	c.refuseSecrets(out.labelsExpression, m.NonSensitive)
	c.refuseSecrets(out.annotationsExpression, m.NonSensitive)
	return out
}

func (c *compiler) statusField(at *field.Path, s v1beta1.StatusField) statusField {
	segments, _ := statusSegments(s.FieldPath) // refused by validate
	out := statusField{at: at, path: s.FieldPath, segments: segments, optional: s.Optional}
	out.value = c.output(expression.Source{Text: s.Value, Path: at.Child("value").String(), Want: expression.WantJSON})
	c.refuseSecrets(out.value, s.NonSensitive)
	return out
}

// output compiles an expression whose result leaves the plan. Only what these
// read, by themselves or through variables, is asked for.
func (c *compiler) output(s expression.Source) *expression.Expression {
	x := c.compile(s)
	if x != nil {
		c.outputs.addAll(c.reading(x), "")
		c.details.add(s.Path, c.reading(x).uses)
	}
	return x
}

// compile one expression. It returns nil if there was a fault.
func (c *compiler) compile(s expression.Source) *expression.Expression {
	c.count++
	if c.count == limits.Expressions+1 {
		c.fault(s.Path, "is one expression over the limit of %d: split the input into several pipeline steps", limits.Expressions)
	}
	if c.count > limits.Expressions || c.ctx.Err() != nil || s.Text == "" { // refused by validate
		return nil
	}
	x, faults := c.env.Compile(s)
	for _, f := range faults {
		if meant := c.declaredAs(f.Unknown); meant != "" {
			f.Message = fmt.Sprintf("there is no variable %s: write %s", f.Unknown, meant)
		}
		c.fault(f.Path, "%s", f.Message)
	}
	if x == nil {
		return nil
	}
	c.noteInputs(x)
	declared, placed, generated := c.checkVariables(x), c.refuseMisplaced(x), c.checkGenerated(x)
	if !declared || !placed || !generated {
		return nil
	}
	c.compiled = append(c.compiled, compiled{x, c.env, c.own})
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
	case c.maker(name) != nil:
		return expression.PathText(expression.Generated, name)
	case source >= 0 && isSecret(c.sources[source]):
		return expression.PathText(expression.Secrets, name)
	case source >= 0:
		return expression.PathText(expression.Sources, name)
	}
	return ""
}

// noteInputs notes which composed resources an expression names.
func (c *compiler) noteInputs(x *expression.Expression) {
	for _, r := range x.References() {
		name := anything
		switch r.Variable {
		case expression.Resource, expression.Self, expression.Secret:
			name = x.Source().From
		case expression.Resources, expression.Secrets:
			name = stepName(r, 0)
		}
		if name != anything && name != "" {
			c.inputs[name] = true
		}
		if g, _, ok := parseGeneration(name); ok {
			c.fault(place(x, r), "%q is a generation: read it as %s", name, expression.PathText(expression.Generated, g))
		}
	}
}

// checkVariables refuses a variable that is not there, or not above.
func (c *compiler) checkVariables(x *expression.Expression) bool {
	ok := true
	for _, r := range x.References() {
		name := stepName(r, 0)
		if r.Variable != expression.Variables || name == anything || slices.Contains(c.variables, name) {
			continue
		}
		ok = false
		if slices.Contains(c.declared, name) {
			c.fault(x.Place(r), "variable %q stands further down, and a variable may use only those above it: move it up", name)
			continue
		}
		c.fault(x.Place(r), "there is no variable %q%s", name, suggest.ThereAre(name, c.declared))
	}
	return ok
}
