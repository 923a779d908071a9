package expression_test

import (
	"context"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
)

func secretText(text string) *observation.Observation {
	return &observation.Observation{Composite: observation.Resource{Details: observation.Details{"text": []byte(text)}}}
}

// A call that could produce or visit too much is refused before it runs.
func TestCallsAreLimited(t *testing.T) {
	o := hostileObservation(t)
	o.Composite.Details = secretText(strings.Repeat("a", 1<<20)).Composite.Details
	for text, want := range map[string]string{
		"hex.encode(secret.text)":                                   "the limit of work",
		"base64url.encode(secret.text)":                             "the limit of work",
		"hmac.sha256(secret.text, secret.text)":                     "the limit of work",
		"lists.range(9).map(i, hash.sha512(secret.text))[8]":        "the limit of work",
		"lists.range(9).map(i, hex.decode(secret.text)).size() > 0": "the limit of work",
		"lists.range(300).map(i, pem.split(self.blocks))":           "the limit of work",
		"pem.join(lists.range(30).map(i, self.text))":               "the limit of work",
		"pem.chain(self.whole)":                                     "the limit of work",
	} {
		x := compile(t, text, expression.WantAny, "")
		_, err := x.Evaluate(context.Background(), o.Scope("", nil), budget.New(context.Background()))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", text, want, err)
		}
	}
}
