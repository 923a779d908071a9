package reconcile_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// laws is a scene with a canary in each value that is secret: connection
// details of the composite and of a composed resource, the data of a Secret
// source, of one in another namespace that a grant permits to read, of a composed
// Secret, of a Secret in the context and of one that the Composition requires.
const laws = `
context: {earlier: {apiVersion: v1, kind: Secret, data: {k: canary},
  metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: canary}}}}
environment: {region: eu, nested: {a: [1, 2.5, {b: c}]}}
seeded: {own: [{apiVersion: v1, kind: Secret, metadata: {name: own}, data: {k: canary}, stringData: {k: canary}}]}
cluster:
- {apiVersion: v1, kind: Secret, metadata: {name: ca, namespace: team}, data: {crt: Y2FuYXJ5LWNh, canary-key: eA==}}
- {apiVersion: v1, kind: Secret, metadata: {name: theirs, namespace: shared}, data: {crt: Y2FuYXJ5LWNh,
    canary-key: eA==}}
- ` + grantsCRD + `
- {apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {name: g, namespace: shared},
    spec: {from: [` + fromApp + `], to: [` + toSecret + `]}}
resources:
  db:
    object: {apiVersion: example.org/v1, kind: DB, metadata: {name: db-1, labels: {c: 3, b: 2, a: 1, d: 4, e: 5}},
      spec: {port: 5432}, status: {endpoint: db.example.org}}
    details: {username: canary-user, password: canary-pass, empty: "", canary-key: x}
  out:
    object: {apiVersion: v1, kind: Secret, metadata: {name: xr-out, namespace: team}, type: Opaque,
      data: {k: Y2FuYXJ5LW9sZA==}}
`

// expressions to begin with: each reads secrets in a way of its own, or fails on
// one.
var expressions = []string{
	`secret.password`, `secrets.db.username + secrets.ca.crt`, `secrets.theirs.crt`, `secrets.theirs`,
	`string(timestamp(secret.password))`, `{'a': 'b'}[secret.password]`,
	`string(int(secret.password))`, `secret.password.matches(secret.username) ? 'a' : 'b'`,
	`secret.password + composite.spec.later`,
	`json.encode(variables)`, `variables['' + 'url']`, `variables.map(k, variables[k]).join(',')`,
	`json.encode(resources)`, `json.encode(context)`, `json.encode(sources)`,
	`resources.out.data.k`, `context.earlier.data.k`, `sources.own[0].data.k`,
	`cel.bind(secret, 'x', secret + .secret.password)`, `[1].map(secrets, .secrets.db.password)[0]`,
	`resources.db.metadata.labels.map(k, k).join('')`, `{'c': 'd', 'a': 'b', 'e': 'f'}.map(k, k).join('')`,
	`json.decode(secret.password)`, `secret.password.substring(100)`,
	`secret.pasword`, `secret.x`, `{secret.password: 'v', secret.password + '!': 'w'}`,
	`{'k': secret.password, 'url': variables.url}`, `secret`, `secrets.ca`, `dyn(secret).password.x`,
	`'%d'.format([secret.password])`,
	`has(secret.password) ? 'a' : 'b'`, `secret.exists(k, k.startsWith('c')) ? 'yes' : 'no'`,
	`optional.of(secret.password).optMap(p, p + p).value()`, `duration(secret.password + 's')`,
	`[secret.password]`, `resources.map(r, resources[r])`, `[context.earlier, sources.own[0]]`,
	`['a', composite.spec.later]`, `'k'`, `composite.spec.region`,
	`resources.?out.?data.?k.orValue('none')`, `secrets[composite.spec.region == 'eu' ? 'db' : 'ca'].password`,
	`[secret.password, 'x'].sort()[0]`, `composite.spec[secret.password]`,
}

// places are how many places there are.
const places = 12

