package function_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// victim is a composite whose Instance writes its connection details to Secret victim-conn. Crossplane reads the
// details from there, even if another client created the Secret. Each of them has the given value.
func victim(value string) string {
	return strings.ReplaceAll(victimManifest, "DETAILS", base64.StdEncoding.EncodeToString([]byte(value)))
}

const victimManifest = `
observed:
  composite:
    resource: {apiVersion: example.org/v1, kind: App, metadata: {name: victim, namespace: team, uid: u-victim}, spec: {operatorSpec: {secretExpressions: [{name: theirs, key: p, value: secret.password}]}}}
  resources:
    db:
      resource:
        apiVersion: example.org/v1
        kind: Instance
        metadata: {name: victim-db, namespace: team, uid: u-db}
        spec: {writeConnectionSecretToRef: {name: victim-conn}}
      connectionDetails: {username: DETAILS, password: DETAILS}
`

// connectionSecretOf is Secret victim-conn of an owner, with one value for both keys.
func connectionSecretOf(owner, value string) string {
	v := base64.StdEncoding.EncodeToString([]byte(value))
	return `{apiVersion: v1, kind: Secret, metadata: {name: victim-conn, namespace: team, ownerReferences: [` + owner + `]}, data: {username: ` + v + `, password: ` + v + `}}`
}

const (
	ownedByDB   = `{apiVersion: example.org/v1, kind: Instance, name: victim-db, uid: u-db, controller: true}`
	ownedByEvil = `{apiVersion: example.org/v1, kind: App, name: evil, uid: u-evil, controller: true}`
)

// Connection details come from a Secret that the composed resource controls, however they are read.
func TestConnectionSecretsOfOthers(t *testing.T) {
	readers := map[string]string{
		"Secret":       `secrets: [{name: out, from: db, data: [{key: p, value: secret.password}]}]`,
		"Secrets":      `secrets: [{name: out, data: [{key: p, value: secrets.db.password}]}]`,
		"Computed":     `secrets: [{name: out, data: [{key: p, value: "secrets['d' + 'b'].password"}]}]`,
		"Optional":     `secrets: [{name: out, data: [{key: p, value: "secrets.?db.?password", optional: true}, {key: q, value: "'q'"}]}]`,
		"Comprehended": `secrets: [{name: out, data: [{key: p, value: "secrets.map(k, secrets[k].?password.orValue('none')).join(',')"}]}]`,
		"Variable":     `{variables: [{name: v, value: secrets.db}], secrets: [{name: out, data: [{key: p, value: variables.v.password}]}]}`,
		"ValueMap":     `secrets: [{name: out, from: db, data: [{valueMap: secret}]}]`,
		"Extract":      `secrets: [{name: out, dataFrom: [{extract: {key: db}}]}]`,
		"Find":         `secrets: [{name: out, dataFrom: [{find: {path: db/}, rewrite: [{regexp: {source: 'db/', target: ''}}]}]}]`,
		"Author":       `fromComposite: {from: db, fieldPath: spec.operatorSpec, allow: {secrets: [db]}}`,
		"Status":       `status: [{fieldPath: user, value: secrets.db.username, nonSensitive: [db.username]}]`,
	}
	cases := map[string]struct {
		reason  string
		secret  string // or none
		sent    string // each connection detail that Crossplane sends
		exports bool
		message string
	}{
		"Own": {
			reason:  "The provider wrote it.",
			secret:  connectionSecretOf(ownedByDB, "genuine"),
			sent:    "genuine",
			exports: true,
		},
		"Evil": {
			reason:  "Another composite composes it: its values are not those of the Instance.",
			secret:  connectionSecretOf(ownedByEvil, "forged"),
			sent:    "forged",
			message: `cannot use the connection details of resource "db": Secret team/victim-conn is controlled by "App evil", not by Instance "victim-db"`,
		},
		"NoController": {
			reason:  "A Secret without a controller can come from any object, even if the Instance is one of its owners.",
			secret:  connectionSecretOf(strings.Replace(ownedByDB, "controller: true", "controller: false", 1), "forged"),
			sent:    "forged",
			message: `cannot use the connection details of resource "db": Secret team/victim-conn has no controller`,
		},
		"Former": {
			reason:  "A former Instance of that name wrote it.",
			secret:  connectionSecretOf(strings.Replace(ownedByDB, "u-db", "u-former", 1), "forged"),
			sent:    "forged",
			message: `cannot use the connection details of resource "db": Secret team/victim-conn is controlled by "Instance victim-db" of UID "u-former", not by Instance "victim-db" of UID "u-db"`,
		},
	}
	for reader, input := range readers {
		for name, tc := range cases {
			t.Run(reader+name, func(t *testing.T) {
				if !strings.HasPrefix(input, "{") {
					input = "{" + input + "}"
				}
				head := "\ninput: {apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports, " + input[1:]
				rsp := functiontest.Reconcile(t, functiontest.New(t), functiontest.Request(t, victim(tc.sent)+head), map[string]string{"team/victim-conn": tc.secret})
				text := rsp.String()
				if strings.Contains(text, "forged") || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("forged"))) {
					t.Errorf("%s\nthe response holds what the Instance has not written: %s", tc.reason, text)
				}
				if got := strings.Contains(text, "genuine") || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("genuine"))); got != tc.exports {
					t.Errorf("%s\nexports what the Instance wrote: want %v: %s", tc.reason, tc.exports, text)
				}
				condition := rsp.GetConditions()[0]
				if got := condition.GetReason() == "Available" || strings.HasSuffix(condition.GetMessage(), " is created in this reconcile"); got != tc.exports || !strings.Contains(condition.GetMessage(), tc.message) {
					t.Errorf("%s\ncondition: want %q, got %s %q", tc.reason, tc.message, condition.GetReason(), condition.GetMessage())
				}
			})
		}
	}
}

