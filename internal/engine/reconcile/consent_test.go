package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
)

// Parts of the cluster of these tests.
const (
	grantsCRD = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ` +
		`referencegrants.gateway.networking.k8s.io}, spec: {versions: [{name: v1beta1, served: true}, {name: v1, ` +
		`served: true}]}}`
	foreign = `{apiVersion: v1, kind: Secret, metadata: {name: ca, namespace: shared, labels: {a: b}}, data: {x: ` +
		`Y2FuYXJ5LWNh}}`
	foreignMap = `{apiVersion: v1, kind: ConfigMap, metadata: {name: xr, namespace: shared, labels: {a: b}}, data: ` +
		`{x: map}}`

	fromApp  = `{group: example.org, kind: App, namespace: team}`
	toSecret = `{group: "", kind: Secret}`
	toCA     = `{group: "", kind: Secret, name: ca}`
)

// grant returns a ReferenceGrant of the namespace shared.
func grant(from, to string) string {
	return fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {name: g, `+
		`namespace: shared}, spec: {from: [%s], to: [%s]}}`, from, to)
}

// settle calls as Crossplane does, until the requirements are stable. It returns what each call requires that the call
// before it did not.
func (s *scene) settle(t *testing.T) (r *reconcile.Result, required [][]string, err error) {
	t.Helper()
	seen := map[string]bool{}
	for range 6 {
		if r, err = s.call(t); err != nil {
			return nil, required, err
		}
		var more []string
		for _, q := range r.Requirements {
			if key := strings.TrimPrefix(q.Key(), "export.fn.crossplane.io/"); !seen[key] && !strings.Contains(key, "=xr-") {
				seen[key], more = true, append(more, key)
			}
		}
		if required = append(required, more); !r.Unread {
			return r, required, nil
		}
		s.find(r)
	}
	t.Fatal("the requirements are not stable")
	return nil, nil, nil
}

// The order in which a source in the namespace shared is read.
var (
	readCRD = []string{"apiextensions.k8s.io/v1/CustomResourceDefinition//name=" +
		"referencegrants.gateway.networking.k8s.io"}
	readGrants = []string{"gateway.networking.k8s.io/v1/ReferenceGrant/shared/labels="}
	readCA     = []string{"v1/Secret/shared/name=ca"}
	readMap    = []string{"v1/ConfigMap/shared/name=xr"}
)

