package function_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

func TestRotationWithOverlap(t *testing.T) {
	c := functiontest.NewControlPlane(t, functiontest.RotatedPassword+functiontest.ConnectionOfAdmin)
	c.Reconcile()
	c.Wants("made", "shop-admin-1", `Waiting Secret "connection" (team-a/shop-connection) is not created: key "password" waits for generated.admin (its generation 1 is created in this reconcile)`)
	if c.TTL() != 0 {
		t.Errorf("a response with a password that was just made has TTL %s: Crossplane may keep it", c.TTL())
	}
	c.Reconcile()
	c.Wants("stored", "shop-admin-1", `Waiting Secret "connection" (team-a/shop-connection) is not created: key "password" waits for generated.admin (its generation 1 is not adopted yet)`)
	c.Reconcile()
	c.Wants("adopted", "shop-admin-1 shop-connection", `Waiting Secret "connection" (team-a/shop-connection) is created in this reconcile`)
	first := c.Value("shop-connection", "password")
	if !c.Object("Secret", "shop-admin-1").GetFields()["immutable"].GetBoolValue() {
		t.Error("what is stored can be changed")
	}
	if first == "" || first != c.Value("shop-admin-1", "password") {
		t.Error("what is exported is not what is stored")
	}
	c.Settle()
	if c.TTL() != plan.WatchTTL {
		t.Errorf("TTL is %s while nothing is due", c.TTL())
	}

	c.Wait(functiontest.Interval - 44*time.Second)
	c.Settle()
	if c.TTL() != 40*time.Second {
		t.Errorf("TTL is %s 44 seconds before the next generation: a tenth more should not pass it", c.TTL())
	}
	c.Wants("before it is due", "shop-admin-1 shop-connection", "Available")

	c.Wait(44 * time.Second)
	c.Reconcile()
	c.Wants("due", "shop-admin-1 shop-admin-2 shop-connection", `Waiting generator "admin": its generation 2 is created in this reconcile; generation 1 stays in use`)
	c.Reconcile()
	if c.Value("shop-connection", "password") != first {
		t.Error("a generation is exported before it is adopted")
	}
	c.Reconcile()
	second := c.Value("shop-connection", "password")
	if second == first || second != c.Value("shop-admin-2", "password") || c.Value("shop-connection", "former") != first {
		t.Error("the new generation is not exported, or the former one is not beside it")
	}
	if f := functiontest.FlaggedOf(c.Object("Secret", "shop-admin-1")); f != "" {
		t.Errorf("the former one is flagged at %s, before the export was seen", f)
	}
	c.Wait(time.Hour)
	c.Settle()
	if f := functiontest.FlaggedOf(c.Object("Secret", "shop-admin-1")); f != "2026-12-21T13:00:00Z" {
		t.Errorf("the former one is flagged at %q", f)
	}
	c.Wait(functiontest.Grace - time.Second)
	c.Settle()
	c.Wants("in its grace period", "shop-admin-1 shop-admin-2 shop-connection", "Available")
	if c.TTL() != time.Second {
		t.Errorf("TTL is %s a second before the grace period is over", c.TTL())
	}
	c.Wait(time.Second)
	c.Settle()
	c.Wants("after it", "shop-admin-2 shop-connection", "Available")
	if c.Value("shop-connection", "former") != "" || c.Value("shop-connection", "password") != second {
		t.Error("the former one is still exported, or the one in use is not")
	}
}

