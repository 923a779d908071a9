package typecheck_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

const (
	neverAny  = "secret is the connection details of the composite here, and composites of this kind never have any: "
	otherwise = `, but a namespaced composite can compose only into its own namespace: leave it out`
	cluster   = "is a cluster scoped kind, but a namespaced composite can compose only namespaced objects: use a " +
		"namespaced kind"
	ofClaim = "must be set for a Secret: the composite is cluster scoped, and the author of a claim must not choose " +
		"the namespace: write the namespace of the Secret"
)

// The scope in the definition of the composite decides what it can have.
func TestTypesScope(t *testing.T) {
	const (
		plain  = "{secrets: [{name: out, data: [{key: k, value: secret.password}]}]}"
		spaces = `{secrets: [{name: out, metadata: {namespace: a}, data: [{key: k, value: "'v'"}]}], generators: ` +
			`[{name: g, namespace: b, password: {length: 20}}]}`
		manifest = `{generators: [{name: g, resource: {manifest: {apiVersion: v1, kind: Namespace, metadata: ` +
			`{namespace: c}}, outputs: {a: resource.metadata.name}}}]}`
		details = `{secrets: [{name: out, connectionDetails: true, from: db, data: [{key: k, value: ` +
			`secret.password}]}]}`
		source = `{sources: [{name: a, apiVersion: v1, kind: Secret}, {name: b, apiVersion: v1, kind: Secret, ` +
			`nameExpression: composite.metadata.name}, {name: c, apiVersion: v1, kind: ConfigMap}], status: []}`
	)
	for name, c := range map[string]struct {
		reason string
		scope  catalog.Scope
		input  string
		want   []string
	}{
		"Namespaced": {"a composite of Crossplane v2 has no connection details", catalog.Namespaced, plain,
			[]string{valueAt + "7: " + neverAny + "set from to db, or read it as secrets.db"}},
		"Unknown":    {"without the definition they may exist", "", plain, nil},
		"OfResource": {"from is another resource", catalog.Namespaced, value("secret.password"), nil},
		"Published":  {"but for a legacy one", catalog.LegacyCluster, details, nil},
		"Namespace": {"an object is in the namespace of the composite", catalog.Namespaced, spaces,
			[]string{"generators[0].namespace: is \"b\"" + otherwise, "secrets[0].metadata.namespace: is \"a\"" +
				otherwise}},
		"Kind": {"a namespaced composite composes only namespaced objects", catalog.Namespaced, manifest,
			[]string{"generators[0].resource.manifest.kind: " + cluster,
				"generators[0].resource.manifest.metadata.namespace: is \"c\"" + otherwise}},
		"Source": {"a namespaced composite reads Secrets of its namespace", catalog.Namespaced, source, nil},
	} {
		t.Run(name, func(t *testing.T) {
			k := known(t)
			k.Scope = func(kind plan.Kind) catalog.Scope {
				if kind == plantest.App {
					return c.scope
				}
				return catalog.NewCatalog().ScopeOf(kind)
			}
			if diff := cmp.Diff(c.want, typed(t, c.input, k)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// The data of an own export is never there. Its other fields are there once it is composed.
func TestTypesOwnExport(t *testing.T) {
	const own = "out is an export of this step, whose data cannot be read: move the expression of the key to " +
		"variables, and use the variable in both places"
	for name, c := range map[string]struct {
		reason string
		input  string
		want   []string
	}{
		"Data": {"as secrets", value("secrets.out.k"), []string{valueAt + "12: " + own}},
		"From": {"by from", "{secrets: [{name: two, from: out, data: [{key: k, value: secret.k}]}, {name: out, " +
			"data: [{key: k, value: \"'v'\"}]}]}", []string{valueAt + "7: " + own}},
		"Object": {"its name can be read", value("resources.out.metadata.name"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, typed(t, c.input, known(t))); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", c.reason, diff)
			}
		})
	}
}
