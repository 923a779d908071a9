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
composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, namespace: team, uid: u1}, spec: {size: 3,
  region: eu, %s}}`, spec)
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
  fromComposite/Secret/a: {object: {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: team}, type: Opaque,
    data: {k: b2xk}}}
  fromComposite/Secret/b: {object: {apiVersion: v1, kind: Secret, metadata: {name: b, namespace: team}, type: Opaque,
    data: {k: b2xk}}}
  fromComposite/ConfigMap/c: {object: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: team},
    data: {k: old}}}
`

func TestAuthors(t *testing.T) {
	const (
		dns = "use lower-case letters, digits, '-' and '.', and start and end each part between dots with a letter " +
			"or a digit"
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
					{name: a, key: url, value: "self.spec.region + ':' + secret.password", labels: {app: shop},
					  annotations: {note: x}},
					{name: a, key: size, value: "string(resource.spec.size) + composite.metadata.name"},
					{name: a, value: "{'user': secret.username}", labels: {app: shop}}],
				configMapExpressions: [{name: a, key: host, value: resources.db.status.endpoint}]}`,
			want: []string{
				"Available ConfigMap team/a {data: {host: db.example.org}}",
				"Available Secret team/a {data: {size: 3xr, url: eu:canary-pass, user: canary-user}, metadata: " +
					"{annotations: {note: x}, labels: {app: shop}}}",
			},
		},
		"DoesNotCompile": {
			reason: "the path is in the composite, and the other object is made",
			spec: `operatorSpec: {secretExpressions: [{name: b, key: k, value: "'v'"}, {name: a, key: k, value: ` +
				`"1 +"}]}`,
			objects: observedAuthors,
			want: []string{
				"Held! " + heldA + ` | Secret "a" is kept unchanged: ` + at +
					`secretExpressions[1].value:1:4: ends too early: a value is missing after +`,
				"Available Secret team/b {data: {k: v}}",
			},
		},
		"LabelsNotAllowed": {
			reason: "each key that is not allowed is named once, and the allowed keys are also named",
			input:  "fromComposite: {fieldPath: spec.operatorSpec, allow: {labels: [example.org/]}}",
			spec: `operatorSpec: {secretExpressions: [
				{name: a, key: k, value: "'v'", labels: {app: x, owner: helm, team: x, example.org/b: x},
				  annotations: {argocd.argoproj.io/hook: PreSync}},
				{name: b, key: k, value: "'v'", labels: {app: x, app.kubernetes.io/name: x, example.org/b: x}}]}`,
			want: []string{
				`Held! nothing | Secret "a" is not created: ` + at +
					`secretExpressions[0].labels: cannot set "owner", "team": the Composition allows only app, ` +
					`app.kubernetes.io/..., example.org/...: use one of these, or add it to ` +
					`fromComposite.allow.labels of the Composition; ` +
					at + `secretExpressions[0].annotations: cannot set "argocd.argoproj.io/hook": the Composition ` +
					`allows no annotations: leave it out, or add it to fromComposite.allow.annotations of the ` +
					`Composition`,
				"Available Secret team/b {data: {k: v}, metadata: {labels: {app: x, app.kubernetes.io/name: x, " +
					"example.org/b: x}}}",
			},
		},
		"NotAllowed": {
			reason: "only what allow lists, however it is spelled",
			spec: `operatorSpec: {secretExpressions: [
				{name: a, key: a, value: secrets.cache.password}, {name: a, key: b,
				  value: "string(resources.cache.status)"},
				{name: a, key: c, value: environment.region}, {name: a, key: d, value: "string(context.x)"}, {name: a,
				  key: e, value: variables.x}, {name: a, key: f, value: "string(sources.x)"}]}`,
			want: []string{`Held! nothing | Secret "a" is not created: ` +
				at + `secretExpressions[0].value:1:14: secrets.cache is not allowed here: the Composition allows ` +
				`only secrets.db; ` +
				at + `secretExpressions[1].value:1:23: resources.cache is not allowed here: the Composition allows ` +
				`only resources.db; ` +
				at + `secretExpressions[2].value:1:12: environment is not allowed here; ` +
				at + `secretExpressions[3].value:1:8: there is no variable context here: the variables are ` +
				`composite, environment, resource, resources, secret, secrets, self; ` +
				at + `secretExpressions[4].value:1:1: there is no variable variables here: the variables are ` +
				`composite, environment, resource, resources, secret, secrets, self; ` +
				at + `secretExpressions[5].value:1:8: there is no variable sources here: the variables are ` +
				`composite, environment, resource, resources, secret, secrets, self`},
		},
		"SecretIntoConfigMap": {
			reason: "secret data flows into Secrets only; no list of exceptions here",
			spec: `operatorSpec: {configMapExpressions: [{name: a, key: k, value: secret.password}, {name: a, key: ` +
				`l, value: "secrets.db.?x.orValue('')"}], dynamicConfigMaps: [{name: a, key: m, value: ` +
				`"string(size(secret))"}]}`,
			want: []string{`Held! nothing | ConfigMap "a" is not created: ` + at +
				`configMapExpressions[0].value:1:7: secret` + only + `; ` +
				at + `configMapExpressions[1].value:1:22: secrets` + only + `; ` + at +
				`dynamicConfigMaps[0].value:1:13: secret` + only},
		},
		"Unclear": {
			reason:  "an entry without a name may be any object's: nothing of its kind is dropped",
			objects: observedAuthors,
			spec:    `operatorSpec: {secretExpressions: [{name: a, key: k, value: "'v'"}, {key: k, value: "'w'"}]}`,
			want: []string{
				"Available Secret team/a {data: {k: v}}",
				`Held Secret team/b {data: {k: old}} | Secret "b" is kept unchanged, because it is unknown whether ` +
					`it is still requested`,
				`Held! | ` + at + `secretExpressions[1].name: must be set, for example orders-url`,
			},
		},
		"EarlierStepKeepsItsObject": {
			reason: "an existing object that an earlier step composes is left to that step, even if it is unclear " +
				"who requests it",
			objects: observedAuthors + `