func TestStateForOthers(t *testing.T) {
	c := functiontest.NewControlPlane(t, functiontest.RotatedPassword+functiontest.ConnectionOfAdmin)
	c.Settle()
	c.Wait(functiontest.Interval)
	c.Settle()
	admin, _ := c.State()["admin"].(map[string]any)
	latest, _ := admin["latest"].(map[string]any)
	gc, _ := admin["gc"].(map[string]any)
	if latest["name"] != "shop-admin-2" || latest["generation"] != 2.0 || latest["generatedAt"] != "2026-12-21T12:00:00Z" || len(gc) != 1 {
		t.Errorf("the state is %v", admin)
	}
	for _, g := range gc {
		if m, _ := g.(map[string]any); m["name"] != "shop-admin-1" || m["flaggedForGCTime"] != "2026-12-21T12:00:00Z" {
			t.Errorf("what waits to be dropped is %v", g)
		}
	}
	record := functiontest.RecordOf(c.Object("Secret", "shop-connection"))["admin"].GetStructValue().GetFields()
	if record["holds"].GetStringValue() != functiontest.Meta(c.Object("Secret", "shop-admin-2"), "uid") {
		t.Errorf("the record of the exported Secret is %v", record)
	}
}

func TestWhatMakesAnotherGeneration(t *testing.T) {
	cases := map[string]struct {
		reason string
		policy string
		do     func(c *functiontest.ControlPlane)
		want   string
	}{

		"CreatedOnceRotatesByHand": {
			reason: "the annotation counts for each policy",
			do:     func(c *functiontest.ControlPlane) { c.Annotate(rotateKey, "admin=1") },
			want:   "shop-admin-2 shop-connection",
		},

		"OnChangeFollowsTheSpec": {
			reason: "the generator is another one",
			policy: "refreshPolicy: OnChange",
			do: func(c *functiontest.ControlPlane) {
				c.SetInput("generators: [{name: admin, refreshPolicy: OnChange, password: {length: 40}}]" + functiontest.ConnectionOfAdmin)
			},
			want: "shop-admin-2 shop-connection",
		},
		"OnChangeIgnoresTheRest": {
			reason: "how long the former one stays changes no password",
			policy: "refreshPolicy: OnChange",
			do: func(c *functiontest.ControlPlane) {
				c.SetInput("generators: [{name: admin, refreshPolicy: OnChange, gracePeriod: 1h, password: {length: 32}}]" + functiontest.ConnectionOfAdmin)
			},
			want: "shop-admin-1 shop-connection",
		},
		"Keepers": {
			reason: "a value of the composite rotates",
			policy: "refreshPolicy: OnChange, keepersExpression: composite.spec.passwordVersion",
			do: func(c *functiontest.ControlPlane) {
				c.XR.Fields["spec"].GetStructValue().Fields["passwordVersion"] = structpb.NewNumberValue(2)
			},
			want: "shop-admin-2 shop-connection",
		},

		"AnotherKind": {
			reason: "a generator of another kind follows it, whatever the policy",
			do: func(c *functiontest.ControlPlane) {
				c.SetInput("generators: [{name: admin, uuid: {}}]" + strings.Replace(functiontest.ConnectionOfAdmin, ".admin.password", ".admin.uuid", 1))
			},
			want: "shop-admin-2 shop-connection",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			policy := ""
			if tc.policy != "" {
				policy = ", " + tc.policy
			}
			c := functiontest.NewControlPlane(t, "generators: [{name: admin, password: {length: 32}"+policy+"}]"+functiontest.ConnectionOfAdmin)
			c.Settle()
			tc.do(c)
			c.Settle()
			c.Settle() // a grace period of nothing is over with the next one
			c.Wants(tc.reason, tc.want, "Available")
		})
	}
}

const rotateKey = "export.fn.crossplane.io/rotate"

func TestGeneratorLeavesTheInput(t *testing.T) {
	const without = `
secrets:
- name: other
  data: [{key: a, value: "'b'"}]
`
	t.Run("Gone", func(t *testing.T) {
		c := functiontest.NewControlPlane(t, functiontest.RotatedPassword+functiontest.ConnectionOfAdmin)
		c.Settle()
		c.SetInput(without)
		c.Settle()
		c.Wants("in its grace period", "shop-admin-1 shop-other", "Available")
		c.Wait(functiontest.Grace)
		c.Settle()
		c.Wants("after it", "shop-other", "Available")
	})
	t.Run("Back", func(t *testing.T) {
		c := functiontest.NewControlPlane(t, functiontest.RotatedPassword+functiontest.ConnectionOfAdmin)
		c.Settle()
		was := c.Value("shop-connection", "password")
		c.SetInput(without)
		c.Settle()
		c.Wait(functiontest.Grace / 2)
		c.SetInput(functiontest.RotatedPassword + functiontest.ConnectionOfAdmin)
		c.Settle()
		c.Wants("back", "shop-admin-1 shop-connection", "Available")
		if c.Value("shop-connection", "password") != was {
			t.Error("it has another value")
		}
		if f := functiontest.FlaggedOf(c.Object("Secret", "shop-admin-1")); f != "" {
			t.Errorf("it says that it is flagged at %s", f)
		}
		c.Wait(functiontest.Grace)
		c.Settle()
		c.Wants("for good", "shop-admin-1 shop-connection", "Available")
	})
}

