package function_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// A step that does not know the name of its object keeps the objects that it may take over. If one of them belongs to a
// later step, that step composes it as before.
func TestPossibleOfLaterStep(t *testing.T) {
	const later = `secrets: [{name: theirs, data: [{key: role, value: composite.spec.role}]}]`
	c := functiontest.NewControlPlane(t, later)
	c.Reconcile()
	uid := functiontest.Meta(c.Object("Secret", "shop-theirs"), "uid")
	c.SetInput(`secrets: [{name: ours, metadata: {nameExpression: composite.spec.secretName}, data: [{key: k, value: "'v'"}]}]`)
	c.Later = []string{later}
	functiontest.Set(c.XR, "writer", "spec", "role")
	for range 2 {
		c.Reconcile()
		if diff := cmp.Diff("", c.Fatal()); diff != "" {
			t.Fatalf("the input is refused: -want, +got:\n%s", diff)
		}
	}
	if got := c.Value("shop-theirs", "role"); got != "writer" {
		t.Errorf("the later step does not update its object: want writer, got %q", got)
	}
	functiontest.Set(c.XR, "shop-ours", "spec", "secretName")
	c.Settle()
	c.Wants("the name is known", "shop-ours shop-theirs", "Available")
	if got := functiontest.Meta(c.Object("Secret", "shop-theirs"), "uid"); got != uid {
		t.Errorf("the object of the later step is another one: want UID %q, got %q", uid, got)
	}
}

// An object that a later step composes belongs to that step, even if it is exactly as it was observed: the step after it
// does not take it over.
func TestPossibleOfStepInBetween(t *testing.T) {
	const theirs = `secrets: [{name: theirs, data: [{key: role, value: composite.spec.role}]}]`
	c := functiontest.NewControlPlane(t, theirs)
	c.Reconcile()
	c.SetInput(`secrets: [{name: ours, metadata: {nameExpression: composite.spec.secretName}, data: [{key: k, value: "'v'"}]}]`)
	c.Later = []string{theirs, `secrets: [{name: last, metadata: {name: shop-theirs}, data: [{key: role, value: "'last'"}]}]`}
	for range 3 {
		c.Reconcile()
		if got := c.Value("shop-theirs", "role"); got != "reader" {
			t.Fatalf("another step writes the object of the step in between: want reader, got %q; %s", got, c.Condition())
		}
	}
}
