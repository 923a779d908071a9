package expression_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

const (
	pemA = "-----BEGIN A-----\nYQ==\n-----END A-----\n"
	pemB = "-----BEGIN B-----\nYg==\n-----END B-----\n"
)

func TestPEM(t *testing.T) {
	cases := map[string]struct{ reason, text, expression, want string }{
		"Split": {"each block is a text", "# a\n" + pemA + pemB, "pem.split(secret.text)[1]", pemB},
		"Key": {
			"the key of a bundle", pemA + strings.ReplaceAll(pemB, " B-", " PRIVATE KEY-"),
			"pem.privateKey(secret.text)", strings.ReplaceAll(pemB, " B-", " PRIVATE KEY-"),
		},
		"JoinEmpty": {
			"an empty Secret is broken", pemA, "pem.join(pem.split(secret.text).filter(b, false))",
			"failed: here:1:9: pem.join failed: the list is empty",
		},
		"JoinNumbers": {
			"the type is checked at run time", "1", "pem.join(dyn([1, 'a']))",
			"failed: here:1:9: pem.join failed on dyn",
		},
		"JoinMissing": {
			"a missing element is waited for", pemA, "pem.join([secret.text, secret.other])",
			"waiting for secret.other",
		},
		"SplitMissing": {
			"a missing text is waited for", pemA, "pem.split(secret.other)[0]", "waiting for secret.other",
		},
		"NotCertificate": {
			"", strings.ReplaceAll(pemA, " A-", " CERTIFICATE-"), "pem.ca(secret.text)",
			"failed: here:1:7: pem.ca failed: a certificate cannot be parsed",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := evaluate(t, secretText(tc.text), tc.expression, "")
			var failed *expression.Failed
			switch {
			case errors.As(err, &failed):
				got = "failed: " + err.Error()
			case err != nil:
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