// place puts an expression into one place of an input, without changes.
func place(x string, n uint8) string {
	if n%places == 11 {
		x = "(" + x + ") + string(item)" // a key depends on its item
	}
	q, err := yaml.Marshal(x)
	if err != nil {
		return ""
	}
	text := strings.TrimSuffix(strings.ReplaceAll(string(q), "\n", "\n      "), "\n      ")
	const head = `
requireGrants: true
sources: [{name: ca, apiVersion: v1, kind: Secret}, {name: theirs, apiVersion: v1, kind: Secret, namespace: shared}]
variables:
- {name: url, value: "'https://' + secrets.db.password + secrets.ca.crt"}
`
	const data = "\n  data: [{key: k, value: \"'v'\"}]"
	switch n % places {
	case 0:
		return head + "configMaps:\n- name: c\n  from: db\n  data:\n  - key: k\n    value: " + text
	case 1:
		return head + "configMaps:\n- name: c\n  from: db\n  data:\n  - valueMap: " + text
	case 2:
		return head + "status:\n- fieldPath: a\n  value: " + text
	case 3:
		return head + "secrets:\n- name: out\n  from: db\n  metadata:\n    labelsExpression: " + text + data
	case 4:
		return head + "secrets:\n- name: out\n  from: db\n  metadata:\n    annotationsExpression: " + text + data
	case 5:
		return head + "secrets:\n- name: new\n  from: db\n  metadata:\n    nameExpression: " + text + data
	case 6:
		return head + "secrets:\n- name: out\n  from: db\n  data:\n  - key: k\n    value: " + text +
			"\n  - {key: l, value: \"'v'\"}"
	case 7:
		return head + "secrets:\n- name: new\n  from: db\n  data:\n  - {key: k, value: secret.password}\n  - " +
			"valueMap: " + text + "\n  - valueMap: " + text
	case 8:
		return strings.Replace(head, "variables:\n", "variables:\n- name: fuzzed\n  value: "+text+"\n", 1) +
			"configMaps:\n- name: c\n  data:\n  - {key: k, value: variables.fuzzed, optional: true}\n  - {key: l, " +
			"value: \"'v'\"}\nstatus:\n- {fieldPath: a, value: variables.fuzzed}"
	case 10:
		return head + "configMaps:\n- name: c\n  from: db\n  forEachExpression: " + text +
			"\n  keyExpression: \"'k' + string(index)\"\n  data: [{key: k, value: json.encode(item)}]"
	case 11:
		return head + "secrets:\n- name: c\n  from: db\n  forEachExpression: \"[1, 2]\"\n  keyExpression: " + text +
			data
	default:
		return "sources:\n- name: fuzzed\n  apiVersion: v1\n  kind: ConfigMap\n  nameExpression: " + text +
			"\nstatus:\n- {fieldPath: a, value: sources.fuzzed.data.x}"
	}
}

// fuzzScene is a scene of an expression, or nil if it does not compile.
func fuzzScene(t *testing.T, x string, n uint8) *scene {
	t.Helper()
	input := plantest.Exports(place(x, n))
	in := map[string]any{}
	if yaml.Unmarshal([]byte(input), &in) != nil {
		return nil
	}
	s, err := structpb.NewStruct(in)
	if err != nil {
		return nil
	}
	if _, faults := plan.Compile(context.Background(), plantest.Env, s); len(faults) > 0 {
		return nil
	}
	out := newScene(t, input, laws)
	for _, r := range []lookup.Requirement{lookup.GrantsCRD(),
		lookup.GrantsIn("shared")} { // from the second reconcile on, Crossplane has read them before it calls
		out.req.Found[r.Key()] = out.answer(r)
	}
	return out
}

// keysInMessages matches what messages may say about secrets: the names of keys, if an expression reads one that
// does not exist.
var keysInMessages = regexp.MustCompile(`, and has (?:the keys|only the key) [-\w., ]+|: did you mean [-\w.]+\?`)

// FuzzNoSecretLeaves takes any expression in any place: no message, requirement,
// status value, ConfigMap or metadata holds secret data.
func FuzzNoSecretLeaves(f *testing.F) {
	for _, x := range expressions {
		for n := range uint8(places) {
			f.Add(x, n)
		}
	}
	f.Fuzz(func(t *testing.T, x string, n uint8) {
		if strings.Contains(x, "can") || strings.Contains(x, "ary") {
			return // spells it
		}
		s := fuzzScene(t, x, n)
		if s == nil {
			return
		}
		text := keysInMessages.ReplaceAllString(s.text(t, s.run(t)), "")
		if strings.Contains(text, canary) || strings.Contains(text, "Y2FuYXJ5") {
			t.Errorf("expression %q in place %d gives a secret away:\n%s", x, n%places, text)
		}
	})
}

// results are compared by what they answer, not by how they would answer less.
var results = cmp.Options{protocmp.Transform(), cmpopts.IgnoreUnexported(reconcile.Object{})}

