package function_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// accessKey is a resource generator with its set, and a Secret with all it gives.
func accessKey(policy, set string) string {
	return `
generators:
- name: key
  ` + policy + `
  resource:
    manifest: {apiVersion: iam.example.org/v1, kind: AccessKey, spec: {}}
    set: [{fieldPath: spec.writeConnectionSecretToRef.name, value: "'shop-key-' + generation.id"}, ` + set + `]
secrets:
- name: aws
  dataFrom: [{extract: {key: generated.key}}]
`
}

// A resource is ready before its connection details come, or some of them.
func TestConnectionDetailsThatComeLate(t *testing.T) {
	c := functiontest.NewControlPlane(t, accessKey("gracePeriod: 1h", ""))
	c.Settle()
	c.Ready("shop-key-1", nil)
	c.Settle()
	c.Wants("no details", "shop-key-1", `Waiting Secret "aws" (team-a/shop-aws) is not created: secrets[0].dataFrom[0] waits for generated.key (its generation 1 is not ready: it waits for its connection details); see: kubectl describe accesskey.iam.example.org shop-key-1 --namespace team-a`)
	c.Ready("shop-key-1", map[string]string{"username": "u1", "password": "p1"})
	c.Settle()
	c.Annotate(rotateKey, "key=1")
	c.Settle()
	c.Ready("shop-key-2", map[string]string{"username": "u2"})
	c.Settle()
	c.Wants("some", "shop-aws shop-key-1 shop-key-2", `Waiting generator "key": generation 2 is not ready: it waits for "password" among its connection details; generation 1 stays in use; see: kubectl describe accesskey.iam.example.org shop-key-2 --namespace team-a`)
	if ready := c.Response.GetDesired().GetComposite().GetReady(); ready == fnv1.Ready_READY_FALSE {
		t.Error("a composite whose exports are all right is not ready")
	}
	for name, r := range c.Response.GetDesired().GetResources() {
		if r.GetReady() != fnv1.Ready_READY_TRUE {
			t.Errorf("%s is %s while another generation is in use", name, r.GetReady())
		}
	}
	c.Ready("shop-key-2", map[string]string{"username": "u2", "password": "p2"})
	c.Settle()
	if c.Value("shop-aws", "username")+c.Value("shop-aws", "password") != "u2p2" {
		t.Errorf("exported are %s and %s", c.Value("shop-aws", "username"), c.Value("shop-aws", "password"))
	}
	c.Details["iam.example.org/v1|AccessKey|team-a|shop-key-2"] = nil
	c.Settle()
	if c.Value("shop-aws", "username")+c.Value("shop-aws", "password") != "u2p2" || !strings.HasPrefix(c.Condition(), "Held") {
		t.Errorf("what is exported shrinks when connection details are away: %s", c.Condition())
	}
}

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
	world.Set(c.XR, "another-uid", "metadata", "uid")
	world.Set(c.XR, "example.org/v2", "apiVersion")
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

