package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/environment"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
)

// authorPrefix is the prefix of the composition resource names of objects that a composite author
// asks for. The name of an export of the input never begins with it.
const authorPrefix = "fromComposite/"

// IsAuthors reports whether a composite author asked for a composed resource.
func IsAuthors(composed string) bool { return strings.HasPrefix(composed, authorPrefix) }

// authorName is the composition resource name of an object that a composite author asks for.
func authorName(kind object.Kind, name string) string {
	return authorPrefix + string(kind) + "/" + name
}

// AuthorsKind returns the kind and the name of an object that a composite author asks for.
func AuthorsKind(composed string) (kind object.Kind, name string) {
	text, name, _ := strings.Cut(strings.TrimPrefix(composed, authorPrefix), "/")
	return object.Kind(text), name
}

// Authors describes what composite authors may ask for, and in which field.
type Authors struct {
	At   environment.Path // of the field that contains the lists
	Sees *observation.Author
	env  *expression.Environment

	Labels, Annotations allowList
}

// allowed refuses names of sources in a list of composed resources.
func (c *compiler) allowed(list *field.Path, names []string) {
	for i, n := range names {
		if slices.ContainsFunc(c.sources, func(s v1beta1.Source) bool { return s.Name == n }) {
			c.refuse(list.Index(i), "%q is a source, and composite authors cannot read sources: name a composed "+
				"resource", n)
		}
	}
}

// fromComposite compiles what composite authors may ask for.
func (c *compiler) fromComposite(in *v1beta1.FromComposite) *Authors {
	if in == nil {
		return nil
	}
	path := field.NewPath("fromComposite")
	t := &Authors{env: c.env, Sees: &observation.Author{
		Secret: in.From, Secrets: in.Allow.Secrets, Resources: in.Allow.Resources,
		Environment: in.Allow.Environment,
	}}
	t.Labels = allowList{"fromComposite.allow.labels", slices.Concat(allowedLabels, in.Allow.Labels)}
	t.Annotations = allowList{"fromComposite.allow.annotations", in.Allow.Annotations}
	if len(in.Allow.Secrets) == 1 { // the schema of the input accepts no other from
		t.Sees.Secret = in.Allow.Secrets[0]
	}
	at, err := environment.ParsePath(in.FieldPath)
	c.refuseErr(path.Child("fieldPath"), err)
	t.At = at
	allow := path.Child("allow")
	c.allowed(allow.Child("resources"), in.Allow.Resources)
	c.allowed(allow.Child("secrets"), in.Allow.Secrets)
	c.allowedKeys(allow.Child("labels"), in.Allow.Labels)
	c.allowedKeys(allow.Child("annotations"), in.Allow.Annotations)
	return t
}

// refuse returns a message for each use that is not allowed in an expression. If the expression
// computes the name of an input, that input is absent during evaluation.
func (t *Authors) refuse(x *expression.Expression, kind object.Kind) []string {
	var out []string
	for _, r := range x.References() {
		why := ""
		switch name := StepName(r, 0); r.Variable {
		case expression.Secret:
			why = t.refuseSecret(kind)
		case expression.Secrets:
			why = notAllowed(expression.Secrets, name, t.Sees.Secrets)
			if kind == object.ConfigMap {
				why = expression.Secrets + intoSecretsOnly
			}
		case expression.Resources:
			why = notAllowed(expression.Resources, name, t.Sees.Resources)
		case expression.Env:
			if !t.Sees.Environment {
				why = expression.Env + " is not allowed here"
			}
		}
		if why != "" {
			out = append(out, x.Place(r).String()+": "+why)
		}
	}
	return slices.Compact(out)
}

const intoSecretsOnly = " may be used only in the value of a Secret: move it to secretExpressions or dynamicSecrets"

func (t *Authors) refuseSecret(kind object.Kind) string {
	switch {
	case kind == object.ConfigMap:
		return expression.Secret + intoSecretsOnly
	case t.Sees.Secret != "":
		return ""
	case len(t.Sees.Secrets) == 0:
		return expression.Secret + " is not allowed here"
	}
	return fmt.Sprintf("%s is not set here, because the Composition allows several inputs: use %s", expression.Secret,
		listed(expression.Secrets, t.Sees.Secrets))
}

// notAllowed returns a message if a name is not in the list. The message contains the list.
func notAllowed(variable, name string, allowed []string) string {
	switch {
	case len(allowed) == 0:
		return variable + " is not allowed here"
	case name == Anything || slices.Contains(allowed, name):
		return ""
	}
	return fmt.Sprintf("%s is not allowed here: the Composition allows only %s", expression.PathText(variable, name),
		listed(variable, allowed))
}

func listed(variable string, names []string) string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, expression.PathText(variable, n))
	}
	return Shorten(out, ", ")
}

// allowedLabels are always allowed, because Kubernetes recommends them to describe an
// application. Other labels control what controllers do, even some without a prefix: owner=helm
// makes a Secret a release of Helm, and grafana_datasource makes Grafana read it.
var allowedLabels = []string{"app", "app.kubernetes.io/"} //nolint:gochecknoglobals // a table

// An allowList contains the labels or annotations that objects of composite authors may have:
// whole keys, and prefixes that end with a slash.
type allowList struct {
	field string
	Keys  []string
}

// allows reports whether the list contains a key or a prefix of it.
func (l allowList) allows(key string) bool {
	return slices.ContainsFunc(l.Keys, func(k string) bool {
		return k == key || strings.HasSuffix(k, "/") && strings.HasPrefix(key, k)
	})
}

// refuse returns a message that says which keys are not allowed, and which keys are.
func (l allowList) refuse(keys []string) string {
	allows, instead := "no annotations", "leave it out" // some labels are always allowed
	if len(l.Keys) > 0 {
		shown := make([]string, 0, len(l.Keys))
		for _, k := range l.Keys {
			if strings.HasSuffix(k, "/") {
				k += "..."
			}
			shown = append(shown, k)
		}
		allows, instead = "only "+Shorten(shown, ", "), "use one of these"
	}
	return fmt.Sprintf("cannot set %s: the Composition allows %s: %s, or add it to %s of the Composition",
		Shorten(keys, ", "), allows, instead, l.field)
}

// allowedKeys refuses keys in an allow list that others write.
func (c *compiler) allowedKeys(list *field.Path, keys []string) {
	for i, k := range keys {
		if object.IsReserved(k) {
			c.refuse(list.Index(i), "%q cannot be allowed: Crossplane, kubectl or function-export writes it", k)
		}
	}
}
