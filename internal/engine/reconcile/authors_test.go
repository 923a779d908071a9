package reconcile_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// authorsInput is an input that allows the composite author to read db, and that also exports db
// itself.
const authorsInput = `
secrets:
- name: own
  from: db
  data: [{key: p, value: secret.password}]
fromComposite:
  fieldPath: spec.operatorSpec
  allow: {secrets: [db], resources: [db], labels: [a, b, c, d, e, f, g, l], annotations: [a, b, c, note]}
`

// own is what becomes of the input's own Secret, whatever the author writes.
const own = "Available Secret team/xr-own {data: {p: canary-pass}}"

// asks is the composite of base, whose author writes this in spec.
func asks(spec string) string {
	return fmt.Sprintf(`
composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, namespace: team, uid: u1}, spec: {size: 3, region: eu, %s}}`, spec)
}

// observedAuthors are two Secrets and a ConfigMap that the author requested for once.
const observedAuthors = `
resources:
  db:
    object: {apiVersion: example.org/v1, kind: DB, metadata: {name: db-1}, status: {endpoint: db.example.org}}
    details: {username: canary-user, password: canary-pass}
  cache:
    object: {apiVersion: example.org/v1, kind: Cache, metadata: {name: cache-1}, status: {endpoint: cache.example.org}}
    details: {password: canary-cache}
  fromComposite/Secret/a: {object: {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: team}, type: Opaque, data: {k: b2xk}}}
  fromComposite/Secret/b: {object: {apiVersion: v1, kind: Secret, metadata: {name: b, namespace: team}, type: Opaque, data: {k: b2xk}}}
  fromComposite/ConfigMap/c: {object: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: team}, data: {k: old}}}
`