// A composite that is read from a stale cache lists nothing yet, or only some of it.
func TestStaleComposite(t *testing.T) {
	const generation, export = "v1|Secret|team-a|shop-admin-1", "v1|Secret|team-a|shop-connection"
	cases := map[string]struct {
		reason  string
		listed  []string
		stale   bool
		exports bool // already
	}{
		"Nothing":        {reason: "nothing is changed before the composite is read anew", stale: true, exports: true},
		"OnlyGeneration": {reason: "the export that has its value was just created", listed: []string{generation}, stale: true, exports: true},
		"OnlyExport":     {reason: "the generation that the export recorded was just created", listed: []string{export}, stale: true, exports: true},
		"First":          {reason: "the first generation was just made", stale: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := functiontest.NewControlPlane(t, functiontest.RotatedPassword+functiontest.ConnectionOfAdmin)
			c.Reconcile()
			if tc.exports {
				c.Settle()
			}
			password := c.Value("shop-admin-1", "password")
			c.ReconcileStale(tc.listed...)
			if stale := c.Fatal() != ""; stale != tc.stale {
				t.Errorf("%s: stale is %t: %s", tc.reason, stale, c.Fatal())
			}
			c.Settle()
			c.Wants(tc.reason, "shop-admin-1 shop-connection", "Available")
			if c.Value("shop-connection", "password") != password {
				t.Errorf("%s: it has another value", tc.reason)
			}
		})
	}
}

// A composite that is restored without its list no longer knows its objects. Its exports stay, and
// its owner decides which generation to continue with.
func TestAListThatIsLost(t *testing.T) {
	c := functiontest.NewControlPlane(t, functiontest.RotatedPassword+functiontest.ConnectionOfAdmin)
	c.Settle()
	c.Wait(time.Hour)
	was := c.Value("shop-connection", "password")
	c.Listed = nil
	c.Settle()
	if !strings.HasPrefix(c.Condition(), "Conflict ") || !strings.Contains(c.Condition(), "set the annotation export.fn.crossplane.io/accept-generation") {
		t.Errorf("the condition is %s", c.Condition())
	}
	if got := c.Value("shop-connection", "password"); got != was || c.Names() != "shop-admin-1 shop-connection" {
		t.Errorf("what is exported changes: %s", c.Names())
	}
	c.Annotate(functiontest.Prefix+"accept-generation", functiontest.Meta(c.Object("Secret", "shop-admin-1"), "uid"))
	c.Reconcile() // lists it
	c.Settle()
	c.Wants("it goes on", "shop-admin-1 shop-connection", "Available")
	if c.Value("shop-connection", "password") != was {
		t.Error("it has another value")
	}
}

