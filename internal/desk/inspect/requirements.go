package inspect

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// An Ask is a requirement that the function may return: an object, or all objects with some labels. The objects whose
// owners are checked before the function composes them are not listed.
type Ask struct {
	// Path is one path in the input, or several with commas. Why says why the object is needed.
	Path string `json:"path"`
	Why  string `json:"why"`

	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`

	// Namespace is empty for a cluster-scoped kind.
	Namespace Spelling `json:"namespace,omitzero"`

	// Name or Labels is set. Both are empty if the name depends on the composite.
	Name   Spelling   `json:"name,omitzero"`
	Labels []AskLabel `json:"labels,omitempty"`

	// Optional is set if the object does not have to exist.
	Optional bool `json:"optional,omitempty"`

	// Inputs are those of the expression that returns its name.
	Inputs []Input `json:"inputs,omitempty"`
}

// String returns the kind of the object, and its name or its labels.
func (a Ask) String() string {
	text := strings.TrimSpace(a.Kind + " " + path.Join(a.Namespace.String(), a.Name.String()))
	for i, l := range a.Labels {
		joint := " and "
		if i == 0 {
			joint = " with the label "
		}
		text += joint + l.Key + "=" + l.Value.String()
	}
	return text
}

// An AskLabel is a label that objects must have.
type AskLabel struct {
	Key   string   `json:"key"`
	Value Spelling `json:"value"`
}

// ask lists all requirements. Requirements that others may depend on are first.
func (x *explainer) ask(out *Explanation) {
	out.Asks = x.environmentAsks()
	used := map[string]bool{}
	for _, s := range x.plan.Sources {
		used[s.Name] = true
		ask := x.sourceAsk(s)
		out.Asks = append(addAsks(out.Asks, x.grantAsks(ask)), ask)
	}
	for _, s := range x.plan.Input.Sources {
		if !used[s.Name] {
			out.Unused = append(out.Unused, s.Name)
		}
	}
	out.Asks = append(out.Asks, x.connectionAsks()...)
}

func (x *explainer) environmentAsks() []Ask {
	all := x.plan.Lookup.Asked()
	out := make([]Ask, 0, len(all))
	for _, asked := range all {
		a := Ask{
			Path: asked.Path, Why: "part of the environment",
			APIVersion: plan.EnvironmentConfigAPIVersion, Kind: plan.EnvironmentConfigKind,
		}
		if asked.Name != "" {
			a.Name = Spelling{Text: asked.Name}
		}
		for _, l := range asked.Labels {
			value := Spelling{Text: l.Text}
			if path := l.Path.String(); path != "" {
				in := Input{Name: expression.Composite + "." + path, Need: expression.Required}
				if l.Environment {
					in.Name = expression.Env + "." + path
				}
				if l.Optional {
					in.Need = expression.Optional
				}
				value = Spelling{Expression: in.Name}
				a.Inputs = append(a.Inputs, in)
			}
			a.Labels = append(a.Labels, AskLabel{l.Key, value})
		}
		out = append(out, a)
	}
	return out
}

func (x *explainer) sourceAsk(s plan.Source) Ask {
	a := Ask{Path: s.Path.String(), Why: fmt.Sprintf("the source %q", s.Name), APIVersion: s.APIVersion, Kind: s.Kind,
		Optional: s.Optional}
	if s.Scope != v1beta1.ScopeCluster {
		a.Namespace = spelling(s.Namespace, nil, ownNamespaceSpelling)
	}
	for _, k := range plan.SortedKeys(s.MatchLabels) {
		a.Labels = append(a.Labels, AskLabel{k, Spelling{Text: s.MatchLabels[k]}})
	}
	switch {
	case len(a.Labels) > 0:
	case s.NameExpr != nil:
		a.Name = Spelling{Expression: s.NameExpr.Source().Text}
		a.Inputs = x.expression(s.NameExpr, "nameExpression").Inputs
	case s.MatchName != "":
		a.Name = Spelling{Text: s.MatchName}
	default:
		a.Name = Spelling{Text: s.Name}
	}
	return a
}

// grantAsks are the requirements that are read before a source in a literal namespace.
func (x *explainer) grantAsks(source Ask) (out []Ask) {
	if !x.plan.Input.RequireGrants || source.Namespace.Text == "" {
		return nil
	}
	for _, r := range []lookup.Requirement{lookup.GrantsCRD(), lookup.GrantsIn(source.Namespace.Text)} {
		name := Spelling{Text: r.Name}
		if r.Name == "" {
			name = Spelling{Words: "any name"}
		}
		out = append(out, Ask{
			Path: source.Path, Why: "consent to read objects of another namespace",
			APIVersion: r.APIVersion, Kind: r.Kind,
			Namespace: Spelling{Text: r.Namespace}, Name: name, Optional: true,
		})
	}
	return out
}

// connectionAsks are the requirements for Secrets with connection details that expressions use.
func (x *explainer) connectionAsks() []Ask {
	var out []Ask
	add := func(at, of string) {
		out = addAsks(out, []Ask{{
			Path: at, Why: "the connection details of " + of,
			APIVersion: "v1", Kind: string(object.Secret), Optional: true,
			Namespace: Spelling{Words: "namespace of " + of},
			Name:      Spelling{Words: "spec.writeConnectionSecretToRef.name of " + of},
		}})
	}
	inputs := x.plan.Details.Inputs
	for _, name := range plan.SortedKeys(inputs) {
		of := expression.PathText(expression.Resources, name)
		switch {
		case slices.ContainsFunc(x.plan.Input.Sources,
			func(s v1beta1.Source) bool { return s.Name == name && plan.IsSecret(s) }):
			continue
		case name == plan.Anything:
			of = "each composed resource"
		case name == expression.Composite:
			of = "a legacy composite"
		}
		add(strings.Join(inputs[name], ", "), of)
	}
	for _, b := range x.plan.Details.Finds {
		add(plan.EntryOf(b.Path), "each composed resource that the find matches")
	}
	for i := range x.plan.Generators {
		m := &x.plan.Generators[i]
		if _, ok := m.Makes.(*plan.Manifest); ok {
			add(m.Path.String(), "each generation")
		}
	}
	if t := x.plan.Authors; t != nil {
		for _, name := range t.Sees.Secrets {
			add("fromComposite", expression.PathText(expression.Resources, name))
		}
	}
	return out
}

// addAsks adds requirements. Equal requirements become one item with both paths.
func addAsks(list, asks []Ask) []Ask {
	for _, a := range asks {
		i := slices.IndexFunc(list, func(o Ask) bool {
			o.Path = a.Path
			return reflect.DeepEqual(o, a)
		})
		if i < 0 {
			list = append(list, a)
			continue
		}
		list[i].Path += ", " + a.Path
	}
	return list
}
