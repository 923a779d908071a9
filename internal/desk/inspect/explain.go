// Package inspect explains which objects a plan reads and creates, before there is any data. It also
// checks the expressions of a plan against the schemas of the objects that they read.
package inspect

import (
	"fmt"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// An Explanation says which objects a plan reads and creates, as far as this is known before there is
// any data. Lists are in the order of the input.
type Explanation struct {
	// Objects are the Secrets, and then the ConfigMaps, that are exported.
	Objects []ExplainedObject `json:"objects,omitempty"`

	// Status and Environment are the fields that the plan sets there.
	Status      []ExplainedKey `json:"status,omitempty"`
	Environment []ExplainedKey `json:"environment,omitempty"`

	Generators []ExplainedGenerator `json:"generators,omitempty"`

	// Variables are listed on their own. An expression that uses a variable also has its inputs.
	Variables []ExplainedKey `json:"variables,omitempty"`

	// Unused are the sources that are never required, because no expression uses them.
	Unused []string `json:"unused,omitempty"`

	// Rules are the RBAC rules that Crossplane needs in addition to its default role.
	Rules []Rule `json:"rules,omitempty"`
}

// An ExplainedObject is an object that is exported.
type ExplainedObject struct {
	Kind string `json:"kind"`
	Name string `json:"name"` // the composition resource name
	Path string `json:"path"`

	// Namespace and ObjectName are its namespace and its name in the cluster. In angle brackets is the expression that
	// returns it, or a description.
	Namespace  string `json:"namespace"`
	ObjectName string `json:"objectName"`

	// ForEach is the list for whose items one object each is exported. It is empty for a single object.
	ForEach string `json:"forEach,omitempty"`

	// Metadata are the expressions of its list and key, name, namespace, labels and annotations.
	Metadata []ExplainedKey `json:"metadata,omitempty"`
	Keys     []ExplainedKey `json:"keys,omitempty"`

	// ConnectionDetails is set if the composite also publishes its data.
	ConnectionDetails bool `json:"connectionDetails,omitempty"`
}

// An ExplainedKey is the result of one expression, or one entry of dataFrom.
type ExplainedKey struct {
	// Path of the expression in the input.
	Path string `json:"path"`

	// Names are the keys that the input spells. A field has one. Keys in Maybe may be left out.
	Names []string `json:"names,omitempty"`
	Maybe []string `json:"maybe,omitempty"`

	// Others describes keys whose names are not known before run time.
	Others string `json:"others,omitempty"`

	// Optional is set if the key is left out while an input is missing.
	Optional bool `json:"optional,omitempty"`

	Inputs []Input `json:"inputs,omitempty"`

	// Own is set if resource, self and secret among the inputs belong to the generation that the
	// expression is about.
	Own bool `json:"own,omitempty"`

	// Waits are other conditions that must be met.
	Waits []string `json:"waits,omitempty"`
}

// An Input is a path that is read.
type Input struct {
	// Name is the path in the syntax of CEL.
	Name string `json:"name"`

	// Secret is set for connection details, Secrets and outputs of generators. NonSensitive is set if
	// the input allows its use outside of Secrets.
	Secret       bool `json:"secret,omitempty"`
	NonSensitive bool `json:"nonSensitive,omitempty"`

	Need expression.Need `json:"need"`

	// Through are the variables that lead to it. The first one is the variable that the expression
	// uses.
	Through []string `json:"through,omitempty"`

	// Missing is what is known about it if a composite lacks it.
	Missing string `json:"missing,omitempty"`
}

// An ExplainedGenerator is a generator that reads inputs.
type ExplainedGenerator struct {
	Name string `json:"name"`
	Path string `json:"path"`

	// Expressions are those of its keepers, manifest, outputs and so on.
	Expressions []ExplainedKey `json:"expressions,omitempty"`
}

// Explain explains a plan. The explanation contains no data, only texts of the input and facts that
// follow from them. plural returns the resource of a kind, or an empty string if it is unknown. It
// may be nil.
func Explain(p *plan.Plan, plural func(plan.Kind) string) *Explanation {
	x := &explainer{plan: p, variables: map[string][]Input{}}
	out := &Explanation{}
	for _, v := range p.Variables {
		k := x.expression(v.Value, v.Name)
		x.variables[v.Name] = k.Inputs
		x.names = append(x.names, v.Name)
		out.Variables = append(out.Variables, k)
	}
	for _, f := range p.Set {
		k := x.optional(x.expression(f.Value, f.At.String()), f.Optional)
		out.Environment = append(out.Environment, x.declared(k))
	}
	for i := range p.Generators {
		out.Generators = append(out.Generators, x.generator(&p.Generators[i]))
	}
	for _, e := range p.Exports {
		out.Objects = append(out.Objects, x.Object(e))
	}
	for _, s := range p.Status {
		out.Status = append(out.Status, x.declared(x.optional(x.expression(s.Value, s.Path), s.Optional)))
	}
	for _, s := range p.Input.Sources {
		if !slices.ContainsFunc(p.Sources, func(used plan.Source) bool { return used.Name == s.Name }) {
			out.Unused = append(out.Unused, s.Name)
		}
	}
	out.Rules = rulesOf(p, plural)
	return out
}

// Object is one export.
func (x *explainer) Object(e plan.Export) ExplainedObject {
	out := ExplainedObject{Kind: string(e.Kind), Name: e.Name, Path: e.Path.String(),
		ConnectionDetails: e.Secret.ConnectionDetails}
	// Only the composite shows whether it is namespaced, or is a legacy composite with a claim.
	out.Namespace = spelling(e.Metadata.Namespace, e.Metadata.NamespaceExpr, "namespace of the composite or its claim")
	m, list, key := e.Metadata, (*expression.Expression)(nil), (*expression.Expression)(nil)
	standard := fmt.Sprintf("composite.metadata.name + '-%s'", e.Name)
	if f := e.ForEach; f != nil {
		list, key = f.List, f.Key
		out.Name, out.ForEach = plan.ItemName(e.Name, "<key>"), list.Source().Text
		standard = fmt.Sprintf("composite.metadata.name + '-%s-' + key", e.Name)
	}
	out.ObjectName = spelling(m.Name, m.NameExpr, standard)
	for _, f := range []struct {
		name  string
		value *expression.Expression
	}{
		{"forEachExpression", list},
		{"keyExpression", key},
		{"metadata.nameExpression", m.NameExpr},
		{"metadata.namespaceExpression", m.NamespaceExpr},
		{"metadata.labelsExpression", m.LabelsExpression},
		{"metadata.annotationsExpression", m.AnnotationsExpression},
	} {
		if f.value != nil {
			out.Metadata = append(out.Metadata, x.declared(x.expression(f.value, f.name)))
		}
	}
	add := func(k ExplainedKey) {
		if e.Kind != "Secret" {
			k = x.declared(k)
		}
		out.Keys = append(out.Keys, k)
	}
	for _, b := range e.DataFrom {
		add(x.dataFrom(b))
	}
	for _, d := range e.Data {
		if d.Key != "" {
			add(x.optional(x.expression(d.Value, d.Key), d.Optional))
			continue
		}
		add(x.optional(x.keys(d.Value), d.Optional))
	}
	return out
}

// spelling returns a text, or an expression or the default in angle brackets.
func spelling(text string, x *expression.Expression, other string) string {
	switch {
	case x != nil:
		return "<" + x.Source().Text + ">"
	case text != "":
		return text
	}
	return "<" + other + ">"
}
