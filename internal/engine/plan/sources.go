package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/environment"
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
				c.refuse(at.Child("matchLabels"), "%q is not a valid label key, or its value is not a valid label "+
					"value", k)
			}
		}
		n := Source{Source: s, Path: at}
		if s.NameExpression != "" {
			n.NameExpr = c.compile(source(at.Child("nameExpression"), s.NameExpression, expression.WantString))
			c.refuseUnknown(n.NameExpr, "the name")
		}
		if c.outputs.reads(s) {
			out = append(out, n)
			c.outputs.addAll(c.reading(n.NameExpr), expression.Place{})
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

// Each version of Crossplane since 1.18 serves this version of EnvironmentConfig.
const (
	EnvironmentConfigAPIVersion = "apiextensions.crossplane.io/v1beta1"
	EnvironmentConfigKind       = "EnvironmentConfig"
)

// EnvironmentPath is the path of the environment in the input.
func EnvironmentPath() *field.Path { return field.NewPath(expression.Env) }

// environment compiles the lookup and the fields to set.
func (c *compiler) environment(p *Plan, in *v1beta1.Environment) {
	if in == nil {
		return
	}
	lookup, wrong := environment.Compile(EnvironmentPath(), in)
	p.Lookup, c.diagnostics = lookup, append(c.diagnostics, wrong...)
	for _, s := range in.Set {
		c.optional = s.Optional
		out := c.nextField(EnvironmentPath().Child("set"), p.Set, s.FieldPath, expression.Source{Text: s.Value})
		out.Optional, c.optional = s.Optional, false
		c.refuseGenerated(out.Value, "the environment is complete before generators run, because generators may use it")
		c.refuseUses(notGenerated(c.reading(out.Value).uses), s.NonSensitive)
		p.Set = append(p.Set, out)
	}
}

// How long Crossplane waits before it calls again if nothing changes and the input does not set a time.
const (
	// WatchTTL is for an input whose objects Crossplane watches. A call then only guards against an event that was
	// lost.
	WatchTTL = 10 * time.Minute

	// PollTTL is for an input with something that Crossplane does not watch.
	PollTTL = time.Minute
)

// Freshness says how changes of what an input reads are noticed.
type Freshness struct {
	Poll bool           // the input does not rely on watches
	TTL  *time.Duration // that the input sets; nil for the default

	// Crossplane does not watch the context of the pipeline, and does not say which objects an earlier step read for
	// the environment.
	Context, Environment bool // they are read
}

func (c *compiler) freshness(in *v1beta1.Exports) Freshness {
	out := Freshness{
		Poll:    in.Freshness == v1beta1.FreshnessPoll,
		Context: c.outputs.context,
		Environment: c.outputs.environment || in.Environment != nil ||
			in.FromComposite != nil && in.FromComposite.Allow.Environment,
	}
	if in.TTL != nil {
		out.TTL = &in.TTL.Duration
	}
	return out
}

// Watches says what Crossplane watches for one request.
type Watches struct {
	Objects     bool // the composite, the composed resources, and all required objects
	Environment bool // no earlier step of the pipeline set the environment
}

// After returns how long Crossplane waits before it calls again if nothing changes. 0 means that it does
// not call again.
func (f Freshness) After(w Watches) time.Duration {
	switch {
	case f.TTL != nil:
		return *f.TTL
	case f.Poll || f.Context || f.Environment && !w.Environment || !w.Objects:
		return PollTTL
	}
	return WatchTTL
}
