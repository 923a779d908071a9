package function_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// Other field managers add annotations to our objects, edit ours, remove them, and write earlier ones back. Server-side
// apply never removes their keys. Their own annotations change nothing, and their changes of ours are put back, and
// said.

const (
	stateKey  = functiontest.Prefix + "generator-state"
	recordKey = functiontest.Prefix + "export-state"
)

// annotated returns an input with a password. Its export has the value of a key of the composite.
func annotated(fields string) string {
	return fmt.Sprintf("generators: [{name: admin, gracePeriod: 1h, password: {length: 20}, %s}]\n", fields) + functiontest.ConnectionOfAdmin +
		"  - {key: role, value: composite.spec.role}\n"
}

// lose are the ways in which the state of an object is lost.
var lose = map[string]func(c *functiontest.ControlPlane, secret, key string){
	"Removed": func(c *functiontest.ControlPlane, secret, key string) {
		c.AnnotateSecret(secret, map[string]string{key: ""})
	},
	"Edited": func(c *functiontest.ControlPlane, secret, key string) {
		c.AnnotateSecret(secret, map[string]string{key: "{}"})
	},
	"All": func(c *functiontest.ControlPlane, secret, _ string) {
		gone := map[string]string{}
		for name := range c.AnnotationsOf("Secret", secret) {
			if strings.HasPrefix(name, functiontest.Prefix) {
				gone[name] = ""
			}
		}
		c.AnnotateSecret(secret, gone)
	},
	"Copied": func(c *functiontest.ControlPlane, secret, key string) {
		text := c.AnnotationsOf("Secret", secret)[key].GetStringValue()
		c.AnnotateSecret(secret, map[string]string{key: strings.NewReplacer("admin", "other").Replace(text)})
	},
	"FormerLayout": func(c *functiontest.ControlPlane, secret, key string) {
		c.AnnotateSecret(secret, map[string]string{
			key: "", functiontest.Prefix + "generator": "admin", functiontest.Prefix + "generation": "1", functiontest.Prefix + "seal": strings.Repeat("0", 64),
			functiontest.Prefix + "generated-at": "2026-11-21T12:00:00Z", functiontest.Prefix + "spec-hash": "a", functiontest.Prefix + "generated": `{"admin":{"generation":1}}`,
		})
	},
}

// A lost state is put back by one reconcile, which says so, and no value changes.
func TestChangedStateIsPutBack(t *testing.T) {
	const generation, export = "shop-admin-1", "shop-connection"
	for name, change := range lose {
		for _, on := range []string{"generation", "export", "both"} {
			t.Run(name+"/"+on, func(t *testing.T) {
				c := functiontest.NewControlPlane(t, annotated("refreshPolicy: CreatedOnce"))
				c.Annotate(rotateKey, "") // so that no request is open
				c.Settle()
				was := c.Value(export, "password")
				if on != "export" {
					change(c, generation, stateKey)
				}
				if on != "generation" {
					change(c, export, recordKey)
				}
				c.Reconcile()
				says := func(text string) int { return strings.Count(c.Condition(), text) }
				if on != "export" && says("so the state of generation 1 is lost") != 1 {
					t.Errorf("the condition does not say once what is lost: %s", c.Condition())
				}
				if (name == "Edited" || name == "Copied") && on != "generation" && says("so it is unknown which generations its values belong to") != 1 {
					t.Errorf("the condition does not say once what is lost: %s", c.Condition())
				}
				c.Settle()
				c.Wants("put back", generation+" "+export, "Available")
				if c.Value(export, "password") != was {
					t.Error("the value changes")
				}
				c.Annotate(rotateKey, "admin=1")
				c.Settle()
				c.Wait(2 * time.Hour)
				c.Settle()
				c.Wants("rotated", "shop-admin-2 "+export, "Available")
			})
		}
	}
}

// Each earlier state of a generation has a valid seal. If it is written back, a former generation is kept for its grace
// period, and the one in use stays in use.
func TestReplayedState(t *testing.T) {
	for _, at := range []string{"made", "adopted", "used"} {
		t.Run(at, func(t *testing.T) {
			c := functiontest.NewControlPlane(t, strings.Replace(annotated("refreshPolicy: CreatedOnce"), "gracePeriod: 1h", "gracePeriod: 24h", 1))
			states := map[string]string{}
			state := func(secret string) string { return c.AnnotationsOf("Secret", secret)[stateKey].GetStringValue() }
			c.Reconcile()
			states["made"] = state("shop-admin-1")
			c.Reconcile()
			states["adopted"] = state("shop-admin-1")
			c.Settle()
			states["used"] = state("shop-admin-1")
			c.Annotate(rotateKey, "admin=1")
			c.Settle()
			former, used := c.Value("shop-admin-1", "password"), c.Value("shop-admin-2", "password")
			for hour := range 24 {
				c.AnnotateSecret("shop-admin-1", map[string]string{stateKey: states[at]})
				c.Settle()
				c.Wants(fmt.Sprintf("in hour %d", hour), "shop-admin-1 shop-admin-2 shop-connection", "Available")
				if got := c.Value("shop-connection", "password"); got != used {
					t.Fatalf("hour %d: another value is exported", hour)
				}
				if got := c.Value("shop-connection", "former"); got != former {
					t.Fatalf("hour %d: the former value is gone", hour)
				}
				c.Wait(time.Hour)
			}
			c.Settle()
			c.Wants("after the grace period", "shop-admin-2 shop-connection", "Available")
		})
	}
}

