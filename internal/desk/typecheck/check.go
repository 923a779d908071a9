package typecheck

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// inputs refuses sources that composites of this scope cannot read, and whose names would be ambiguous.
func (c *Inspection) inputs() {
	hasNone := c.known.ClusterScoped || c.scope == catalog.Cluster || c.scope == catalog.LegacyCluster
	for i, s := range c.plan.Input.Sources {
		at := field.NewPath("sources").Index(i)
		name, message := plan.RefuseSource(s, hasNone, c.known.ClusterScoped, c.plan.Input.RequireGrants)
		if message != "" {
			c.report(at.Child(name).String(), "%s", message)
		}
		if _, ok := c.composed[s.Name]; ok && plan.IsSecret(s) {
			c.report(at.Child("name").String(), "%s", plan.TwoMeanings(s.Name))
		}
	}
}

// objects refuses names that would be ambiguous, and what composites of the scope in their definition cannot have.
func (c *Inspection) objects() {
	for i := range c.plan.Generators {
		m := &c.plan.Generators[i]
		if m.Manifest != nil && c.scope == catalog.Namespaced && c.scopeOf(m.Object()) == catalog.Cluster {
			c.report(m.Path.Child(plan.KindResource, "manifest", "kind").String(), "is a cluster scoped kind, "+
				"but a namespaced composite can compose only namespaced objects: use a namespaced kind")
		}
		c.namespace(m.NamespacePath(), m.Namespace, m.LacksNamespace())
	}
	for _, e := range c.plan.Exports {
		if c.composedTwice(e.Name) {
			c.report(e.At("name").String(), "%s", plan.ComposedTwice(e.Name))
		}
		if e.ForEach == nil { // the names of items are not known
			c.composed[e.Name] = plan.Kind{APIVersion: "v1", Kind: string(e.Kind)}
		}
		if e.Secret.ConnectionDetails && c.withoutDetails() {
			at := e.At("connectionDetails").String()
			*c.report(at, "%s", plan.DetailsIgnored) = []diagnostic.Edit{{Path: at, Action: diagnostic.Remove}}
		}
		m := e.Metadata
		c.namespace(e.At("metadata", "namespace"), m.Namespace, m.Namespace == "" && m.NamespaceExpr == nil)
		c.requiredKeys(e)
	}
}

// namespace refuses a namespace in the input of namespaced composites, and a missing one if composites have none.
func (c *Inspection) namespace(at *field.Path, namespace string, isMissing bool) {
	switch {
	case c.known.ClusterScoped && isMissing:
		c.report(at.String(), plan.NoNamespace)
	case namespace != "" && c.scope == catalog.Namespaced:
		*c.report(at.String(), "is %q, but a namespaced composite can compose only into its own namespace: leave it out",
			namespace) = []diagnostic.Edit{{Path: at.String(), Action: diagnostic.Remove}}
	}
}

// composedTwice reports whether another step composes a resource with the name of an export.
func (c *Inspection) composedTwice(name string) bool {
	_, ok := c.known.Resources[name]
	return ok && c.plan.ExportNamed(name)
}

func (c *Inspection) containers() {
	members := map[string]*types.Type{}
	for name, k := range c.composed {
		members[name] = c.kind(k)
	}
	for _, x := range c.plan.Expressions { // the names of items are only known from their use
		for _, r := range x.References() {
			name := plan.StepName(r, 0)
			if r.Variable == expression.Resources && members[name] == nil && c.plan.ExportNamed(name) {
				members[name] = types.DynType
			}
		}
	}
	var lacks func(string) string
	if c.known.Closed {
		lacks = c.notComposed
	}
	c.resources = c.Container(expression.Resources, members, lacks)

	members = map[string]*types.Type{}
	for _, s := range c.plan.Input.Sources {
		t := c.kind(plan.Kind{APIVersion: s.APIVersion, Kind: s.Kind})
		if len(s.MatchLabels) > 0 {
			t = types.NewListType(t)
		}
		members[s.Name] = t
	}
	for _, name := range c.known.Required {
		members[name] = types.NewListType(types.DynType)
	}
	var noSource func(string) string
	if c.known.Required != nil {
		noSource = func(name string) string {
			return fmt.Sprintf("there is no source named %s", name) +
				suggest.ThereAre(name, plan.SortedKeys(members), "the input has no sources: add it to sources")
		}
	}
	c.sources = c.Container(expression.Sources, members, noSource)
}

