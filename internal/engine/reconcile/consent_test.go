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
	grantsCRD  = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: referencegrants.gateway.networking.k8s.io}, spec: {versions: [{name: v1beta1, served: true}, {name: v1, served: true}]}}`
	foreign    = `{apiVersion: v1, kind: Secret, metadata: {name: ca, namespace: shared, labels: {a: b}}, data: {x: Y2FuYXJ5LWNh}}`
	foreignMap = `{apiVersion: v1, kind: ConfigMap, metadata: {name: xr, namespace: shared, labels: {a: b}}, data: {x: map}}`

	fromApp  = `{group: example.org, kind: App, namespace: team}`
	toSecret = `{group: "", kind: Secret}`
	toCA     = `{group: "", kind: Secret, name: ca}`
)

// grant returns a ReferenceGrant of the namespace shared.
func grant(from, to string) string {
	return fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {name: g, namespace: shared}, spec: {from: [%s], to: [%s]}}`, from, to)
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
	readCRD    = []string{"apiextensions.k8s.io/v1/CustomResourceDefinition//name=referencegrants.gateway.networking.k8s.io"}
	readGrants = []string{"gateway.networking.k8s.io/v1/ReferenceGrant/shared/labels="}
	readCA     = []string{"v1/Secret/shared/name=ca"}
	readMap    = []string{"v1/ConfigMap/shared/name=xr"}
)