// Requirements are for what expressions use, and each call of a reconcile has them all.
func TestConnectionSecretsAreRequired(t *testing.T) {
	const key = "export.fn.crossplane.io/v1/Secret/team/name=victim-conn"
	cases := map[string]struct {
		reason string
		input  string
		want   bool
	}{
		"Used":           {"An export uses it.", `secrets: [{name: out, from: db, data: [{key: p, value: secret.password}]}]`, true},
		"Unused":         {"None does.", `secrets: [{name: out, from: db, data: [{key: p, value: resource.metadata.name}]}]`, false},
		"UnusedVariable": {"A variable does, which none uses.", `variables: [{name: v, value: secrets.db.password}], secrets: [{name: out, data: [{key: p, value: "'p'"}]}]`, false},
		"FindElsewhere":  {"A find that reaches others only.", `secrets: [{name: out, dataFrom: [{find: {path: cache/}, optional: true}], data: [{key: p, value: "'p'"}]}]`, false},
		"FindTags":       {"A find for labels that it lacks.", `secrets: [{name: out, dataFrom: [{find: {tags: {a: b}}, optional: true}], data: [{key: p, value: "'p'"}]}]`, false},
		"Author":         {"The composite's author does, who may.", `fromComposite: {from: db, fieldPath: spec.operatorSpec, allow: {secrets: [db]}}`, true},
		"AuthorMayNot":   {"The composite's author does, who may not.", `fromComposite: {fieldPath: spec.operatorSpec, allow: {resources: [db]}}`, false},
		"AuthorAsksNone": {"The composite's author may, and does not.", `fromComposite: {from: db, fieldPath: spec.other, allow: {secrets: [db]}}`, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := functiontest.New(t)
			req := functiontest.Request(t, victim("genuine")+"\ninput: {apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports, "+tc.input+"}")
			first, err := f.RunFunction(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if _, got := first.GetRequirements().GetResources()[key]; got != tc.want {
				t.Errorf("%s\nthe first call requires %s: want %v", tc.reason, key, tc.want)
			}
			last := functiontest.Reconcile(t, f, req, map[string]string{"team/victim-conn": connectionSecretOf(ownedByDB, "genuine")})
			if diff := cmp.Diff(first.GetRequirements().String(), last.GetRequirements().String()); diff != "" {
				t.Errorf("%s\nrequirements of the first and the last call: %s", tc.reason, diff)
			}
		})
	}
}

// The credential of a resource generator is what the provider of its generation wrote.
func TestConnectionSecretOfAGeneration(t *testing.T) {
	c := functiontest.NewControlPlane(t, strings.Replace(functiontest.TokenOfResource, "former, value: \"previous.?token.?id\"", "former, value: \"previous.?token.?secret\"", 1))
	forge := func(generation string) (remove func()) {
		name := c.Object("AccessKey", generation).GetFields()["spec"].GetStructValue().GetFields()["writeConnectionSecretToRef"].GetStructValue().GetFields()["name"].GetStringValue()
		key := "v1|Secret|team-a|" + name
		c.Stored[key] = functiontest.Parse(t, strings.NewReplacer("victim-conn", name, "team,", "team-a,", "username", "secret").Replace(connectionSecretOf(ownedByEvil, "forged")))
		return func() { delete(c.Stored, key) }
	}
	exports := func(when string, want map[string]string) {
		t.Helper()
		c.Settle()
		got := map[string]string{}
		for k := range c.Stored["v1|Secret|team-a|shop-aws"].GetFields()["data"].GetStructValue().GetFields() {
			got[k] = c.Value("shop-aws", k)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want, +got: %s\n%s", when, diff, c.Condition())
		}
	}
	says := func(when, text string) {
		t.Helper()
		if !strings.Contains(c.Condition(), text) {
			t.Errorf("%s: want %q, got %s", when, text, c.Condition())
		}
	}
	c.Settle()
	remove := forge("shop-token-1")
	c.Provide("shop-token-1", "one", "True")
	exports("the first generation's Secret is another's", map[string]string{})
	says("the first", `generation 1 of generator "token": Secret team-a/`)
	says("the first", `is controlled by "App evil", not by AccessKey "shop-token-1"`)
	remove()
	one := map[string]string{"id": "one", "secret": "secret-of-one"}
	exports("it is its own", one)

	remove = forge("shop-token-1")
	exports("the Secret of the generation in use is replaced", one)
	says("the one in use", "Held")
	remove()
	exports("and is back", one)

	functiontest.Set(c.XR, "writer", "spec", "role")
	c.Settle()
	remove = forge("shop-token-2")
	c.Provide("shop-token-2", "two", "True")
	exports("the next generation's Secret is another's", one)
	says("the next", `"App evil"`)
	remove()
	two := map[string]string{"id": "two", "secret": "secret-of-two", "former": "secret-of-one"}
	exports("it is its own", two)

	remove = forge("shop-token-1")
	exports("the Secret of the former generation is replaced, whose value is optional", two)
	says("the former", "Held")
	remove()
	exports("and is back", two)
}
