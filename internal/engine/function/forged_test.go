package function_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
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

const forgedValue = "forged-value-of-an-attacker"

// forge stores a Secret that looks like a generation in everything that is known without the values.
func forge(c *functiontest.ControlPlane, name string, number int, labels bool) {
	state := world.Meta(c.Stored["v1|Secret|team-a|shop-admin-1"], "annotations", rotation.AnnotationState)
	uid := world.Meta(c.XR, "uid")
	o := functiontest.Parse(c.T, fmt.Sprintf(`{apiVersion: v1, kind: Secret, type: Opaque, immutable: true,
  metadata: {name: %s, namespace: team-a, creationTimestamp: %q,
    ownerReferences: [{apiVersion: example.org/v1, kind: XDatabase, name: shop, controller: true, uid: %s}]},
  data: {password: %s}}`, name, c.Now.Add(-time.Hour).UTC().Format(time.RFC3339), uid, inBase64(forgedValue)))
	world.Set(o, fmt.Sprintf("generated/admin/%d", number), "metadata", "annotations", world.ResourceNameAnnotation)
	world.Set(o, state, "metadata", "annotations", rotation.AnnotationState)
	if labels {
		world.Set(o, uid, "metadata", "labels", functiontest.Prefix+"composite")
		world.Set(o, "admin", "metadata", "labels", functiontest.Prefix+"generator")
		world.Set(o, fmt.Sprint(number), "metadata", "labels", functiontest.Prefix+"generation")
	}
	c.UIDs++
	world.Set(o, fmt.Sprintf("forged-%d", c.UIDs), "metadata", "uid")
	c.Stored[world.KeyOf(o)] = o
}

// forgeExport forges an export that was deleted and created again, with data that its author knows and a matching
// record.
func forgeExport(c *functiontest.ControlPlane, uid string, number int) {
	o := c.Stored["v1|Secret|team-a|shop-connection"]
	world.Set(o, inBase64("known"), "data", "password")
	record := fmt.Sprintf(`{"generators":{"admin":{"holds":%q,"known":[{"uid":%[1]q,"generation":%d,"apiVersion":"v1",`+
		`"kind":"Secret","namespace":"team-a","name":"shop-admin-%[2]d",`+
		`"state":{"stage":"current","kind":"password"}}]}}}`,
		uid, number)
	data := credential.Outputs{"password": sensitive.FromString("known")}
	world.Set(
		o,
		seal.Add(rotation.AnnotationRecord, data, record),
		"metadata",
		"annotations",
		rotation.AnnotationRecord,
	)
	world.Set(o, "recreated", "metadata", "uid")
}

// holdsForged reports whether the export has the value of the attacker.
func holdsForged(c *functiontest.ControlPlane) bool {
	return strings.Contains(c.Stored["v1|Secret|team-a|shop-connection"].String(), inBase64(forgedValue))
}

func annotate(c *functiontest.ControlPlane, key, annotation, text string) {
	world.Set(c.Stored[key], text, "metadata", "annotations", annotation)
}