// An object that was not looked up may be another generation, or the object of another owner.
func TestNothingIsDecidedBeforeAllIsRead(t *testing.T) {
	due := func(t *testing.T, input string) *functiontest.ControlPlane {
		c := functiontest.NewControlPlane(t, input)
		c.Settle()
		c.Wait(functiontest.Interval)
		return c
	}
	for name, tc := range map[string]struct {
		reason  string
		input   string
		do      func(c *functiontest.ControlPlane)
		message string
	}{
		"Due": {
			reason: "the next one is made once its name is known to be free",
			input:  functiontest.RotatedPassword + functiontest.ConnectionOfAdmin, do: func(*functiontest.ControlPlane) {},
			message: `key "password" waits for generated.admin (the lookup of Secret team-a/shop-admin-2)`,
		},
		"ExportOutOfSight": {
			reason: "it may hold any generation",
			input:  strings.Replace(functiontest.RotatedPassword, "Periodic\n  refreshInterval: 720h", "CreatedOnce", 1) + functiontest.ConnectionOfAdmin,
			do: func(c *functiontest.ControlPlane) {
				c.Listed = []string{"v1|Secret|team-a|shop-admin-1"}
			},
			message: `generator "admin" waits for the lookup of Secret team-a/shop-connection`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := due(t, tc.input)
			tc.do(c)
			was := c.AnnotationsOf("Secret", "shop-admin-1")
			rsp, err := c.Fn.RunFunction(t.Context(), c.Request())
			if err != nil {
				t.Fatal(err)
			}
			c.Response = rsp
			if !strings.Contains(c.Condition(), tc.message) {
				t.Errorf("%s: %s", tc.reason, c.Condition())
			}
			for name, r := range rsp.GetDesired().GetResources() {
				switch {
				case name == "generated/admin/1":
					if r.GetReady() != fnv1.Ready_READY_FALSE {
						t.Errorf("%s: the generation is %s", tc.reason, r.GetReady())
					}
					for k, v := range r.GetResource().GetFields()["metadata"].GetStructValue().GetFields()["annotations"].GetStructValue().GetFields() {
						if was[k].GetStringValue() != v.GetStringValue() {
							t.Errorf("%s: annotation %s changes to %s", tc.reason, k, v)
						}
					}
				case strings.HasPrefix(name, "generated/"):
					t.Errorf("%s: %s is made", tc.reason, name)
				}
			}
			if rsp.GetDesired().GetResources()["generated/admin/1"] == nil {
				t.Errorf("%s: the generation is dropped", tc.reason)
			}
		})
	}
}

// A generation that the composite does not list is not exported, and Crossplane deletes only listed
// objects: a generation is listed before it is dropped.
func TestStaleCompositeWhenAGenerationIsDropped(t *testing.T) {
	const prefix = "iam.example.org/v1|AccessKey|team-a|shop-key-"
	for name, listed := range map[string][]string{
		"Nothing": nil,
		"First":   {"v1|Secret|team-a|shop-aws", prefix + "1"},
	} {
		t.Run(name, func(t *testing.T) {
			c := functiontest.NewControlPlane(t, accessKey("", ""))
			c.Settle()
			c.Ready("shop-key-1", map[string]string{"a": "b"})
			c.Settle()
			for _, token := range []string{"key=1", "key=2"} {
				c.Annotate(rotateKey, token)
				c.Reconcile()
			}
			c.Wants("the second one is abandoned", "shop-aws shop-key-1 shop-key-2", c.Condition())
			c.ReconcileStale(listed...)
			if c.Fatal() == "" {
				t.Errorf("an old composite is not noticed: %s", c.Condition())
			}
			c.Settle()
			c.Wants("it is deleted", "shop-aws shop-key-1 shop-key-3", c.Condition())
			if c.Value("shop-aws", "a") != "b" {
				t.Error("it has another value")
			}
		})
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

// The state of a resource has no seal. The copies of it that exports recorded count.
func TestForgedStateOfAResourceThatIsNotReady(t *testing.T) {
	const state = "export.fn.crossplane.io/generator-state"
	input := functiontest.TokenOfResource + "- name: other\n  data: [{key: a, value: \"'b'\"}"
	c := functiontest.NewControlPlane(t, input+"]\n")
	c.Settle()
	c.Provide("shop-token-1", "one", "True")
	c.Settle()
	// From now on it is kept as observed, because an input is missing.
	c.SetInput(input + ", {key: id, value: generated.token.id}, {key: c, value: resources.none.status.c}]\n")
	world.Set(c.XR, "writer", "spec", "role")
	c.Settle()
	c.Provide("shop-token-2", "two", "False")
	annotations := c.AnnotationsOf("AccessKey", "shop-token-2")
	forged := strings.Replace(annotations[state].GetStringValue(), `"stage":"pending"`, `"stage":"current"`, 1)
	if !strings.Contains(forged, `"stage":"current"`) {
		t.Fatalf("cannot forge the state in %s", forged)
	}
	annotations[state] = structpb.NewStringValue(forged)
	c.Settle()
	if got := c.Value("shop-aws", "id"); got != "one" {
		t.Errorf("want the generation in use, got %q: %s", got, c.Condition())
	}
	c.Provide("shop-token-2", "two", "True")
	c.Settle()
	if got := c.Value("shop-aws", "id"); got != "two" {
		t.Errorf("want the next generation once it is ready, got %q: %s", got, c.Condition())
	}
}