// notComposed returns the message that no step composes a resource. It does not suggest exports of this step, because
// their data cannot be read.
func (c *Inspection) notComposed(name string) string {
	return fmt.Sprintf("no step of the pipeline composes a resource named %s%s", name,
		suggest.Resource(name, slices.DeleteFunc(plan.SortedKeys(c.composed), c.plan.ExportNamed)))
}

// isComposed refuses the name of a composed resource that does not exist.
func (c *Inspection) isComposed(at expression.Place, name string) bool {
	_, ok := c.composed[name]
	ok = ok || c.plan.ExportNamed(name)
	if !ok && c.known.Closed {
		c.reportAt(at, "%s", c.notComposed(name))
	}
	return ok || !c.known.Closed
}

func (c *Inspection) expression(x plan.Compiled) {
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
func (c *Inspection) connectionKeys(x plan.Compiled) {
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
func (c *Inspection) connectionKey(x plan.Compiled, r expression.Reference, input, key string) {
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
	keys, ok := c.known.ConnectionKeys[input]
	if k := c.composed[input]; !ok && k.APIVersion == "v1" && k.Kind == string(object.Secret) {
		c.reportAt(at, "%s has %s", input, suggest.ComposedSecret)
		return
	}
	if ok && key != plan.Anything && !slices.Contains(keys, key) {
		c.reportAt(at, "the connection details of %s have no key %s%s", input, key,
			suggest.ThereAre(key, keys, "they have no keys"))
	}
}

func (c *Inspection) scopeOf(k plan.Kind) catalog.Scope {
	if c.known.Scope == nil {
		return ""
	}
	return c.known.Scope(k)
}

// withoutDetails reports whether the composites are known to have no connection details.
func (c *Inspection) withoutDetails() bool {
	return c.scope == catalog.Namespaced || c.scope == catalog.Cluster
}

// requiredKeys refuses a Secret whose keys are all known, and which lacks one that its type requires.
func (c *Inspection) requiredKeys(e plan.Export) {
	isMap := func(d plan.Entry) bool { return d.Key == "" }
	if len(e.DataFrom) > 0 || slices.ContainsFunc(e.Data, isMap) {
		return
	}
	for _, key := range object.RequiredKeys(e.Secret.ObjectType) {
		if !slices.ContainsFunc(e.Data, func(d plan.Entry) bool { return d.Key == key }) {
			c.report(e.At("type").String(), "a Secret of type %s needs the key %q: write an item of data with key: %s",
				e.Secret.ObjectType, key, key)
		}
	}
}

// compositeDetails refuses a use of the connection details of a composite that never has any.
func (c *Inspection) compositeDetails(x plan.Compiled, r expression.Reference) {
	key := plan.StepName(r, 0)
	var names, unknown []string
	for _, name := range plan.SortedKeys(c.known.Resources) {
		switch keys, known := c.known.ConnectionKeys[name]; {
		case !known:
			unknown = append(unknown, name)
		case key == plan.Anything || slices.Contains(keys, key):
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		names = unknown
	}
	what := "secret is the connection details of the composite here, and composites of this kind never have any"
	if isSynthetic(x.Source().Path) {
		what = "composites of this kind never have connection details"
	}
	c.reportAt(plan.Place(x.Expression, r), "%s: %s", what, plan.InsteadOfComposite(names))
}
