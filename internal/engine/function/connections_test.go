package function_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
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

const ownedByEvil = `{apiVersion: example.org/v1, kind: App, name: evil, uid: u-evil, controller: true}`
