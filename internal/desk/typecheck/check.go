package typecheck

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// A typeCheck checks one input.
type typeCheck struct {
	*Known

	plan        *plan.Plan
	composed    map[string]plan.Kind // composed resources of all steps
	types       *Types
	composite   *types.Type
	resources   *types.Type
	sources     *types.Type
	variables   map[string]*types.Type // variables declared above
	results     map[*expression.Expression]*types.Type
	diagnostics diagnostic.List
}

func (c *typeCheck) report(path, format string, args ...any) *[]diagnostic.Edit {
	return c.reportAt(expression.Place{Path: path}, format, args...)
}

func (c *typeCheck) reportAt(at expression.Place, format string, args ...any) *[]diagnostic.Edit {
	d := at.Wrong(fmt.Sprintf(format, args...))
	d.Rule = diagnostic.Type
	if !slices.ContainsFunc(c.diagnostics, d.Same) {
		c.diagnostics = append(c.diagnostics, d)
	}
	return &d.Edits
}

func (c *typeCheck) schema(k plan.Kind) *structpb.Struct {
	hidden := plan.Kind{APIVersion: "v1", Kind: "Secret"}
	if c.Known.Schema == nil || k.Kind == "" || k == hidden {
		return nil
	}
	return catalog.OfKind(c.Known.Schema(k))
}

func (c *typeCheck) kind(k plan.Kind) *types.Type {
	if s := c.schema(k); s != nil {
		return c.types.Of(k.String(), s)
	}
	return types.DynType
}

// names refuses names that would be ambiguous.
func (c *typeCheck) names() {
	if c.composed == nil {
		c.composed = map[string]plan.Kind{}
	}
	for i, s := range c.plan.Input.Sources {
		if name, message := plan.RefuseSource(s, c.isClusterScoped(), c.ClusterScoped,
			c.plan.Input.RequireGrants); message != "" {
			c.report(field.NewPath("sources").Index(i).Child(name).String(), "%s", message)
		}
		if _, ok := c.composed[s.Name]; ok && plan.IsSecret(s) {
			c.report(field.NewPath("sources").Index(i).Child("name").String(), "%s", plan.TwoMeanings(s.Name))
		}
	}
	for i := range c.plan.Generators {
		if m := &c.plan.Generators[i]; c.ClusterScoped && m.LacksNamespace() {
			c.report(m.NamespacePath().String(), plan.NoNamespace)
		}
	}
	for _, e := range c.plan.Exports {
		if c.composedTwice(e.Name) {
			c.report(e.At("name").String(), "%s", plan.ComposedTwice(e.Name))
		}
		if m := e.Metadata; c.ClusterScoped && m.Namespace == "" && m.NamespaceExpr == nil {
			c.report(e.At("metadata", "namespace").String(), plan.NoNamespace)
		}
		if e.ForEach == nil { // the names of items are not known
			c.composed[e.Name] = plan.Kind{APIVersion: "v1", Kind: string(e.Kind)}
		}
	}
}

// composedTwice reports whether another step composes a resource with the name of an export.
func (c *typeCheck) composedTwice(name string) bool {
	_, ok := c.Resources[name]
	return ok && c.plan.ExportNamed(name)
}

func (c *typeCheck) containers() {
	members := map[string]*types.Type{}
	for name, k := range c.composed {
		members[name] = c.kind(k)
	}
	for _, x := range c.plan.Expressions { // the names of items are only known from their use
		for _, r := range x.References() {
			if name := plan.StepName(r, 0); r.Variable == expression.Resources && members[name] == nil &&
				c.plan.ExportNamed(name) {
				members[name] = types.DynType
			}
		}
	}
	var lacks func(string) string
	if c.Closed {
		lacks = c.notComposed
	}
	c.resources = c.types.Container(expression.Resources, members, lacks)

	members = map[string]*types.Type{}
	for _, s := range c.plan.Input.Sources {
		t := c.kind(plan.Kind{APIVersion: s.APIVersion, Kind: s.Kind})
		if len(s.MatchLabels) > 0 {
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
			return fmt.Sprintf("there is no source named %s", name) +
				suggest.ThereAre(name, plan.SortedKeys(members), "the input has no sources: add it to sources")
		}
	}
	c.sources = c.types.Container(expression.Sources, members, noSource)
}

