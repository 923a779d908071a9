package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// ref names the Composition of the composite.
const ref = `composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, namespace: team, uid: u1}, spec: {crossplane: {compositionRef: {name: apps.example.org}}}}`

// instance is a composed resource with a status and connection details.
func instance(status, details string) string {
	return `resources: {app-db: {object: {apiVersion: rds.example.org/v1, kind: Instance, metadata: {name: db-1, namespace: team}, spec: {writeConnectionSecretToRef: {name: c}}, status: ` + status + `}, details: ` + details + `}}`
}

// Each missing input has what is known about it, and the outcome has a command that shows more.
func TestMissingInputs(t *testing.T) {
	const (
		describe    = "kubectl describe instance.rds.example.org db-1 --namespace team"
		composition = "kubectl get composition apps.example.org --output yaml"
		ready       = "{conditions: [{type: Synced, status: 'False'}, {type: Ready, status: 'True'}]}"
		unready     = "{conditions: [{type: Ready, status: 'False'}]}"
	)
	input := func(from, value string) string {
		return `secrets: [{name: own, from: ` + from + `, data: [{key: k, value: "` + value + `"}]}]`
	}
	own := func(value string) string { return `secrets: [{name: own, data: [{key: k, value: "` + value + `"}]}]` }
	cases := map[string]struct {
		reason, input, objects string
		want, see              string // want is what follows "waits for"
	}{
		"OnlyKey": {
			"there is only one key", input("app-db", "secret.password"), instance(ready, "{port: canary}"),
			"secrets['app-db'].password (Instance db-1 is ready, and has only the key port: select another key)", describe,
		},
		"NoReference": {
			"the provider writes none", input("app-db", "secret.password"), strings.Replace(instance(ready, "{}"), "{writeConnectionSecretToRef: {name: c}}", "{}", 1),
			"secrets['app-db'].password (Instance db-1 is ready, and has no spec.writeConnectionSecretToRef: add it to app-db in the Composition)", describe,
		},
		"ComposedSecret": {
			"a Secret is not the resource of a provider", input("app-db", "secret.password"),
			strings.Replace(instance(ready, "{}"), "rds.example.org/v1, kind: Instance", "v1, kind: Secret", 1),
			"secrets['app-db'].password (Secret db-1 is ready, and has no connection details, because it is a Secret itself: " +
				"read it as secrets.<name>, by a source of kind Secret with another name)", "kubectl describe secret db-1 --namespace team",
		},
		"Find": {
			"no expression names the inputs of a find", `secrets: [{name: own, dataFrom: [{find: {path: app}}]}]`, instance(unready, "{}"),
			"resources['app-db'] to be ready (Instance db-1), secrets['app-db'] (Instance db-1 is not ready, and has no connection details)", describe,
		},
		"SourceKeyMisspelled": {
			"only a similar key of a source is named", `sources: [{name: ca, apiVersion: v1, kind: Secret}]
` + input("app-db", "secrets.ca['tls.cert']"), `cluster: [{apiVersion: v1, kind: Secret, metadata: {name: ca, namespace: team}, data: {tls.crt: Y2FuYXJ5, zzz: Y2FuYXJ5}}]`,
			"secrets.ca['tls.cert'] (Secret ca exists: did you mean tls.crt?)", "kubectl describe secret ca --namespace team",
		},
		"EnvironmentMisspelled": {
			"a similar field is suggested", own("environment.region"), "environment: {regoin: eu, kind: Environment}",
			"environment.region (the environment has no such field: did you mean regoin?)", composition,
		},
		"EnvironmentData": {
			"the environment is the data", own("environment.data.region"), "environment: {region: eu}",
			"environment.data (leave data out, because the environment is the data of the EnvironmentConfigs)",
			composition,
		},
		"EnvironmentField": {
			"the field exists, and lacks another one",
			own("environment.region.name"),
			"environment: {region: {zone: eu}}",
			"environment.region.name", "",
		},
		"OptionalField": {
			"the expression already reads a field that may be missing",
			input("app-db", "resource.status.address.?name.orValue('x')"),
			instance(ready, "{}"),
			"resources['app-db'].status.address (Instance db-1 is ready, and lacks it: select another " +
				"field, or write .?address for a field that may be missing)",
			describe,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, plantest.Exports(c.input), ref, c.objects)
			r := s.run(t)
			_, message, _ := strings.Cut(r.Objects[0].Message, " waits for ")
			got := []string{message, r.Objects[0].See}
			if diff := cmp.Diff([]string{c.want, c.see}, got); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", c.reason, diff)
			}
			if text := s.text(t, r); strings.Contains(text, canary) {
				t.Errorf("a secret is in the text:\n%s", text)
			}
		})
	}
}

// A composite author learns no names of the Composition, and not whether it composes a resource that is not allowed.
func TestAuthorsAreSuggestedNothing(t *testing.T) {
	const input = `fromComposite: {fieldPath: spec.operatorSpec, allow: {secrets: [db], resources: [db, chace]}}`
	s := newScene(t, plantest.Exports(input),
		`composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, namespace: team, uid: u1}, spec: {operatorSpec: {dynamicSecrets: [{name: a, key: k, value: secret.pasword}, {name: a, key: l, value: resources.chace.x}, {name: a, key: m, value: resources.db.x}, {name: a, key: o, value: "resources['ca' + 'che'].x"}]}}}`,
		`desired: {cache: {apiVersion: v1, kind: Pod}}`)
	r := s.run(t)
	want := []string{`Waiting nothing | Secret "a" is not created: key "k" waits for secret.pasword; key "l" waits for resources.chace (no earlier step composes it); key "m" waits for resources.db.x; key "o" waits for resources.cache`}
	if diff := cmp.Diff(want, show(r)); diff != "" || r.Objects[0].See != "" {
		t.Errorf("Run(...): -want, +got:\n%s\nand the command is %q", diff, r.Objects[0].See)
	}
}

// Suggestions take time, so a request has only as many as a message can show.
func TestFewSuggestions(t *testing.T) {
	var exports []string
	for i := range 30 {
		exports = append(exports, fmt.Sprintf("{name: e%d, data: [{key: k, value: secrets.databas%02d.x}]}", i, i))
	}
	s := newScene(t, plantest.Exports("secrets: ["+strings.Join(exports, ", ")+"]"), "desired: {database: {apiVersion: v1, kind: Pod}}")
	r := s.run(t)
	if n := strings.Count(s.text(t, r), "did you mean database?"); n != 10 {
		t.Errorf("want 10 suggestions, got %d: %s", n, s.text(t, r))
	}
	if r.Failed != 0 {
		t.Errorf("%d expressions failed", r.Failed)
	}
}
