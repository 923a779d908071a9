package function_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

func TestGenerationsAreBounded(t *testing.T) {
	c := functiontest.NewControlPlane(t, "generators: [{name: admin, gracePeriod: 24h, password: {}}]"+functiontest.ConnectionOfAdmin)
	for i := range 30 {
		c.Annotate(rotateKey, fmt.Sprintf("admin=%d", i))
		c.Settle()
	}
	if n := len(c.Stored); n != 17 {
		t.Errorf("%d objects are stored", n)
	}
	if !strings.Contains(c.Condition(), `generator "admin" creates no generation: it waits for one of its 16 generations to be deleted`) {
		t.Error(c.Condition())
	}
	was := c.Value("shop-connection", "password")
	c.Wait(24 * time.Hour)
	c.Settle()
	c.Settle()
	if c.Value("shop-connection", "password") == was {
		t.Error("the last requested generation is not created when there are fewer than the limit")
	}
	c.Wait(24 * time.Hour)
	c.Settle()
	c.Wants("in the end", "shop-admin-17 shop-connection", "Available")
}

// A composite that is restored from a backup has another UID, and what it composed has no
// controller.
func TestRestoredComposite(t *testing.T) {
	c := functiontest.NewControlPlane(t, "generators: [{name: admin, refreshPolicy: OnChange, keepersExpression: composite.spec.passwordVersion, password: {}}]"+functiontest.ConnectionOfAdmin)
	c.Annotate(rotateKey, "admin=1")
	c.Settle()
	was := c.Value("shop-connection", "password")
	functiontest.Set(c.XR, "another-uid", "metadata", "uid")
	functiontest.Set(c.XR, "example.org/v2", "apiVersion")
	for _, o := range c.Stored {
		delete(o.GetFields()["metadata"].GetStructValue().GetFields(), "ownerReferences")
	}
	c.Settle()
	c.Wants("restored", "shop-admin-1 shop-connection", "Available")
	if c.Value("shop-connection", "password") != was {
		t.Error("it has another password")
	}
}

func TestRotateAnnotation(t *testing.T) {
	for text, want := range map[string]string{
		"admin":            "the composite's annotation export.fn.crossplane.io/rotate must be <generator>=<anything new>, for example admin=1",
		"admin=":           "the composite's annotation export.fn.crossplane.io/rotate must be <generator>=<anything new>, for example admin=1",
		"root=1,x=1,y":     "the composite's annotation export.fn.crossplane.io/rotate names a generator that this step does not have. This step has: admin",
		"admin=1,\n admin": "the composite's annotation export.fn.crossplane.io/rotate must be <generator>=<anything new>, for example admin=1",
		"admin=a=b":        "",
		"admin=1\nadmin=2": "",
	} {
		c := functiontest.NewControlPlane(t, functiontest.RotatedPassword)
		c.Annotate(rotateKey, text)
		c.Reconcile()
		got := ""
		for _, r := range c.Response.GetResults() {
			got += r.GetMessage()
		}
		if got != want {
			t.Errorf("%q warns %q, not %q", text, got, want)
		}
	}
}

// The step that still exports a value has the last word, in whatever order steps are.
func TestALaterStepThatStillExports(t *testing.T) {
	const held = `
secrets:
- name: connection
  data:
  - {key: password, value: %s}
  - {key: more, value: composite.status.more}
`
	start := func(t *testing.T) *functiontest.ControlPlane {
		c := functiontest.NewControlPlane(t, `secrets: [{name: other, data: [{key: a, value: "'b'"}]}]`)
		c.XR.Fields["status"] = structpb.NewStructValue(functiontest.Parse(c.T, "{more: a}"))
		c.Later = []string{strings.ReplaceAll(functiontest.RotatedPassword, "24h", "0s") + fmt.Sprintf(held, "generated.admin.password")}
		c.Settle()
		delete(c.XR.GetFields(), "status") // it is held from now on
		return c
	}
	t.Run("Left", func(t *testing.T) {
		c := start(t)
		c.Later = []string{fmt.Sprintf(held, "string(composite.spec.role)")}
		c.Settle()
		if c.Names() != "shop-admin-1 shop-connection shop-other" {
			t.Errorf("what is still exported is not kept: %s", c.Names())
		}
	})
	t.Run("Moved", func(t *testing.T) {
		c := start(t)
		c.SetInput(functiontest.RotatedPassword)
		c.Later = []string{"generators: [{name: id, uuid: {}}]" + fmt.Sprintf(held, "string(composite.spec.role)")}
		c.Settle()
		if state, _ := c.State()["admin"].(map[string]any); c.Names() != "shop-admin-1 shop-connection shop-id-1" || state["input"] == nil {
			t.Errorf("a step judges what an earlier one has: %s, %v", c.Names(), state)
		}
	})
}
