package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/object"
)

// An explainer follows expressions to what they read.
type explainer struct {
	plan      *Plan
	names     []string           // of the variables so far
	variables map[string][]Input // what they read
	fuel      expression.Estimate
}

// expression is what an expression of the field or key name reads.
func (x *explainer) expression(e *expression.Expression, name string) ExplainedKey {
	fuel := e.Estimate()
	if fuel.Expected > x.fuel.Share {
		x.fuel.Place, x.fuel.Call, x.fuel.Share = e.Source().Path, fuel.Call, fuel.Expected
	}
	x.fuel.Expected += fuel.Expected
	return ExplainedKey{Path: e.Source().Path, Names: []string{name}, Inputs: x.inputs(e), Own: e.Source().Own, Fuel: &fuel}
}

func (x *explainer) optional(k ExplainedKey, optional bool) ExplainedKey {
	k.Optional = optional
	return k
}

// declared are inputs of what is no Secret: a secret one that was not refused is declared
// to be none.
func (x *explainer) declared(k ExplainedKey) ExplainedKey {
	for i := range k.Inputs {
		k.Inputs[i].NonSensitive = k.Inputs[i].Secret
	}
	return k
}

// keys are those of an expression that gives several.
func (x *explainer) keys(e *expression.Expression) ExplainedKey {
	k := x.expression(e, "")
	k.Names = nil
	spelled, all := e.Spelled()
	for _, s := range spelled {
		if s.Optional {
			k.Maybe = append(k.Maybe, s.Name)
			continue
		}
		k.Names = append(k.Names, s.Name)
	}
	if !all {
		k.Others = "keys that the expression computes"
	}
	return k
}

// inputs of an expression, and of the variables that it uses, each once for each variable
// that it comes through.
func (x *explainer) inputs(e *expression.Expression) []Input {
	var out []Input
	for _, r := range e.Reads() {
		if r.Variable == expression.Variables {
			for _, in := range x.through(r) {
				out = addInput(out, in)
			}
			continue
		}
		out = addInput(out, Input{Name: r.Text, Secret: isSecretVariable(r.Variable), Need: r.Need})
		if in, ok := x.source(r); ok {
			out = addInput(out, in)
		}
	}
	return out
}

// through is what the variables read that r names. One that waits has who uses it wait,
// even where it takes it as something that may be missing.
func (x *explainer) through(r expression.Read) []Input {
	names := []string{stepName(r.Reference, 0)}
	if names[0] == anything {
		names = x.names
	}
	most := expression.Required
	if r.Branched {
		most = expression.Conditional
	}
	var out []Input
	for _, name := range names {
		for _, in := range x.variables[name] {
			in.Need = min(in.Need, most)
			in.Through = append([]string{name}, in.Through...)
			out = append(out, in)
		}
	}
	return out
}

// source is an input by itself that has to be there even for an optional step below it: a
// source that is not optional, and what a generator gives.
func (x *explainer) source(r expression.Read) (Input, bool) {
	name := stepName(r.Reference, 0)
	if r.Need != expression.Optional || name == anything {
		return Input{}, false
	}
	need := expression.Required
	if r.Branched {
		need = expression.Conditional
	}
	in := Input{Name: expression.PathText(r.Variable, name), Secret: isSecretVariable(r.Variable), Need: need}
	switch r.Variable {
	case expression.Generated:
		return in, true
	case expression.Secrets, expression.Sources:
		i := slices.IndexFunc(x.plan.sources, func(s source) bool { return s.Name == name })
		return in, i >= 0 && !x.plan.sources[i].Optional && isSecret(x.plan.sources[i].Source) == (r.Variable == expression.Secrets)
	}
	return Input{}, false
}

func isSecretVariable(name string) bool {
	return slices.Contains([]string{expression.Secret, expression.Secrets, expression.Generated, expression.Previous}, name)
}

func addInput(list []Input, in Input) []Input {
	i := slices.IndexFunc(list, func(o Input) bool {
		return o.Name == in.Name && len(o.Through) == len(in.Through) && (len(in.Through) == 0 || o.Through[0] == in.Through[0])
	})
	if i < 0 {
		return append(list, in)
	}
	list[i].Need = max(list[i].Need, in.Need)
	return list
}

// bulk is an entry of dataFrom.
func (x *explainer) bulk(b bulk) ExplainedKey {
	var k ExplainedKey
	switch {
	case b.find != nil:
		k = x.find(b)
	case b.input == "":
		k = x.keys(b.value)
		if k.Others == "" {
			k.Others = "as rewrite names them"
		}
	default:
		k = x.expression(b.value, "")
		k.Names, k.Others = nil, "all keys of "+b.value.Source().Text
		if len(b.property) > 0 {
			k.Others = fmt.Sprintf("all members of the JSON value %s", expression.PathText(b.value.Source().Text, b.property...))
		}
		if b.input != expression.Composite && x.isComposed(b.input) {
			k.Waits = []string{expression.PathText(expression.Resources, b.input) + " to be ready"}
		}
	}
	k.Path = b.path
	return x.optional(k, b.optional)
}

