package function_test

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

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
				functiontest.Set(c.Stored[first], `{"generator":"admin","generation":1,"state":{"stage":"previous","kind":"password","since":"2026-01-01T00:00:00Z"}}`, "metadata", "annotations", functiontest.Prefix+"generator-state")
				functiontest.Set(c.Stored["v1|Secret|team-a|shop-connection"], `{"generators":{"admin":{"holds":"x","known":[{"uid":"x","generation":2}]}}}`, "metadata", "annotations", functiontest.Prefix+"export-state")
			},
			names: "shop-admin-1 shop-connection", want: "Available",
		},
		"LastNumber": {
			reason: "no number keeps the next generation from being made",
			attack: func(c *functiontest.ControlPlane) {
				functiontest.Set(c.Stored[first], "generated/admin/999999999", "metadata", "annotations", functiontest.ResourceNameAnnotation)
				functiontest.Set(c.Stored["v1|Secret|team-a|shop-connection"], `{"generators":{"admin":{"holds":"uid-1","known":[{"uid":"uid-1","generation":999999999}]}}}`, "metadata", "annotations", functiontest.Prefix+"export-state")
				c.Annotate(rotateKey, "admin=1")
			},
			names: "shop-admin-2 shop-connection", want: "Available", other: true,
		},

		"NameOfTheExport": {
			reason: "the export is found by its place, and gets another name",
			attack: func(c *functiontest.ControlPlane) {
				functiontest.List(c.XR, c.Listed)
				functiontest.Set(c.Stored[first], "connection", "metadata", "annotations", functiontest.ResourceNameAnnotation)
			},
			names: "shop-admin-1 shop-connection", want: "Available",
		},
		"RecordOfAForgedExport": {
			reason: "a record names only what the composite lists",
			attack: func(c *functiontest.ControlPlane) {
				c.Forge("shop-admin-2", 2, true)
				c.ForgeExport(functiontest.Meta(c.Stored["v1|Secret|team-a|shop-admin-2"], "uid"), 2)
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

// Crossplane deletes what it observes with a composition resource name that is not desired.
func TestGenerationWithTheNameOfAnExport(t *testing.T) {
	const first = "v1|Secret|team-a|shop-admin-1"
	cases := map[string]struct{ reason, name string }{
		"Waits":  {"the export has no object yet, which gets another name", "cache"},
		"Exists": {"the object of the export is found by its place", "connection"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			waits := "\n- {name: cache, data: [{key: host, value: composite.spec.cache}]}"
			c := overGRPC(functiontest.NewControlPlane(t, adminOnce+waits))
			c.Settle()
			uids := func() string {
				return functiontest.Meta(c.Stored[first], "uid") + " " + functiontest.Meta(c.Stored["v1|Secret|team-a|shop-connection"], "uid")
			}
			was := uids()
			functiontest.Set(c.Stored[first], tc.name, "metadata", "annotations", functiontest.ResourceNameAnnotation)
			for range 3 {
				c.ReconcileHostile()
			}
			functiontest.Set(c.XR, "cache.example.org", "spec", "cache")
			for range 3 {
				c.ReconcileHostile()
			}
			c.Wants(tc.reason, "shop-admin-1 shop-cache shop-connection", "Available")
			if diff := cmp.Diff(was, uids()); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// Later steps leave a resource out that refers to the generation in use while there is none,
// and Crossplane deletes that resource. So there is always one after the first one, also when it was deleted.
func TestLatestStays(t *testing.T) {
	latest := func(c *functiontest.ControlPlane, generator string) string {
		state, _ := c.State()[generator].(map[string]any)
		latest, _ := state["latest"].(map[string]any)
		name, _ := latest["name"].(string)
		return name
	}
	for name, tc := range map[string]struct {
		input, generator string
		do               func(c *functiontest.ControlPlane)
		want             []string
	}{
		"Deleted":               {adminOnce, "admin", func(c *functiontest.ControlPlane) { delete(c.Stored, "v1|Secret|team-a|shop-admin-1") }, []string{"shop-admin-1", "shop-admin-2"}},
		"DeletedWithoutExports": {"generators: [{name: admin, password: {}}]", "admin", func(c *functiontest.ControlPlane) { delete(c.Stored, "v1|Secret|team-a|shop-admin-1") }, []string{"shop-admin-1"}},
		"Rotated":               {adminOnce, "admin", func(c *functiontest.ControlPlane) { c.Annotate(rotateKey, "admin=1") }, []string{"shop-admin-1", "shop-admin-2"}},
		"Edited": {"generators: [{name: admin, password: {}}]", "admin", func(c *functiontest.ControlPlane) {
			functiontest.Set(c.Stored["v1|Secret|team-a|shop-admin-1"], "{}", "metadata", "annotations", functiontest.Prefix+"generator-state")
		}, []string{"shop-admin-1", "shop-admin-2"}},
		"Renamed": {adminOnce, "root", func(c *functiontest.ControlPlane) {
			c.SetInput(strings.ReplaceAll(adminOnce, "admin", "root"))
		}, []string{"", "shop-root-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := overGRPC(functiontest.NewControlPlane(t, tc.input))
			c.Settle()
			functiontest.List(c.XR, c.Listed)
			tc.do(c)
			var got []string
			for range 6 {
				c.Reconcile()
				c.Now = c.Now.Add(time.Second)
				if n := latest(c, tc.generator); len(got) == 0 || got[len(got)-1] != n {
					got = append(got, n)
				}
			}
			if strings.Join(got, " ") != strings.Join(tc.want, " ") {
				t.Errorf("latest was %q, not %q; %s", got, tc.want, c.Condition())
			}
		})
	}
}

// An annotation of a resource does not change what is desired of it.
func TestEditedManifest(t *testing.T) {
	c := overGRPC(functiontest.NewControlPlane(t, accessKey("", "")))
	c.Settle()
	c.Ready("shop-key-1", map[string]string{"a": "b"})
	c.Settle()
	key := "iam.example.org/v1|AccessKey|team-a|shop-key-1"
	state := functiontest.Meta(c.Stored[key], "annotations", functiontest.Prefix+"generator-state")
	for _, input := range []string{accessKey("", ""), accessKey("", "{fieldPath: spec.role, value: composite.spec.role}")} { // as it was, and changed
		edited := strings.NewReplacer(`"metadata":{`, `"metadata":{"finalizers":["x"],"annotations":{"crossplane.io/external-name":"theirs"},`, `"spec":{`, `"spec":{"userRef":{"name":"root"},`).Replace(state)
		functiontest.Set(c.Stored[key], edited, "metadata", "annotations", functiontest.Prefix+"generator-state")
		c.SetInput(input)
		c.Response = c.Call()
		o := c.Response.GetDesired().GetResources()["generated/key/1"].GetResource()
		delete(o.GetFields()["metadata"].GetStructValue().GetFields()["annotations"].GetStructValue().GetFields(), functiontest.Prefix+"generator-state")
		if text := o.String(); o == nil || strings.Contains(text, "finalizers") || strings.Contains(text, "theirs") || strings.Contains(text, "root") {
			t.Errorf("desired is %s", text)
		}
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
	state := functiontest.Meta(made, "annotations", functiontest.Prefix+"generator-state")
	if made.GetFields()["kind"].GetStringValue() != "ConfigMap" || state == "" || strings.Contains(state, "follows") {
		t.Errorf("it has %s; %s", made, c.Condition())
	}
}

// An export is kept with the value of a former generation. If it has lost its record, and the generation its state, it
// is unknown whether the export has that value, so the generation stays.
func TestForgedRecordAndState(t *testing.T) {
	const first, connection = "v1|Secret|team-a|shop-admin-1", "v1|Secret|team-a|shop-connection"
	c := overGRPC(functiontest.NewControlPlane(t, adminOnce+`
- {name: other, data: [{key: password, value: generated.admin.password}]}`))
	c.Settle()
	c.SetInput(adminOnce + `  - {key: host, value: composite.spec.host}
- {name: other, data: [{key: password, value: generated.admin.password}]}`)
	c.Annotate(rotateKey, "admin=1")
	c.Settle()
	functiontest.Set(c.Stored[connection], "{}", "metadata", "annotations", functiontest.Prefix+"export-state")
	functiontest.Set(c.Stored[first], "{}", "metadata", "annotations", functiontest.Prefix+"generator-state")
	for range 3 {
		c.ReconcileHostile()
	}
	if !strings.Contains(c.Names(), "shop-admin-1") {
		t.Errorf("the generation is deleted while an export may have its value: %s", c.Names())
	}
	functiontest.Set(c.XR, "db", "spec", "host")
	for range 5 {
		c.ReconcileHostile()
	}
	c.Wants("no longer exported", "shop-admin-2 shop-connection shop-other", "Available")
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
			was, uid := c.Value("shop-connection", "password"), functiontest.Meta(c.Object("Secret", "shop-connection"), "uid")
			state := functiontest.Meta(c.Object("Secret", "shop-admin-1"), "annotations", stateKey)
			c.AnnotateSecret("shop-connection", map[string]string{stateKey: state})
			for range 6 {
				c.ReconcileHostile()
			}
			c.Wants(reason, "shop-admin-1 shop-connection", "Available")
			if c.Value("shop-connection", "password") != was || functiontest.Meta(c.Object("Secret", "shop-connection"), "uid") != uid {
				t.Errorf("%s: it is another object, or has another value", reason)
			}
		})
	}
}

// If two generations have the same composition resource name, Crossplane observes only one of them. An observed object
// keeps its name, so the other one must be desired with another composition resource name.
func TestGenerationsWithOneName(t *testing.T) {
	for _, name := range []string{"cache", "generated/other/1", "generated/admin/7", "generated/token/1"} {
		t.Run(name, func(t *testing.T) {
			c := overGRPC(functiontest.NewControlPlane(t, `
generators: [{name: admin, password: {}}, {name: token, uuid: {}}]
secrets: [{name: connection, data: [{key: password, value: generated.admin.password}, {key: id, value: generated.token.uuid}]}]`))
			c.Settle()
			listed := slices.Clone(c.Listed)
			for _, key := range []string{"v1|Secret|team-a|shop-admin-1", "v1|Secret|team-a|shop-token-1"} {
				functiontest.Set(c.Stored[key], name, "metadata", "annotations", functiontest.ResourceNameAnnotation)
			}
			for range 4 {
				c.ReconcileHostile()
			}
			c.Wants("both stay", "shop-admin-1 shop-connection shop-token-1", "Available")
			if diff := cmp.Diff(listed, c.Listed); diff != "" {
				t.Errorf("the composite lists other objects: -want, +got:\n%s", diff)
			}
		})
	}
}

// One edit of its annotations does not let Crossplane delete a generation in use.
func TestGenerationWithAnotherName(t *testing.T) {
	const first = "v1|Secret|team-a|shop-admin-1"
	for name, reason := range map[string]string{
		"cache":                  "that of a composed resource",
		"fromComposite/Secret/x": "that of an object of a composite author",
		"generated/other/1":      "that of a generation",
	} {
		t.Run(name, func(t *testing.T) {
			c := overGRPC(functiontest.NewControlPlane(t, adminOnce))
			c.Settle()
			want, uid := c.Names(), functiontest.Meta(c.Stored[first], "uid")
			functiontest.Set(c.Stored[first], name, "metadata", "annotations", functiontest.ResourceNameAnnotation)
			for range 4 {
				c.ReconcileHostile()
			}
			c.Wants(reason, want, "Available")
			if functiontest.Meta(c.Stored[first], "uid") != uid {
				t.Error("it was deleted and created again")
			}
		})
	}
}

// Any client that can update Secrets can give an export the composition resource name of a generation. Crossplane deletes
// a resource whose name is not desired, so the export keeps that name. If there is a generation of that name, the control
// plane shows the last one of the two: connection, but not a.
func TestExportWithTheNameOfAGeneration(t *testing.T) {
	const connection, a, first = "v1|Secret|team-a|shop-connection", "v1|Secret|team-a|shop-a", "v1|Secret|team-a|shop-admin-1"
	const input = adminOnce + `
- {name: a, metadata: {nameExpression: "'shop-' + 'a'"}, data: [{key: region, value: "'eu'"}]}`
	for _, key := range []string{connection, a} {
		for _, name := range []string{"generated/admin/7", "generated/admin/1", "generated/admin/2", "generated/other/1"} {
			t.Run(key+"/"+name, func(t *testing.T) {
				c := overGRPC(functiontest.NewControlPlane(t, input))
				c.Settle()
				want := func(when, number string) {
					t.Helper()
					c.Wants(when, "shop-a shop-admin-"+number+" shop-connection", "Available")
				}
				want("at first", "1")
				uids := map[string]string{connection: "", a: "", first: ""}
				for key := range uids {
					uids[key] = functiontest.Meta(c.Stored[key], "uid")
				}
				data := func() string { return c.Stored[connection].GetFields()["data"].String() }
				before := data()
				functiontest.Set(c.Stored[key], name, "metadata", "annotations", functiontest.ResourceNameAnnotation)
				for range 6 {
					c.ReconcileHostile()
					for key, uid := range uids {
						if got := functiontest.Meta(c.Stored[key], "uid"); got != uid {
							t.Fatalf("%s was deleted", key)
						}
					}
					if data() != before {
						t.Fatal("the data of the export changed")
					}
				}
				want("after the edit", "1")
				// The generator of that name exists now.
				c.SetInput(strings.Replace(input, "generators: [", "generators: [{name: other, uuid: {}}, ", 1))
				c.Annotate(rotateKey, "admin=1")
				for range 12 {
					c.ReconcileHostile()
				}
				if uid := functiontest.Meta(c.Stored[key], "uid"); uid != uids[key] {
					t.Errorf("%s was deleted", key)
				}
				c.Wants("after a rotation", "shop-a shop-admin-2 shop-connection shop-other-1", "Available")
			})
		}
	}
}
