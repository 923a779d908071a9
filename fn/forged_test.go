package main

import (
	"encoding/base64"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// What somebody can do who may create and delete Secrets beside a composite, and edit their
// annotations, but may not edit the composite. Requests go to a server over gRPC.

const forgedValue = "forged-value-of-an-attacker"

// overGRPC lets the control plane call a server.
func overGRPC(c *controlPlane) *controlPlane {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	s := grpc.NewServer()
	fnv1.RegisterFunctionRunnerServiceServer(s, c.fn)
	go s.Serve(l) //nolint:errcheck // It ends with the test.
	c.t.Cleanup(s.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close() })
	c.client = fnv1.NewFunctionRunnerServiceClient(conn)
	return c
}

const adminOnce = "generators: [{name: admin, gracePeriod: 0s, password: {}}]" + connectionOfAdmin

// forge a Secret that looks like a generation in all that can be known without the values.
func (c *controlPlane) forge(name string, number int, labels bool) {
	state := ""
	if real := c.stored["v1|Secret|team-a|shop-admin-1"]; real != nil {
		state = meta(real, "annotations", simulationPrefix+"generator-state")
	}
	o := parse(c.t, fmt.Sprintf(`{apiVersion: v1, kind: Secret, type: Opaque, immutable: true, metadata: {name: %s, namespace: team-a,
  creationTimestamp: %q, ownerReferences: [{apiVersion: example.org/v1, kind: XDatabase, name: shop, controller: true, uid: %s}]},
  data: {password: %s}}`, name, c.now.Add(-time.Hour).UTC().Format(time.RFC3339), meta(c.xr, "uid"), base64.StdEncoding.EncodeToString([]byte(forgedValue))))
	set(o, fmt.Sprintf("generated/admin/%d", number), "metadata", "annotations", resourceNameAnnotation)
	set(o, state, "metadata", "annotations", simulationPrefix+"generator-state")
	set(o, c.now.UTC().Format(time.RFC3339), "metadata", "annotations", simulationPrefix+"generated-at")
	if labels {
		set(o, meta(c.xr, "uid"), "metadata", "labels", simulationPrefix+"composite")
		set(o, "admin", "metadata", "labels", simulationPrefix+"generator")
		set(o, fmt.Sprint(number), "metadata", "labels", simulationPrefix+"generation")
	}
	c.uids++
	set(o, fmt.Sprintf("forged-%d", c.uids), "metadata", "uid")
	c.stored[keyOf(o)] = o
}

// forgeExport is an export that was deleted and created again, with data that its author knows
// and a record that fits.
func (c *controlPlane) forgeExport(uid string, number int) {
	o := c.stored["v1|Secret|team-a|shop-connection"]
	set(o, base64.StdEncoding.EncodeToString([]byte("known")), "data", "password")
	annotations := map[string]string{generator.AnnotationGenerated: fmt.Sprintf(`{"admin":{"generation":%d,"uid":%q,"apiVersion":"v1","kind":"Secret","namespace":"team-a","name":"shop-admin-%[1]d"}}`, number, uid)}
	set(o, annotations[generator.AnnotationGenerated], "metadata", "annotations", generator.AnnotationGenerated)
	set(o, generator.Seal(generator.Outputs{"password": sensitive.FromString("known")}, annotations), "metadata", "annotations", generator.AnnotationSeal)
	set(o, "recreated", "metadata", "uid")
}

// holdsForged reports whether the value of the attacker is anywhere in what is exported.
func (c *controlPlane) holdsForged() bool {
	for key, o := range c.stored {
		if strings.Contains(key, "shop-connection") {
			text, _ := proto.Marshal(o)
			return strings.Contains(string(text), base64.StdEncoding.EncodeToString([]byte(forgedValue)))
		}
	}
	return false
}

