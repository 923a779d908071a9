package plan_test

import (
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// An expression for a parameter may use no secret, and excludes the literal. Literals that do not depend on it are
// checked.
func TestCompileParameters(t *testing.T) {
	checkCompiled(t, map[string]compiled{
		"Secret": {
			"it would be in an annotation, or in a certificate, which is public", `
generators:
- {name: a, password: {prefixExpression: secrets.db.host}}
- {name: b, refreshPolicy: OnChange, certificate: {subject: {commonNameExpression: generated.a.password}}}
- {name: c, sshKey: {commentExpression: secret.user}, labelsExpression: "{'a': secrets.db.host}"}`, []string{
				"generators[0].password.prefixExpression:1:11: uses secrets.db.host, " + plantest.Flow + ": leave it out",
				"generators[1].certificate.subject.commonNameExpression:1:12: uses generated.a.password, " + plantest.Flow + ": leave it out",
				"generators[2].sshKey.commentExpression:1:7: uses secret.user, " + plantest.Flow + ": leave it out",
				"generators[2].labelsExpression:1:17: uses secrets.db.host, " + plantest.Flow + ": leave it out",
			},
		},
		"Both": {
			"one of them would be ignored", `generators: [{name: a, password: {length: 20, lengthExpression: composite.spec.length}}]`,
			[]string{"generators[0].password.lengthExpression: must not be set together with length: keep one of them"},
		},
		"Type": {
			"a text is no list", `generators: [{name: a, refreshPolicy: OnChange, certificate: {subject: {commonName: a}, dnsNamesExpression: "'a'"}}]`,
			[]string{"generators[0].certificate.dnsNamesExpression:1:1: must return a list, but returns a string: split it with .split(','), or write [ ] around it"},
		},
		"Dependent": {
			"the number of digits may fit a length that is not known", `generators: [{name: a, password: {digits: 8, symbols: 20, lengthExpression: composite.spec.length}}]`, nil,
		},
		"Independent": {
			"a literal beside it is wrong for each value", `generators: [{name: a, refreshPolicy: OnChange, certificate: {dnsNames: [a_b], subject: {commonNameExpression: composite.metadata.name}}}]`,
			[]string{"generators[0].certificate.dnsNames[0]: is not a DNS name: each of its labels must have 1 to 63 letters, digits and '-', and not start or end with '-', and only the first one may be '*'"},
		},
		"Names": {
			"alternative names are checked", `generators: [{name: a, refreshPolicy: OnChange, certificate: {subject: {commonName: a}, uris: [a/b], emailAddresses: [a]}}]`,
			[]string{
				"generators[0].certificate.uris[0]: is not a URI: write for example spiffe://example.org/db",
				"generators[0].certificate.emailAddresses[0]: is not an email address: write for example db@example.org",
			},
		},
		"SecretKeys": {
			"the names of outputs are keys of a Secret", `generators: [{name: a, password: {secretKeys: [a b, ""]}}]`,
			[]string{
				"generators[0].password.secretKeys[0]: cannot use key \"a b\": use letters, digits, '-', '_' and '.' only",
				"generators[0].password.secretKeys[1]: cannot use an empty key: give it a name",
			},
		},
		"TimeZone": {
			"it is wrong with each schedule", `generators: [{name: a, uuid: {}, refreshPolicy: Periodic, refreshInterval: 1h, rotationWindow: {scheduleExpression: composite.spec.s, duration: 1h, timeZone: Nowhere/X}}]`,
			[]string{`generators[0].rotationWindow.timeZone: is not in the IANA time zone database: write for example "Europe/Berlin"`},
		},
		"Subject": {
			"a subject is one line", `generators: [{name: a, refreshPolicy: OnChange, certificate: {subject: {commonName: "a\nb", organizations: ["c\0d"]}}}]`,
			[]string{
				"generators[0].certificate.subject.commonName: has a line break or a control character: leave it out",
				"generators[0].certificate.subject.organizations[0]: has a line break or a control character: leave it out",
			},
		},
		"Labels": {
			"a resource has labels in its manifest", `generators: [{name: a, labels: {b: c}, resource: {manifest: {apiVersion: example.org/v1, kind: A}}}]`,
			[]string{"generators[0].labels: has no effect on a resource: set metadata.labels in its manifest"},
		},
		"LabelValue": {
			"an invalid label", `generators: [{name: a, labels: {b: c d}, uuid: {}}]`,
			[]string{`generators[0].labels: cannot use the value of label "b": use at most 63 letters, digits, '-', '_' and '.', and start and end with a letter or a digit, or write an annotation, which can have any text`},
		},
	})
}
