package function_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// spec replaces the spec of the composite.
func spec(t *testing.T, c *functiontest.ControlPlane, text string) {
	t.Helper()
	c.XR.Fields["spec"] = structpb.NewStructValue(functiontest.Parse(t, text))
}

func reconcileFor(c *functiontest.ControlPlane, times int) {
	for range times {
		c.Now = c.Now.Add(time.Minute)
		c.Reconcile()
	}
}

// A literal with the value of an expression changes nothing.
func TestParametersAreAsLiterals(t *testing.T) {
	const rest = ", symbols: 0, digits: 2}}]\nsecrets: [{name: s, data: [{key: k, value: generated.admin.password}]}]"
	const refresh = "generators: [{name: admin, refreshPolicy: OnChange, password: {"
	c := functiontest.NewControlPlane(t, refresh+"lengthExpression: composite.spec.length, prefixExpression: composite.spec.team + '-'"+rest)
	spec(t, c, `{length: 12, team: red}`)
	reconcileFor(c, 4)
	was := c.Value("shop-s", "k")
	if len(was) != len("red-")+12 || !strings.HasPrefix(was, "red-") {
		t.Fatalf("want red- and 12 characters, got %d", len(was))
	}
	c.SetInput(refresh + "length: 12, prefix: red-" + rest)
	reconcileFor(c, 4)
	if c.Value("shop-s", "k") != was {
		t.Error("the password was rotated, although its specification is the same")
	}
	c.SetInput(refresh + "length: 13, prefix: red-" + rest)
	reconcileFor(c, 4)
	if got := c.Value("shop-s", "k"); got == was || len(got) != len(was)+1 {
		t.Error("want another password")
	}
}
