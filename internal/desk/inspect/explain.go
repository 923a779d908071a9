// Package inspect explains which objects a plan reads and creates, before there is any data.
package inspect

import (
	"fmt"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// An Explanation says which objects a plan reads and creates, as far as this is known before there is any data.
type Explanation struct {
	// Objects are those that are exported, in the order of the exports.
	Objects []Part `json:"objects,omitempty"`

	// Others are the status, the environment, and the generators that have expressions.
	Others []Part `json:"others,omitempty"`

	// Unused are the sources that are never required, because no expression uses them.
	Unused []string `json:"unused,omitempty"`

	// Rules are the RBAC rules that Crossplane needs in addition to its default role.
	Rules []Rule `json:"rules,omitempty"`
}

// The kinds of parts that are not objects.
const (
	Status      = "Status"
	Environment = "Environment"
	Generator   = "Generator"
)

// A Part is what a plan exports, sets or makes.
type Part struct {
	Kind string `json:"kind"`           // Secret, ConfigMap, Status, Environment or Generator
	Name string `json:"name,omitempty"` // the composition resource name, or that of the generator
	Path string `json:"path,omitempty"`

	// Namespace and ObjectName are the namespace and the name of an object in the cluster. In angle brackets is the
	// expression that returns it, or a description.
	Namespace  string `json:"namespace,omitempty"`
	ObjectName string `json:"objectName,omitempty"`

	// ForEach is the list for whose items one object each is exported. It is empty for a single object.
	ForEach string `json:"forEach,omitempty"`

	// ConnectionDetails is set if the composite also publishes its data.
	ConnectionDetails bool `json:"connectionDetails,omitempty"`

	Keys []Key `json:"keys,omitempty"`
}

// A Key is the result of one expression, or one entry of dataFrom.
type Key struct {
	Path  string   `json:"path"`  // of the expression in the input
	Names []string `json:"names"` // of the field, or of the keys; or a description of them

	// Optional is set if the key is left out while an input is missing.
	Optional bool `json:"optional,omitempty"`

	Inputs []Input `json:"inputs,omitempty"`

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

// Explain explains a plan. The explanation contains no data, only texts of the input and facts that
// follow from them. plural returns the resource of a kind, or an empty string if it is unknown. It
// may be nil.
func Explain(p *plan.Plan, plural func(plan.Kind) string) *Explanation {
	x := &explainer{plan: p, variables: map[string][]Input{}}
	for _, v := range p.Variables {
		x.variables[v.Name] = x.inputs(v.Value)
	}
	out := &Explanation{Rules: rulesOf(p, plural)}
	for _, e := range p.Exports {
		out.Objects = append(out.Objects, x.object(e))
	}
	status, environment := Part{Kind: Status}, Part{Kind: Environment}
	for _, s := range p.Status {
		status.Keys = append(status.Keys, optional(declared(x.key(s.Value, s.Path)), s.Optional))
	}
	for _, f := range p.Set {
		environment.Keys = append(environment.Keys, optional(declared(x.key(f.Value, f.At.String())), f.Optional))
	}
	out.Others = []Part{status, environment}
	for i := range p.Generators {
		out.Others = append(out.Others, x.generator(&p.Generators[i]))
	}
	out.Others = slices.DeleteFunc(out.Others, func(p Part) bool { return len(p.Keys) == 0 })
	for _, s := range p.Input.Sources {
		if !slices.ContainsFunc(p.Sources, func(used plan.Source) bool { return used.Name == s.Name }) {
			out.Unused = append(out.Unused, s.Name)
		}
	}
	return out
}

// object explains an export.
func (x *explainer) object(e plan.Export) Part {
	m, list, key := e.Metadata, (*expression.Expression)(nil), (*expression.Expression)(nil)
	out := Part{Kind: string(e.Kind), Name: e.Name, Path: e.Path.String(), ConnectionDetails: e.Secret.ConnectionDetails,
		// Only the composite shows whether it is namespaced, or is a legacy composite with a claim.
		Namespace: spelling(m.Namespace, m.NamespaceExpr, "namespace of the composite or its claim")}
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
			out.Keys = append(out.Keys, declared(x.key(f.value, f.name)))
		}
	}
	data := make([]Key, 0, len(e.DataFrom)+len(e.Data))
	for _, b := range e.DataFrom {
		data = append(data, x.dataFrom(b))
	}
	for _, d := range e.Data {
		names := []string{d.Key}
		if d.Key == "" {
			names = spelled(d.Value, "keys that the expression computes")
		}
		data = append(data, optional(x.key(d.Value, names...), d.Optional))
	}
	for _, k := range data {
		if e.Kind != object.Secret {
			k = declared(k)
		}
		out.Keys = append(out.Keys, k)
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

// generator explains the expressions of a generator.
func (x *explainer) generator(m *plan.Generator) Part {
	out := Part{Kind: Generator, Name: m.Name, Path: m.Path.String()}
	add := func(e *expression.Expression, name string) {
		if e != nil {
			out.Keys = append(out.Keys, x.key(e, name))
		}
	}
	if f := m.ForEach; f != nil {
		add(f.List, "forEachExpression")
		add(f.Key, "keyExpression")
	}
	add(m.Keepers, "keepersExpression")
	add(m.Source, "secretExpression")
	if kind := m.Manifest; kind != nil {
		for _, f := range kind.Set {
			add(f.Value, f.At.String())
		}
		for _, o := range kind.Outputs {
			add(o.Value, "outputs."+o.Key)
		}
	}
	add(m.Ready, "readyExpression")
	return out
}