// Without a grant for it, an object of another namespace is never required, and its export waits.
func TestConsent(t *testing.T) {
	const (
		secret   = `sources: [{name: ca, apiVersion: v1, kind: Secret, namespace: shared}]` + "\nsecrets: [{name: out, data: [{key: k, value: secrets.ca.x}]}]"
		labeled  = `sources: [{name: ca, apiVersion: v1, kind: Secret, namespace: shared, matchLabels: {a: b}}]` + "\nsecrets: [{name: out, data: [{key: k, value: secrets.ca.x}]}]"
		computed = `sources: [{name: m, apiVersion: v1, kind: ConfigMap, namespace: shared, nameExpression: composite.metadata.name}]` + "\nsecrets: [{name: out, data: [{key: k, value: sources.m.data.x}]}]"

		none = `secrets.ca (Secret shared/ca, which no ReferenceGrant in namespace "shared" permits: its owner can apply ` +
			`{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {name: "app-team-secret-ca", namespace: "shared"}, ` +
			`spec: {from: [{group: "example.org", kind: "App", namespace: "team"}], to: [{group: "", kind: "Secret", name: "ca"}]}})`
		noLabels = `secrets.ca (Secret with a=b in shared, which no ReferenceGrant in namespace "shared" permits: its owner can apply ` +
			`{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {name: "app-team-secret", namespace: "shared"}, ` +
			`spec: {from: [{group: "example.org", kind: "App", namespace: "team"}], to: [{group: "", kind: "Secret"}]}})`
		noMap = `sources.m (ConfigMap shared/xr, which no ReferenceGrant in namespace "shared" permits`
		noCRD = `secrets.ca (Secret shared/ca, which needs a ReferenceGrant, but the cluster does not serve gateway.networking.k8s.io/v1: install the Gateway API v1.5 or later)`
	)
	refused, served := [][]string{readCRD, readGrants, nil}, [][]string{readCRD, readGrants, readCA, nil}
	for name, c := range map[string]struct {
		reason   string
		input    string
		cluster  []string
		requires [][]string
		want     string // of the data of the export, or of why it waits
	}{
		"Named":       {"a grant for the object", secret, []string{grantsCRD, grant(fromApp, toCA)}, served, "canary-ca"},
		"Kind":        {"a grant for the kind", secret, []string{grantsCRD, grant(fromApp, toSecret)}, served, "canary-ca"},
		"Several":     {"entries are alternatives", secret, []string{grantsCRD, grant("{group: a, kind: b, namespace: c}, "+fromApp, `{group: "", kind: ConfigMap}, `+toCA)}, served, "canary-ca"},
		"Two":         {"grants are alternatives", secret, []string{grantsCRD, grant("{group: a, kind: b, namespace: c}", toSecret), grant(fromApp, toCA)}, served, "canary-ca"},
		"Label":       {"labels select any name", labeled, []string{grantsCRD, grant(fromApp, toSecret)}, [][]string{readCRD, readGrants, {"v1/Secret/shared/labels=a=b"}, nil}, "canary-ca"},
		"Computed":    {"the name that an expression returns", computed, []string{grantsCRD, grant(fromApp, `{group: "", kind: ConfigMap, name: xr}`)}, [][]string{readCRD, readGrants, readMap, nil}, "map"},
		"NoCRD":       {"a kind that does not exist is not listed", secret, nil, [][]string{readCRD, nil}, noCRD},
		"OldCRD":      {"nor is a version that is not served", secret, []string{strings.Replace(grantsCRD, "name: v1, served: true", "name: v1, served: false", 1)}, [][]string{readCRD, nil}, noCRD},
		"DeletedCRD":  {"its grants are being deleted", secret, []string{strings.Replace(grantsCRD, "metadata: {", "metadata: {deletionTimestamp: now, ", 1)}, [][]string{readCRD, nil}, noCRD},
		"OtherCRD":    {"of another group", secret, []string{strings.Replace(grantsCRD, "k8s.io}", "example.org}", 1)}, [][]string{readCRD, nil}, noCRD},
		"None":        {"no consent", secret, []string{grantsCRD}, refused, none},
		"NoLabels":    {"a grant for one name is not one for each that has the labels", labeled, []string{grantsCRD, grant(fromApp, toCA)}, refused, noLabels},
		"NotComputed": {"the composite's author chose another name", computed, []string{grantsCRD, grant(fromApp, `{group: "", kind: ConfigMap, name: settings}`)}, refused, noMap},
		"Namespace":   {"a grant of another namespace", secret, []string{grantsCRD, strings.Replace(grant(fromApp, toCA), "namespace: shared", "namespace: team", 1)}, refused, none},
		"FromSpace":   {"for another namespace", secret, []string{grantsCRD, grant(strings.Replace(fromApp, "team", "teams", 1), toCA)}, refused, none},
		"FromAny":     {"there is no wildcard", secret, []string{grantsCRD, grant(strings.Replace(fromApp, "team", "'*'", 1), toCA)}, refused, none},
		"FromNo":      {"the namespace is required", secret, []string{grantsCRD, grant("{group: example.org, kind: App}", toCA)}, refused, none},
		"FromKind":    {"for another kind", secret, []string{grantsCRD, grant(strings.Replace(fromApp, "App", "Apps", 1), toCA)}, refused, none},
		"FromGroup":   {"for another group", secret, []string{grantsCRD, grant(strings.Replace(fromApp, "example.org", "example.com", 1), toCA)}, refused, none},
		"FromVersion": {"a group is no version", secret, []string{grantsCRD, grant(strings.Replace(fromApp, "example.org", "example.org/v1", 1), toCA)}, refused, none},
		"ToKind":      {"another kind", secret, []string{grantsCRD, grant(fromApp, `{group: "", kind: ConfigMap}`)}, refused, none},
		"ToGroup":     {"another group", secret, []string{grantsCRD, grant(fromApp, `{group: v1, kind: Secret}`)}, refused, none},
		"ToNoGroup":   {"the group is required, even if it is empty", secret, []string{grantsCRD, grant(fromApp, `{kind: Secret}`)}, refused, none},
		"ToName":      {"another name", secret, []string{grantsCRD, grant(fromApp, strings.Replace(toCA, "ca}", "ca2}", 1))}, refused, none},
		"ToEmpty":     {"an empty name is not valid, and permits nothing", secret, []string{grantsCRD, grant(fromApp, strings.Replace(toCA, "ca}", "''}", 1))}, refused, none},
		"ToEmptyAll":  {"not even for labels", labeled, []string{grantsCRD, grant(fromApp, strings.Replace(toCA, "ca}", "''}", 1))}, refused, noLabels},
		"ToNull":      {"nor is null", secret, []string{grantsCRD, grant(fromApp, strings.Replace(toCA, "ca}", "null}", 1))}, refused, none},
		"ToNumber":    {"nor is a number", secret, []string{grantsCRD, grant(fromApp, strings.Replace(toCA, "ca}", "1}", 1))}, refused, none},
		"NotALists":   {"a malformed grant permits nothing", secret, []string{grantsCRD, strings.NewReplacer("[", "", "]", "").Replace(grant(fromApp, toCA))}, refused, none},
		"Halves":      {"one grant must permit both", secret, []string{grantsCRD, grant(fromApp, `{group: "", kind: ConfigMap}`), grant("{group: a, kind: b, namespace: c}", toCA)}, refused, none},
		"Deleted":     {"a deletion that something delays", secret, []string{grantsCRD, strings.Replace(grant(fromApp, toCA), "metadata: {", "metadata: {deletionTimestamp: now, ", 1)}, refused, none},
		"OldVersion":  {"of another version", secret, []string{grantsCRD, strings.Replace(grant(fromApp, toCA), "io/v1,", "io/v1beta1,", 1)}, refused, none},
		"OtherGrant":  {"of another group", secret, []string{grantsCRD, strings.Replace(grant(fromApp, toCA), "gateway.networking.k8s.io", "example.org", 1)}, refused, none},
		"Own":         {"an object of the own namespace needs no grant", strings.Replace(secret, "namespace: shared", "namespace: team", 1), []string{strings.Replace(foreign, "shared", "team", 1)}, [][]string{{"v1/Secret/team/name=ca"}, nil}, "canary-ca"},
		"Cluster": {
			"nor does an object without a namespace", `sources: [{name: s, apiVersion: v1, kind: Node, scope: Cluster}]` + "\nsecrets: [{name: out, data: [{key: k, value: sources.s.data.x}]}]",
			[]string{`{apiVersion: v1, kind: Node, metadata: {name: s}, data: {x: node}}`}, [][]string{{"v1/Node//name=s"}, nil}, "node",
		},
	} {
		for _, asked := range []string{"field", "flag"} {
			t.Run(name+"/"+asked, func(t *testing.T) {
				input := c.input
				if asked == "field" {
					input = "requireGrants: true\n" + input
				}
				s := newScene(t, plantest.Exports(input), "cluster: ["+strings.Join(append(c.cluster, foreign, foreignMap), ", ")+"]")
				s.req.RequireGrants = asked == "flag"
				r, required, err := s.settle(t)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.requires, required); diff != "" {
					t.Errorf("Run(...): %s: requirements of each call: -want, +got:\n%s", c.reason, diff)
				}
				if got := show(r)[0]; !strings.Contains(got, c.want) || strings.Contains(got, "canary") != strings.Contains(c.want, "canary") {
					t.Errorf("Run(...): %s: want %q, got %q", c.reason, c.want, got)
				}
			})
		}
	}
}