func TestForgedGenerations(t *testing.T) {
	const first = "v1|Secret|team-a|shop-admin-1"
	cases := map[string]struct {
		reason string
		attack func(c *controlPlane)
		names  string
		want   string // of the condition
		after  func(c *controlPlane)
		then   string
	}{
		"Label": {
			reason: "a label and an owner are no proof",
			attack: func(c *controlPlane) { c.forge("shop-admin-2", 2, true) },
			names:  "shop-admin-1 shop-admin-2 shop-connection", want: "Available",
		},
		"NameAheadOfARotation": {
			reason: "the name is left alone, and another number is used",
			attack: func(c *controlPlane) { c.forge("shop-admin-2", 2, false); c.annotate(rotateKey, "admin=1") },
			names:  "shop-admin-2 shop-admin-3-", want: "Available",
		},
		"AnotherObjectUnderItsName": {
			reason: "it has another UID than the one that the export recorded",
			attack: func(c *controlPlane) { delete(c.stored, first); c.forge("shop-admin-1", 1, true) },
			names:  "shop-admin-1 shop-connection", want: "Conflict",
			after: func(c *controlPlane) { delete(c.stored, first) },
			then:  "Available",
		},
		"MutableObjectUnderItsName": {
			reason: "also if it can be changed",
			attack: func(c *controlPlane) {
				delete(c.stored, first)
				c.forge("shop-admin-1", 1, true)
				delete(c.stored[first].Fields, "immutable")
			},
			names: "shop-admin-1 shop-connection", want: "Conflict",
		},
		"Flag": {
			reason: "a flag that somebody else wrote says nothing",
			attack: func(c *controlPlane) {
				set(c.stored[first], "2026-01-01T00:00:00Z", "metadata", "annotations", simulationPrefix+"flagged-for-gc-time")
				set(c.stored[first], `{"state":{"kind":"password","adopted":true,"flagged":true}}`, "metadata", "annotations", simulationPrefix+"generator-state")
				set(c.stored["v1|Secret|team-a|shop-connection"], `{"admin":{"generation":2,"uid":"x"}}`, "metadata", "annotations", simulationPrefix+"generated")
			},
			names: "shop-admin-1 shop-connection", want: "Available",
		},
		"LastNumber": {
			reason: "no number keeps the next generation from being made",
			attack: func(c *controlPlane) {
				set(c.stored[first], "generated/admin/999999999", "metadata", "annotations", resourceNameAnnotation)
				set(c.stored["v1|Secret|team-a|shop-connection"], `{"admin":{"generation":999999999,"uid":"uid-1"}}`, "metadata", "annotations", simulationPrefix+"generated")
				c.annotate(rotateKey, "admin=1")
			},
			names: "shop-admin-2 shop-connection", want: "Available",
		},
		"AnotherCompositionResourceName": {
			reason: "it is desired under the name that it is observed by",
			attack: func(c *controlPlane) {
				set(c.stored[first], "cache", "metadata", "annotations", resourceNameAnnotation)
			},
			names: "shop-admin-1 shop-connection", want: "Available",
		},
		"NameOfTheExport": {
			reason: "what hides the export gets its own name again",
			attack: func(c *controlPlane) {
				c.list()
				set(c.stored[first], "connection", "metadata", "annotations", resourceNameAnnotation)
			},
			names: "shop-admin-1 shop-connection", want: "Available",
		},
		"RecordOfAForgedExport": {
			reason: "a record names only what the composite lists",
			attack: func(c *controlPlane) {
				c.forge("shop-admin-2", 2, true)
				c.forgeExport(meta(c.stored["v1|Secret|team-a|shop-admin-2"], "uid"), 2)
			},
			names: "shop-admin-1 shop-admin-2 shop-connection", want: "Conflict",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := overGRPC(newControlPlane(t, adminOnce))
			c.settle()
			was := c.value("shop-connection", "password")
			tc.attack(c)
			for range 8 {
				c.reconcileHostile()
				if c.holdsForged() {
					t.Fatalf("%s: the forged value is exported: %s", tc.reason, c.condition())
				}
			}
			if !strings.HasPrefix(c.names(), tc.names) {
				t.Errorf("%s: there are %s, not %s", tc.reason, c.names(), tc.names)
			}
			if !strings.HasPrefix(c.condition(), tc.want) {
				t.Errorf("%s: condition %s, not %s", tc.reason, c.condition(), tc.want)
			}
			if rotated := strings.Contains(meta(c.xr, "annotations", rotateKey), "="); !rotated && name != "RecordOfAForgedExport" && c.value("shop-connection", "password") != was {
				t.Errorf("%s: the exported value changed", tc.reason)
			}
			if tc.after != nil {
				tc.after(c)
				c.settle()
				c.settle()
				if !strings.HasPrefix(c.condition(), tc.then) || c.holdsForged() {
					t.Errorf("%s: then %s, not %s", tc.reason, c.condition(), tc.then)
				}
			}
		})
	}
}

// list what is composed in the composite, as Crossplane does.
func (c *controlPlane) list() {
	var refs []*structpb.Value
	for _, key := range c.listed {
		part := strings.Split(key, "|")
		refs = append(refs, structpb.NewStructValue(parse(c.t, fmt.Sprintf("{apiVersion: %s, kind: %s, name: %s}", part[0], part[1], part[3]))))
	}
	c.xr.Fields["spec"].GetStructValue().Fields["crossplane"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
		"resourceRefs": structpb.NewListValue(&structpb.ListValue{Values: refs}),
	}})
}

// reconcileHostile is reconcile where the API server refuses what an immutable object has
// otherwise, as Crossplane goes on after such an answer.
func (c *controlPlane) reconcileHostile() {
	c.tolerant = true
	c.reconcile()
	c.now = c.now.Add(time.Second)
}