func TestGenerationsByHand(t *testing.T) {
	key := "v1|Secret|team-a|shop-admin-"
	cases := map[string]struct {
		reason    string
		do        func(c *functiontest.ControlPlane)
		names     string
		condition string
		changes   bool // the value
	}{
		"TheOneInUseIsDeleted": {
			reason:    "its value is gone, and another one is made, under another name",
			do:        func(c *functiontest.ControlPlane) { delete(c.Stored, key+"1") },
			names:     "shop-admin-2 shop-connection",
			condition: "Available",
			changes:   true,
		},
		"LosesItsAnnotations": {
			reason: "its UID was recorded, and it stays in use; it is as old as its object",
			do: func(c *functiontest.ControlPlane) {
				maps.DeleteFunc(c.AnnotationsOf("Secret", "shop-admin-1"), func(k string, _ *structpb.Value) bool {
					return strings.HasPrefix(k, functiontest.Prefix)
				})
			},
			names:     "shop-admin-1 shop-connection",
			condition: "Available",
		},
		"LosesItsLabels": {
			reason: "it is found among the composed resources",
			do: func(c *functiontest.ControlPlane) {
				delete(c.Stored[key+"1"].GetFields()["metadata"].GetStructValue().GetFields(), "labels")
			},
			names:     "shop-admin-1 shop-connection",
			condition: "Available",
		},
		"TheNextNameIsTaken": {
			reason: "what belongs to another owner is not touched",
			do: func(c *functiontest.ControlPlane) {
				c.Stored[key+"2"] = functiontest.Parse(c.T, "{apiVersion: v1, kind: Secret, metadata: {name: shop-admin-2, namespace: team-a}, data: {a: Yg==}}")
				c.Wait(functiontest.Interval)
			},
			names: "shop-admin-1 shop-admin-2 shop-connection",
			condition: `Held generator "admin" creates no generation: generators[0].name: Secret team-a/shop-admin-2 exists and is not one of its generations: ` +
				"delete it, or give the generator another name; generation 1 stays in use",
		},

		"TheOneInUseIsRestored": {
			reason: "the code in the record of the export proves that it has the same value",
			do: func(c *functiontest.ControlPlane) {
				o := proto.Clone(c.Stored[key+"1"]).(*structpb.Struct)
				functiontest.Set(o, "restored", "metadata", "uid")
				c.Stored[key+"1"] = o
			},
			names:     "shop-admin-1 shop-connection",
			condition: "Available",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := functiontest.NewControlPlane(t, functiontest.RotatedPassword+functiontest.ConnectionOfAdmin)
			c.Settle()
			was := c.Value("shop-connection", "password")
			tc.do(c)
			c.Settle()
			c.Settle()
			if diff := cmp.Diff([]string{tc.names, tc.condition}, []string{c.Names(), c.Condition()}); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if changes := c.Value("shop-connection", "password") != was; changes != tc.changes {
				t.Errorf("the value changes: %t", changes)
			}
		})
	}
}

func TestResourceThatMakesACredential(t *testing.T) {
	c := functiontest.NewControlPlane(t, functiontest.TokenOfResource)
	c.Reconcile()
	if c.TTL() != plan.PollTTL {
		t.Errorf("TTL is %s: what is made is no secret, and may be kept", c.TTL())
	}
	c.Settle()
	c.Wants("not ready", "shop-token-1", `Waiting Secret "aws" (team-a/shop-aws) is not created: key "id" and key "secret" wait for generated.token (its generation 1 is not ready: it waits for its condition Ready); see: kubectl describe accesskey.iam.example.org shop-token-1 --namespace team-a`)
	c.Provide("shop-token-1", "one", "True")
	c.Settle()
	c.Wants("ready", "shop-aws shop-token-1", "Available")
	made := proto.Clone(c.Object("AccessKey", "shop-token-1").GetFields()["spec"]).(*structpb.Value)

	functiontest.Set(c.XR, "writer", "spec", "role")
	c.Settle()
	c.Wants("the next one is not ready", "shop-aws shop-token-1 shop-token-2", `Waiting generator "token": generation 2 is not ready: it waits for its condition Ready; generation 1 stays in use; see: kubectl describe accesskey.iam.example.org shop-token-2 --namespace team-a`)
	if c.Value("shop-aws", "id") != "one" || c.Value("shop-aws", "secret") != "secret-of-one" {
		t.Error("the former one is not exported any more")
	}
	if !proto.Equal(made, c.Object("AccessKey", "shop-token-1").GetFields()["spec"]) {
		t.Error("the former one changes")
	}
	if c.Object("AccessKey", "shop-token-2").GetFields()["spec"].GetStructValue().GetFields()["forProvider"].GetStructValue().GetFields()["role"].GetStringValue() != "writer" {
		t.Error("the next one is not what is wanted")
	}
	c.Provide("shop-token-2", "two", "True")
	c.Settle()
	if c.Value("shop-aws", "id") != "two" || c.Value("shop-aws", "former") != "one" {
		t.Error("the next one is not exported, or the former one is not beside it")
	}
	c.Provide("shop-token-2", "two", "False") // for a moment
	c.Settle()
	if c.Value("shop-aws", "id") != "two" {
		t.Error("one that was adopted is not exported any more")
	}
	c.Provide("shop-token-2", "two", "True")
	c.Wait(time.Hour)
	c.Settle()
	c.Wants("grace is over", "shop-aws shop-token-2", "Available")
}

