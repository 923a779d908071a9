package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/object"
)

// An Ask is what Crossplane may be asked for: an object, or all that have labels.
type Ask struct {
	// Path of what asks, or several, with commas, and Why it does.
	Path string `json:"path"`
	Why  string `json:"why"`

	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`

	// Namespace is empty for a cluster scoped kind.
	Namespace Spelling `json:"namespace,omitzero"`

	// Name, or Labels: just one of them is set, and none for names that only a composite
	// has.
	Name   Spelling   `json:"name,omitzero"`
	Labels []AskLabel `json:"labels,omitempty"`

	// Optional is set if it need not exist.
	Optional bool `json:"optional,omitempty"`

	// Inputs of the expression that names it.
	Inputs []Input `json:"inputs,omitempty"`
}

// An AskLabel is a label that is asked for.
type AskLabel struct {
	Key   string   `json:"key"`
	Value Spelling `json:"value"`
}

// ask lists all asks, those first that others may depend on.
func (x *explainer) ask(out *Explanation) {
	out.Asks = x.environmentAsks()
	used := map[string]bool{}
	for _, s := range x.plan.sources {
		used[s.Name] = true
		out.Asks = append(out.Asks, x.sourceAsk(s))
	}
	for _, s := range x.plan.declared {
		if !used[s.Name] {
			out.Unused = append(out.Unused, s.Name)
		}
	}
	out.Asks = append(out.Asks, x.connectionAsks()...)
	for i, e := range x.plan.exports {
		o := out.Objects[i]
		out.Asks = append(out.Asks, Ask{
			Path: o.Path, Why: "whose it is, before it is composed",
			APIVersion: "v1", Kind: string(e.kind), Namespace: o.Namespace, Name: o.ObjectName, Optional: true,
		})
	}
	for i := range x.plan.makers {
		if m := &x.plan.makers[i]; m.totp == nil {
			out.Asks = addAsks(out.Asks, generationAsks(m))
		}
	}
	if x.plan.tenants != nil {
		for _, kind := range []object.Kind{object.Secret, object.ConfigMap} {
			out.Asks = append(out.Asks, Ask{
				Path: "fromComposite", Why: "whose those are that authors of composites name, before they are composed",
				APIVersion: "v1", Kind: string(kind), Namespace: ownNamespaceSpelling, Optional: true,
			})
		}
	}
}

func (x *explainer) environmentAsks() []Ask {
	var out []Ask
	for _, asked := range x.plan.lookup.Asked() {
		a := Ask{Path: asked.Path, Why: "part of the environment", APIVersion: environmentConfigAPIVersion, Kind: environmentConfigKind}
		if asked.Name != "" {
			a.Name = Spelling{Text: asked.Name}
		}
		for _, l := range asked.Labels {
			value := Spelling{Text: l.Text}
			if l.Field != "" {
				in := Input{Name: expression.Composite + "." + l.Field, Need: expression.Required}
				if l.Environment {
					in.Name = expression.Env + "." + l.Field
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

func (x *explainer) sourceAsk(s source) Ask {
	a := Ask{Path: s.path.String(), Why: fmt.Sprintf("the source %q", s.Name), APIVersion: s.APIVersion, Kind: s.Kind, Optional: s.Optional}
	if s.Scope != v1beta1.ScopeCluster {
		a.Namespace = spelling(s.Namespace, nil, ownNamespaceSpelling)
	}
	for _, k := range sortedKeys(s.MatchLabels) {
		a.Labels = append(a.Labels, AskLabel{k, Spelling{Text: s.MatchLabels[k]}})
	}
	switch {
	case len(a.Labels) > 0:
	case s.nameExpr != nil:
		a.Name = Spelling{Expression: s.nameExpr.Source().Text}
		a.Inputs = x.expression(s.nameExpr, "nameExpression").Inputs
	case s.MatchName != "":
		a.Name = Spelling{Text: s.MatchName}
	default:
		a.Name = Spelling{Text: s.Name}
	}
	return a
}

// connectionAsks are for the Secrets that hold the connection details that expressions use.
func (x *explainer) connectionAsks() []Ask {
	var out []Ask
	add := func(path, of string) {
		out = addAsks(out, []Ask{{
			Path: path, Why: "the connection details of " + of, APIVersion: "v1", Kind: string(object.Secret), Optional: true,
			Namespace: Spelling{Words: "namespace of " + of}, Name: Spelling{Words: "spec.writeConnectionSecretToRef.name of " + of},
		}})
	}
	inputs := x.plan.details.inputs
	for _, name := range sortedKeys(inputs) {
		of := expression.PathText(expression.Resources, name)
		switch {
		case slices.ContainsFunc(x.plan.declared, func(s v1beta1.Source) bool { return s.Name == name && isSecret(s) }):
			continue
		case name == anything:
			of = "each composed resource"
		case name == expression.Composite:
			of = "a legacy composite"
		}
		add(strings.Join(inputs[name], ", "), of)
	}
	for _, b := range x.plan.details.finds {
		add(entryOf(b.path), "each composed resource that it finds")
	}
	for i := range x.plan.makers {
		if m := &x.plan.makers[i]; m.manifest != nil {
			add(m.path.String(), "each generation")
		}
	}
	if t := x.plan.tenants; t != nil {
		for _, name := range t.sees.Secrets {
			add("fromComposite", expression.PathText(expression.Resources, name))
		}
	}
	return out
}

// generationAsks are for what may have the name of the next generation.
func generationAsks(m *maker) []Ask {
	apiVersion, kind := m.composes()
	a := Ask{Path: m.path.String(), APIVersion: apiVersion, Kind: kind, Optional: true}
	a.Namespace = spelling(m.namespace, nil, ownNamespaceSpelling)
	name := Spelling{Expression: fmt.Sprintf("composite.metadata.name + '-%s-' + string(generation.number)", m.name)}
	if m.manifest != nil {
		a.Namespace = spelling(m.manifest.namespace, nil, ownNamespaceSpelling)
		for _, f := range m.manifest.set {
			if f.at.String() == "metadata.name" {
				name = Spelling{Expression: f.value.Source().Text}
			}
		}
	}
	a.Why, a.Name = "whose it is, before it is composed", name
	return []Ask{a}
}

// addAsks adds those that differ from the others in more than their path.
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

// composes is the kind of a generation.
func (m *maker) composes() (apiVersion, kind string) {
	if m.manifest != nil {
		return m.manifest.apiVersion, m.manifest.kind
	}
	return "v1", string(object.Secret)
}
