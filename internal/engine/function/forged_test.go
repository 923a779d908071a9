package function_test

import (
	"net"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// The attacks of a user who can create and delete Secrets in the namespace of a composite, and edit
// their annotations, but cannot edit the composite. Requests go to a server over gRPC.

// overGRPC lets the control plane call a server.
func overGRPC(c *functiontest.ControlPlane) *functiontest.ControlPlane {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.T.Fatal(err)
	}
	s := grpc.NewServer()
	fnv1.RegisterFunctionRunnerServiceServer(s, c.Fn)
	go s.Serve(l)
	c.T.Cleanup(s.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(func() { _ = conn.Close() })
	c.Client = fnv1.NewFunctionRunnerServiceClient(conn)
	return c
}

const adminOnce = "generators: [{name: admin, gracePeriod: 0s, password: {}}]" + functiontest.ConnectionOfAdmin

func TestForgedGenerations(t *testing.T) {
	const first = "v1|Secret|team-a|shop-admin-1"
	cases := map[string]struct {
		reason string
		attack func(c *functiontest.ControlPlane)
		names  string
		want   string // of the condition
		other  bool   // another value is exported
		after  func(c *functiontest.ControlPlane)
		then   string
	}{
		"Label": {
			reason: "a label and an owner are no proof",
			attack: func(c *functiontest.ControlPlane) { c.Forge("shop-admin-2", 2, true) },
			names:  "shop-admin-1 shop-admin-2 shop-connection", want: "Available",
		},
		"NameAheadOfARotation": {
			reason: "the object is left alone, and the owner of the composite decides",
			attack: func(c *functiontest.ControlPlane) {
				c.Forge("shop-admin-2", 2, false)
				c.Annotate(rotateKey, "admin=1")
			},
			names: "shop-admin-1 shop-admin-2 shop-connection",
			want: `Held generator "admin" creates no generation: generators[0].name: Secret team-a/shop-admin-2 looks like a generation, ` +
				"but the composite does not list it, so it is left unchanged",
			after: func(c *functiontest.ControlPlane) { delete(c.Stored, "v1|Secret|team-a|shop-admin-2") },
			then:  "Available",
		},
		"AnotherObjectUnderItsName": {
			reason: "it has another UID than the one that the export recorded, so another generation follows",
			attack: func(c *functiontest.ControlPlane) { delete(c.Stored, first); c.Forge("shop-admin-1", 1, true) },
			names:  "shop-admin-2 shop-connection", want: "Available", other: true,
		},
		"MutableObjectUnderItsName": {
			reason: "also if it can be changed",
			attack: func(c *functiontest.ControlPlane) {
				delete(c.Stored, first)
				c.Forge("shop-admin-1", 1, true)
				delete(c.Stored[first].GetFields(), "immutable")
			},
			names: "shop-admin-2 shop-connection", want: "Available", other: true,
		},
		"Flag": {
			reason: "a flag that somebody else wrote says nothing",
			attack: func(c *functiontest.ControlPlane) {
				world.Set(c.Stored[first], `{"generator":"admin","generation":1,"state":{"stage":"previous","kind":"password","since":"2026-01-01T00:00:00Z"}}`, "metadata", "annotations", functiontest.Prefix+"generator-state")
				world.Set(c.Stored["v1|Secret|team-a|shop-connection"], `{"generators":{"admin":{"holds":"x","known":[{"uid":"x","generation":2}]}}}`, "metadata", "annotations", functiontest.Prefix+"export-state")
			},
			names: "shop-admin-1 shop-connection", want: "Available",
		},
		"LastNumber": {
			reason: "no number keeps the next generation from being made",
			attack: func(c *functiontest.ControlPlane) {
				world.Set(c.Stored[first], "generated/admin/999999999", "metadata", "annotations", world.ResourceNameAnnotation)
				world.Set(c.Stored["v1|Secret|team-a|shop-connection"], `{"generators":{"admin":{"holds":"uid-1","known":[{"uid":"uid-1","generation":999999999}]}}}`, "metadata", "annotations", functiontest.Prefix+"export-state")
				c.Annotate(rotateKey, "admin=1")
			},
			names: "shop-admin-2 shop-connection", want: "Available", other: true,
		},

		"NameOfTheExport": {
			reason: "the export is found by its place, and gets another name",
			attack: func(c *functiontest.ControlPlane) {
				world.List(c.XR, c.Listed)
				world.Set(c.Stored[first], "connection", "metadata", "annotations", world.ResourceNameAnnotation)
			},
			names: "shop-admin-1 shop-connection", want: "Available",
		},
		"RecordOfAForgedExport": {
			reason: "a record names only what the composite lists",
			attack: func(c *functiontest.ControlPlane) {
				c.Forge("shop-admin-2", 2, true)
				c.ForgeExport(world.Meta(c.Stored["v1|Secret|team-a|shop-admin-2"], "uid"), 2)
			},
			names: "shop-admin-1 shop-admin-2 shop-connection", want: "Conflict", other: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := overGRPC(functiontest.NewControlPlane(t, adminOnce))
			c.Settle()
			was := c.Value("shop-connection", "password")
			tc.attack(c)
			for range 8 {
				c.ReconcileHostile()
				if c.HoldsForged() {
					t.Fatalf("%s: the forged value is exported: %s", tc.reason, c.Condition())
				}
			}
			if !strings.HasPrefix(c.Names(), tc.names) {
				t.Errorf("%s: there are %s, not %s", tc.reason, c.Names(), tc.names)
			}
			if !strings.HasPrefix(c.Condition(), tc.want) {
				t.Errorf("%s: condition %s, not %s", tc.reason, c.Condition(), tc.want)
			}
			if other := c.Value("shop-connection", "password") != was; other != tc.other {
				t.Errorf("%s: another value is exported: %t", tc.reason, other)
			}
			if tc.after != nil {
				tc.after(c)
				c.Settle()
				c.Settle()
				if !strings.HasPrefix(c.Condition(), tc.then) || c.HoldsForged() {
					t.Errorf("%s: then %s, not %s", tc.reason, c.Condition(), tc.then)
				}
			}
		})
	}
}

