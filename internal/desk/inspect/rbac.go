package inspect

import (
	"fmt"
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

	// Installed is set if Crossplane's default role already has the rule.
	Installed bool `json:"installed,omitempty"`

	// For are the paths in the input that need the rule.
	For []string `json:"for"`
}

var (
	readVerbs    = []string{"get", "list", "watch"}
	composeVerbs = []string{"get", "list", "watch", "create", "update", "patch", "delete"}
)

// rulesOf returns the sorted rules for requirements and for the objects that generators compose.
func rulesOf(asks []Ask, generators []plan.Generator, plural func(plan.Kind) string) []Rule {
	by := map[string]*Rule{}
	add := func(apiVersion, kind string, verbs []string, path string) {
		rule := RuleOf(plan.Kind{APIVersion: apiVersion, Kind: kind}, plural)
		key := rule.APIGroup + "/" + rule.Resource
		r := by[key]
		if r == nil {
			r = &rule
			by[key] = r
		}
		if len(verbs) > len(r.Verbs) {
			r.Verbs = verbs
		}
		if !slices.Contains(r.For, path) {
			r.For = append(r.For, path)
		}
	}
	for _, a := range asks {
		for _, path := range strings.Split(a.Path, ", ") {
			add(a.APIVersion, a.Kind, readVerbs, path)
		}
	}
	for i := range generators {
		m := &generators[i]
		add(m.Makes.Object().APIVersion, m.Makes.Object().Kind, composeVerbs, m.Path.String())
	}
	out := make([]Rule, 0, len(by))
	for _, k := range plan.SortedKeys(by) {
		out = append(out, *by[k])
	}
	slices.SortStableFunc(out, func(a, b Rule) int {
		return strings.Compare(fmt.Sprint(!a.Installed), fmt.Sprint(!b.Installed))
	})
	return out
}

// RuleOf returns the rule for a kind, without verbs.
func RuleOf(k plan.Kind, plural func(plan.Kind) string) Rule {
	gv, _ := schema.ParseGroupVersion(k.APIVersion) // validate refuses an invalid version
	out := Rule{APIGroup: gv.Group, Resource: guessPlural(k.Kind), Kind: k.Kind}
	kinds, ok := installed[gv.Group]
	out.Installed = ok && (kinds == nil || slices.Contains(kinds, k.Kind))
	if plural != nil && plural(k) != "" {
		out.Resource, out.Kind = plural(k), ""
	}
	if out.Installed || k.Kind == lookup.GrantKind {
		out.Kind = ""
	}
	return out
}

// installed are the kinds that the ClusterRole crossplane:system:aggregate-to-crossplane of Crossplane's Helm chart
// permits Crossplane to read and write, by group. A group without a list has all of its kinds. The role is that of
// Crossplane 2.4.
var installed = map[string][]string{ //nolint:gochecknoglobals // a constant
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

// Missing returns the rules that Crossplane's default role does not have. The RBAC manager of Crossplane grants the
// kinds of installed providers and of XRDs, which are unknown here.
func (e *Explanation) Missing() []Rule {
	return slices.DeleteFunc(slices.Clone(e.Rules), func(r Rule) bool { return r.Installed })
}

var (
	endsInIes = lazy.MustCompile(`[^aeiou]y$`)
	endsInEs  = lazy.MustCompile(`([aus]s|x|z|ch|sh)$`)
)

// guessPlural returns the usual name of the resource of a kind.
func guessPlural(kind string) string {
	name := strings.ToLower(kind)
	switch {
	case endsInIes.MatchString(name):
		return strings.TrimSuffix(name, "y") + "ies"
	case endsInEs.MatchString(name):
		return name + "es"
	case strings.HasSuffix(name, "s"): // settings, endpoints and so on are already plural
		return name
	}
	return name + "s"
}
