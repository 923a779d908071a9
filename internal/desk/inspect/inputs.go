package inspect

import (
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// An explainer finds the inputs that expressions read.
type explainer struct {
	plan      *plan.Plan
	variables map[string][]Input // the inputs of each variable
}

// key explains an expression that returns the field or the keys with these names.
func (x *explainer) key(e *expression.Expression, names ...string) Key {
	return Key{Path: e.Source().Path, Names: names, Inputs: x.inputs(e)}
}

func optional(k Key, optional bool) Key {
	k.Optional = optional
	return k
}

// declared marks the secret inputs of an expression outside of Secrets as nonSensitive: the plan refuses those that are
// not declared.
func declared(k Key) Key {
	for i := range k.Inputs {
		k.Inputs[i].NonSensitive = k.Inputs[i].Secret
	}
	return k
}

// spelled returns the names of the keys that an expression returns, as far as it spells them, and what the others are.
func spelled(e *expression.Expression, others string) (out []string) {
	names, all := e.Spelled()
	for _, s := range names {
		if s.Optional {
			s.Name += " (or not)"
		}
		out = append(out, s.Name)
	}
	if !all {
		out = append(out, others)
	}
	return out
}

// inputs returns the inputs of an expression and of the variables that it uses. An input is listed
// once for each variable that leads to it.
func (x *explainer) inputs(e *expression.Expression) []Input {
	var out []Input
	for _, r := range e.Reads() {
		most := expression.Required
		if r.Branched() {
			most = expression.Conditional
		}
		name := plan.StepName(r, 0)
		in := Input{Name: e.TextOf(r), Secret: isSecretVariable(r.Variable), Need: r.Need}
		switch r.Variable {
		case expression.Index, expression.Key: // each item has them
			continue
		case expression.Variables:
			for _, in := range x.through(name) {
				// A variable that waits lets an expression wait that uses the variable as optional.
				in.Need = min(in.Need, most)
				out = addInput(out, in)
			}
			continue
		case expression.Revisions:
			if len(r.Path) == 1 {
				in.Need = expression.Optional // it is 0 if the object does not exist
			}
		case expression.Resource, expression.Self, expression.Secret:
			if e.Source().Own {
				in.Name += " of the generation"
			}
		}
		out = addInput(out, in)
		if r.Need == expression.Optional && x.mustExist(r.Variable, name) {
			out = addInput(out, Input{Name: expression.PathText(r.Variable, name), Secret: in.Secret, Need: most})
		}
	}
	return out
}

// through returns the inputs of a variable, or of all of them if the name is computed.
func (x *explainer) through(name string) (out []Input) {
	for _, v := range plan.SortedKeys(x.variables) {
		if v != name && name != plan.Anything {
			continue
		}
		for _, in := range x.variables[v] {
			in.Through = append([]string{v}, in.Through...)
			out = append(out, in)
		}
	}
	return out
}

// mustExist reports whether an expression waits for what a variable has under a name even if a step below it is
// optional: a generator, or a source that is not optional.
func (x *explainer) mustExist(variable, name string) bool {
	return variable == expression.Generated && name != plan.Anything ||
		slices.ContainsFunc(x.plan.Sources, func(s plan.Source) bool {
			of := expression.Sources
			if plan.IsSecret(s.Source) {
				of = expression.Secrets
			}
			return s.Name == name && of == variable && !s.Optional
		})
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
func (x *explainer) dataFrom(b plan.DataFrom) Key {
	var k Key
	switch {
	case b.Find != nil:
		k = x.find(b.Find)
	case b.Input == "":
		k = x.key(b.Value, append(spelled(b.Value, "keys that the expression computes"), "renamed by rewrite")...)
	default:
		k = x.key(b.Value, "all keys of "+b.Value.Source().Text)
		if b.Resource != "" {
			k.Waits = []string{expression.PathText(expression.Resources, b.Resource) + " to be ready"}
		}
	}
	k.Path = b.Path
	return optional(k, b.Optional)
}

// find explains an entry of dataFrom that finds keys in Secret sources and in composed resources.
func (x *explainer) find(f *plan.Find) Key {
	k := Key{
		Names: []string{"each key <input>/<key> that the find matches"},
		Waits: []string{"each matching composed resource to be ready and to have connection details"},
	}
	add := func(name string, need expression.Need) {
		k.Inputs = append(k.Inputs, Input{Name: name, Secret: true, Need: need})
	}
	for _, s := range x.plan.Sources {
		switch {
		case !plan.IsSecret(s.Source) || !f.Reaches(s.Name):
		case s.Optional:
			add(s.Spelled(), expression.Optional)
		default:
			add(s.Spelled(), expression.Required)
		}
	}
	input, _, whole := strings.Cut(f.Path, "/")
	_, _, generated := plan.GeneratedInput(input)
	switch {
	case !whole:
		add(expression.Secrets+"[*]", expression.Conditional)
	case input != expression.Env && !generated && len(k.Inputs) == 0: // a composed resource
		add(expression.PathText(expression.Secrets, input), expression.Conditional)
	}
	return k
}
