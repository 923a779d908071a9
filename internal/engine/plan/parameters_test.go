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
		"Dependent": {
			"the number of digits may fit a length that is not known", `generators: [{name: a, password: {digits: 8, symbols: 20, lengthExpression: composite.spec.length}}]`, nil,
		},
		"Independent": {
			"a literal beside it is wrong for each value", `generators: [{name: a, refreshPolicy: OnChange, certificate: {dnsNames: [a_b], subject: {commonNameExpression: composite.metadata.name}}}]`,
			[]string{"generators[0].certificate.dnsNames[0]: is not a DNS name: each of its labels must have 1 to 63 letters, digits and '-', and not start or end with '-', and only the first one may be '*'"},
		},
	})
}