// After a restore the generation is another object with the same value. The owner of the
// composite says that it is the one.
func TestAcceptedGeneration(t *testing.T) {
	c := overGRPC(newControlPlane(t, adminOnce))
	c.settle()
	was := c.value("shop-connection", "password")
	set(c.stored["v1|Secret|team-a|shop-admin-1"], "restored", "metadata", "uid")
	c.settle()
	if !strings.Contains(c.condition(), "set the annotation export.fn.crossplane.io/accept-generation: restored on the composite") {
		t.Fatal(c.condition())
	}
	c.annotate(simulationPrefix+"accept-generation", "restored")
	c.settle()
	c.settle()
	c.wants("accepted", "shop-admin-1 shop-connection", "Available")
	c.annotate(simulationPrefix+"accept-generation", "")
	c.settle()
	c.wants("recorded", "shop-admin-1 shop-connection", "Available")
	if c.value("shop-connection", "password") != was {
		t.Error("the exported value changed")
	}
}

// Later steps leave a resource out that refers to the generation in use while there is none,
// and Crossplane deletes that resource. So there is always one, also when it was deleted.
func TestLatestStays(t *testing.T) {
	latest := func(c *controlPlane, generator string) string {
		state, _ := c.state()[generator].(map[string]any)
		latest, _ := state["latest"].(map[string]any)
		name, _ := latest["name"].(string)
		return name
	}
	for name, tc := range map[string]struct {
		input, generator string
		do               func(c *controlPlane)
		want             []string
	}{
		"Deleted":               {adminOnce, "admin", func(c *controlPlane) { delete(c.stored, "v1|Secret|team-a|shop-admin-1") }, []string{"shop-admin-1", "shop-admin-2"}},
		"DeletedWithoutExports": {"generators: [{name: admin, password: {}}]", "admin", func(c *controlPlane) { delete(c.stored, "v1|Secret|team-a|shop-admin-1") }, []string{"shop-admin-1"}},
		"Rotated":               {adminOnce, "admin", func(c *controlPlane) { c.annotate(rotateKey, "admin=1") }, []string{"shop-admin-1", "shop-admin-2"}},
		"Edited": {"generators: [{name: admin, password: {}}]", "admin", func(c *controlPlane) {
			set(c.stored["v1|Secret|team-a|shop-admin-1"], "{}", "metadata", "annotations", simulationPrefix+"generator-state")
		}, []string{"shop-admin-1"}},
		"Renamed": {adminOnce, "root", func(c *controlPlane) {
			c.setInput(strings.ReplaceAll(adminOnce, "admin", "root"))
		}, []string{"shop-admin-1", "shop-root-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := overGRPC(newControlPlane(t, tc.input))
			c.settle()
			c.list()
			tc.do(c)
			var got []string
			for range 6 {
				c.reconcile()
				c.now = c.now.Add(time.Second)
				if n := latest(c, tc.generator); len(got) == 0 || got[len(got)-1] != n {
					got = append(got, n)
				}
			}
			if strings.Join(got, " ") != strings.Join(tc.want, " ") {
				t.Errorf("latest was %q, not %q; %s", got, tc.want, c.condition())
			}
		})
	}
}

// An annotation of a resource does not change what is desired of it.
func TestEditedManifest(t *testing.T) {
	c := overGRPC(newControlPlane(t, accessKey("", "")))
	c.settle()
	c.ready("shop-key-1", map[string]string{"a": "b"})
	c.settle()
	key := "iam.example.org/v1|AccessKey|team-a|shop-key-1"
	state := meta(c.stored[key], "annotations", simulationPrefix+"generator-state")
	for _, input := range []string{accessKey("", ""), accessKey("", "{fieldPath: spec.role, value: composite.spec.role}")} { // as it was, and changed
		edited := strings.NewReplacer(`"metadata":{`, `"metadata":{"finalizers":["x"],"annotations":{"crossplane.io/external-name":"theirs"},`, `"spec":{`, `"spec":{"userRef":{"name":"root"},`).Replace(state)
		set(c.stored[key], edited, "metadata", "annotations", simulationPrefix+"generator-state")
		c.setInput(input)
		c.response = c.call()
		o := c.response.GetDesired().GetResources()["generated/key/1"].GetResource()
		delete(o.GetFields()["metadata"].GetStructValue().GetFields()["annotations"].GetStructValue().GetFields(), simulationPrefix+"generator-state")
		if text := o.String(); o == nil || strings.Contains(text, "finalizers") || strings.Contains(text, "theirs") || strings.Contains(text, "root") {
			t.Errorf("desired is %s", text)
		}
	}
}

// A code is keyed with a secret value: it is in Secrets only, also when the next generation is
// of another kind.
func TestCodesAreInSecretsOnly(t *testing.T) {
	c := newControlPlane(t, adminOnce)
	c.settle()
	c.setInput("generators: [{name: admin, gracePeriod: 1h, resource: {manifest: {apiVersion: v1, kind: ConfigMap}, readyExpression: has(resource.data.token)}}]")
	c.response = c.call()
	made := c.response.GetDesired().GetResources()["generated/admin/2"].GetResource()
	state := meta(made, "annotations", simulationPrefix+"generator-state")
	if made.GetFields()["kind"].GetStringValue() != "ConfigMap" || !strings.Contains(state, "follows") || strings.Contains(state, "codes") {
		t.Errorf("it has %s; %s", made, c.condition())
	}
}