// notComposed returns the message that no step composes a resource. It does not suggest exports of this step, because
// their data cannot be read.
func (c *typeCheck) notComposed(name string) string {
	return fmt.Sprintf("no step of the pipeline composes a resource named %s%s", name,
		suggest.Resource(name, slices.DeleteFunc(plan.SortedKeys(c.composed), c.plan.ExportNamed)))
}

// isComposed refuses the name of a composed resource that does not exist.
func (c *typeCheck) isComposed(at expression.Place, name string) bool {
	_, ok := c.composed[name]
	ok = ok || c.plan.ExportNamed(name)
	if !ok && c.Closed {
		c.reportAt(at, "%s", c.notComposed(name))
	}
	return ok || !c.Closed
}

// typingOf returns the known types of the variables of one expression.
func (c *typeCheck) typingOf(x plan.Compiled) expression.Typing {
	i := &Inspection{c.types, c}
	if x.Source().Own {
		return i.Typing("", &x.Own, x.ForEach)
	}
	return i.Typing(x.Source().From, nil, x.ForEach)
}

// typing returns the known types of the variables, if resource has a type and there is a list, which may be nil.
func (c *typeCheck) typing(about *types.Type, list *plan.ForEach) expression.Typing {
	variables := map[string]*types.Type{
		expression.Composite: c.composite,
		expression.Resource:  about,
		expression.Self:      about,
		expression.Resources: c.resources,
		expression.Sources:   c.sources,
		expression.Variables: c.types.Container(expression.Variables, c.variables, nil),
	}
	if list != nil {
		variables[expression.Item] = c.itemOf(list)
	}
	return expression.Typing{Objects: c.types, Number: Number, Variables: variables}
}

// itemOf returns the type of the items of a list.
func (c *typeCheck) itemOf(f *plan.ForEach) *types.Type {
	if t := c.results[f.List]; t != nil && celast.WithoutOptional(t).Kind() == types.ListKind {
		return celast.WithoutOptional(t).Parameters()[0]
	}
	return types.DynType
}

func (c *typeCheck) expression(x plan.Compiled) {
	result, diagnostics := CheckExpression(x.Environment(), x.Expression, c.typingOf(x))
	c.results[x.Expression] = result
	for _, v := range c.plan.Variables {
		if v.Value == x.Expression {
			c.variables[v.Name] = result
		}
	}
	for _, d := range diagnostics {
		if isSynthetic(x.Source().Path) {
			d.Line, d.Column = 0, 0
		}
		c.diagnostics = append(c.diagnostics, d)
	}
	c.connectionKeys(x)
}

// isSynthetic reports whether an expression was made from a literal field of the input.
func isSynthetic(path string) bool {
	return strings.HasSuffix(path, ".extract.key") || strings.HasSuffix(path, ".extract.property")
}

// connectionKeys refuses connection details that a resource never has.
func (c *typeCheck) connectionKeys(x plan.Compiled) {
	for _, r := range x.References() {
		input, key := x.Source().From, plan.StepName(r, 0)
		switch {
		case r.Variable == expression.Secrets:
			input, key = plan.StepName(r, 0), plan.StepName(r, 1)
		case r.Variable != expression.Secret || x.Source().Own:
			continue
		case input == "" && c.withoutDetails():
			c.compositeDetails(x, r)
			continue
		case input == "":
			input = expression.Composite
		}
		isSource := slices.ContainsFunc(c.plan.Input.Sources, func(s v1beta1.Source) bool { return s.Name == input })
		if input != plan.Anything && !isSource && !x.Dynamic(r) {
			c.connectionKey(x, r, input, key)
		}
	}
}

// connectionKey refuses a key that the connection details of a composed resource do not have.
func (c *typeCheck) connectionKey(x plan.Compiled, r expression.Reference, input, key string) {
	at := plan.Place(x.Expression, r)
	if c.composedTwice(input) {
		return // the name is refused
	}
	if c.plan.ExportNamed(input) {
		c.reportAt(at, "%s is %s", input, suggest.OwnExport)
		return
	}
	if r.Variable == expression.Secrets && !c.isComposed(at, input) {
		return
	}
	keys, ok := c.ConnectionKeys[input]
	if k := c.composed[input]; !ok && k.APIVersion == "v1" && k.Kind == string(object.Secret) {
		c.reportAt(at, "%s has %s", input, suggest.ComposedSecret)
		return
	}
	if ok && key != plan.Anything && !slices.Contains(keys, key) {
		c.reportAt(at, "the connection details of %s have no key %s%s", input, key,
			suggest.ThereAre(key, keys, "they have no keys"))
	}
}