// A code is keyed with a secret value: it is in Secrets only, also when the next generation is
// of another kind.
func TestCodesAreInSecretsOnly(t *testing.T) {
	c := functiontest.NewControlPlane(t, adminOnce)
	c.Settle()
	c.SetInput("generators: [{name: admin, gracePeriod: 1h, resource: {manifest: {apiVersion: v1, kind: ConfigMap}}, readyExpression: has(resource.data.token)}]")
	c.Response = c.Call()
	made := c.Response.GetDesired().GetResources()["generated/admin/2"].GetResource()
	state := world.Meta(made, "annotations", functiontest.Prefix+"generator-state")
	if made.GetFields()["kind"].GetStringValue() != "ConfigMap" || state == "" || strings.Contains(state, "follows") {
		t.Errorf("it has %s; %s", made, c.Condition())
	}
}

// An export can have the same data as a generation, so that the seal of the generation's state also fits there. The
// export stays an export, whatever its composition resource name is.
func TestStateOfAGenerationOnAnExport(t *testing.T) {
	for reason, input := range map[string]string{
		"an export that can be changed": "{name: connection, data: [{key: password, value: generated.admin.password}]}",
		"an immutable export":           "{name: connection, immutable: true, data: [{key: password, value: generated.admin.password}]}",
	} {
		t.Run(reason, func(t *testing.T) {
			c := overGRPC(functiontest.NewControlPlane(t, "generators: [{name: admin, gracePeriod: 0s, password: {}}]\nsecrets: ["+input+"]"))
			c.Settle()
			was, uid := c.Value("shop-connection", "password"), world.Meta(c.Object("Secret", "shop-connection"), "uid")
			state := world.Meta(c.Object("Secret", "shop-admin-1"), "annotations", stateKey)
			c.AnnotateSecret("shop-connection", map[string]string{stateKey: state})
			for range 6 {
				c.ReconcileHostile()
			}
			c.Wants(reason, "shop-admin-1 shop-connection", "Available")
			if c.Value("shop-connection", "password") != was || world.Meta(c.Object("Secret", "shop-connection"), "uid") != uid {
				t.Errorf("%s: it is another object, or has another value", reason)
			}
		})
	}
}
