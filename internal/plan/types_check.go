package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/schema"
	"github.com/crossplane-contrib/function-export/internal/suggest"
)

// A typeCheck is one way through the input.
type typeCheck struct {
	*Known

	plan      *Plan
	composed  map[string]Kind // by all steps
	types     *schema.Types
	composite *types.Type
	resources *types.Type
	sources   *types.Type
	variables map[string]*types.Type // those above
	results   map[*expression.Expression]*types.Type
	faults    field.ErrorList
}

func (c *typeCheck) fault(path, format string, args ...any) {
	c.faults = append(c.faults, &field.Error{Type: field.ErrorTypeInvalid, Field: path, BadValue: field.OmitValueType{}, Detail: fmt.Sprintf(format, args...)})
}

func (c *typeCheck) schema(k Kind) *structpb.Struct {
	if c.Known.Schema == nil || k.Kind == "" || k == (Kind{APIVersion: "v1", Kind: "Secret"}) { // whose data is hidden
		return nil
	}
	return schema.OfKind(c.Known.Schema(k))
}

func (c *typeCheck) kind(k Kind) *types.Type {
	if s := c.schema(k); s != nil {
		return c.types.Of(k.String(), s)
	}
	return types.DynType
}

// names refuses those that two writers, or readers, would mean different things by.
func (c *typeCheck) names() {
	if c.composed == nil {
		c.composed = map[string]Kind{}
	}
	for i, s := range c.plan.declared {
		if c.ClusterScoped && s.Namespace == "" && s.Scope != v1beta1.ScopeCluster {
			c.fault(field.NewPath("sources").Index(i).Child("namespace").String(), noNamespace)
		}
		if _, ok := c.composed[s.Name]; ok && isSecret(s) {
			c.fault(field.NewPath("sources").Index(i).Child("name").String(), "%s", twoMeanings(s.Name))
		}
	}
	for _, e := range c.plan.exports {
		if _, ok := c.Resources[e.name]; ok {
			c.fault(e.at("name").String(), "%s", composedTwice(e.name))
		}
		if m := e.metadata; c.ClusterScoped && m.namespace == "" && m.namespaceExpr == nil {
			c.fault(e.at("metadata", "namespace").String(), noNamespace)
		}
		c.composed[e.name] = Kind{APIVersion: "v1", Kind: string(e.kind)}
	}
}

func (c *typeCheck) containers() {
	members := map[string]*types.Type{}
	for name, k := range c.composed {
		members[name] = c.kind(k)
	}
	var lacks func(string) string
	if c.Closed {
		lacks = c.notComposed
	}
	c.resources = c.types.Container(expression.Resources, members, lacks)

	members = map[string]*types.Type{}
	for _, s := range c.plan.declared {
		t := c.kind(Kind{APIVersion: s.APIVersion, Kind: s.Kind})
		switch {
		case len(s.MatchLabels) > 0 && s.MatchName+s.NameExpression != "":
			t = types.DynType // which is a fault
		case len(s.MatchLabels) > 0:
			t = types.NewListType(t)
		}
		members[s.Name] = t
	}
	for _, name := range c.Required {
		members[name] = types.NewListType(types.DynType)
	}
	var noSource func(string) string
	if c.Required != nil {
		noSource = func(name string) string {
			return fmt.Sprintf("there is no source named %s", name) + suggest.ThereAre(name, sortedKeys(members))
		}
	}
	c.sources = c.types.Container(expression.Sources, members, noSource)
}

// notComposed says that no step composes a resource.
func (c *typeCheck) notComposed(name string) string {
	return fmt.Sprintf("no step of the pipeline composes a resource named %s", name) + suggest.ThereAre(name, sortedKeys(c.composed))
}

// isComposed refuses the name of a composed resource that there is none of.
func (c *typeCheck) isComposed(path, name string) bool {
	_, ok := c.composed[name]
	if !ok && c.Closed {
		c.fault(path, "%s", c.notComposed(name))
	}
	return ok || !c.Closed
}

// typing is what is known of the variables of one expression.
func (c *typeCheck) typing(x compiled) expression.Typing {
	about := c.composite
	switch from := x.Source().From; {
	case x.Source().Own:
		about = c.kind(x.own)
	case from != "":
		about = c.kind(c.composed[from])
	}
	variables := map[string]*types.Type{
		expression.Composite: c.composite,
		expression.Resource:  about,
		expression.Self:      about,
		expression.Resources: c.resources,
		expression.Sources:   c.sources,
		expression.Variables: c.types.Container(expression.Variables, c.variables, nil),
	}
	if c.Environment != nil {
		variables[expression.Env] = c.types.Of(expression.Env, schema.Like(c.Environment))
	}
	return expression.Typing{Objects: c.types, Variables: variables, Values: func(r expression.Reference) []string { return c.values(x, r) }}
}

// values are the strings that what a reference reads is one of.
func (c *typeCheck) values(x compiled, r expression.Reference) []string {
	path := make([]any, 0, len(r.Path))
	for _, s := range r.Path {
		path = append(path, s.Key)
	}
	kind, from := c.Known.Composite, x.Source().From
	switch r.Variable {
	case expression.Composite:
	case expression.Resource, expression.Self:
		if x.Source().Own {
			kind = x.own
		} else if from != "" {
			kind = c.composed[from]
		}
	case expression.Resources:
		kind = c.composed[stepName(r, 0)]
		path = path[min(1, len(path)):]
	default:
		return nil
	}
	at, _ := schema.At(c.schema(kind), path...)
	return schema.Values(at)
}

func (c *typeCheck) expression(x compiled) {
	result, faults := x.env.CheckTypes(x.Expression, c.typing(x))
	c.results[x.Expression] = result
	for _, v := range c.plan.variables {
		if v.value == x.Expression {
			c.variables[v.name] = result
		}
	}
	for _, f := range faults {
		path := f.Path
		if isSynthetic(x.Source().Path) {
			path = x.Source().Path
		}
		c.fault(path, "%s", f.Message)
	}
	c.connectionKeys(x)
}

// isSynthetic reports whether an expression is not in the input as such: it was made
// of a literal field.
func isSynthetic(path string) bool {
	return strings.HasSuffix(path, ".extract.key") || strings.HasSuffix(path, ".extract.property")
}

// connectionKeys refuses a key that is not among the connection details of what it is
// read from.
func (c *typeCheck) connectionKeys(x compiled) {
	for _, r := range x.References() {
		input, key := x.Source().From, stepName(r, 0)
		switch {
		case r.Variable == expression.Secrets:
			input, key = stepName(r, 0), stepName(r, 1)
		case r.Variable != expression.Secret || x.Source().Own:
			continue
		case input == "":
			input = expression.Composite
		}
		isSource := slices.ContainsFunc(c.plan.declared, func(s v1beta1.Source) bool { return s.Name == input })
		if input == anything || isSource || x.Dynamic(r) {
			continue
		}
		if r.Variable == expression.Secrets && !c.isComposed(place(x.Expression, r), input) {
			continue
		}
		keys, ok := c.ConnectionKeys[input]
		if ok && key != anything && !slices.Contains(keys, key) {
			c.fault(place(x.Expression, r), "the connection details of %s have no key %s%s", input, key, suggest.ThereAre(key, keys))
		}
	}
}
