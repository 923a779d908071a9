package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
)

// allowedLabels are allowed without being listed: Kubernetes recommends them to describe
// an application. Other labels tell controllers what to do, also ones without a prefix:
// owner=helm makes a Secret a release of Helm, grafana_datasource has Grafana read it.
var allowedLabels = []string{"app", "app.kubernetes.io/"} //nolint:gochecknoglobals // a table

// An allowList is which labels, or which annotations, the objects of composites' authors
// may have: whole keys, and prefixes that end with a slash.
type allowList struct {
	what, field string
	keys        []string
}

// allows reports whether a key is in the list, or has a prefix that is.
func (l allowList) allows(key string) bool {
	return slices.ContainsFunc(l.keys, func(k string) bool { return k == key || strings.HasSuffix(k, "/") && strings.HasPrefix(key, k) })
}

// refuse says that keys are not allowed, and which ones are.
func (l allowList) refuse(keys []string) string {
	allows, instead := "no "+l.what+"s", "leave it out"
	if len(l.keys) > 0 {
		shown := make([]string, 0, len(l.keys))
		for _, k := range l.keys {
			if strings.HasSuffix(k, "/") {
				k += "..."
			}
			shown = append(shown, k)
		}
		allows, instead = "only "+shorten(shown, ", "), "use one of these"
	}
	return fmt.Sprintf("cannot set %s: the Composition allows %s: %s, or add it to %s of the Composition", shorten(keys, ", "), allows, instead, l.field)
}

// allowedKeys refuses what is no entry of an allow list.
func (v *validator) allowedKeys(list *field.Path, keys []string) {
	const rule = "must be a key, such as team, or a prefix that ends with /, such as example.org/: there are no wildcards"
	for i, k := range keys[:v.length(list, len(keys), limits.ListItems)] {
		at, whole := list.Index(i), k
		if strings.HasSuffix(k, "/") {
			whole += "x"
		}
		switch {
		case k == "":
			v.missing(at, rule)
		case slices.Contains(keys[:i], k):
			v.fault(at, "%q is listed twice", k)
		case object.IsReserved(k):
			v.fault(at, "%q cannot be allowed: Crossplane, kubectl or function-export writes it", k)
		case !strings.Contains(k, "/") && strings.Contains(k, ".") && object.ValidateLabels(map[string]string{k: ""}) == nil:
			v.fault(at, "must end with / to allow each key with this prefix: write %s/", k)
		case object.ValidateLabels(map[string]string{whole: ""}) != nil:
			v.fault(at, rule)
		}
	}
}