// Objects of two steps keep their places and their values, whatever composition resource name one of them gets.
func TestCopiedNameInTwoSteps(t *testing.T) {
	for name, tc := range map[string]struct{ reason, object, name string }{
		"ExportOfEarlierStep":     {"the hidden object of the first step is found at its place", "shop-later", "connection"},
		"GenerationOfEarlierStep": {"an export is no generation", "shop-later", "generated/admin/1"},
		"NoGeneration":            {"an export is no generation", "shop-later", "generated/admin/9"},
		"GenerationThatLeft":      {"an export is no generation", "shop-later", "generated/left/9"},
		"GenerationAsExport":      {"the export of the later step gets another name", "shop-other-1", "later"},
		"ExportOfLaterStep":       {"the export of the later step gets another name", "shop-zone", "later"},
	} {
		t.Run(name, func(t *testing.T) {
			c := functiontest.NewControlPlane(t, annotated("refreshPolicy: CreatedOnce")+"- {name: zone, data: [{key: password, value: \"'z'\"}]}\n")
			c.Later = []string{"generators: [{name: other, gracePeriod: 1h, password: {}}]\n" +
				"secrets: [{name: later, data: [{key: password, value: generated.other.password}]}]"}
			c.Settle()
			exports := []string{"shop-connection", "shop-later", "shop-zone"}
			values := func() (out []string) {
				for _, s := range exports {
					out = append(out, world.Meta(c.Object("Secret", s), "uid")+c.Value(s, "password"))
				}
				return out
			}
			was, want := values(), c.Names()
			c.AnnotateSecret(tc.object, map[string]string{world.ResourceNameAnnotation: tc.name})
			for range 6 {
				c.ReconcileHostile()
				if diff := cmp.Diff(was, values()); diff != "" {
					t.Fatalf("%s: -before, +after:\n%s", tc.reason, diff)
				}
			}
			c.Wait(30 * time.Hour)
			c.Settle()
			c.Wants(tc.reason, want, "Available")
			if diff := cmp.Diff(was, values()); diff != "" {
				t.Errorf("%s: -before, +after:\n%s", tc.reason, diff)
			}
		})
	}
}

// No annotation leads an export to an object of a later step.
func TestForgedTakeOver(t *testing.T) {
	const later = "secrets: [{name: later, data: [{key: a, value: \"'b'\"}]}]"
	for name, mark := range map[string]map[string]string{
		"Mark":   {functiontest.Prefix + "export": "connection"},
		"Record": {recordKey: `{"export":"connection","seal":"` + strings.Repeat("0", 64) + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			c := functiontest.NewControlPlane(t, "configMaps: []")
			c.Later = []string{later}
			c.Settle()
			c.AnnotateSecret("shop-later", mark)
			c.SetInput(`secrets: [{name: connection, data: [{key: c, value: "'d'"}]}]`)
			c.Settle()
			c.Wants("created", "shop-connection shop-later", "Available")
			if c.Value("shop-later", "a") != "b" || c.Value("shop-later", "c") != "" {
				t.Error("the object of the later step changed")
			}
		})
	}
}

// The data of a ConfigMap is no key: any client can compute the seal of its record.
func TestForgedTakeOverOfConfigMap(t *testing.T) {
	c := functiontest.NewControlPlane(t, "secrets: []")
	c.Later = []string{`configMaps: [{name: later, data: [{key: a, value: "'b'"}]}]`}
	c.Settle()
	record := seal.Add(rotation.AnnotationRecord, credential.Outputs{"a": sensitive.FromString("b")}, `{"export":"connection"}`)
	c.Edit("v1|ConfigMap|team-a|shop-later", func(o *structpb.Struct) {
		world.Set(o, record, "metadata", "annotations", recordKey)
	})
	c.SetInput(`configMaps: [{name: connection, data: [{key: c, value: "'d'"}]}]`)
	c.Settle()
	c.Wants("created", "shop-connection shop-later", "Available")
	if got := c.Object("ConfigMap", "shop-later").GetFields()["data"].GetStructValue().AsMap(); got["a"] != "b" || len(got) != 1 {
		t.Errorf("the object of the later step changed: %v", got)
	}
}
