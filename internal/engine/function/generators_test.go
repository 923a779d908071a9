package function_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
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
	if record["holds"].GetStringValue() != world.Meta(c.Object("Secret", "shop-admin-2"), "uid") {
		t.Errorf("the record of the exported Secret is %v", record)
	}
}

const rotateKey = "export.fn.crossplane.io/rotate"

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
