package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/environment"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
)

// tenantPrefix begins the composition resource names of what the composite's
// author asks for. No export's does.
const tenantPrefix = "fromComposite/"

// isTenants reports whether a composed resource is one that the composite's author
// asked for.
func isTenants(composed string) bool { return strings.HasPrefix(composed, tenantPrefix) }

// tenantName is the composition resource name of an object that the composite's
// author asks for.
func tenantName(kind object.Kind, name string) string {
	return tenantPrefix + string(kind) + "/" + name
}

// tenants is what the authors of composites may ask for, and where.
type tenants struct {
	at      environment.Path // of the field below which the lists are
	sees    *observation.Tenant
	env     *expression.Environment
	plan    string             // the plan's ID
	compile *tenantExpressions // may be nil

	labels, annotations allowList
}

func (v *validator) fromComposite(in *v1beta1.Exports) {
	f := in.FromComposite
	if f == nil {
		return
	}
	at := field.NewPath("fromComposite")
	if f.FieldPath == "" {
		v.missing(at.Child("fieldPath"), "must be set")
	} else if _, err := tenantPath(f.FieldPath); err != nil {
		v.err(at.Child("fieldPath"), err)
	}
	allow := at.Child("allow")
	v.allowed(allow.Child("resources"), f.Allow.Resources, in.Sources)
	v.allowed(allow.Child("secrets"), f.Allow.Secrets, in.Sources)
	v.allowedKeys(allow.Child("labels"), f.Allow.Labels)
	v.allowedKeys(allow.Child("annotations"), f.Allow.Annotations)
	if f.From != "" && !slices.Contains(f.Allow.Secrets, f.From) {
		v.fault(at.Child("from"), "must be one of allow.secrets, which does not list %q", f.From)
	}
}

// notTaken refuses a name that only what a composite's author asks for may have, or a
// generation.
func (v *validator) notTaken(at *field.Path, name string) {
	if isTenants(name) {
		v.fault(at, "must not begin with %s, which is of what composites' authors ask for", tenantPrefix)
	}
	if strings.HasPrefix(name, generationPrefix) {
		v.fault(at, "must not begin with %s, which is of generations", generationPrefix)
	}
}

// allowed are names of composed resources.
func (v *validator) allowed(list *field.Path, names []string, sources []v1beta1.Source) {
	for i, n := range names[:v.length(list, len(names), limits.ListItems)] {
		at := list.Index(i)
		switch {
		case n == "":
			v.missing(at, "must name a composed resource")
		case slices.Contains(names[:i], n):
			v.fault(at, "%q is listed twice", n)
		case slices.ContainsFunc(sources, func(s v1beta1.Source) bool { return s.Name == n }):
			v.fault(at, "%q is a source, which the composite's author cannot read: name a composed resource", n)
		}
	}
}

// tenantPath is a field of a composite that its author writes.
func tenantPath(p string) (environment.Path, error) {
	path, err := environment.ParsePath(p)
	if err != nil {
		return path, err
	}
	if !strings.HasPrefix(p, "spec.") && p != "spec" {
		return path, errors.New("must be spec, or below it: nothing else is the composite's author's")
	}
	return path, nil
}

// fromComposite compiles what the composite's author may ask for. Its faults were
// found by validate.
func (c *compiler) fromComposite(in *v1beta1.FromComposite) *tenants {
	if in == nil {
		return nil
	}
	t := &tenants{env: c.env.Tenants(), sees: &observation.Tenant{
		Secret: in.From, Secrets: in.Allow.Secrets, Resources: in.Allow.Resources, Environment: in.Allow.Environment,
	}}
	t.labels = allowList{"label", "fromComposite.allow.labels", slices.Concat(allowedLabels, in.Allow.Labels)}
	t.annotations = allowList{"annotation", "fromComposite.allow.annotations", in.Allow.Annotations}
	if in.From == "" && len(in.Allow.Secrets) == 1 {
		t.sees.Secret = in.Allow.Secrets[0]
	}
	t.at, _ = tenantPath(in.FieldPath)
	for _, name := range slices.Concat(in.Allow.Secrets, in.Allow.Resources) {
		c.inputs[name] = true
	}
	return t
}

// refuse says which uses of an expression are not allowed to it. What is computed
// is not there when it is evaluated.
func (t *tenants) refuse(x *expression.Expression, kind object.Kind) []string {
	var out []string
	for _, r := range x.References() {
		why := ""
		switch name := stepName(r, 0); r.Variable {
		case expression.Secret:
			why = t.refuseSecret(kind)
		case expression.Secrets:
			why = notAllowed(expression.Secrets, name, t.sees.Secrets)
			if kind == object.ConfigMap {
				why = expression.Secrets + intoSecretsOnly
			}
		case expression.Resources:
			why = notAllowed(expression.Resources, name, t.sees.Resources)
		case expression.Env:
			if !t.sees.Environment {
				why = expression.Env + " is not allowed here"
			}
		}
		if why != "" {
			out = append(out, x.Place(r)+": "+why)
		}
	}
	return slices.Compact(out)
}

const intoSecretsOnly = " may be used in the value of a Secret only: have it in secretExpressions or dynamicSecrets"

func (t *tenants) refuseSecret(kind object.Kind) string {
	switch {
	case kind == object.ConfigMap:
		return expression.Secret + intoSecretsOnly
	case t.sees.Secret != "":
		return ""
	case len(t.sees.Secrets) == 0:
		return expression.Secret + " is not allowed here"
	}
	return fmt.Sprintf("%s stands for none of the inputs: use %s", expression.Secret, listed(expression.Secrets, t.sees.Secrets))
}

// notAllowed says so of a name that is not in the list, and what is.
func notAllowed(variable, name string, allowed []string) string {
	switch {
	case len(allowed) == 0:
		return variable + " is not allowed here"
	case name == anything || slices.Contains(allowed, name):
		return ""
	}
	return fmt.Sprintf("%s is not allowed here, only %s", expression.PathText(variable, name), listed(variable, allowed))
}

func listed(variable string, names []string) string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, expression.PathText(variable, n))
	}
	return shorten(out, ", ")
}
