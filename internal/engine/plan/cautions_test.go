package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// An input that loses a credential, waits for ever, or changes all the time has a warning. One that only looks like it has
// none.
func TestCautions(t *testing.T) {
	const (
		setter = "\nsecrets: [{name: set, data: [{key: k, value: candidate.admin.password}]}]"
		ready  = "readyExpression: secrets.db.password == candidate.admin.password"
		token  = "resource: {manifest: {apiVersion: example.org/v1, kind: Token}}, refreshPolicy: Periodic, refreshInterval: 24h"
		ca     = "generators: [{name: ca, refreshPolicy: OnChange, gracePeriod: 24h, certificate: {isCA: true, subject: {commonName: ca}}}]\n"
	)
	for name, tc := range map[string]struct {
		reason, input string
		want          []string
	}{
		"Unset": {
			"the database never gets the password", "generators: [{name: admin, password: {}, " + ready + "}]\nsecrets: [{name: a, data: [{key: k, value: generated.admin.password}]}]",
			[]string{"generators[0].readyExpression: waits for ever, because no export uses candidate.admin: use it in the export that sets the credential"},
		},
		"Set": {"an export sets it", "generators: [{name: admin, password: {}, " + ready + "}]" + setter, nil},
		"Abandon": {
			"each rotation would be abandoned after the next one is due",
			"generators: [{name: admin, password: {}, refreshPolicy: Periodic, refreshInterval: 1h, abandonAfter: 2h, " + ready + "}]" + setter,
			[]string{"generators[0].abandonAfter: is 2h, but the next rotation is due after 1h: set it to less than refreshInterval"},
		},
		"NoOverlap": {
			"applications still have the token that is deleted", "generators: [{name: token, " + token + "}]",
			[]string{"generators[0]: deletes the former credential as soon as the next one is exported, but a mounted Secret changes only " +
				"after about a minute, and applications read it later: set gracePeriod, for example 1h"},
		},
		"Overlap":        {"the former token works for a day", "generators: [{name: token, gracePeriod: 24h, " + token + "}]", nil},
		"ChosenOverlap":  {"the composite says how long", "generators: [{name: token, gracePeriodExpression: composite.spec.grace, " + token + "}]", nil},
		"OnlyPresentCA":  {"clients do not know the former CA", ca + `secrets: [{name: ca, data: [{key: ca.crt, value: "generated.ca['tls.crt']"}]}]`, []string{"secrets[0].data[0].value: has only the present CA, but while the CA is rotated, clients also need the former one: write generated.ca['tls.crt'] + previous.?ca[?'tls.crt'].orValue('')"}},
		"BothCAs":        {"they know both", ca + `secrets: [{name: ca, data: [{key: ca.crt, value: "generated.ca['tls.crt'] + previous.?ca[?'tls.crt'].orValue('')"}]}]`, nil},
		"ChangingName":   {"a name cannot change", `secrets: [{name: a, metadata: {nameExpression: "'a-' + composite.metadata.resourceVersion"}, data: [{key: k, value: "'v'"}]}]`, []string{"secrets[0].metadata.nameExpression:1:26: reads metadata.resourceVersion, which changes again and again, and each time the export is held, because a name cannot change: use something that stays, such as metadata.uid"}},
		"ChangingKeeper": {"each reconcile would rotate", "generators: [{name: a, uuid: {}, refreshPolicy: OnChange, keepersExpression: resources.db.status.conditions}]", []string{"generators[0].keepersExpression:1:20: reads status.conditions, which changes again and again, and each time the credential is rotated: use something that stays, such as metadata.uid"}},
		"Manifest": {
			"a user of that name is useless", "generators: [{name: token, gracePeriod: 24h, resource: {manifest: {apiVersion: example.org/v1, kind: Token, spec: {users: [composite.spec.user], note: see composite.spec}}}}]",
			[]string{"generators[0].resource.manifest.spec.users[0]: is literal: write the expression into set beside the manifest, as {fieldPath: spec.users[0], value: ...}"},
		},
		"OtherField": {"a field of a resource that has such a name", "generators: [{name: a, uuid: {}, refreshPolicy: OnChange, keepersExpression: resources.db.spec.generation}]", nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, wrong := plantest.Compile(t, plantest.Exports(tc.input))
			if len(wrong) > 0 {
				t.Fatal(wrong)
			}
			var got []string
			for _, w := range p.Warnings {
				got = append(got, w.Error())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