func TestCertificateFollowsItsCA(t *testing.T) {
	c := functiontest.NewControlPlane(t, `
generators:
- {name: tls, refreshPolicy: OnChange, certificate: {ca: ca, dnsNames: [db.example.org], duration: 2160h, renewBefore: 720h}}
- {name: ca, refreshPolicy: OnChange, certificate: {isCA: true, subject: {commonName: root}, duration: 87600h}}
secrets:
- name: server
  type: kubernetes.io/tls
  dataFrom: [{extract: {key: generated.tls}}]
`)
	c.Reconcile()
	c.Wants("the CA is first", "shop-ca-1", `Waiting Secret "server" (team-a/shop-server) is not created: secrets[0].dataFrom[0] waits for generated.tls (the next generation of generated.ca); generator "ca": its generation 1 is created in this reconcile`)
	c.Settle()
	c.Wants("made", "shop-ca-1 shop-server shop-tls-1", "Available")
	c.Wait(1440*time.Hour - time.Minute)
	c.Settle()
	c.Wants("not yet renewed", "shop-ca-1 shop-server shop-tls-1", "Available")
	c.Wait(time.Minute)
	c.Settle()
	c.Settle()
	c.Wants("renewed", "shop-ca-1 shop-server shop-tls-2", "Available")
	c.Annotate(rotateKey, "ca=1")
	c.Settle()
	c.Settle()
	c.Wants("with its CA", "shop-ca-2 shop-server shop-tls-3", "Available")
	if c.Value("shop-server", "ca.crt") != c.Value("shop-ca-2", "tls.crt") {
		t.Error("it is not signed by the CA in use")
	}
}

// A pipeline can have several steps with this function.
func TestGeneratorsOfSeveralSteps(t *testing.T) {
	const uuid = `
generators: [{name: id, uuid: {}, gracePeriod: 1h}]
secrets: [{name: ids, data: [{key: id, value: generated.id.uuid}]}]
`
	const none = `secrets: [{name: other, data: [{key: a, value: "'b'"}]}]`
	c := functiontest.NewControlPlane(t, none)
	c.Later = []string{functiontest.RotatedPassword + functiontest.ConnectionOfAdmin, uuid, strings.ReplaceAll(none, "other", "last")}
	c.Settle()
	c.Wants("all of them", "shop-admin-1 shop-connection shop-id-1 shop-ids shop-last shop-other", "Available")
	was := c.Value("shop-connection", "password")
	c.Wait(time.Hour)
	c.Settle()
	c.Settle()
	c.Wants("no step drops what another one has", "shop-admin-1 shop-connection shop-id-1 shop-ids shop-last shop-other", "Available")
	if f := functiontest.FlaggedOf(c.Object("Secret", "shop-id-1")); f != "" {
		t.Error("a step flags what another one has")
	}
	if c.TTL() != plan.WatchTTL {
		t.Errorf("TTL is %s", c.TTL())
	}
	c.Later = c.Later[1:]
	c.SetInput(functiontest.RotatedPassword + functiontest.ConnectionOfAdmin)
	c.Settle()
	c.Wants("moved to another step", "shop-admin-1 shop-connection shop-id-1 shop-ids shop-last", "Available")
	if c.Value("shop-connection", "password") != was {
		t.Error("it has another value")
	}
	c.Later = []string{strings.ReplaceAll(functiontest.RotatedPassword, "24h", "1h"), none}
	c.Reconcile()
	if text := c.Fatal(); text != `invalid input: generators[0].name: an earlier step of the pipeline also has a generator "admin": rename one of them` {
		t.Errorf("a generator that two steps have: %q", text)
	}
}