// Without a grant for it, an object of another namespace is never required, and its export waits.
func TestConsent(t *testing.T) {
	const (
		secret = `sources: [{name: ca, apiVersion: v1, kind: Secret, namespace: shared}]` +
			"\nsecrets: [{name: out, data: [{key: k, value: secrets.ca.x}]}]"
		labeled = `sources: [{name: ca, apiVersion: v1, kind: Secret, namespace: shared, matchLabels: {a: b}}]` +
			"\nsecrets: [{name: out, data: [{key: k, value: secrets.ca.x}]}]"
		computed = `sources: [{name: m, apiVersion: v1, kind: ConfigMap, namespace: shared, nameExpression: ` +
			`composite.metadata.name}]` + "\nsecrets: [{name: out, data: [{key: k, value: sources.m.data.x}]}]"

		none = `secrets.ca (Secret shared/ca, which no ReferenceGrant in namespace "shared" permits: its owner can ` +
			`apply ` +
			`{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {name: "app-team-secret-ca", ` +
			`namespace: "shared"}, ` +
			`spec: {from: [{group: "example.org", kind: "App", namespace: "team"}], to: [{group: "", kind: "Secret", ` +
			`name: "ca"}]}})`
		noLabels = `secrets.ca (Secret with a=b in shared, which no ReferenceGrant in namespace "shared" permits: ` +
			`its owner can apply ` +
			`{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {name: "app-team-secret", ` +
			`namespace: "shared"}, ` +
			`spec: {from: [{group: "example.org", kind: "App", namespace: "team"}], to: [{group: "", kind: ` +
			`"Secret"}]}})`
		noMap = `sources.m (ConfigMap shared/xr, which no ReferenceGrant in namespace "shared" permits`
		noCRD = `secrets.ca (Secret shared/ca, which needs a ReferenceGrant, but the cluster does not serve ` +
			`gateway.networking.k8s.io/v1: install the Gateway API v1.5 or later)`
	)
	refused, served := [][]string{readCRD, readGrants, nil}, [][]string{readCRD, readGrants, readCA, nil}
	for name, c := range map[string]struct {
		reason   string
		input    string
		cluster  []string
		requires [][]string
		want     string // of the data of the export, or of why it waits
	}{
		"Named": {"a grant for the object", secret, []string{grantsCRD, grant(fromApp, toCA)}, served,
			"canary-ca"},
		"Kind": {"a grant for the kind", secret, []string{grantsCRD, grant(fromApp, toSecret)}, served,
			"canary-ca"},
		"Label": {"labels select any name", labeled, []string{grantsCRD, grant(fromApp, toSecret)},
			[][]string{readCRD, readGrants, {"v1/Secret/shared/labels=a=b"}, nil}, "canary-ca"},
		"Computed": {"the name that an expression returns", computed,
			[]string{grantsCRD, grant(fromApp, `{group: "", kind: ConfigMap, name: xr}`)},
			[][]string{readCRD, readGrants, readMap, nil}, "map"},
		"NoCRD": {"a kind that does not exist is not listed", secret, nil, [][]string{readCRD, nil}, noCRD},
		"OldCRD": {"nor is a version that is not served", secret,
			[]string{strings.Replace(grantsCRD, "name: v1, served: true", "name: v1, served: false", 1)},
			[][]string{readCRD, nil}, noCRD},
		"None": {"no consent", secret, []string{grantsCRD}, refused, none},
		"NoLabels": {"a grant for one name is not one for each that has the labels", labeled,
			[]string{grantsCRD, grant(fromApp, toCA)}, refused, noLabels},
		"NotComputed": {"the composite's author chose another name", computed,
			[]string{grantsCRD, grant(fromApp, `{group: "", kind: ConfigMap, name: settings}`)}, refused, noMap},
		"Namespace": {"a grant of another namespace", secret, []string{grantsCRD,
			strings.Replace(grant(fromApp, toCA), "namespace: shared", "namespace: team", 1)}, refused, none},
		"FromSpace": {"for another namespace", secret, []string{grantsCRD,
			grant(strings.Replace(fromApp, "team", "teams", 1), toCA)}, refused, none},
		"FromKind": {"for another kind", secret, []string{grantsCRD,
			grant(strings.Replace(fromApp, "App", "Apps", 1), toCA)}, refused, none},
		"FromGroup": {"for another group", secret, []string{grantsCRD,
			grant(strings.Replace(fromApp, "example.org", "example.com", 1), toCA)}, refused, none},
		"ToKind": {"another kind", secret, []string{grantsCRD, grant(fromApp, `{group: "", kind: ConfigMap}`)},
			refused, none},
		"ToGroup": {"another group", secret, []string{grantsCRD, grant(fromApp, `{group: v1, kind: Secret}`)},
			refused, none},
		"ToName": {"another name", secret, []string{grantsCRD, grant(fromApp,
			strings.Replace(toCA, "ca}", "ca2}", 1))}, refused, none},
		"Halves": {"one grant must permit both", secret, []string{grantsCRD,
			grant(fromApp, `{group: "", kind: ConfigMap}`), grant("{group: a, kind: b, namespace: c}", toCA)}, refused,
			none},
		"Deleted": {"a deletion that something delays", secret, []string{grantsCRD,
			strings.Replace(grant(fromApp, toCA), "metadata: {", "metadata: {deletionTimestamp: now, ", 1)}, refused,
			none},
		"Own": {"an object of the own namespace needs no grant",
			strings.Replace(secret, "namespace: shared", "namespace: team", 1),
			[]string{strings.Replace(foreign, "shared", "team", 1)}, [][]string{{"v1/Secret/team/name=ca"}, nil},
			"canary-ca"},
		"Cluster": {
			"nor does an object without a namespace",
			`sources: [{name: s, apiVersion: v1, kind: Node, scope: Cluster}]` +
				"\nsecrets: [{name: out, data: [{key: k, value: sources.s.data.x}]}]",
			[]string{`{apiVersion: v1, kind: Node, metadata: {name: s}, data: {x: node}}`},
			[][]string{{"v1/Node//name=s"}, nil}, "node",
		},
	} {
		for _, asked := range []string{"field", "flag"} {
			t.Run(name+"/"+asked, func(t *testing.T) {
				input := c.input
				if asked == "field" {
					input = "requireGrants: true\n" + input
				}
				s := newScene(t, plantest.Exports(input), "cluster: ["+strings.Join(append(c.cluster, foreign,
					foreignMap), ", ")+"]")
				s.req.RequireGrants = asked == "flag"
				r, required, err := s.settle(t)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.requires, required); diff != "" {
					t.Errorf("Run(...): %s: requirements of each call: -want, +got:\n%s", c.reason, diff)
				}
				if got := show(r)[0]; !strings.Contains(got, c.want) ||
					strings.Contains(got, "canary") != strings.Contains(c.want, "canary") {
					t.Errorf("Run(...): %s: want %q, got %q", c.reason, c.want, got)
				}
			})
		}
	}
}