// Each place that reads a source waits for a grant, even if the source or the key is optional. The existing
// object is kept, and objects that Crossplane read before are not used.
func TestConsentIsRevoked(t *testing.T) {
	const (
		observed = `resources: {out: {object: {apiVersion: v1, kind: Secret, metadata: {name: xr-out, namespace: team, uid: u2, ` +
			`ownerReferences: [{apiVersion: example.org/v1, kind: App, name: xr, uid: u1, controller: true}]}, data: {k: b2xk}}}}`
		seeded = `seeded: {export.fn.crossplane.io/v1/Secret/shared/name=ca: [` + foreign + `], export.fn.crossplane.io/v1/ConfigMap/shared/name=xr: [` + foreignMap + `]}`
		source = `{name: ca, apiVersion: v1, kind: Secret, namespace: shared, optional: true}, {name: xr, apiVersion: v1, kind: ConfigMap, namespace: shared, optional: true}`
	)
	for name, input := range map[string]string{
		"Value":        `secrets: [{name: out, data: [{key: k, value: secrets.ca.x}]}]`,
		"OptionalKey":  `secrets: [{name: out, data: [{key: k, value: "secrets.?ca.?x", optional: true}]}]`,
		"Default":      `secrets: [{name: out, data: [{key: k, value: "secrets.?ca.?x.orValue('new')"}]}]`,
		"Has":          `secrets: [{name: out, data: [{key: k, value: "has(secrets.ca) ? 'a' : 'b'"}]}]`,
		"In":           `secrets: [{name: out, data: [{key: k, value: "'ca' in secrets ? 'a' : 'b'"}]}]`,
		"Names":        `secrets: [{name: out, data: [{key: k, value: "secrets.map(n, secrets[n].x).join('')"}]}]`,
		"Entries":      `secrets: [{name: out, data: [{key: k, value: "secrets.transformList(n, s, s.x).join('')"}]}]`,
		"Variable":     "variables: [{name: v, value: secrets.ca.x}]\n" + `secrets: [{name: out, data: [{key: k, value: variables.v, optional: true}]}]`,
		"ValueMap":     `secrets: [{name: out, data: [{valueMap: secrets.ca, optional: true}]}]`,
		"Extract":      `secrets: [{name: out, dataFrom: [{extract: {key: ca}, optional: true}]}]`,
		"Find":         `secrets: [{name: out, dataFrom: [{find: {path: ca/}, optional: true}]}]`,
		"Source":       `secrets: [{name: out, data: [{key: k, value: "sources.?xr.?data.?x", optional: true}]}]`,
		"Sources":      `secrets: [{name: out, data: [{key: k, value: "sources.map(n, sources[n].data.x).join('')"}]}]`,
		"Label":        `secrets: [{name: out, metadata: {labelsExpression: "{'a': sources.xr.data.x}"}, data: [{key: k, value: "'new'"}]}]`,
		"OtherKey":     `secrets: [{name: out, data: [{key: k, value: "'new'"}, {key: l, value: secrets.ca.x, optional: true}]}]`,
		"Keeper":       "generators: [{name: g, uuid: {}, refreshPolicy: OnChange, keepersExpression: sources.xr.data.x}]\n" + `secrets: [{name: out, data: [{key: k, value: generated.g.uuid}]}]`,
		"Certificate":  "generators: [{name: g, certificate: {subject: {commonName: a}, dnsNamesExpression: '[sources.xr.data.x]'}}]\n" + `secrets: [{name: out, data: [{key: k, value: "generated.g['tls.crt']"}]}]`,
		"OptionalPart": "generators: [{name: g, uuid: {}, refreshPolicy: OnChange, keepersExpression: 'sources.?xr.?data'}]\n" + `secrets: [{name: out, data: [{key: k, value: "generated.g.uuid"}]}]`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, plantest.Exports("requireGrants: true\nsources: ["+source+"]\n"+input), observed, seeded, "cluster: ["+grantsCRD+"]")
			r, required, err := s.settle(t)
			if err != nil {
				t.Fatal(err)
			}
			if text := fmt.Sprint(required); strings.Contains(text, "v1/Secret/shared") || strings.Contains(text, "v1/ConfigMap/shared") {
				t.Errorf("Run(...) requires %s", text)
			}
			const kept = "Held! Secret team/xr-out {data: {k: old}}"
			if got := show(r); !strings.HasPrefix(got[0], kept) || !strings.Contains(fmt.Sprint(got), "which no ReferenceGrant in") {
				t.Errorf("Run(...): want %q and why, got %q", kept, got)
			}
			if len(r.Generations) > 0 {
				t.Errorf("Run(...) creates generations: %v", r.Generations)
			}
		})
	}
}

