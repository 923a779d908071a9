package expression_test

import (
	"context"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// A value that only functions read is not a result. The message says what to write instead.
func TestOpaqueValuesStay(t *testing.T) {
	const (
		part    = "select a part of it, for example with .getHost()"
		convert = "convert it with .asInteger() or .asApproximateFloat()"
		text    = "wrap it in string(...)"
	)
	cases := map[string]struct{ reason, text, want string }{
		"URL":      {"the checker knows the type", "url('/a')", part},
		"IP":       {"Kubernetes has string", "ip('::1')", text},
		"Dyn":      {"only the evaluation knows the type", "dyn(url('/a'))", part},
		"AsText":   {"", "string(quantity('1'))", convert},
		"NotWhole": {"", "string(quantity('0.5').asInteger())", "test .isInteger() first"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, want := range []expression.Want{expression.WantText, expression.WantJSON} {
				if got := message(t, tc.text, want); !strings.Contains(got, tc.want) {
					t.Errorf("%s: %s: want %s, got %s", tc.reason, tc.text, tc.want, got)
				}
			}
		})
	}
}

// message returns the diagnostic or the error of an expression.
func message(t *testing.T, text string, want expression.Want) string {
	t.Helper()
	x, wrong := env.Compile(expression.Source{Text: text, Path: "here", Want: want})
	if len(wrong) > 0 {
		return wrong[0].Message
	}
	b := budget.New(context.Background())
	v, err := x.Evaluate(context.Background(), sampleObservation(t).Scope("", nil), b)
	if err == nil && want == expression.WantJSON {
		_, _, err = x.JSON(v, b)
	} else if err == nil {
		_, _, err = x.Text(v, b)
	}
	if err == nil {
		return "no error"
	}
	return err.Error()
}