// FuzzSameRequestSameResult takes any expression in any place, twice, with maps
// built anew, which Go walks in another order.
func FuzzSameRequestSameResult(f *testing.F) {
	for _, x := range expressions {
		for n := range uint8(places) {
			f.Add(x, n)
		}
	}
	f.Fuzz(func(t *testing.T, x string, n uint8) {
		a := fuzzScene(t, x, n)
		if a == nil {
			return
		}
		one := a.run(t)
		b := fuzzScene(t, x, n)
		if diff := cmp.Diff(one, b.run(t), results); diff != "" {
			t.Errorf("expression %q in place %d: results of the same request differ: -one, +other:\n%s", x, n%places,
				diff)
		}
	})
}

// FuzzObjectIsWholeHeldOrAbsent takes any subset of the inputs of a Secret: it
// has all required keys, or is as it was observed, or is not there.
func FuzzObjectIsWholeHeldOrAbsent(f *testing.F) {
	for i := range uint16(256) {
		f.Add(i)
	}
	required := []string{"ca", "host", "pass", "region", "user"}
	f.Fuzz(func(t *testing.T, bits uint16) {
		has := func(i int) bool { return bits>>i&1 == 1 }
		s := newScene(t, plantest.Exports(`
sources: [{name: ca, apiVersion: v1, kind: Secret}]
secrets:
- name: out
  from: db
  data:
  - {key: host, value: resource.status.host}
  - {key: opt, value: resource.status.opt, optional: true}
  - {valueMap: "{'user': secret.username, 'pass': secret.password}"}
  - {key: ca, value: secrets.ca.crt}
  - {key: region, value: environment.region}`), subset(has))
		out := s.run(t).Objects[0]
		if out.Desired == nil {
			if has(7) || out.State == reconcile.Available {
				t.Errorf("inputs %b: %s, and no object", bits, out.State)
			}
			return
		}
		data, err := object.DataOf(wire.Of(out.Desired))
		if err != nil {
			t.Fatal(err)
		}
		whole := true
		for _, k := range required {
			whole = whole && data[k].Len() > 0
		}
		observed := object.Held(s.req.Observation.Resources["out"].Object)
		same := cmp.Diff(observed, out.Desired, protocmp.Transform()) == ""
		if !whole && !same {
			t.Errorf("inputs %b: an object is neither complete nor kept: %s", bits, showObject(out.Desired))
		}
		if whole != (out.State == reconcile.Available) {
			t.Errorf("inputs %b: %s with %s", bits, out.State, showObject(out.Desired))
		}
		if all := has(0) && has(1) && has(2) && has(3) && has(4) && has(5); whole != all {
			t.Errorf("inputs %b: whole is %v", bits, whole)
		}
	})
}

// subset is a scene with some of its parts.
func subset(has func(int) bool) string {
	part := func(i int, yes, no string) string {
		if has(i) {
			return yes
		}
		return no
	}
	w := "cluster: " + part(3, "[{apiVersion: v1, kind: Secret, metadata: {name: ca, namespace: team}, data: {crt: "+
		"Y2E=}}]", "[]") +
		"\nenvironment: " + part(4, "{region: eu}", "{}") + "\nresources:\n"
	if has(5) {
		w += fmt.Sprintf("  db: {object: {status: {%s %s}}, details: {%s %s}}\n", part(0, "host: h,", ""),
			part(6, "opt: o", ""), part(1, "username: u,", ""), part(2, "password: p", ""))
	}
	if has(7) {
		w += "  out: {object: {apiVersion: v1, kind: Secret, metadata: {name: xr-out, namespace: team}, type: " +
			"Opaque, data: {host: b2xk}}}\n"
	}
	if !has(5) && !has(7) {
		return strings.TrimSuffix(w, "resources:\n") + "resources: {}"
	}
	return w
}

// A secret that is declared to be none flows, and just that one.
func TestNonSensitiveFlows(t *testing.T) {
	s := newScene(t, plantest.Exports(`configMaps: [{name: c, from: db, data: [{key: user, value: secret.username, `+
		`nonSensitive: [db.username]}]}]`), laws)
	want := []string{"Available ConfigMap team/xr-c {data: {user: canary-user}}"}
	if diff := cmp.Diff(want, show(s.run(t))); diff != "" {
		t.Errorf("Run(...): -want, +got:\n%s", diff)
	}
}