func TestForgedGenerations(t *testing.T) {
	const first, export = "v1|Secret|team-a|shop-admin-1", "v1|Secret|team-a|shop-connection"
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
			attack: func(c *functiontest.ControlPlane) { forge(c, "shop-admin-2", 2, true) },
			names:  "shop-admin-1 shop-admin-2 shop-connection", want: "Available",
		},
		"NameAheadOfARotation": {
			reason: "the object is left alone, and the owner of the composite decides",
			attack: func(c *functiontest.ControlPlane) {
				forge(c, "shop-admin-2", 2, false)
				c.Annotate(rotateKey, "admin=1")
			},
			names: "shop-admin-1 shop-admin-2 shop-connection",
			want: `Held generator "admin" creates no generation: generators[0].name: Secret team-a/shop-admin-2 ` +
				"looks like a generation, but the composite does not list it, so it is left unchanged",
			after: func(c *functiontest.ControlPlane) { delete(c.Stored, "v1|Secret|team-a|shop-admin-2") },
			then:  "Available",
		},
		"AnotherObjectUnderItsName": {
			reason: "it has another UID than the one that the export recorded, so another generation follows",
			attack: func(c *functiontest.ControlPlane) { delete(c.Stored, first); forge(c, "shop-admin-1", 1, true) },
			names:  "shop-admin-2 shop-connection", want: "Available", other: true,
		},
		"MutableObjectUnderItsName": {
			reason: "also if it can be changed",
			attack: func(c *functiontest.ControlPlane) {
				delete(c.Stored, first)
				forge(c, "shop-admin-1", 1, true)
				delete(c.Stored[first].GetFields(), "immutable")
			},
			names: "shop-admin-2 shop-connection", want: "Available", other: true,
		},
		"Flag": {
			reason: "a flag that somebody else wrote says nothing",
			attack: func(c *functiontest.ControlPlane) {
				annotate(c, first, rotation.AnnotationState, `{"generator":"admin","generation":1,`+
					`"state":{"stage":"previous","kind":"password","since":"2026-01-01T00:00:00Z"}}`)
				annotate(c, export, rotation.AnnotationRecord,
					`{"generators":{"admin":{"holds":"x","known":[{"uid":"x","generation":2}]}}}`)
			},
			names: "shop-admin-1 shop-connection", want: "Available",
		},
		"LastNumber": {
			reason: "no number keeps the next generation from being made",
			attack: func(c *functiontest.ControlPlane) {
				annotate(c, first, world.ResourceNameAnnotation, "generated/admin/999999999")
				annotate(c, export, rotation.AnnotationRecord,
					`{"generators":{"admin":{"holds":"uid-1","known":[{"uid":"uid-1","generation":999999999}]}}}`)
				c.Annotate(rotateKey, "admin=1")
			},
			names: "shop-admin-2 shop-connection", want: "Available", other: true,
		},
		"LastNumberWithSeal": {
			reason: "nor does one in a record that fits its data",
			attack: func(c *functiontest.ControlPlane) {
				forgeExport(c, "uid-1", 999999999)
				c.Annotate(rotateKey, "admin=1")
			},
			names: "shop-admin-2 shop-connection", want: "Available", other: true,
		},

		"NameOfTheExport": {
			reason: "the export is found by its place, and gets another name",
			attack: func(c *functiontest.ControlPlane) {
				world.List(c.XR, c.Listed)
				annotate(c, first, world.ResourceNameAnnotation, "connection")
			},
			names: "shop-admin-1 shop-connection", want: "Available",
		},
		"NameOfTheGeneration": {
			reason: "an export stays an export",
			attack: func(c *functiontest.ControlPlane) {
				world.List(c.XR, c.Listed)
				annotate(c, export, world.ResourceNameAnnotation, "generated/admin/1")
			},
			names: "shop-admin-1 shop-connection", want: "Available",
		},
		"StateOfTheGeneration": {
			reason: "its seal fits, because both have the same data, and the export stays an export",
			attack: func(c *functiontest.ControlPlane) {
				annotate(c, export, rotation.AnnotationState,
					world.Meta(c.Stored[first], "annotations", rotation.AnnotationState))
			},
			names: "shop-admin-1 shop-connection", want: "Available",
		},
		"RecordOfAForgedExport": {
			reason: "a record names only what the composite lists",
			attack: func(c *functiontest.ControlPlane) {
				forge(c, "shop-admin-2", 2, true)
				forgeExport(c, world.Meta(c.Stored["v1|Secret|team-a|shop-admin-2"], "uid"), 2)
			},
			names: "shop-admin-1 shop-admin-2 shop-connection", want: "Conflict", other: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := overGRPC(functiontest.NewControlPlane(t, adminOnce))
			c.Settle()
			c.Tolerant = true
			was := c.Value("shop-connection", "password")
			tc.attack(c)
			for range 8 {
				c.Reconcile()
				c.Now = c.Now.Add(time.Second)
				if holdsForged(c) {
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
				if !strings.HasPrefix(c.Condition(), tc.then) || holdsForged(c) {
					t.Errorf("%s: then %s, not %s", tc.reason, c.Condition(), tc.then)
				}
			}
		})
	}
}
