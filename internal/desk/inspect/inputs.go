package inspect

import (
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// An explainer finds the inputs that expressions read.
type explainer struct {
	plan      *plan.Plan
	names     []string           // names of the variables so far
	variables map[string][]Input // the inputs of each variable
}

// expression explains the expression of the field or key with this name.
func (x *explainer) expression(e *expression.Expression, name string) ExplainedKey {
	return ExplainedKey{Path: e.Source().Path, Names: []string{name}, Inputs: x.inputs(e), Own: e.Source().Own}
}

func (x *explainer) optional(k ExplainedKey, optional bool) ExplainedKey {
	k.Optional = optional
	return k
}

// declared marks the inputs of an expression outside of Secrets as nonSensitive. The plan refuses
// secret inputs that are not declared nonSensitive.
func (x *explainer) declared(k ExplainedKey) ExplainedKey {
	for i := range k.Inputs {
		k.Inputs[i].NonSensitive = k.Inputs[i].Secret
	}
	return k
}

// keys explains an expression that returns several keys.
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

// inputs returns the inputs of an expression and of the variables that it uses. An input is listed
// once for each variable that leads to it.
func (x *explainer) inputs(e *expression.Expression) []Input {
	var out []Input
	for _, r := range e.Reads() {
		switch r.Variable {
		case expression.Index, expression.Key: // each item has them
			continue
		case expression.Variables:
			for _, in := range x.through(r) {
				out = addInput(out, in)
			}
			continue
		}
		if r.Variable == expression.Revisions && !x.maybeItem(r) {
			r.Need = expression.Optional // it is 0 if the object does not exist
		}
		out = addInput(out, Input{Name: r.Text, Secret: isSecretVariable(r.Variable), Need: r.Need})
		if in, ok := x.source(r); ok {
			out = addInput(out, in)
		}
	}
	return out
}

// maybeItem reports whether r reads the revision of an item, which may have left the list.
func (x *explainer) maybeItem(r expression.Read) bool {
	name := plan.StepName(r.Reference, 0)
	return name == plan.Anything || len(r.Path) > 1 && slices.ContainsFunc(x.plan.Exports, func(e plan.Export) bool {
		return e.Name == name && e.ForEach != nil
	})
}

// through returns the inputs of the variables that r names. If a variable waits for an input, an
// expression that uses the variable also waits, even if it uses the variable as optional.
func (x *explainer) through(r expression.Read) []Input {
	most := expression.Required
	if r.Branched {
		most = expression.Conditional
	}
	var out []Input
	for _, name := range x.variablesOf(r) {
		for _, in := range x.variables[name] {
			in.Need = min(in.Need, most)
			in.Through = append([]string{name}, in.Through...)
			out = append(out, in)
		}
	}
	return out
}

// variablesOf returns the names of the variables that r reads.
func (x *explainer) variablesOf(r expression.Read) []string {
	if name := plan.StepName(r.Reference, 0); name != plan.Anything {
		return []string{name}
	}
	return x.names
}

// source returns an input that must exist even if a step below it is optional: a source that is not
// optional, or a generator.
func (x *explainer) source(r expression.Read) (Input, bool) {
	name := plan.StepName(r.Reference, 0)
	if r.Need != expression.Optional || name == plan.Anything {
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
		i := slices.IndexFunc(x.plan.Sources, func(s plan.Source) bool { return s.Name == name })
		return in, i >= 0 && !x.plan.Sources[i].Optional &&
			plan.IsSecret(x.plan.Sources[i].Source) == (r.Variable == expression.Secrets)
	}
	return Input{}, false
}

func isSecretVariable(name string) bool {
	return name == expression.Secret || name == expression.Secrets || expression.HasOutputs(name)
}

func addInput(list []Input, in Input) []Input {
	i := slices.IndexFunc(list, func(o Input) bool {
		return o.Name == in.Name && len(o.Through) == len(in.Through) &&
			(len(in.Through) == 0 || o.Through[0] == in.Through[0])
	})
	if i < 0 {
		return append(list, in)
	}
	list[i].Need = max(list[i].Need, in.Need)
	return list
}

// dataFrom explains an entry of dataFrom.
func (x *explainer) dataFrom(b plan.DataFrom) ExplainedKey {
	var k ExplainedKey
	switch {
	case b.Find != nil:
		k = x.find(b)
	case b.Input == "":
		k = x.keys(b.Value)
		if k.Others == "" {
			k.Others = "renamed by rewrite"
		}
	default:
		k = x.expression(b.Value, "")
		k.Names, k.Others = nil, "all keys of "+b.Value.Source().Text
		if b.Resource != "" {
			ready := expression.PathText(expression.Resources, b.Resource) + " to be ready"
			k.Waits = []string{ready}
		}
	}
	k.Path = b.Path
	return x.optional(k, b.Optional)
}

// isComposed reports whether the input in the path of a find can be a composed resource.
func (x *explainer) isComposed(input string) bool {
	_, name, generated := plan.GeneratedInput(input)
	return input != expression.Env && (!generated || x.plan.Generators.Named(name) == nil) &&
		!slices.ContainsFunc(x.plan.Sources, func(s plan.Source) bool { return s.Name == input })
}

// find explains an entry of dataFrom that finds keys.
func (x *explainer) find(b plan.DataFrom) ExplainedKey {
	f := b.Find
	k := ExplainedKey{Others: "each key <input>/<key> that the find matches"}
	for _, s := range x.plan.Sources {
		if plan.IsSecret(s.Source) && f.Reaches(s.Name) {
			k.Inputs = append(k.Inputs, Input{Name: s.Spelled(), Secret: true, Need: needOf(s.Source)})
		}
	}
	if input, _, whole := strings.Cut(f.Path, "/"); whole && x.isComposed(input) {
		k.Inputs = append(k.Inputs,
			Input{Name: expression.PathText(expression.Secrets, input), Secret: true, Need: expression.Conditional})
	} else if !whole {
		k.Inputs = append(k.Inputs, Input{Name: expression.Secrets + "[*]", Secret: true, Need: expression.Conditional})
	}
	k.Waits = []string{"each matching composed resource to be ready and to have connection details"}
	return k
}

func needOf(s v1beta1.Source) expression.Need {
	if s.Optional {
		return expression.Optional
	}
	return expression.Required
}

// generator explains the expressions of a generator.
func (x *explainer) generator(m *plan.Generator) ExplainedGenerator {
	out := ExplainedGenerator{Name: m.Name, Path: m.Path.String()}
	add := func(e *expression.Expression, name string) {
		if e != nil {
			out.Expressions = append(out.Expressions, x.expression(e, name))
		}
	}
	if f := m.ForEach; f != nil {
		add(f.List, "forEachExpression")
		add(f.Key, "keyExpression")
	}
	add(m.Keepers, "keepersExpression")
	add(m.Source(), "secretExpression")
	if kind, ok := m.Makes.(*plan.Manifest); ok {
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