func TestAuthors(t *testing.T) {
	const (
		dns   = "use lower-case letters, digits, '-' and '.', and start and end each part between dots with a letter or a digit"
		heldA = "Secret team/a {data: {k: old}}"
		only  = " may be used only in the value of a Secret: move it to secretExpressions or dynamicSecrets"
		at    = "spec.operatorSpec."
	)
	for name, c := range map[string]struct {
		reason  string
		input   string // authorsInput if empty
		spec    string // of the composite
		objects string
		want    []string // without own
	}{
		"AzureServiceOperator": {
			reason: "entries of one name are one object; self, resource and composite are the composite",
			spec: `operatorSpec: {
				secretExpressions: [
					{name: a, key: url, value: "self.spec.region + ':' + secret.password", labels: {app: shop}, annotations: {note: x}},
					{name: a, key: size, value: "string(resource.spec.size) + composite.metadata.name"},
					{name: a, value: "{'user': secret.username}", labels: {app: shop}}],
				configMapExpressions: [{name: a, key: host, value: resources.db.status.endpoint}]}`,
			want: []string{
				"Available ConfigMap team/a {data: {host: db.example.org}}",
				"Available Secret team/a {data: {size: 3xr, url: eu:canary-pass, user: canary-user}, metadata: {annotations: {note: x}, labels: {app: shop}}}",
			},
		},
		"Waiting": {
			reason: "what is not there yet is no mistake",
			spec:   `operatorSpec: {secretExpressions: [{name: a, key: k, value: secret.token}, {name: a, key: l, value: self.status.id}]}`,
			want:   []string{`Waiting nothing | Secret "a" is not created: key "k" waits for secret.token; key "l" waits for composite.status`},
		},
		"DoesNotCompile": {
			reason:  "the path is in the composite, and the other object is made",
			spec:    `operatorSpec: {secretExpressions: [{name: b, key: k, value: "'v'"}, {name: a, key: k, value: "1 +"}]}`,
			objects: observedAuthors,
			want: []string{
				"Held! " + heldA + ` | Secret "a" is kept unchanged: ` + at + `secretExpressions[1].value:1:4: ends too early: a value is missing after +`,
				"Available Secret team/b {data: {k: v}}",
			},
		},
		"WrongTypes": {
			reason: "a value without a key must be a map, and a value with a key must not be a map",
			spec:   `operatorSpec: {secretExpressions: [{name: a, value: "'v'"}, {name: a, key: k, value: "{'a': 'b'}"}], dynamicSecrets: [{name: a, key: k, value: "1"}]}`,
			want: []string{`Held! nothing | Secret "a" is not created: ` +
				at + `secretExpressions[0].value:1:1: must return a map(string, string), but returns a string: write for example {'key': 'value'} (with a key, value must return the value of that key); ` +
				at + `secretExpressions[1].value:1:1: must return a string, but returns a map(string, string): select one of its keys, or encode it as one text with json.encode(...) (without a key, value must return a map of keys and values); ` +
				at + `dynamicSecrets[0].value:1:1: must return a string, but returns an int: write it in quotes, '1'`},
		},
		"Labels": {
			reason: "two entries must agree, and what is reserved is reserved",
			spec: `operatorSpec: {secretExpressions: [{name: a, key: k, value: "'v'", labels: {l: one}}, {name: a, key: m, value: "'v'", labels: {l: two}},
				{name: b, key: k, value: "'v'", labels: {crossplane.io/composite: other}, annotations: {export.fn.crossplane.io/generator: x}}]}`,
			want: []string{
				`Held! nothing | Secret "a" is not created: ` + at + `secretExpressions[1].labels: another entry sets another value of "l" for Secret "a": keep one of them`,
				`Held! nothing | Secret "b" is not created: ` + at + `secretExpressions[2].labels: cannot set label "crossplane.io/composite": Crossplane sets it to find the objects of a composite again; leave it out; ` +
					at + `secretExpressions[2].annotations: cannot set annotation "export.fn.crossplane.io/generator": function-export keeps its own state there; leave it out`,
			},
		},
		"LabelsNotAllowed": {
			reason: "each key that is not allowed is named once, and the allowed keys are also named",
			input:  "fromComposite: {fieldPath: spec.operatorSpec, allow: {labels: [example.org/]}}",
			spec: `operatorSpec: {secretExpressions: [
				{name: a, key: k, value: "'v'", labels: {app: x, owner: helm, team: x, example.org/b: x}, annotations: {argocd.argoproj.io/hook: PreSync}},
				{name: b, key: k, value: "'v'", labels: {app: x, app.kubernetes.io/name: x, example.org/b: x}}]}`,
			want: []string{
				`Held! nothing | Secret "a" is not created: ` + at + `secretExpressions[0].labels: cannot set "owner", "team": the Composition allows only app, app.kubernetes.io/..., example.org/...: use one of these, or add it to fromComposite.allow.labels of the Composition; ` +
					at + `secretExpressions[0].annotations: cannot set "argocd.argoproj.io/hook": the Composition allows no annotations: leave it out, or add it to fromComposite.allow.annotations of the Composition`,
				"Available Secret team/b {data: {k: v}, metadata: {labels: {app: x, app.kubernetes.io/name: x, example.org/b: x}}}",
			},
		},
		"NotAllowed": {
			reason: "only what allow lists, however it is spelled",
			spec: `operatorSpec: {secretExpressions: [
				{name: a, key: a, value: secrets.cache.password}, {name: a, key: b, value: "string(resources.cache.status)"},
				{name: a, key: c, value: environment.region}, {name: a, key: d, value: "string(context.x)"}, {name: a, key: e, value: variables.x}, {name: a, key: f, value: "string(sources.x)"}]}`,
			want: []string{`Held! nothing | Secret "a" is not created: ` +
				at + `secretExpressions[0].value:1:14: secrets.cache is not allowed here: the Composition allows only secrets.db; ` +
				at + `secretExpressions[1].value:1:23: resources.cache is not allowed here: the Composition allows only resources.db; ` +
				at + `secretExpressions[2].value:1:12: environment is not allowed here; ` +
				at + `secretExpressions[3].value:1:8: there is no variable context here: the variables are composite, environment, resource, resources, secret, secrets, self; ` +
				at + `secretExpressions[4].value:1:1: there is no variable variables here: the variables are composite, environment, resource, resources, secret, secrets, self; ` +
				at + `secretExpressions[5].value:1:8: there is no variable sources here: the variables are composite, environment, resource, resources, secret, secrets, self`},
		},
		"NotAllowedComputed": {
			reason:  "a name that is computed finds what is allowed only",
			objects: observedAuthors,
			spec: `operatorSpec: {secretExpressions: [
				{name: p, key: a, value: "secrets.map(k, k).join(',') + resources.map(k, k).join(',') + string('cache' in secrets)"},
				{name: q, key: k, value: "secrets['ca' + 'che'].password"}, {name: r, key: k, value: "secrets[?'ca' + 'che'].?password.orValue('none')"}], dynamicSecrets: [{name: a, key: k, value: "'v'"}, {name: b, key: k, value: "'v'"}], dynamicConfigMaps: [{name: c, key: k, value: "'v'"}]}`,
			want: []string{
				"Available ConfigMap team/c {data: {k: v}}", "Available Secret team/a {data: {k: v}}", "Available Secret team/b {data: {k: v}}",
				"Available Secret team/p {data: {a: dbdbfalse}}",
				`Waiting nothing | Secret "q" is not created: key "k" waits for secrets.cache`,
				"Available Secret team/r {data: {k: none}}",
			},
		},
		"SecretIntoConfigMap": {
			reason: "secret data flows into Secrets only; no list of exceptions here",
			spec:   `operatorSpec: {configMapExpressions: [{name: a, key: k, value: secret.password}, {name: a, key: l, value: "secrets.db.?x.orValue('')"}], dynamicConfigMaps: [{name: a, key: m, value: "string(size(secret))"}]}`,
			want: []string{`Held! nothing | ConfigMap "a" is not created: ` + at + `configMapExpressions[0].value:1:7: secret` + only + `; ` +
				at + `configMapExpressions[1].value:1:22: secrets` + only + `; ` + at + `dynamicConfigMaps[0].value:1:13: secret` + only},
		},
		"Environment": {
			reason:  "where it is allowed",
			input:   "fromComposite: {fieldPath: spec.operatorSpec, allow: {environment: true}}",
			objects: "environment: {region: eu}",
			spec:    `operatorSpec: {configMapExpressions: [{name: a, key: k, value: environment.region}]}`,
			want:    []string{"Available ConfigMap team/a {data: {k: eu}}"},
		},
		"Unclear": {
			reason:  "an entry without a name may be any object's: nothing of its kind is dropped",
			objects: observedAuthors,
			spec:    `operatorSpec: {secretExpressions: [{name: a, key: k, value: "'v'"}, {key: k, value: "'w'"}]}`,
			want: []string{
				"Available Secret team/a {data: {k: v}}",
				`Held Secret team/b {data: {k: old}} | Secret "b" is kept unchanged, because it is unknown whether it is still requested`,
				`Held! | ` + at + `secretExpressions[1].name: must be set to the name of the Secret`,
			},
		},
		"MisspeltList": {
			reason:  "a name that is near to a list's would have its objects dropped",
			objects: observedAuthors,
			spec:    `operatorSpec: {secretExpresions: [{name: a}], dynamicConfigMaps: [{name: c, key: k, value: "'v'"}], other: [1], configMapExpression: x}`,
			want: []string{
				"Available ConfigMap team/c {data: {k: v}}",
				"Held " + heldA + ` | Secret "a" is kept unchanged, because it is unknown whether it is still requested`,
				`Held Secret team/b {data: {k: old}} | Secret "b" is kept unchanged, because it is unknown whether it is still requested`,
				`Held! | ` + at + `secretExpresions: is an unknown field: did you mean secretExpressions?`,
			},
		},
		"EarlierStepKeepsItsObject": {
			reason: "an existing object that an earlier step composes is left to that step, even if it is unclear who requests it",
			objects: observedAuthors + `
desired:
  fromComposite/Secret/a: {apiVersion: v1, kind: Secret, metadata: {name: a}}
  fromComposite/Secret/b: {apiVersion: v1, kind: Secret, metadata: {name: b}}`,
			spec: `operatorSpec: {secretExpressions: [{name: a, key: k, value: "'v'"}, {key: k, value: "'w'"}]}`,
			want: []string{
				`Conflict! nothing | Secret "a": an earlier step of the pipeline also composes it: choose ` +
					`another name in ` + at + `secretExpressions[0].name`,
				`Held! | ` + at + `secretExpressions[1].name: must be set to the name of the Secret`,
			},
		},
		"SomebodyElses": {
			reason: "an object that is not the composite's is a conflict, not a victim",
			objects: `cluster: [{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: team}, data: {k: Y2FuYXJ5}},
				{apiVersion: v1, kind: Secret, metadata: {name: b, namespace: team, ownerReferences: [{controller: true, uid: u9, kind: App, name: other}]}},
				{apiVersion: v1, kind: Secret, metadata: {name: c, namespace: team, annotations: {crossplane.io/composition-resource-name: gone}, ownerReferences: [{controller: true, uid: u1, kind: App, name: xr}]}},
				{apiVersion: v1, kind: Secret, metadata: {name: d, namespace: team, annotations: {crossplane.io/composition-resource-name: fromComposite/Secret/d}, ownerReferences: [{controller: true, uid: u1, kind: App, name: xr}]}}]`,
			spec: `operatorSpec: {dynamicSecrets: [{name: a, key: k, value: "'v'"}, {name: b, key: k, value: "'v'"}, {name: c, key: k, value: "'v'"}, {name: d, key: k, value: "'v'"}]}`,
			want: []string{
				`Conflict! nothing | Secret "a": Secret team/a exists and has no controller: delete it, or set ` + at + `dynamicSecrets[0].name to another name`,
				`Conflict! nothing | Secret "b": Secret team/b exists and is controlled by App "other": set ` + at + `dynamicSecrets[1].name to another name`,
				`Conflict! nothing | Secret "c": Secret team/c is the composed resource "gone" of this composite: set ` + at + `dynamicSecrets[2].name to another name`,
				"Available Secret team/d {data: {k: v}}",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			input, want := c.input, c.want
			if input == "" {
				input, want = authorsInput, append([]string{own}, c.want...)
			}
			s := newScene(t, plantest.Exports(input), asks(c.spec), c.objects)
			r := s.run(t)
			if diff := cmp.Diff(want, show(r)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
			if text := s.text(t, r); strings.Contains(text, canary) {
				t.Errorf("a secret is in the text:\n%s", text)
			}
			allAuthors(t, r)
		})
	}
}

// An error about a value in place of an object or a list names the kind of the value, and does not show the value.
func TestAuthorsKinds(t *testing.T) {
	const noObject, noList = "Held! | spec.operatorSpec: must be an object, but is ", "Held! | spec.operatorSpec.dynamicSecrets: must be a list, but is "
	for name, c := range map[string]struct {
		reason, spec string
		want         []string
	}{
		"String":       {"a text may be a secret", "operatorSpec: hush", []string{noObject + "a string"}},
		"Number":       {"so may a number", "operatorSpec: 4711", []string{noObject + "a number"}},
		"List":         {"even an empty one is no object", "operatorSpec: []", []string{noObject + "a list"}},
		"StringAsList": {"a text may be a secret", "operatorSpec: {dynamicSecrets: hush}", []string{noList + "a string"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := show(newScene(t, plantest.Exports("fromComposite: {fieldPath: spec.operatorSpec}"), asks(c.spec)).run(t))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// A name that the author took before an export came to have it is the export's
// from then on, and the author's object goes when the author lets go of it.
func TestAuthorsDoNotSquat(t *testing.T) {
	const taken = `
cluster: [{apiVersion: v1, kind: Secret, metadata: {name: xr-own, namespace: team, annotations: {crossplane.io/composition-resource-name: fromComposite/Secret/xr-own},
  ownerReferences: [{controller: true, uid: u1, kind: App, name: xr}]}, type: Opaque, data: {k: b2xk}}]
resources:
  db: {object: {apiVersion: example.org/v1, kind: DB}, details: {password: canary-pass}}
  fromComposite/Secret/xr-own: {object: {apiVersion: v1, kind: Secret, metadata: {name: xr-own, namespace: team}, type: Opaque, data: {k: b2xk}}}
`
	const waits = `Waiting nothing | Secret "own" (team/xr-own) is not created: it waits for Secret team/xr-own, which a composite author requests, to be deleted`
	for name, c := range map[string]struct {
		reason, spec string
		want         []string
	}{
		"Holds": {
			reason: "while it is requested for, it is let go of, so that Crossplane deletes it",
			spec:   `operatorSpec: {secretExpressions: [{name: xr-own, key: k, value: "'v'"}]}`,
			want: []string{waits, `Conflict! nothing | ` +
				`Secret "xr-own": the Composition itself composes Secret team/xr-own: choose another name in spec.operatorSpec.secretExpressions[0].name`},
		},
		"LetsGo": {
			reason: "the export does not keep it",
			spec:   "x: 1",
			want:   []string{waits},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, show(newScene(t, plantest.Exports(authorsInput), asks(c.spec), taken).run(t))); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// The composite of a legacy claim has the claim's namespace only if the claim refers to it, because
// a composite author could write any namespace into the composite. Otherwise nothing changes. A composite without a
// namespace cannot export. That is not an error of the input.
func TestAuthorsNamespace(t *testing.T) {
	const (
		input   = "fromComposite: {fieldPath: spec.operatorSpec}"
		nothing = "spec.operatorSpec: nothing is exported: "
		none    = "Held! | " + nothing + "the composite has no namespace of its own"
		noClaim = "the composite's spec.claimRef does not name a claim of this composite: remove it, or correct it"
		notOwn  = "AppClaim theirs/app, which the composite's spec.claimRef names, is not its claim"
		claim   = "claimRef: {apiVersion: example.org/v1, kind: AppClaim, namespace: theirs, name: app},"
		other   = "cluster: [{apiVersion: example.org/v1, kind: AppClaim, metadata: {namespace: theirs, name: app}, " +
			"spec: {resourceRef: {%s}}}]"
		its      = "apiVersion: example.org/v2, kind: XApp, name: xr"
		existing = `
resources:
  fromComposite/ConfigMap/a: {object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: theirs}, data: {k: old}}}
  fromComposite/Secret/b: {object: {apiVersion: v1, kind: Secret, metadata: {name: b, namespace: theirs}, data: {k: b2xk}}}
`
		lookUp = "ConfigMap theirs/a"
	)
	composite := func(spec string) string {
		return `composite: {apiVersion: example.org/v1, kind: XApp, metadata: {name: xr, uid: u1}, spec: {` + spec + ` operatorSpec: {dynamicConfigMaps: [{name: a, key: k, value: "'v'"}]}}}`
	}
	for name, c := range map[string]struct {
		reason, composite, objects string
		want, requires             []string
	}{
		"Claim": {
			"the claim has the composite", composite(claim), fmt.Sprintf(other, its),
			[]string{"Available ConfigMap theirs/a {data: {k: v}}"}, []string{"AppClaim theirs/app", lookUp},
		},
		"AnotherGroup": {
			"the claim has a composite of another group that has the same name", composite(claim),
			fmt.Sprintf(other, "apiVersion: example.com/v1, kind: XApp, name: xr"), []string{notOwn},
			nil,
		},
		"ClaimLacksName": {
			"without a name any claim of the namespace would be read",
			composite("claimRef: {apiVersion: example.org/v1, kind: AppClaim, namespace: theirs},"),
			fmt.Sprintf(other, its), []string{noClaim}, nil,
		},
		"None": {"it has no claim", composite(""), "", []string{none}, nil},
		"Existing": {
			"objects stay, whether the author requests them or not", composite(claim), existing, []string{notOwn},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, plantest.Exports(input), c.composite, c.objects)
			r, err := s.call(t)
			if err == nil {
				s.find(r)
				r, err = s.call(t)
			}
			if err != nil {
				if diff := cmp.Diff(c.want, []string{err.Error()}); diff != "" {
					t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
				}
				return
			}
			if diff := cmp.Diff(c.want, show(r)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.requires, required(r)); diff != "" {
				t.Errorf("%s: requirements: -want, +got:\n%s", c.reason, diff)
			}
			allAuthors(t, r)
		})
	}
}

// required are the objects that a result requires, in the order of their descriptions.
func required(r *reconcile.Result) []string {
	var out []string
	for _, q := range r.Requirements {
		out = append(out, q.String())
	}
	slices.Sort(out)
	return out
}

// allAuthors checks that the author's objects, and messages about fields of the composite, are marked as the author's,
// and that no others are.
func allAuthors(t *testing.T, r *reconcile.Result) {
	t.Helper()
	for _, o := range r.Objects {
		if isTheirs := strings.HasPrefix(o.Name, "fromComposite/"+string(o.Kind)+"/"); o.Author != isTheirs {
			t.Errorf("%s %q: Author is %v", o.Kind, o.Name, o.Author)
		}
	}
	for _, o := range r.Others {
		if isTheirs := strings.HasPrefix(o.Message, "spec."); o.Author != isTheirs {
			t.Errorf("%s: Author is %v", o.Message, o.Author)
		}
	}
}

// authorsObject is an object in the cluster that a composite's author requested for.
func authorsObject(kind, name, labels, data string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: %s, metadata: {name: %s, namespace: team, labels: %s, annotations: {crossplane.io/composition-resource-name: fromComposite/%s/%s},
  ownerReferences: [{controller: true, uid: u9, kind: App, name: other}]}, data: {%s}}`, kind, name, labels, kind, name, data)
}

// An author's object is never a source, by name or by labels, and an author cannot use the name of
// a source.
func TestAuthorsAreNoSources(t *testing.T) {
	input := plantest.Exports(`
sources:
- {name: ca, apiVersion: v1, kind: Secret, nameExpression: "composite.metadata.name + '-ca'", optional: true}
- {name: one, apiVersion: v1, kind: Secret, matchLabels: {ca: "yes"}}
- {name: zones, apiVersion: v1, kind: ConfigMap, matchLabels: {zone: "yes"}}
configMaps:
- {name: all, data: [{key: zones, value: "sources.zones.map(z, z.metadata.name).join(',')"}, {key: hosts, value: "resources.map(k, k).join(',')"}]}
secrets:
- {name: own, data: [{key: ca, value: "secrets.?ca.?crt.orValue('none')"}, {key: one, value: secrets.one.crt}]}
fromComposite: {fieldPath: spec.operatorSpec}`)
	objects := `
cluster:
- {apiVersion: v1, kind: Secret, metadata: {name: good, namespace: team, labels: {ca: "yes"}}, data: {crt: Z29vZA==}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: good, namespace: team, labels: {zone: "yes"}}}
- ` + authorsObject("Secret", "evil", `{ca: "yes"}`, "crt: ZXZpbA==") + `
- ` + authorsObject("Secret", "xr-ca", "{}", "crt: ZXZpbA==") + `
- ` + authorsObject("ConfigMap", "evil", `{zone: "yes"}`, "") + `
resources:
  db: {object: {apiVersion: example.org/v1, kind: DB}}
  fromComposite/ConfigMap/mine: {object: {apiVersion: v1, kind: ConfigMap, metadata: {name: mine, namespace: team}}}
`
	got := show(newScene(t, input, asks(`operatorSpec: {dynamicSecrets: [{name: xr-ca, key: crt, value: "'evil'"}]}`), objects).run(t))
	want := []string{
		"Available Secret team/xr-own {data: {ca: none, one: good}}",
		"Available ConfigMap team/xr-all {data: {hosts: db, zones: good}}",
		`Conflict! nothing | Secret "xr-ca": a source of the Composition refers to it: choose another name in spec.operatorSpec.dynamicSecrets[0].name`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// setText sets a field of an object to a text. It is much faster than a large text in a scene.
func setText(o wire.Struct, text string, path ...string) {
	fields := o.Proto().GetFields()
	for _, name := range path[:len(path)-1] {
		fields = fields[name].GetStructValue().GetFields()
	}
	fields[path[len(path)-1]] = structpb.NewStringValue(text)
}

// Existing objects count, so that kept and new objects together are within the limit. An object
// that is created again no longer counts as existing. An object that is not listed yet does not count twice.
func TestAuthorsDoNotGrow(t *testing.T) {
	half := strings.Repeat("a", 500<<10)
	object := func(name string) string {
		return fmt.Sprintf(`{apiVersion: v1, kind: Secret, metadata: {name: %s, namespace: team, annotations: {crossplane.io/composition-resource-name: fromComposite/Secret/%s},
  ownerReferences: [{controller: true, uid: u1, kind: App, name: xr}]}, type: Opaque, data: {k: ""}}`, name, name)
	}
	objects := "desired: {x: {apiVersion: v1, kind: Secret, metadata: {name: taken}}}\ncluster: [" + object("unlisted") + "]\nresources:\n"
	for _, name := range []string{"a", "b", "taken"} {
		objects += "  fromComposite/Secret/" + name + ": {object: " + object(name) + "}\n"
	}
	for name, c := range map[string]struct{ reason, asks, want string }{
		"Held": {
			"two objects exist, and are kept",
			`{name: a, key: k, value: "self.status.later"}, {name: b, key: k, value: "self.status.later"}, {name: c, ` +
				`key: k, value: "self.spec.text"}`,
			"Held Held Held",
		},
		"Anew": {
			"two objects exist, and are made again",
			`{name: a, key: k, value: self.spec.text}, {name: b, key: k, value: self.spec.text}`, "Available Available",
		},
		"Others": {
			"an object that is deleted does not count",
			`{name: b, key: k, value: self.spec.text}, {name: c, key: k, value: self.spec.text}`, "Available Available",
		},
		"GivesWay": {
			"nor does an object that is deleted because the Composition composes it",
			`{name: a, key: k, value: self.spec.text}, {name: taken, key: k, value: self.spec.text}, {name: z, key: ` +
				`k, value: self.spec.text}`,
			"Available Conflict Available",
		},
		"Unlisted": {
			"an object that is not listed yet does not add to the limit",
			`{name: unlisted, key: k, value: self.spec.text}, {name: x, key: k, value: self.spec.text}, {name: z, ` +
				`key: k, value: self.spec.text}`,
			"Available Available Held",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(
				t, plantest.Exports("fromComposite: {fieldPath: spec.operatorSpec}"),
				asks(fmt.Sprintf(`operatorSpec: {secretExpressions: [%s]}`, c.asks)), objects,
			)
			setText(s.req.Observation.Composite.Object, half, "spec", "text")
			for name, res := range s.req.Observation.Resources {
				if plan.IsAuthors(name) {
					setText(res.Object, base64.StdEncoding.EncodeToString([]byte(half)), "data", "k")
				}
			}
			setText(s.cluster[0], base64.StdEncoding.EncodeToString([]byte(half)), "data", "k")
			r := s.run(t)
			var got []string
			for _, o := range r.Objects {
				got = append(got, o.State.String())
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s: -want, +got:\n%s\n%.300s", c.reason, diff, show(r))
			}
		})
	}
}

// What an earlier step composed for the author gives way to an export.
func TestAuthorsOfAnEarlierStep(t *testing.T) {
	r := newScene(t, plantest.Exports(url), "desired: {fromComposite/Secret/xr-url: {apiVersion: v1, kind: Secret, metadata: {name: xr-url}}, fromComposite/Secret/x: {apiVersion: v1, kind: Secret, metadata: {name: x}}}").run(t)
	if diff := cmp.Diff([]string{"Available Secret team/xr-url {data: {host: db.example.org, user: canary-user}}"}, show(r)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"fromComposite/Secret/xr-url"}, r.Drop); diff != "" {
		t.Errorf("dropped: -want, +got:\n%s", diff)
	}
}

// While the author's exports are unknown, no object is dropped, and new objects are created only up
// to the limit. Otherwise their number would grow each time.
func TestAuthorsDoNotBecomeMore(t *testing.T) {
	const input, noName = "fromComposite: {fieldPath: spec.operatorSpec}", `{key: k, value: "'v'"}`
	for name, c := range map[string]struct {
		reason    string
		exist     int      // objects that exist, named old0 and so on
		requested []string // names of objects
		unknown   bool     // another entry has no name
		want      map[string]int
		refused   []string
	}{
		"UpToTheLimit": {
			reason: "two more objects fit", exist: limits.AuthorEntries - 2, requested: []string{"new0", "new1", "new2"}, unknown: true,
			want: map[string]int{"old kept": limits.AuthorEntries - 2, "new Available": 2, "new Held": 1},
			refused: []string{
				`Held nothing | ConfigMap "new2" is not created: there are 62 objects, and it is unknown which of ` +
					`them are still requested`,
			},
		},
		"OldOnes": {
			reason: "an object that exists already is not created", exist: limits.AuthorEntries,
			requested: []string{"old0", "old1", "new0"}, unknown: true,
			want: map[string]int{"old Available": 2, "old kept": limits.AuthorEntries - 2, "new Held": 1},
			refused: []string{
				`Held nothing | ConfigMap "new0" is not created: there are 64 objects, and it is unknown which of ` +
					`them are still requested`,
			},
		},
		"Known": {
			reason: "the objects that are no longer requested for are deleted", exist: limits.AuthorEntries, requested: []string{"new0"},
			want: map[string]int{"new Available": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := "desired: {x: {apiVersion: v1, kind: ConfigMap, metadata: {name: in-use}}}\nresources:\n"
			for i := range c.exist {
				objects += fmt.Sprintf(
					"  fromComposite/ConfigMap/old%d: {object: {apiVersion: v1, kind: ConfigMap, metadata: {name: "+
						"old%d, namespace: team}}}\n",
					i, i,
				)
			}
			var entries []string
			for _, name := range c.requested {
				entries = append(entries, fmt.Sprintf(`{name: %s, key: k, value: "'v'"}`, name))
			}
			if c.unknown {
				entries = append(entries, noName)
			}
			r := newScene(
				t, plantest.Exports(input),
				asks(`operatorSpec: {dynamicConfigMaps: [`+strings.Join(entries, ", ")+`]}`), objects,
			).run(t)
			got := map[string]int{}
			for _, o := range r.Objects {
				_, name := plan.AuthorsKind(o.Name)
				what := strings.TrimRight(name, "0123456789") + " " + o.State.String()
				if o.State == reconcile.Held && o.Desired != nil {
					what = strings.TrimRight(name, "0123456789") + " kept"
				}
				got[what]++
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s\n%s", c.reason, diff, strings.Join(show(r), "\n"))
			}
			allAuthors(t, r)
			var refused []string
			for _, line := range show(r) {
				if strings.HasPrefix(line, "Held nothing") {
					refused = append(refused, line)
				}
			}
			if diff := cmp.Diff(c.refused, refused); diff != "" {
				t.Errorf("%s: objects that are not created: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// The rights of one input do not apply to another one, although both share compiled expressions.
func TestAuthorsShareNothing(t *testing.T) {
	cache := plan.NewCache(plantest.Env)
	spec := asks(`operatorSpec: {secretExpressions: [{name: a, key: k, value: secrets.db.password}]}`)
	for range 2 {
		for allow, want := range map[string]string{
			"{secrets: [db]}":    "Available Secret team/a {data: {k: canary-pass}}",
			"{secrets: [cache]}": `Held! nothing | Secret "a" is not created: spec.operatorSpec.secretExpressions[0].value:1:11: secrets.db is not allowed here: the Composition allows only secrets.cache`,
		} {
			input := plantest.Exports("fromComposite: {fieldPath: spec.operatorSpec, allow: " + allow + "}")
			s := newScene(t, input, spec)
			s.plan, _, _ = cache.Get(wire.Of(plantest.Parse(t, input)))
			if diff := cmp.Diff([]string{want}, show(s.run(t))); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", allow, diff)
			}
		}
	}
}

// BenchmarkAuthors is a composite that requests a Secret of three keys: with what is
// kept compiled, and beside it as it would be without.
func BenchmarkAuthors(b *testing.B) {
	input := plantest.Exports(authorsInput)
	s := newScene(b, input, asks(`operatorSpec: {secretExpressions: [
		{name: a, key: url, value: "'jdbc:postgresql://%s:%d/%s'.format([resources.db.status.endpoint, resources.db.spec.port, self.metadata.name])"},
		{name: a, key: user, value: secret.username}, {name: a, key: password, value: secret.password}]}`))
	s.run(b)
	kept, _, _ := plan.NewCache(plantest.Env).Get(wire.Of(plantest.Parse(b, input)))
	for name, p := range map[string]*plan.Plan{"Kept": kept, "Compiled": s.plan} {
		b.Run(name, func(b *testing.B) {
			s.plan = p
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.call(b); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Each limit on what one composite's author may have is there by itself.
func TestAuthorsLimits(t *testing.T) {
	keys := func(prefix string) string {
		return fmt.Sprintf("lists.range(600).transformMapEntry(i, v, {'%s' + string(v): 'x'})", prefix)
	}
	text := strings.Repeat("a", 200<<10)
	const input = "fromComposite: {fieldPath: spec.operatorSpec, allow: {annotations: [a, b, c]}}"
	var annotated []string
	for i := range 6 {
		annotated = append(annotated, fmt.Sprintf(`{name: a%d, key: k, value: "'v'", annotations: {a: self.spec.text}}`, i))
	}
	long := "'" + strings.Repeat("a", 4000) + "'"
	for name, c := range map[string]struct{ reason, spec, want string }{
		"Keys":       {"of all objects together", `operatorSpec: {dynamicConfigMaps: [{name: a, valueMap: "` + keys("a") + `"}, {name: b, valueMap: "` + keys("b") + `"}]}`, "returns too much data"},
		"Texts":      {"annotations count as data does", "text: " + text + ", operatorSpec: {configMapExpressions: [" + strings.Join(annotated, ", ") + "]}", "is too large"},
		"Characters": {"labels that may be expressions count", fmt.Sprintf(`operatorSpec: {configMapExpressions: [{name: a, key: k, value: "'v'", annotations: {a: "%s", b: "%s", c: "%s"}}]}`, long, long, long), "all expressions of the composite together"},
		"Fuel":       {"an author's expression may do less", `operatorSpec: {configMapExpressions: [{name: a, key: k, value: "string(lists.range(9000).map(x, x+x+x+x+x+x+x+x).size())"}]}`, "was stopped: it exceeds the limit"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(show(newScene(t, plantest.Exports(input), asks(c.spec)).run(t)), "\n")
			if !strings.Contains(got, c.want) {
				t.Errorf("%s: want %q, got %.500s", c.reason, c.want, got)
			}
		})
	}
}
