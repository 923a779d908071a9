package plan

import (
	"fmt"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
)

// An Explanation says what a plan reads and makes: what is known before there is any
// data. Lists are in the order of the input.
type Explanation struct {
	// Objects are the Secrets, and then the ConfigMaps, that are exported.
	Objects []ExplainedObject `json:"objects,omitempty"`

	// Status fields, and fields of the environment that are set.
	Status      []ExplainedKey `json:"status,omitempty"`
	Environment []ExplainedKey `json:"environment,omitempty"`

	Generators []ExplainedGenerator `json:"generators,omitempty"`

	// Variables by themselves. Who uses one has what it reads among its inputs, too.
	Variables []ExplainedKey `json:"variables,omitempty"`

	// FromComposite is nil if composites' authors may ask for nothing.
	FromComposite *ExplainedTenants `json:"fromComposite,omitempty"`

	// Asks are all that Crossplane may be asked for, and Unused the sources that it is
	// not asked for, since no expression uses them.
	Asks   []Ask    `json:"asks,omitempty"`
	Unused []string `json:"unused,omitempty"`

	// Rules that Crossplane needs for it.
	Rules []Rule `json:"rules,omitempty"`

	// Fuel of one request, and the expression that takes the most of it.
	Fuel expression.Estimate `json:"fuel"`
}

// An ExplainedObject is an object that is exported.
type ExplainedObject struct {
	Kind string `json:"kind"`
	Name string `json:"name"` // in the pipeline
	Path string `json:"path"`

	// Namespace and ObjectName say where it is in the cluster.
	Namespace  Spelling `json:"namespace"`
	ObjectName Spelling `json:"objectName"`

	// Metadata are the expressions of its names, labels and annotations.
	Metadata []ExplainedKey `json:"metadata,omitempty"`
	Keys     []ExplainedKey `json:"keys,omitempty"`

	// ConnectionDetails is set if the composite publishes its data, too.
	ConnectionDetails bool `json:"connectionDetails,omitempty"`
}

// An ExplainedKey is what one expression gives, or one entry of dataFrom.
type ExplainedKey struct {
	// Path of the expression in the input.
	Path string `json:"path"`

	// Names of the keys, as far as the input spells them: of a field just one. Those of
	// Maybe may be left out.
	Names []string `json:"names,omitempty"`
	Maybe []string `json:"maybe,omitempty"`

	// Others says which keys there are whose names are not known before run time.
	Others string `json:"others,omitempty"`

	// Optional is set if it is left out while something it needs is absent.
	Optional bool `json:"optional,omitempty"`

	Inputs []Input `json:"inputs,omitempty"`

	// Own is set if resource, self and secret among the inputs are of the generation that
	// the expression is about.
	Own bool `json:"own,omitempty"`

	// Waits says what else has to be so.
	Waits []string `json:"waits,omitempty"`

	// Fuel is nil where there is no expression.
	Fuel *expression.Estimate `json:"fuel,omitempty"`
}

// Secret reports whether something that it reads is secret, and not declared not to be.
func (k ExplainedKey) Secret() bool {
	return slices.ContainsFunc(k.Inputs, func(i Input) bool { return i.Secret && !i.NonSensitive })
}

// An Input is a path that is read.
type Input struct {
	// Name of the path in CEL's words.
	Name string `json:"name"`

	// Secret is set for what connection details, Secrets and generators give, and
	// NonSensitive where the input says that it may flow out of Secrets.
	Secret       bool `json:"secret,omitempty"`
	NonSensitive bool `json:"nonSensitive,omitempty"`

	Need expression.Need `json:"need"`

	// Through are the variables that lead to it, the one that is used first.
	Through []string `json:"through,omitempty"`
}

// A Spelling is a text of the input, or an expression that gives it, or what it is in
// words where no one expression gives it.
type Spelling struct {
	Text       string `json:"text,omitempty"`
	Expression string `json:"expression,omitempty"`
	Words      string `json:"words,omitempty"`
}

// An ExplainedGenerator is a generator.
type ExplainedGenerator struct {
	Name string `json:"name"`
	Path string `json:"path"`

	// Type is the field that it has, for example password.
	Type string `json:"type"`

	// Makes is the kind of a generation, or empty if none is stored.
	Makes string `json:"makes,omitempty"`

	// Outputs that are known before there is a generation, and Others which else there are.
	Outputs []string `json:"outputs,omitempty"`
	Others  string   `json:"others,omitempty"`

	// Renewed says when there is another generation.
	Renewed []string `json:"renewed,omitempty"`

	// Grace is how long the former one stays.
	Grace string `json:"grace,omitempty"`

	// SignedBy is the generator of the CA.
	SignedBy string `json:"signedBy,omitempty"`

	// Expressions of its keepers, manifest, outputs and so on.
	Expressions []ExplainedKey `json:"expressions,omitempty"`
}

