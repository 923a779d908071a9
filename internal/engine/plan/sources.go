package plan

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

func sourcesPath(i int) *field.Path { return field.NewPath("sources").Index(i) }

// A Source is a source that an expression reads.
type Source struct {
	v1beta1.Source

	Path     *field.Path
	NameExpr *expression.Expression
}

// compileSources returns the sources that an expression reads, directly or through variables. The
// other sources are compiled for their diagnostics, and never requested.
func (c *compiler) compileSources() []Source {
	var out []Source
	for i, s := range c.sources {
		at := sourcesPath(i)
		for _, k := range SortedKeys(s.MatchLabels) { // the whole reconcile would fail
			if len(validation.IsQualifiedName(k)) > 0 || len(validation.IsValidLabelValue(s.MatchLabels[k])) > 0 {
				c.refuse(at.Child("matchLabels"), "%q is not a valid label key, or its value is not a valid label value", k)
			}
		}
		n := Source{Source: s, Path: at}
		if s.NameExpression != "" {
			n.NameExpr = c.compile(source(at.Child("nameExpression"), s.NameExpression, expression.WantString))
			c.refuseUnknown(n.NameExpr, "the name")
		}
		if c.outputs.reads(s) {
			out = append(out, n)
			if n.NameExpr != nil {
				c.outputs.addAll(c.reading(n.NameExpr), expression.Place{})
			}
		}
	}
	return out
}

// RefuseSource returns the field of a source that a composite cannot have, and the message, or nothing.
// clusterScoped is a composite without a namespace of its own. homeless is one that has no claim either. With grants,
// objects of other namespaces need a ReferenceGrant.
func RefuseSource(s v1beta1.Source, clusterScoped, homeless, grants bool) (name, message string) {
	hasNone := homeless && s.Scope != v1beta1.ScopeCluster
	switch {
	case grants && s.Scope == v1beta1.ScopeCluster && len(s.MatchLabels) > 0:
		return "matchLabels", "must not be set for a cluster scoped kind with requireGrants, because Crossplane would " +
			"search all namespaces if the kind is namespaced: set matchName"
	case grants && hasNone:
		return "namespace", "cannot be read with requireGrants: the composite is cluster scoped and has no claim, and a " +
			"ReferenceGrant permits only composites of a namespace: make the composite namespaced, or leave the source out"
	case IsSecret(s) && clusterScoped && s.NameExpression != "":
		return "nameExpression", "needs a namespaced composite, to read a Secret: set matchName and namespace"
	case IsSecret(s) && clusterScoped && s.Namespace == "":
		return "namespace", "must be set for a Secret: the composite is cluster scoped, " +
			"and the author of a claim must not choose the namespace: write the namespace of the Secret"
	case hasNone && s.Namespace == "":
		return "namespace", NoNamespace
	}
	return "", ""
}

// Spelled returns the source as it is written in expressions.
func (s Source) Spelled() string {
	if IsSecret(s.Source) {
		return expression.PathText(expression.Secrets, s.Name)
	}
	return expression.PathText(expression.Sources, s.Name)
}