// isComposed reports whether the input of an extract can be a composed resource.
func (x *explainer) isComposed(input string) bool {
	_, name, generated := generatedInput(input)
	return input != expression.Env && (!generated || x.plan.maker(name) == nil) &&
		!slices.ContainsFunc(x.plan.sources, func(s source) bool { return s.Name == input })
}

// find is an entry of dataFrom that finds keys.
func (x *explainer) find(b bulk) ExplainedKey {
	f := b.find
	k := ExplainedKey{Others: "each key <input>/<key>" + f.describe()}
	for _, name := range f.generators {
		k.Inputs = append(k.Inputs, Input{Name: expression.PathText(expression.Generated, name), Secret: true, Need: expression.Required})
	}
	for _, s := range x.plan.sources {
		if isSecret(s.Source) && f.reaches(s.Name) {
			k.Inputs = append(k.Inputs, Input{Name: s.spelled(), Secret: true, Need: needOf(s.Source)})
		}
	}
	if input, _, whole := strings.Cut(f.path, "/"); whole && x.isComposed(input) {
		k.Inputs = append(k.Inputs, Input{Name: expression.PathText(expression.Secrets, input), Secret: true, Need: expression.Conditional})
	} else if !whole && len(f.generators) == 0 {
		k.Inputs = append(k.Inputs, Input{Name: expression.Secrets + "[*]", Secret: true, Need: expression.Conditional})
	}
	k.Waits = []string{"each composed resource that it reaches to be ready, and to have its connection details"}
	return k
}

// describe what a find takes.
func (f find) describe() string {
	var out []string
	if f.path != "" {
		out = append(out, fmt.Sprintf("begins with %q", f.path))
	}
	if f.name != nil {
		out = append(out, fmt.Sprintf("matches %q behind that", f.name))
	}
	for _, t := range sortedKeys(f.tags) {
		out = append(out, fmt.Sprintf("is of an input with the label %s=%s", t, f.tags[t]))
	}
	if len(out) == 0 {
		return ""
	}
	return " that " + strings.Join(out, ", and ")
}

func needOf(s v1beta1.Source) expression.Need {
	if s.Optional {
		return expression.Optional
	}
	return expression.Required
}

// generator is one with its expressions.
func (x *explainer) generator(m *maker) ExplainedGenerator {
	out := ExplainedGenerator{Name: m.name, Path: m.path.String(), Type: m.kind, Outputs: m.keys, Renewed: m.renewed()}
	if m.grace > 0 {
		out.Grace = m.grace.String()
	}
	if m.certificate != nil {
		out.SignedBy = m.certificate.CA()
	}
	add := func(e *expression.Expression, name string) {
		if e != nil {
			out.Expressions = append(out.Expressions, x.expression(e, name))
		}
	}
	add(m.keepers, "keepersExpression")
	switch {
	case m.totp != nil:
		add(m.secret, "secretExpression")
	case m.manifest == nil:
		out.Makes = string(object.Secret)
	default:
		out.Makes, out.Others = m.manifest.kind, "its connection details"
		for _, f := range m.manifest.set {
			add(f.value, f.at.String())
		}
		for _, o := range m.manifest.outputs {
			out.Outputs = append(out.Outputs, o.key)
			add(o.value, "outputs."+o.key)
		}
		add(m.manifest.ready, "readyExpression")
	}
	return out
}

// renewed says when there is another generation. A totp has none.
func (m *maker) renewed() []string {
	if m.totp != nil {
		return nil
	}
	annotation := "the composite's annotation " + rotateAnnotation + " asks for it"
	if m.policy != v1beta1.OnChange && m.policy != v1beta1.Periodic {
		return []string{annotation}
	}
	var out []string
	if m.policy == v1beta1.Periodic {
		out = append(out, "the last one is "+m.interval.String()+" old")
	}
	if m.policy == v1beta1.OnChange {
		out = append(out, "the generator in the input changes")
	}
	if m.keepers != nil {
		out = append(out, "the value of keepersExpression changes")
	}
	if m.certificate != nil {
		out = append(out, "the certificate is soon to end")
	}
	if m.certificate != nil && m.certificate.CA() != "" {
		out = append(out, "its CA has another one")
	}
	return append(out, annotation)
}