func TestSlowGenerationsTakeTurns(t *testing.T) {
	c := functiontest.NewControlPlane(t, `
generators:
- {name: a, sshKey: {type: rsa, bits: 2048}}
- {name: b, sshKey: {type: rsa, bits: 2048}}
secrets:
- name: keys
  data: [{key: a, value: generated.a.privateKey}, {key: b, value: generated.b.privateKey}]
configMaps:
- name: keys-public
  data: [{key: a, value: generated.a.publicKey, nonSensitive: [generated.a.publicKey]}]
`)
	c.Reconcile()
	c.Wants("one after the other", "shop-a-1", `Waiting Secret "keys" (team-a/shop-keys) is not created: key "a" waits for generated.a (its generation 1 is created in this reconcile); key "b" waits for generated.b (its turn, because one reconcile creates only some generations, and only one with an RSA key, a hash or a keystore); ConfigMap "keys-public" (team-a/shop-keys-public) is not created: key "a" waits for generated.a (its generation 1 is created in this reconcile)`)
	c.Settle()
	c.Wants("both", "shop-a-1 shop-b-1 shop-keys shop-keys-public", "Available")
}

func TestFindAndExtractWhatIsGenerated(t *testing.T) {
	c := functiontest.NewControlPlane(t, `
generators:
- {name: admin, password: {secretKeys: [user, root]}}
secrets:
- name: all
  dataFrom:
  - find: {path: generated.admin/, name: {regexp: root}}
    rewrite: [{regexp: {source: '.*/', target: found-}}]
  - {extract: {key: previous.admin}, optional: true}
- name: none
  dataFrom:
  - {find: {name: {regexp: root}}, optional: true}
  - {valueMap: "{'a': 'b'}"}
`)
	c.Settle()
	c.Wants("made", "shop-admin-1 shop-all shop-none", "Available")
	if got := slices.Sorted(maps.Keys(c.Object("Secret", "shop-all").GetFields()["data"].GetStructValue().GetFields())); !slices.Equal(got, []string{"found-root"}) {
		t.Errorf("found %v", got)
	}
	if got := slices.Sorted(maps.Keys(c.Object("Secret", "shop-none").GetFields()["data"].GetStructValue().GetFields())); !slices.Equal(got, []string{"a"}) {
		t.Errorf("a find that does not ask for what is generated finds %v", got)
	}
	if len(functiontest.RecordOf(c.Object("Secret", "shop-all"))) == 0 {
		t.Error("what is exported does not say which generation it is of")
	}
}

// The author of a composite cannot keep a generation from being made.
func TestAuthorsGiveWay(t *testing.T) {
	c := functiontest.NewControlPlane(t, functiontest.RotatedPassword+functiontest.ConnectionOfAdmin+`
fromComposite: {fieldPath: spec.exports, allow: {}}
`)
	c.Settle()
	c.XR.Fields["spec"].GetStructValue().Fields["exports"] = structpb.NewStructValue(functiontest.Parse(t, `{secretExpressions: [{name: shop-admin-2, key: a, value: "'b'"}]}`))
	c.Settle()
	c.Wants("the author's", "shop-admin-1 shop-admin-2 shop-connection", "Available")
	c.Wait(functiontest.Interval)
	c.Settle()
	c.Wait(functiontest.Grace)
	c.Settle()
	if c.Names() != "shop-admin-2 shop-connection" || c.Value("shop-admin-2", "password") != c.Value("shop-connection", "password") {
		t.Errorf("got %s: %s", c.Names(), c.Condition())
	}
}