desired:
  fromComposite/Secret/a: {apiVersion: v1, kind: Secret, metadata: {name: a}}
  fromComposite/Secret/b: {apiVersion: v1, kind: Secret, metadata: {name: b}}`,
			spec: `operatorSpec: {secretExpressions: [{name: a, key: k, value: "'v'"}, {key: k, value: "'w'"}]}`,
			want: []string{
				`Conflict! nothing | Secret "a": an earlier step of the pipeline also composes it: choose ` +
					`another name in ` + at + `secretExpressions[0].name`,
				`Held! | ` + at + `secretExpressions[1].name: must be set, for example orders-url`,
			},
		},
		"SomebodyElses": {
			reason: "an object that is not the composite's is a conflict, not a victim",
			objects: `
cluster: [{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: team}, data: {k: Y2FuYXJ5}},
				{apiVersion: v1, kind: Secret, metadata: {name: b, namespace: team, ownerReferences: [{controller: true,
				  uid: u9, kind: App, name: other}]}},
				{apiVersion: v1, kind: Secret, metadata: {name: c, namespace: team,
				  annotations: {crossplane.io/composition-resource-name: gone}, ownerReferences: [{controller: true,
				  uid: u1, kind: App, name: xr}]}},
				{apiVersion: v1, kind: Secret, metadata: {name: d, namespace: team,
				  annotations: {crossplane.io/composition-resource-name: fromComposite/Secret/d},
				  ownerReferences: [{controller: true, uid: u1, kind: App, name: xr}]}}]`,
			spec: `operatorSpec: {dynamicSecrets: [{name: a, key: k, value: "'v'"}, {name: b, key: k, value: "'v'"}, ` +
				`{name: c, key: k, value: "'v'"}, {name: d, key: k, value: "'v'"}]}`,
			want: []string{
				`Conflict! nothing | Secret "a": Secret team/a exists and has no controller: delete it, or set ` + at +
					`dynamicSecrets[0].name to another name`,
				`Conflict! nothing | Secret "b": Secret team/b exists and is controlled by App "other": set ` + at +
					`dynamicSecrets[1].name to another name`,
				`Conflict! nothing | Secret "c": Secret team/c is the composed resource "gone" of this composite: ` +
					`set ` + at + `dynamicSecrets[2].name to another name`, "Available Secret team/d {data: {k: v}}",
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
  fromComposite/ConfigMap/a: {object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: theirs},
    data: {k: old}}}
  fromComposite/Secret/b: {object: {apiVersion: v1, kind: Secret, metadata: {name: b, namespace: theirs},
    data: {k: b2xk}}}
`
		lookUp = "ConfigMap theirs/a"
	)
	composite := func(spec string) string {
		return `composite: {apiVersion: example.org/v1, kind: XApp, metadata: {name: xr, uid: u1}, spec: {` + spec +
			` operatorSpec: {dynamicConfigMaps: [{name: a, key: k, value: "'v'"}]}}}`
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
		"None": {"it has no claim", composite(""), "", []string{none}, nil},
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

// What an earlier step composed for the author gives way to an export.
func TestAuthorsOfAnEarlierStep(t *testing.T) {
	r := newScene(t, plantest.Exports(url), "desired: {fromComposite/Secret/xr-url: {apiVersion: v1, kind: Secret, "+
		"metadata: {name: xr-url}}, fromComposite/Secret/x: {apiVersion: v1, kind: Secret, metadata: {name: "+
		"x}}}").run(t)
	if diff := cmp.Diff([]string{"Available Secret team/xr-url {data: {host: db.example.org, user: canary-user}}"},
		show(r)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"fromComposite/Secret/xr-url"}, r.Drop); diff != "" {
		t.Errorf("dropped: -want, +got:\n%s", diff)
	}
}