// ExplainedTenants are what authors of composites may ask for.
type ExplainedTenants struct {
	// FieldPath in the composite, below which they ask.
	FieldPath string `json:"fieldPath"`

	// Secret is the input that secret stands for, if any.
	Secret string `json:"secret,omitempty"`

	Secrets     []string `json:"secrets,omitempty"`
	Resources   []string `json:"resources,omitempty"`
	Environment bool     `json:"environment,omitempty"`

	// Labels and Annotations that their objects may have, and prefixes of them.
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`

	// Fuel of each of their expressions, and RequestFuel of all of them, at most.
	Fuel        int64 `json:"fuel"`
	RequestFuel int64 `json:"requestFuel"`
}

// Explain the plan. Nothing in it is data: texts of the input, and what follows from them.
// plural is the resource of a kind, or empty if it is not known; it may be nil.
func (p *Plan) Explain(plural func(Kind) string) *Explanation {
	x := &explainer{plan: p, variables: map[string][]Input{}}
	out := &Explanation{}
	for _, v := range p.variables {
		k := x.expression(v.value, v.name)
		x.variables[v.name], x.names = k.Inputs, append(x.names, v.name)
		out.Variables = append(out.Variables, k)
	}
	for _, f := range p.set {
		out.Environment = append(out.Environment, x.declared(x.optional(x.expression(f.value, f.at.String()), f.optional)))
	}
	for i := range p.makers {
		out.Generators = append(out.Generators, x.generator(&p.makers[i]))
	}
	for _, e := range p.exports {
		out.Objects = append(out.Objects, x.object(e))
	}
	for _, s := range p.status {
		out.Status = append(out.Status, x.declared(x.optional(x.expression(s.value, s.path), s.optional)))
	}
	out.FromComposite = p.tenants.explain()
	x.ask(out)
	out.Rules = rulesOf(out.Asks, p.makers, plural)
	out.Fuel = x.fuel
	out.Fuel.Limit = limits.RequestFuel
	return out
}

func (t *tenants) explain() *ExplainedTenants {
	if t == nil {
		return nil
	}
	return &ExplainedTenants{
		FieldPath: t.at.String(), Secret: t.sees.Secret, Secrets: t.sees.Secrets, Resources: t.sees.Resources, Environment: t.sees.Environment,
		Labels: t.labels.keys, Annotations: t.annotations.keys,
		Fuel: limits.TenantFuel, RequestFuel: limits.TenantRequestFuel,
	}
}

// object is one export.
func (x *explainer) object(e export) ExplainedObject {
	out := ExplainedObject{Kind: string(e.kind), Name: e.name, Path: e.path.String(), ConnectionDetails: e.secret.connectionDetails}
	out.Namespace = spelling(e.metadata.namespace, e.metadata.namespaceExpr, ownNamespaceSpelling)
	out.ObjectName = spelling(e.metadata.name, e.metadata.nameExpr, defaultName(e.name))
	m := e.metadata
	for _, f := range []struct {
		name  string
		value *expression.Expression
	}{
		{"metadata.nameExpression", m.nameExpr},
		{"metadata.namespaceExpression", m.namespaceExpr},
		{"metadata.labelsExpression", m.labelsExpression},
		{"metadata.annotationsExpression", m.annotationsExpression},
	} {
		if f.value != nil {
			out.Metadata = append(out.Metadata, x.declared(x.expression(f.value, f.name)))
		}
	}
	add := func(k ExplainedKey) {
		if e.kind != "Secret" {
			k = x.declared(k)
		}
		out.Keys = append(out.Keys, k)
	}
	for _, b := range e.dataFrom {
		add(x.bulk(b))
	}
	for _, d := range e.data {
		if d.key != "" {
			add(x.optional(x.expression(d.value, d.key), d.optional))
			continue
		}
		add(x.optional(x.keys(d.value), d.optional))
	}
	return out
}

// ownNamespaceSpelling is where the input leaves out the namespace: whether the composite
// has one, or is a legacy one, only the composite shows.
var ownNamespaceSpelling = Spelling{Words: "namespace of the composite or its claim"} //nolint:gochecknoglobals // a constant

func defaultName(name string) Spelling {
	return Spelling{Expression: fmt.Sprintf("composite.metadata.name + '-%s'", name)}
}

// spelling is the first that there is of a text, an expression and a default.
func spelling(text string, x *expression.Expression, other Spelling) Spelling {
	switch {
	case x != nil:
		return Spelling{Expression: x.Source().Text}
	case text != "":
		return Spelling{Text: text}
	}
	return other
}