// Which composites have a namespace that a grant can name.
func TestConsentOfComposites(t *testing.T) {
	const (
		input   = "requireGrants: true\nsources: [{name: ca, apiVersion: v1, kind: Secret, namespace: shared}]\nsecrets: [{name: out, metadata: {namespace: team}, data: [{key: k, value: secrets.ca.x}]}]"
		own     = "requireGrants: true\nsources: [{name: m, apiVersion: v1, kind: ConfigMap}]\nsecrets: [{name: out, metadata: {namespace: team}, data: [{key: k, value: sources.m.data.x}]}]"
		all     = "requireGrants: true\nsources: [{name: m, apiVersion: v1, kind: ConfigMap, scope: Cluster, matchLabels: {a: b}}]\nsecrets: [{name: out, data: [{key: k, value: 'sources.m[0].data.x'}]}]"
		bound   = "composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}, spec: {claimRef: {apiVersion: example.org/v1, kind: AppClaim, namespace: team, name: app}}}"
		claim   = "{apiVersion: example.org/v1, kind: AppClaim, metadata: {namespace: team, name: app}, spec: {resourceRef: {apiVersion: example.org/v1, kind: App, name: xr}}}"
		cluster = "composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}, spec: {crossplane: {}}}"

		homeless = "sources[0].namespace: cannot be read with requireGrants: the composite is cluster scoped and has no claim, and a " +
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
		"Claim": {"the namespace of the claim", input, bound, []string{grant(fromApp, toCA), claim}, [][]string{slices.Concat(readClaim, readCRD), readGrants, readCA, nil}, "canary-ca"},
		"NotClaim": {"the claim names another composite", input, bound, []string{grant(fromApp, toCA), strings.Replace(claim, "name: xr", "name: other", 1)},
			[][]string{slices.Concat(readClaim, readCRD)}, "AppClaim team/app, which the composite's spec.claimRef names, is not its claim"},
		"NoClaim": {"the claim does not exist", input, bound, []string{grant(fromApp, toCA)},
			[][]string{slices.Concat(readClaim, readCRD)}, "AppClaim team/app, which the composite's spec.claimRef names, is not its claim"},
		"ClaimsOwn":    {"not even its own namespace is read before", own, bound, []string{claim, `{apiVersion: v1, kind: ConfigMap, metadata: {name: m, namespace: team}, data: {x: own}}`}, [][]string{slices.Concat(readClaim, readCRD), {"v1/ConfigMap/team/name=m"}, nil}, "own"},
		"ClaimForKind": {"a grant is for the composite", input, bound, []string{grant(strings.Replace(fromApp, "App", "AppClaim", 1), toCA), claim}, [][]string{slices.Concat(readClaim, readCRD), readGrants, nil}, "which no ReferenceGrant in namespace"},
		"Homeless":     {"no grant can name it", input, cluster, []string{grant(fromApp, toCA)}, nil, homeless},
		"ClaimRef":     {"a composite author wrote a claim into it", input, strings.Replace(cluster, "crossplane: {}", "crossplane: {}, claimRef: {apiVersion: example.org/v1, kind: AppClaim, namespace: team, name: app}", 1), []string{grant(fromApp, toCA), claim}, nil, homeless},
		"AllSpaces": {"labels without a namespace search all of them", all, "", nil, nil, "sources[0].matchLabels: must not be set for a cluster scoped kind with requireGrants, " +
			"because Crossplane would search all namespaces if the kind is namespaced: set matchName"},
		"Required": {"objects that the Composition requires itself", "requireGrants: true\nsecrets: [{name: out, data: [{key: k, value: 'sources.given[0].data.x'}]}]",
			"seeded: {given: [" + foreignMap + "]}", []string{grant(fromApp, toCA)}, [][]string{nil, nil}, "sources.given, which cannot be used: requireGrants is set, and it has objects of other namespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, plantest.Exports(c.input), c.composite, "cluster: ["+strings.Join(append(c.objects, grantsCRD, foreign), ", ")+"]")
			if first, err := s.call(t); c.composite == bound && (err != nil || len(first.Requirements) != 2) {
				t.Errorf("Run(...): %s: the first call requires not only the claim and the CRD: %v, %v", c.reason, first, err)
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

// A grant is for the input: composite authors see no more than fromComposite lists, however they name a source.
func TestConsentGivesAuthorsNothing(t *testing.T) {
	const input = `
requireGrants: true
sources: [{name: ca, apiVersion: v1, kind: Secret, namespace: shared}, {name: xr, apiVersion: v1, kind: ConfigMap, namespace: shared}]
secrets: [{name: own, data: [{key: k, value: secrets.ca.x + sources.xr.data.x}]}]
fromComposite: {fieldPath: spec.exports, allow: {secrets: [db], resources: [db, own], environment: true}}`
	for _, value := range []string{
		"secrets.ca.x", "secrets['c' + 'a'].x", "secrets.?ca.?x.orValue('none')", "secrets.map(n, n).join('')", "json.encode(secrets)",
		"sources.xr.data.x", "json.encode(sources)", "json.encode(resources)", "secrets.own.k", "secret.x", "variables.x", "generated.x.y",
	} {
		for _, list := range []string{"secretExpressions", "configMapExpressions"} {
			composite := fmt.Sprintf(`composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, namespace: team, uid: u1}, spec: {exports: {%s: [{name: theirs, key: k, value: %q}]}}}`, list, value)
			s := newScene(t, plantest.Exports(input), composite, "cluster: ["+strings.Join([]string{grantsCRD, grant(fromApp, toCA+`, {group: "", kind: ConfigMap}`), foreign, foreignMap}, ", ")+"]")
			r, _, err := s.settle(t)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range show(r) {
				theirs := strings.Contains(line, "theirs")
				if text := strings.ToLower(line); theirs && (strings.Contains(text, "canary-ca") || strings.Contains(text, "y2fuyxj5lwnh") || strings.Contains(text, "k: map")) {
					t.Errorf("%s: %s: %s", list, value, line)
				}
				if strings.Contains(line, "xr-own") && !strings.Contains(line, "canary-camap") {
					t.Errorf("the export of the input has not the values: %s", line)
				}
			}
		}
	}
}