// Each limit on what one composite's author may have is there by itself.
// What an object had before it was kept still counts: otherwise, objects could grow one after the other.
func TestAnnotationsOfKeptObjectsCount(t *testing.T) {
	var entries, observed []string
	for i := range 6 {
		entries = append(entries, fmt.Sprintf("{name: a%d, key: k, value: composite.spec.later}", i))
		observed = append(observed, fmt.Sprintf(`fromComposite/ConfigMap/a%d: {object: {apiVersion: v1, kind: ConfigMap,
  metadata: {name: a%[1]d, namespace: team, ownerReferences: [{apiVersion: example.org/v1, kind: App, name: xr, uid: u1,
    controller: true}], annotations: {crossplane.io/composition-resource-name: fromComposite/ConfigMap/a%[1]d, a: %s}},
  data: {k: v}}}`, i, strings.Repeat("a", 200<<10)))
	}
	entries = append(entries, `{name: b, key: k, value: "'v'"}`)
	s := newScene(t, plantest.Exports("fromComposite: {fieldPath: spec.operatorSpec, allow: {annotations: [a]}}"),
		asks("operatorSpec: {configMapExpressions: ["+strings.Join(entries, ", ")+"]}")+
			"\nresources: {"+strings.Join(observed, ", ")+"}")
	got := strings.Join(show(s.run(t)), "\n")
	if !strings.Contains(got, "returns too much data") {
		t.Errorf("got %.3000s, want no further object", strings.ReplaceAll(got, strings.Repeat("a", 200<<10), "..."))
	}
}

func TestAuthorsLimits(t *testing.T) {
	keys := func(prefix string) string {
		return fmt.Sprintf("lists.range(600).transformMapEntry(i, v, {'%s' + string(v): 'x'})", prefix)
	}
	text := strings.Repeat("a", 200<<10)
	const input = "fromComposite: {fieldPath: spec.operatorSpec, allow: {annotations: [a, b, c]}}"
	var annotated []string
	for i := range 6 {
		annotated = append(annotated, fmt.Sprintf(`{name: a%d, key: k, value: "'v'", annotations: {a: self.spec.text}}`,
			i))
	}
	long := "'" + strings.Repeat("a", 4000) + "'"
	for name, c := range map[string]struct{ reason, spec, want string }{
		"Keys": {"of all objects together", `operatorSpec: {dynamicConfigMaps: [{name: a, valueMap: "` +
			keys("a") + `"}, {name: b, valueMap: "` + keys("b") + `"}]}`, "returns too much data"},
		"Texts": {"annotations count as data does", "text: " + text + ", operatorSpec: {configMapExpressions: [" +
			strings.Join(annotated, ", ") + "]}", "is too large"},
		"Characters": {"labels that may be expressions count",
			fmt.Sprintf(`operatorSpec: {configMapExpressions: [
  {name: a, key: k, value: "'v'", annotations: {a: "%s", b: "%s", c: "%s"}}]}`, long, long, long),
			"all expressions of the composite together"},
		"Fuel": {"an author's expression may do less",
			`operatorSpec: {configMapExpressions: [{name: a, key: k,
  value: "string(lists.range(9000).map(x, x+x+x+x+x+x+x+x).size())"}]}`, "was stopped: it exceeds the limit"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(show(newScene(t, plantest.Exports(input), asks(c.spec)).run(t)), "\n")
			if !strings.Contains(got, c.want) {
				t.Errorf("%s: want %q, got %.500s", c.reason, c.want, got)
			}
		})
	}
}
