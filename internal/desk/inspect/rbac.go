package inspect

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// A Rule is a rule of a ClusterRole. It has no resourceNames. Crossplane watches all objects of each
// kind that it reads, and a rule with names does not allow that.
type Rule struct {
	APIGroup string   `json:"apiGroup"`
	Resource string   `json:"resource"`
	Verbs    []string `json:"verbs"`

	// Kind is the kind that the resource was guessed from. It is empty if the resource is known.
	Kind string `json:"kind,omitempty"`

	// For are the paths in the input that need the rule.
	For []string `json:"for"`
}

// rulesOf returns the rules for sources and for the objects that generators compose, without those that Crossplane's
// default role has, sorted. The RBAC manager of Crossplane grants the kinds of installed providers and of XRDs, which
// are unknown here.
func rulesOf(p *plan.Plan, plural func(plan.Kind) string) []Rule {
	read := []string{"get", "list", "watch"}
	compose := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	by := map[string]*Rule{}
	add := func(apiVersion, kind string, verbs []string, path string) {
		rule, installed := RuleOf(plan.Kind{APIVersion: apiVersion, Kind: kind}, plural)
		if installed {
			return
		}
		key := rule.APIGroup + "/" + rule.Resource
		if by[key] == nil {
			by[key] = &rule
		}
		if r := by[key]; len(verbs) > len(r.Verbs) {
			r.Verbs = verbs
		}
		by[key].For = append(by[key].For, path)
	}
	for _, s := range p.Sources {
		add(s.APIVersion, s.Kind, read, s.Path.String())
		if p.Input.RequireGrants && s.Namespace != "" {
			for _, r := range []lookup.Requirement{lookup.GrantsCRD(), lookup.GrantsIn(s.Namespace)} {
				add(r.APIVersion, r.Kind, read, s.Path.String())
			}
		}
	}
	for i := range p.Generators {
		m := &p.Generators[i]
		add(m.Object().APIVersion, m.Object().Kind, compose, m.Path.String())
	}
	out := make([]Rule, 0, len(by))
	for _, k := range plan.SortedKeys(by) {
		out = append(out, *by[k])
	}
	return out
}

// RuleOf returns the rule for a kind, without verbs, and whether Crossplane's default role has it.
func RuleOf(k plan.Kind, plural func(plan.Kind) string) (out Rule, installed bool) {
	gv, _ := schema.ParseGroupVersion(k.APIVersion) // validate refuses an invalid version
	out = Rule{APIGroup: gv.Group, Resource: guessPlural(k.Kind), Kind: k.Kind}
	if plural != nil && plural(k) != "" {
		out.Resource, out.Kind = plural(k), ""
	}
	if k.Kind == lookup.GrantKind {
		out.Kind = ""
	}
	kinds, ok := installedKinds[gv.Group]
	return out, ok && (kinds == nil || slices.Contains(kinds, k.Kind))
}

// installedKinds are the kinds that the ClusterRole crossplane:system:aggregate-to-crossplane of the Helm chart permits
// Crossplane to read and write, by group. A group without a list has all of its kinds. The role is that of Crossplane
// 2.4.
var installedKinds = map[string][]string{ //nolint:gochecknoglobals // a constant
	"":                             {string(object.Secret), string(object.ConfigMap), "Service", "ServiceAccount"},
	"admissionregistration.k8s.io": {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"},
	"apiextensions.crossplane.io":  nil,
	"apiextensions.k8s.io":         {"CustomResourceDefinition"},
	"apps":                         {"Deployment"},
	"coordination.k8s.io":          {"Lease"},
	"ops.crossplane.io":            nil,
	"pkg.crossplane.io":            nil,
	"protection.crossplane.io":     nil,
}

var (
	endsInIes = lazy.MustCompile(`[^aeiou]y$`)
	endsInEs  = lazy.MustCompile(`([aus]s|x|z|ch|sh)$`)
)

// guessPlural returns the usual name of the resource of a kind.
func guessPlural(kind string) string {
	name := strings.ToLower(kind)
	switch {
	case endsInIes().MatchString(name):
		return strings.TrimSuffix(name, "y") + "ies"
	case endsInEs().MatchString(name):
		return name + "es"
	case strings.HasSuffix(name, "s"): // settings, endpoints and so on are already plural
		return name
	}
	return name + "s"
}
