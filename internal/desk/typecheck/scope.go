package typecheck

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

func (c *typeCheck) scopeOf(k plan.Kind) catalog.Scope {
	if c.Known.Scope == nil {
		return ""
	}
	return c.Known.Scope(k)
}

// isClusterScoped reports whether the composites are known to have no namespace of their own.
func (c *typeCheck) isClusterScoped() bool {
	scope := c.scopeOf(c.Known.Composite)
	return c.ClusterScoped || scope == catalog.Cluster || scope == catalog.LegacyCluster
}

// withoutDetails reports whether the composites are known to have no connection details.
func (c *typeCheck) withoutDetails() bool {
	scope := c.scopeOf(c.Known.Composite)
	return scope == catalog.Namespaced || scope == catalog.Cluster
}

// scopes refuses what a composite of the scope in its definition cannot have.
func (c *typeCheck) scopes() {
	for i := range c.plan.Generators {
		m := &c.plan.Generators[i]
		if m.Manifest != nil && c.scopeOf(c.Known.Composite) == catalog.Namespaced &&
			c.scopeOf(m.Object()) == catalog.Cluster {
			c.report(m.Path.Child(plan.KindResource, "manifest", "kind").String(), "is a cluster scoped kind, "+
				"but a namespaced composite can compose only namespaced objects: use a namespaced kind")
		}
		c.otherNamespace(m.NamespacePath(), m.Namespace)
	}
	for _, e := range c.plan.Exports {
		if e.Secret.ConnectionDetails && c.withoutDetails() {
			at := e.At("connectionDetails").String()
			*c.report(at, "%s", plan.DetailsIgnored) = []diagnostic.Edit{{Path: at, Action: diagnostic.Remove}}
		}
		c.otherNamespace(e.At("metadata", "namespace"), e.Metadata.Namespace)
		c.requiredKeys(e)
	}
}

// requiredKeys refuses a Secret whose keys are all known, and which lacks one that its type requires.
func (c *typeCheck) requiredKeys(e plan.Export) {
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

// otherNamespace refuses a namespace in the input of namespaced composites.
func (c *typeCheck) otherNamespace(at *field.Path, namespace string) {
	if namespace != "" && c.scopeOf(c.Known.Composite) == catalog.Namespaced {
		*c.report(at.String(), "is %q, but a namespaced composite can compose only into its own namespace: leave it "+
			"out",
			namespace) = []diagnostic.Edit{{Path: at.String(), Action: diagnostic.Remove}}
	}
}

// compositeDetails refuses a use of the connection details of a composite that never has any.
func (c *typeCheck) compositeDetails(x plan.Compiled, r expression.Reference) {
	key := plan.StepName(r, 0)
	var names, unknown []string
	for _, name := range plan.SortedKeys(c.Resources) {
		switch keys, known := c.ConnectionKeys[name]; {
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
