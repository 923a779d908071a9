package inspect

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// A Noticed says how a change of an input is noticed, and how soon.
type Noticed struct {
	// Input is the path in the syntax of CEL, or the text of an [Ask].
	Input string `json:"input"`

	How    How    `json:"how"`
	Within Within `json:"within"`

	// Older is set if a Crossplane before v2.4 needs another time.
	Older Within `json:"older,omitempty"`
}

// How says how a change is noticed.
type How string

// The values of How.
const (
	// Watched inputs are watched by each version of Crossplane.
	Watched How = "watched"

	// Required inputs are required by the function. Declared inputs are required by the Composition. Crossplane
	// watches both since v2.4.
	Required How = "required"
	Declared How = "declared"

	// FromEarlierStep is for inputs that earlier steps set. Crossplane may watch the objects that these steps read.
	FromEarlierStep How = "earlierStep"

	// Scheduled inputs are changed by the function. It asks Crossplane to call again when it must change them.
	Scheduled How = "scheduled"
)

// Within is the longest time after which a change is noticed, as a duration.
type Within string

// The values of Within that do not depend on the TTL.
const (
	AtOnce Within = "0s"
	Never  Within = "never" // by itself, because Crossplane calls again only if something else changes
)

// within returns the time for a TTL.
func within(ttl time.Duration) Within {
	if ttl == 0 {
		return Never
	}
	if ttl == time.Minute {
		return "60s" // as in the documentation of the input
	}
	return Within(strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(ttl.String()))
}

// A NextCall is the time after which Crossplane calls the function again if no input changes. An earlier call is
// possible: the shortest time of all steps of the pipeline counts.
type NextCall struct {
	Within Within `json:"within"`

	// Older is set if a Crossplane before v2.4 calls again after another time. Environment is set if Crossplane calls
	// again after another time if an earlier step sets the environment.
	Older       Within `json:"older,omitempty"`
	Environment Within `json:"environment,omitempty"`

	// Generators is set if a generator may need an earlier call.
	Generators bool `json:"generators,omitempty"`
}

// nextCall returns the next call of a plan once all exports exist. Objects that only the Composition requires do not
// show the function whether Crossplane watches them.
func nextCall(p *plan.Plan, declared bool) NextCall {
	required := requires(p)
	out := NextCall{
		Within:      within(p.Freshness.After(plan.Watches{Objects: required || !declared, Environment: true})),
		Older:       within(p.Freshness.After(plan.Watches{Objects: !required && !declared, Environment: true})),
		Environment: within(p.Freshness.After(plan.Watches{Objects: required || !declared})),
		Generators:  len(p.Generators) > 0,
	}
	if out.Older == out.Within {
		out.Older = ""
	}
	if out.Environment == out.Within {
		out.Environment = ""
	}
	return out
}

// requires reports whether a plan requires objects after all exports were created.
func requires(p *plan.Plan) bool {
	manifest := func(m plan.Generator) bool { _, ok := m.Makes.(*plan.Manifest); return ok }
	return slices.ContainsFunc(p.Generators, manifest) ||
		len(p.Sources)+len(p.Details.Inputs)+len(p.Details.Finds)+len(p.Lookup.Asked()) > 0 ||
		p.Authors != nil && len(p.Authors.Sees.Secrets) > 0
}

// freshness says how changes of everything that the plan reads are noticed. The requirements must be known.
func (x *explainer) freshness(out *Explanation) {
	declared := x.declaredObjects()
	out.NextCall = nextCall(x.plan, len(declared) > 0)
	ttl := out.NextCall.Within
	older, earlierStep := within(x.plan.Freshness.After(plan.Watches{Environment: true})),
		cmp.Or(out.NextCall.Environment, ttl)
	add := func(input string, how How, within, older Within) {
		out.Freshness = append(out.Freshness, Noticed{input, how, within, older})
	}
	for _, input := range append([]string{expression.Composite}, x.composedResources()...) {
		add(input, Watched, AtOnce, "")
	}
	for _, a := range out.Asks {
		add(a.String(), Required, AtOnce, older)
	}
	for _, input := range declared {
		add(input, Declared, AtOnce, older)
	}
	if x.plan.Freshness.Environment {
		add(expression.Env, FromEarlierStep, earlierStep, "")
	}
	if x.plan.Freshness.Context {
		add(expression.Context, FromEarlierStep, ttl, "")
	}
	for i := range x.plan.Generators {
		add(x.plan.Generators[i].Spelled(expression.Generated), Scheduled, AtOnce, "")
	}
}

// A root is an input as a whole: a variable, and one name in it.
type root struct{ variable, name string }

// String returns the root in the syntax of CEL.
func (r root) String() string {
	if r.name == plan.Anything {
		return r.variable + "[*]"
	}
	return expression.PathText(r.variable, r.name)
}

// rootsOf returns the roots that an expression reads, directly and through variables.
func (x *explainer) rootsOf(e *expression.Expression) map[root]bool {
	out := map[root]bool{}
	for _, r := range e.Reads() {
		switch r.Variable {
		case expression.Resource, expression.Self, expression.Secret:
			if from := e.Source().From; from != "" && !e.Source().Own {
				out[root{expression.Resources, from}] = true
			}
		case expression.Variables:
			for _, name := range x.variablesOf(r) {
				maps.Copy(out, x.rootsOfVariables[name])
			}
		default:
			out[root{r.Variable, plan.StepName(r.Reference, 0)}] = true
		}
	}
	return out
}

// composedResources returns the composed resources that are read, in the syntax of CEL and sorted.
func (x *explainer) composedResources() []string {
	var out []string
	for r := range x.roots {
		switch {
		case r.variable == expression.Secrets && !x.declares(r.name, true):
			out = append(out, root{expression.Resources, r.name}.String())
		case r.variable == expression.Resources, r.variable == expression.Revisions:
			out = append(out, r.String())
		}
	}
	if t := x.plan.Authors; t != nil {
		for _, name := range slices.Concat(t.Sees.Resources, t.Sees.Secrets) {
			out = append(out, expression.PathText(expression.Resources, name))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// declaredObjects returns the objects that the Composition itself requires, and that are read, in the syntax of CEL
// and sorted.
func (x *explainer) declaredObjects() []string {
	var out []string
	for r := range x.roots {
		if r.variable == expression.Sources && !x.declares(r.name, false) {
			out = append(out, r.String())
		}
	}
	slices.Sort(out)
	return out
}

// declares reports whether the input has a source, which is a Secret or not.
func (x *explainer) declares(name string, secret bool) bool {
	return slices.ContainsFunc(x.plan.Input.Sources, func(s v1beta1.Source) bool {
		return s.Name == name && plan.IsSecret(s) == secret
	})
}
