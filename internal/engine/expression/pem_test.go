package expression_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
)

const (
	pemA = "-----BEGIN A-----\nYQ==\n-----END A-----\n"
	pemB = "-----BEGIN B-----\nYg==\n-----END B-----\n"
)

func TestPEM(t *testing.T) {
	cases := map[string]struct{ reason, text, expression, want string }{
		"Split":          {"each block is a text", "# a\n" + pemA + pemB, "pem.split(secret.text)[1]", pemB},
		"SplitTyped":     {"the result is a list of strings", pemA + pemB, "pem.split(secret.text).map(b, b.size() > 0 ? 'y' : 'n').join('')", "yy"},
		"Join":           {"each block ends with a newline", pemB, "pem.join([secret.text.trim(), secret.text])", pemB + pemB},
		"JoinFiltered":   {"a list may be computed", pemA + pemB + pemA, "pem.join(pem.split(secret.text).filter(b, b.contains('BEGIN A')))", pemA + pemA},
		"Key":            {"the key of a bundle", pemA + strings.ReplaceAll(pemB, " B-", " PRIVATE KEY-"), "pem.privateKey(secret.text)", strings.ReplaceAll(pemB, " B-", " PRIVATE KEY-")},
		"JoinEmpty":      {"an empty Secret is broken", pemA, "pem.join(pem.split(secret.text).filter(b, false))", "failed: here:1:9: pem.join failed: the list is empty"},
		"JoinOther":      {"", "canary", "pem.join([secret.text])", "failed: here:1:9: pem.join failed: an element of the list has no PEM block"},
		"JoinNumbers":    {"the type is checked at run time", "1", "pem.join(dyn([1, 'a']))", "failed: here:1:9: pem.join failed on dyn"},
		"JoinMissing":    {"a missing element is waited for", pemA, "pem.join([secret.text, secret.other])", "waiting for secret.other"},
		"SplitMissing":   {"a missing text is waited for", pemA, "pem.split(secret.other)[0]", "waiting for secret.other"},
		"SplitNumber":    {"", pemA, "pem.chain(dyn(1))", "failed: here:1:10: pem.chain failed on dyn"},
		"NotPEM":         {"", "canary", "pem.chain(secret.text)", "failed: here:1:10: pem.chain failed: the text has no PEM block"},
		"NotCertificate": {"", strings.ReplaceAll(pemA, " A-", " CERTIFICATE-"), "pem.ca(secret.text)", "failed: here:1:7: pem.ca failed: a certificate cannot be parsed"},
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

// The law: the message about a text does not depend on the data of its blocks, nor on what is between them.
func FuzzPEMFailsWithoutData(f *testing.F) {
	for _, s := range []string{"canary", pemA + "canary", "-----BEGIN CERTIFICATE-----\n" + pemA[18:22] + "\n-----END CERTIFICATE-----\n", "-----BEGIN canary"} {
		f.Add(s)
	}
	known := map[string]bool{}
	for _, reason := range []string{
		"the text has no PEM block", "a PEM block is incomplete or invalid", "it has more than 1000 PEM blocks", "the text has no private key",
		"the text has more than one private key", "an element of the list has no PEM block", "the text has no certificate",
		"a certificate cannot be parsed", "the text has no certificate of a CA",
	} {
		known[reason] = true
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, call := range []string{"pem.split(secret.text)[0]", "pem.join([secret.text])", "pem.certificates(secret.text)", "pem.privateKey(secret.text)", "pem.chain(secret.text)", "pem.leaf(secret.text)", "pem.ca(secret.text)"} {
			_, err := evaluate(t, secretText(text), call, "")
			if err == nil || strings.ToValidUTF8(text, "") != text || strings.HasPrefix(err.Error(), "here: was stopped: ") {
				continue
			}
			_, reason, _ := strings.Cut(err.Error(), " failed: ")
			if !known[reason] {
				t.Fatalf("%s of %q: %v", call, text, err)
			}
		}
	})
}

// A call that could verify too many signatures, or return too much, is refused before it runs.
func TestPEMIsLimited(t *testing.T) {
	o := &observation.Observation{Composite: hostileObservation(t).Composite}
	for text, want := range map[string]string{
		"pem.chain(self.subjects)":                                 "the limit of work",
		"lists.range(2).map(i, pem.leaf(self.slow) == '' || true)": "the limit of work",
		"lists.range(300).map(i, pem.split(self.blocks))":          "the limit of work",
		"pem.join(lists.range(30).map(i, self.text))":              "its result would be too large",
		"pem.chain(self.whole)":                                    "the limit of work",
		"lists.range(300).map(i, pem.certificates(self.repeats))":  "the limit of work",
	} {
		x := compile(t, text, expression.WantAny, "")
		_, err := x.Evaluate(context.Background(), o.Scope("", nil), budget.New(context.Background()))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", text, want, err)
		}
	}
}