// Which composites have a namespace that a grant can name.
func TestConsentOfComposites(t *testing.T) {
	const (
		input = "requireGrants: true\nsources: [{name: ca, apiVersion: v1, kind: Secret, namespace: " +
			"shared}]\nsecrets: [{name: out, metadata: {namespace: team}, data: [{key: k, value: secrets.ca.x}]}]"
		own = "requireGrants: true\nsources: [{name: m, apiVersion: v1, kind: ConfigMap}]\nsecrets: [{name: out, " +
			"metadata: {namespace: team}, data: [{key: k, value: sources.m.data.x}]}]"
		all = "requireGrants: true\nsources: [{name: m, apiVersion: v1, kind: ConfigMap, scope: Cluster, " +
			"matchLabels: {a: b}}]\nsecrets: [{name: out, data: [{key: k, value: 'sources.m[0].data.x'}]}]"
		bound = "composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}, spec: " +
			"{claimRef: {apiVersion: example.org/v1, kind: AppClaim, namespace: team, name: app}}}"
		claim = "{apiVersion: example.org/v1, kind: AppClaim, metadata: {namespace: team, name: app}, spec: " +
			"{resourceRef: {apiVersion: example.org/v1, kind: App, name: xr}}}"
		cluster = "composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}, spec: " +
			"{crossplane: {}}}"

		homeless = "sources[0].namespace: cannot be read with requireGrants: the composite is cluster scoped and has " +
			"no claim, and a " +
			"ReferenceGrant permits only composites of a namespace: make the composite namespaced, or leave the source out"
	)
	readClaim := []string{"example.org/v1/AppClaim/team/name=app"}
	for name, c := range map[string]struct {
		reason           string
		input, composite string
		objects          []string
		requires         [][]string
		want             string
	}{
		"Claim": {"the namespace of the claim", input, bound, []string{grant(fromApp, toCA), claim},
			[][]string{slices.Concat(readClaim, readCRD), readGrants, readCA, nil}, "canary-ca"},
		"NotClaim": {"the claim names another composite", input, bound,
			[]string{grant(fromApp, toCA), strings.Replace(claim, "name: xr", "name: other", 1)},
			[][]string{slices.Concat(readClaim, readCRD)}, "AppClaim team/app, which the composite's spec.claimRef " +
				"names, is not its claim"},
		"Homeless": {"no grant can name it", input, cluster, []string{grant(fromApp, toCA)}, nil, homeless},
		"ClaimRef": {"a composite author wrote a claim into it", input,
			strings.Replace(cluster, "crossplane: {}", "crossplane: {}, claimRef: {apiVersion: example.org/v1, kind: "+
				"AppClaim, namespace: team, name: app}", 1), []string{grant(fromApp, toCA), claim}, nil, homeless},
		"Required": {"objects that the Composition requires itself",
			"requireGrants: true\nsecrets: [{name: out, data: [{key: k, value: 'sources.given[0].data.x'}]}]",
			"seeded: {given: [" + foreignMap + "]}", []string{grant(fromApp, toCA)}, [][]string{nil, nil},
			"sources.given, which cannot be used: requireGrants is set, and it has objects of other namespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, plantest.Exports(c.input), c.composite, "cluster: ["+strings.Join(append(c.objects,
				grantsCRD, foreign), ", ")+"]")
			if first, err := s.call(t); c.composite == bound && (err != nil || len(first.Requirements) != 2) {
				t.Errorf("Run(...): %s: the first call requires not only the claim and the CRD: %v, %v", c.reason,
					first, err)
			}
			r, required, err := s.settle(t)
			got := fmt.Sprint(err)
			if err == nil {
				got = show(r)[0]
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("Run(...): %s: want %q, got %q", c.reason, c.want, got)
			}
			if diff := cmp.Diff(c.requires, required); diff != "" {
				t.Errorf("Run(...): %s: requirements of each call: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}
