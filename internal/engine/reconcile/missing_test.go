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
	many := func(n int, format string) string {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf(format, i))
		}
		return strings.Join(items, ", ")
	}
	cases := map[string]struct {
		reason, input, objects string
		want, see              string // want is what follows "waits for"
	}{
		"FromMisspelled": {
			"an observed resource is suggested, even if no other step composes it", input("app-dbs", "secret.password"), instance(ready, "{}"),
			"resources['app-dbs'] (no earlier step composes it: did you mean app-db?)", composition,
		},
		"NameMisspelled": {
			"a resource of an earlier step is suggested before it exists", input("app-db", "secrets['web-pod'].x"),
			`desired: {web-pods: {apiVersion: v1, kind: Pod}, app-db: {apiVersion: v1, kind: Pod}}`,
			"secrets['web-pod'] (no earlier step composes it: did you mean web-pods?)", composition,
		},
		"ExtractMisspelled": {
			"the key of an extract is also a name", `secrets: [{name: own, dataFrom: [{extract: {key: app-bd}}]}]`, instance(ready, "{password: canary}"),
			"secrets['app-bd'] (no earlier step composes it: did you mean app-db?)", composition,
		},
		"NoneIsNear": {
			"the names are listed if none is near, without exports and generations of this step", input("web", "resource.x"),
			`desired: {cache: {apiVersion: v1, kind: Pod}, own-db: {apiVersion: v1, kind: Pod}}
resources: {own: {object: {apiVersion: v1, kind: Secret, metadata: {name: xr-own}}}, fromComposite/Secret/web1: {object: {apiVersion: v1, kind: Secret, metadata: {name: web1}}}, generated/web/1: {object: {apiVersion: v1, kind: Secret, metadata: {name: web2}}}}`,
			"resources.web (no earlier step composes it: use one of cache, own-db, or compose it in an earlier step)", composition,
		},
		"ManyNames": {
			"a long list is cut", input("web", "resource.x"), `desired: {` + many(40, "resource-%02d: {apiVersion: v1, kind: Pod}") + `}
resources: {}`,
			"resources.web (no earlier step composes it: use one of " + many(12, "resource-%02d") + " and 28 more, or compose it in an earlier step)", composition,
		},
		"Nothing":    {"there is no name at all", input("web", "resource.x"), `resources: {}`, "resources.web (no earlier step composes it: compose it in an earlier step)", composition},
		"OwnExport":  {"this step composes its own exports", input("app-db", "resources.own.x"), instance(ready, "{}"), "resources.own (an export of this step, which does not exist yet)", ""},
		"NotYet":     {"an earlier step composes it", input("web", "resource.x"), `desired: {web: {apiVersion: v1, kind: Pod}}`, "resources.web (it does not exist yet)", ""},
		"Field":      {"the resource exists, and lacks a field", input("app-db", "resource.status.address"), instance(unready, "{}"), "resources['app-db'].status.address (Instance db-1 is not ready)", describe},
		"FieldReady": {"a field of an object can be data, and is not suggested", input("app-db", "resource.status.condition"), instance(ready, "{}"), "resources['app-db'].status.condition (Instance db-1 is ready, and lacks it: select another field, or write .?condition.orValue('none') for a default)", describe},
		"FieldNoCondition": {
			"some resources have no condition Ready", input("app-db", "resource.status.address"), instance("{}", "{}"),
			"resources['app-db'].status.address (Instance db-1 exists)", describe,
		},
		"KeyMisspelled": {
			"the name of a key is not secret", input("app-db", "secret.pasword"), instance(ready, "{password: canary, username: canary}"),
			"secrets['app-db'].pasword (Instance db-1 is ready: did you mean password?)", describe,
		},
		"KeyQuoted": {
			"a key that is not an identifier", input("app-db", "secret['ca.cert']"), instance(ready, "{ca.crt: canary, username: canary}"),
			"secrets['app-db']['ca.cert'] (Instance db-1 is ready: did you mean ca.crt?)", describe,
		},
		"KeyOfMany": {
			"a long list of keys is cut", input("app-db", "secret.x"), instance(ready, "{"+many(40, "password-%02d: canary")+"}"),
			"secrets['app-db'].x (Instance db-1 is ready, and has the keys " + many(12, "password-%02d") + " and 28 more: select another key)", describe,
		},
		"OnlyKey": {
			"there is only one key", input("app-db", "secret.password"), instance(ready, "{port: canary}"),
			"secrets['app-db'].password (Instance db-1 is ready, and has only the key port: select another key)", describe,
		},
		"KeyEscaped": {
			"a key that is escaped in the expression", input("app-db", `secret['it\\'s-a-\\\\key']`), instance(ready, `{'it''s-a-\kez': canary}`),
			`secrets['app-db']['it\'s-a-\\key'] (Instance db-1 is ready: did you mean it's-a-\kez?)`, describe,
		},
		"NoDetails": {
			"the provider has written none", input("app-db", "secret.password"), instance(unready, "{}"),
			"secrets['app-db'].password (Instance db-1 is not ready, and has no connection details)", describe,
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
		"Composite": {
			"the composite is no composed resource", input("composite", "resource.spec.size"), instance(ready, "{}"),
			"resources.composite (no earlier step composes it: to read the composite, leave out from, or write composite.<field>)", "kubectl get composition apps.example.org --output yaml",
		},
		"Find": {
			"no expression names the inputs of a find", `secrets: [{name: own, dataFrom: [{find: {path: app}}]}]`, instance(unready, "{}"),
			"resources['app-db'] to be ready (Instance db-1), secrets['app-db'] (Instance db-1 is not ready, and has no connection details)", describe,
		},
		"ClusterScoped": {
			"the command has no namespace", input("app-db", "resource.status.address"), strings.Replace(instance(unready, "{}"), ", namespace: team", "", 1),
			"resources['app-db'].status.address (Instance db-1 is not ready)", "kubectl describe instance.rds.example.org db-1",
		},
		"CoreGroup": {
			"a kind without a group", input("app-db", "resource.status.address"), strings.Replace(instance(unready, "{}"), "rds.example.org/v1, kind: Instance", "v1, kind: Pod", 1),
			"resources['app-db'].status.address (Pod db-1 is not ready)", "kubectl describe pod db-1 --namespace team",
		},
		"NotRunnable": {
			"a name that a shell would interpret is in no command", input("app-db", "resource.status.address"), strings.Replace(instance(unready, "{}"), "name: db-1", `name: "$(reboot)"`, 1),
			"resources['app-db'].status.address (Instance $(reboot) is not ready)", "",
		},
		"Flag": {
			"nor is one that kubectl would read as a flag", input("app-db", "resource.status.address"), strings.Replace(instance(unready, "{}"), "name: db-1", `name: --all`, 1),
			"resources['app-db'].status.address (Instance --all is not ready)", "",
		},
		"SourceGone": {
			"a source that does not exist", `sources: [{name: ca, apiVersion: v1, kind: Secret}]
` + input("app-db", "secrets.ca.crt"), instance(ready, "{}"),
			"secrets.ca (Secret team/ca does not exist)", "",
		},
		"SourceKeyMisspelled": {
			"only a similar key of a source is named", `sources: [{name: ca, apiVersion: v1, kind: Secret}]
` + input("app-db", "secrets.ca['tls.cert']"), `cluster: [{apiVersion: v1, kind: Secret, metadata: {name: ca, namespace: team}, data: {tls.crt: Y2FuYXJ5, zzz: Y2FuYXJ5}}]`,
			"secrets.ca['tls.cert'] (Secret ca exists: did you mean tls.crt?)", "kubectl describe secret ca --namespace team",
		},
		"SourceKey": {
			"and no other", `sources: [{name: ca, apiVersion: v1, kind: Secret}]
` + input("app-db", "secrets.ca.password"), `cluster: [{apiVersion: v1, kind: Secret, metadata: {name: ca, namespace: team}, data: {tls.crt: Y2FuYXJ5, zzz: Y2FuYXJ5}}]`,
			"secrets.ca.password (Secret ca exists)", "kubectl describe secret ca --namespace team",
		},
		"EnvironmentEmpty": {
			"no EnvironmentConfig was merged", own("environment.region"), "environment: {}",
			"environment.region (add it to an EnvironmentConfig)",
			composition,
		},
		"EnvironmentMisspelled": {
			"a similar field is suggested", own("environment.region"), "environment: {regoin: eu, kind: Environment}",
			"environment.region (the environment has no such field: did you mean regoin?)", composition,
		},
		"EnvironmentOther": {
			"its fields are not listed, and the type is not suggested", own("environment.kinds"),
			"environment: {apiVersion: v1, kind: Environment, zone: eu}",
			"environment.kinds (add it to an EnvironmentConfig)", composition,
		},
		"EnvironmentVersion": {
			"the version of the type is not suggested", own("environment.apiVersions"),
			"environment: {apiVersion: v1, kind: Environment, zone: eu}",
			"environment.apiVersions (add it to an EnvironmentConfig)", composition,
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
		"OwnSecret": {
			"the data of an export is not its connection details",
			input("app-db", "secrets.own.k"),
			instance(ready, "{}"),
			"secrets.own (an export of this step, whose data cannot be read: move the expression of the key " +
				"to variables, and use the variable in both places)",
			composition,
		},
		"CompositeDetails": {
			"a composite of v2 has no connection details", own("secret.password"), "details: {}",
			"secret.password (the composite never has connection details: set from: db)", composition,
		},
		"ReadyWithoutDetails": {
			"a ready resource writes none", input("app-db", "secret.password"), instance(ready, "{}"),
			"secrets['app-db'].password (Instance db-1 is ready, and has no connection details: select a field of resources['app-db'])",
			describe,
		},
		"SecretOfAnotherGroup": {
			"only a v1 Secret has data", input("app-db", "secret.password"),
			strings.NewReplacer("kind: Instance", "kind: Secret", "{writeConnectionSecretToRef: {name: c}}", "{}").Replace(instance(ready, "{}")),
			"secrets['app-db'].password (Secret db-1 is ready, and has no spec.writeConnectionSecretToRef: " +
				"add it to app-db in the Composition)",
			"kubectl describe secret.rds.example.org db-1 --namespace team",
		},
		"CoreConfigMap": {
			"and no other object of the core group", input("app-db", "secret.password"),
			strings.NewReplacer("rds.example.org/v1, kind: Instance", "v1, kind: ConfigMap",
				"{writeConnectionSecretToRef: {name: c}}", "{}").Replace(instance(ready, "{}")),
			"secrets['app-db'].password (ConfigMap db-1 is ready, and has no " +
				"spec.writeConnectionSecretToRef: add it to app-db in the Composition)",
			"kubectl describe configmap db-1 --namespace team",
		},
		"SourceWithoutKeys": {
			"a source without data", `sources: [{name: ca, apiVersion: v1, kind: Secret}]
` + input("app-db", "secrets.ca.password"),
			"cluster: [{apiVersion: v1, kind: Secret, metadata: {name: ca, namespace: team}, status: " +
				"{conditions: [{type: Ready, status: 'True'}]}}]",
			"secrets.ca.password (Secret ca is ready)",
			"kubectl describe secret ca --namespace team",
		},
		"OptionalField": {
			"the expression already reads a field that may be missing",
			input("app-db", "resource.status.address.?name.orValue('x')"),
			instance(ready, "{}"),
			"resources['app-db'].status.address (Instance db-1 is ready, and lacks it: select another " +
				"field, or write .?address for a field that may be missing)",
			describe,
		},
		"ItemOfList": {
			"an item of an export that does not exist yet", `secrets:
- {name: own, data: [{key: k, value: "resources['users/anna'].metadata.uid"}]}
- {name: users, forEachExpression: "['bert']", keyExpression: item, data: [{key: k, value: "'v'"}]}`, instance(ready, "{}"),
			"resources['users/anna'] (an export of this step, which does not exist yet)", "",
		},
		"ListOfSource": {
			"a source with several objects",
			`sources: [{name: all, apiVersion: v1, kind: ConfigMap, matchLabels: {a: b}}]
` + own("sources.all[0].data.x"),
			"cluster: [{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: team, labels: {a: " +
				"b}}, data: {y: z}}, " +
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: y, namespace: team, labels: {a: b}}}]",
			"sources.all[0].data", "",
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
