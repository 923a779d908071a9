package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

const rotatedPassword = `
generators:
- name: admin
  password: {length: 32, symbols: 4, symbolCharacters: "-_"}
  refreshPolicy: Periodic
  refreshInterval: 720h
  gracePeriod: 24h
`

const connectionOfAdmin = `
secrets:
- name: connection
  data:
  - {key: password, value: generated.admin.password}
  - {key: former, value: "previous.?admin.?password", optional: true}
`

const interval, grace = 720 * time.Hour, 24 * time.Hour

// wants compares what is stored, and the condition.
func (c *controlPlane) wants(when, names, condition string) {
	c.t.Helper()
	if diff := cmp.Diff([]string{names, condition}, []string{c.names(), c.condition()}); diff != "" {
		c.t.Errorf("%s: -want, +got:\n%s", when, diff)
	}
}

// settle reconciles until nothing changes.
func (c *controlPlane) settle() {
	c.t.Helper()
	for range 10 {
		before := maps.Clone(c.stored)
		c.reconcile()
		if maps.EqualFunc(before, c.stored, func(a, b *structpb.Struct) bool { return proto.Equal(a, b) }) {
			return
		}
	}
	c.t.Fatal("it does not settle in 10 reconciles")
}

func (c *controlPlane) wait(d time.Duration) { c.now = c.now.Add(d) }

// ttl is that of the last response; 0 is none.
func (c *controlPlane) ttl() time.Duration { return c.response.GetMeta().GetTtl().AsDuration() }

func (c *controlPlane) annotate(key, value string) { set(c.xr, value, "metadata", "annotations", key) }

// object that is stored.
func (c *controlPlane) object(kind, name string) *structpb.Struct {
	for key, o := range c.stored {
		if strings.Contains(key, "|"+kind+"|") && strings.HasSuffix(key, "|"+name) {
			return o
		}
	}
	return nil
}

func TestRotationWithOverlap(t *testing.T) {
	c := newControlPlane(t, rotatedPassword+connectionOfAdmin)
	c.reconcile()
	c.wants("made", "shop-admin-1", `Waiting Secret "connection" is not created: waiting: key "password" for generated.admin (its generation 1 is to be stored)`)
	if c.ttl() != 0 {
		t.Errorf("a response with a password that was just made has TTL %s: Crossplane may keep it", c.ttl())
	}
	c.reconcile()
	c.wants("stored", "shop-admin-1", `Waiting Secret "connection" is not created: waiting: key "password" for generated.admin (its generation 1 is to be adopted)`)
	c.reconcile()
	c.wants("adopted", "shop-admin-1 shop-connection", "Available")
	first := c.value("shop-connection", "password")
	if !c.object("Secret", "shop-admin-1").GetFields()["immutable"].GetBoolValue() {
		t.Error("what is stored can be changed")
	}
	if first == "" || first != c.value("shop-admin-1", "password") {
		t.Error("what is exported is not what is stored")
	}
	c.settle()
	if c.ttl() != time.Minute {
		t.Errorf("TTL is %s while nothing is due", c.ttl())
	}

	c.wait(interval - 44*time.Second)
	c.settle()
	if c.ttl() != 40*time.Second {
		t.Errorf("TTL is %s 44 seconds before the next generation: a tenth more should not pass it", c.ttl())
	}
	c.wants("before it is due", "shop-admin-1 shop-connection", "Available")

	c.wait(44 * time.Second)
	c.reconcile()
	c.wants("due", "shop-admin-1 shop-admin-2 shop-connection", "Available")
	c.reconcile()
	if c.value("shop-connection", "password") != first {
		t.Error("a generation is exported before it is adopted")
	}
	c.reconcile()
	second := c.value("shop-connection", "password")
	if second == first || second != c.value("shop-admin-2", "password") || c.value("shop-connection", "former") != first {
		t.Error("the new generation is not exported, or the former one is not beside it")
	}
	if f := meta(c.object("Secret", "shop-admin-1"), "annotations", "export.fn.crossplane.io/flagged-for-gc-time"); f != "" {
		t.Errorf("the former one is flagged at %s, before the export was seen", f)
	}
	c.wait(time.Hour)
	c.settle()
	if f := meta(c.object("Secret", "shop-admin-1"), "annotations", "export.fn.crossplane.io/flagged-for-gc-time"); f != "2026-12-21T13:00:00Z" {
		t.Errorf("the former one is flagged at %q", f)
	}
	c.wait(grace - time.Second)
	c.settle()
	c.wants("in its grace period", "shop-admin-1 shop-admin-2 shop-connection", "Available")
	if c.ttl() != time.Second {
		t.Errorf("TTL is %s a second before the grace period is over", c.ttl())
	}
	c.wait(time.Second)
	c.settle()
	c.wants("after it", "shop-admin-2 shop-connection", "Available")
	if c.value("shop-connection", "former") != "" || c.value("shop-connection", "password") != second {
		t.Error("the former one is still exported, or the one in use is not")
	}
}

// state is what is left in the context for later steps.
func (c *controlPlane) state() map[string]any {
	m := c.response.GetContext().AsMap()[generatorsKey]
	out, _ := m.(map[string]any)
	return out
}

func TestStateForOthers(t *testing.T) {
	c := newControlPlane(t, rotatedPassword+connectionOfAdmin)
	c.settle()
	c.wait(interval)
	c.settle()
	admin, _ := c.state()["admin"].(map[string]any)
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
	var summary map[string]struct {
		Generation int    `json:"generation"`
		UID        string `json:"uid"`
	}
	text := meta(c.object("Secret", "shop-connection"), "annotations", "export.fn.crossplane.io/generated")
	if err := json.Unmarshal([]byte(text), &summary); err != nil || summary["admin"].Generation != 2 || summary["admin"].UID != meta(c.object("Secret", "shop-admin-2"), "uid") {
		t.Errorf("the summary on the exported Secret is %s: %v", text, err)
	}
}

func TestWhatMakesAnotherGeneration(t *testing.T) {
	cases := map[string]struct {
		reason string
		policy string
		do     func(c *controlPlane)
		want   string
	}{
		"CreatedOnceIgnoresTheSpec": {
			reason: "never again, whatever changes",
			do: func(c *controlPlane) {
				c.setInput("generators: [{name: admin, password: {length: 40}}]" + connectionOfAdmin)
				c.wait(10000 * time.Hour)
			},
			want: "shop-admin-1 shop-connection",
		},
		"CreatedOnceRotatesByHand": {
			reason: "the annotation counts for each policy",
			do:     func(c *controlPlane) { c.annotate(rotateKey, "admin=1") },
			want:   "shop-admin-2 shop-connection",
		},
		"AnotherToken": {
			reason: "a new text rotates once more, the same one does not",
			do: func(c *controlPlane) {
				c.annotate(rotateKey, "admin=1")
				c.settle()
				c.settle()
				c.annotate(rotateKey, "admin=2, admin=2")
			},
			want: "shop-admin-3 shop-connection",
		},
		"NoToken": {
			reason: "an annotation that goes away asks for nothing",
			do: func(c *controlPlane) {
				c.annotate(rotateKey, "admin=1")
				c.settle()
				c.annotate(rotateKey, "")
			},
			want: "shop-admin-2 shop-connection",
		},
		"OnChangeFollowsTheSpec": {
			reason: "the generator is another one",
			policy: "refreshPolicy: OnChange",
			do: func(c *controlPlane) {
				c.setInput("generators: [{name: admin, refreshPolicy: OnChange, password: {length: 40}}]" + connectionOfAdmin)
			},
			want: "shop-admin-2 shop-connection",
		},
		"OnChangeIgnoresTheRest": {
			reason: "how long the former one stays changes no password",
			policy: "refreshPolicy: OnChange",
			do: func(c *controlPlane) {
				c.setInput("generators: [{name: admin, refreshPolicy: OnChange, gracePeriod: 1h, password: {length: 32}}]" + connectionOfAdmin)
			},
			want: "shop-admin-1 shop-connection",
		},
		"Keepers": {
			reason: "a value of the composite rotates",
			policy: "refreshPolicy: OnChange, keepersExpression: composite.spec.passwordVersion",
			do: func(c *controlPlane) {
				c.xr.Fields["spec"].GetStructValue().Fields["passwordVersion"] = structpb.NewNumberValue(2)
			},
			want: "shop-admin-2 shop-connection",
		},
		"AllAtOnce": {
			reason: "several reasons make one generation",
			policy: "refreshPolicy: Periodic, refreshInterval: 720h, keepersExpression: composite.spec.passwordVersion",
			do: func(c *controlPlane) {
				c.xr.Fields["spec"].GetStructValue().Fields["passwordVersion"] = structpb.NewNumberValue(2)
				c.annotate(rotateKey, "admin=1")
				c.wait(interval)
			},
			want: "shop-admin-2 shop-connection",
		},
		"AnotherKind": {
			reason: "a generator of another kind follows it, whatever the policy",
			do: func(c *controlPlane) {
				c.setInput("generators: [{name: admin, uuid: {}}]" + strings.Replace(connectionOfAdmin, ".admin.password", ".admin.uuid", 1))
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
			c := newControlPlane(t, "generators: [{name: admin, password: {length: 32}"+policy+"}]"+connectionOfAdmin)
			c.settle()
			tc.do(c)
			c.settle()
			c.settle() // a grace period of nothing is over with the next one
			c.wants(tc.reason, tc.want, "Available")
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
		c := newControlPlane(t, rotatedPassword+connectionOfAdmin)
		c.settle()
		c.setInput(without)
		c.settle()
		c.wants("in its grace period", "shop-admin-1 shop-other", "Available")
		c.wait(grace)
		c.settle()
		c.wants("after it", "shop-other", "Available")
	})
	t.Run("Back", func(t *testing.T) {
		c := newControlPlane(t, rotatedPassword+connectionOfAdmin)
		c.settle()
		was := c.value("shop-connection", "password")
		c.setInput(without)
		c.settle()
		c.wait(grace / 2)
		c.setInput(rotatedPassword + connectionOfAdmin)
		c.settle()
		c.wants("back", "shop-admin-1 shop-connection", "Available")
		if c.value("shop-connection", "password") != was {
			t.Error("it has another value")
		}
		if f := meta(c.object("Secret", "shop-admin-1"), "annotations", "export.fn.crossplane.io/flagged-for-gc-time"); f != "" {
			t.Errorf("it says that it is flagged at %s", f)
		}
		c.wait(grace)
		c.settle()
		c.wants("for good", "shop-admin-1 shop-connection", "Available")
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
			c := newControlPlane(t, rotatedPassword+connectionOfAdmin)
			c.reconcile()
			if tc.exports {
				c.settle()
			}
			password := c.value("shop-admin-1", "password")
			c.reconcileStale(tc.listed...)
			if stale := c.fatal() != ""; stale != tc.stale {
				t.Errorf("%s: stale is %t: %s", tc.reason, stale, c.fatal())
			}
			c.settle()
			c.wants(tc.reason, "shop-admin-1 shop-connection", "Available")
			if c.value("shop-connection", "password") != password {
				t.Errorf("%s: it has another value", tc.reason)
			}
		})
	}
}

// A composite that is restored without its list forgets what it composes. What it exported
// stays, and its owner says which generation to go on with.
func TestAListThatIsLost(t *testing.T) {
	c := newControlPlane(t, rotatedPassword+connectionOfAdmin)
	c.settle()
	c.wait(time.Hour)
	was := c.value("shop-connection", "password")
	c.listed = nil
	c.settle()
	if !strings.HasPrefix(c.condition(), "Conflict ") || !strings.Contains(c.condition(), "set the annotation export.fn.crossplane.io/accept-generation") {
		t.Errorf("the condition is %s", c.condition())
	}
	if got := c.value("shop-connection", "password"); got != was || c.names() != "shop-admin-1 shop-connection" {
		t.Errorf("what is exported changes: %s", c.names())
	}
	c.annotate(simulationPrefix+"accept-generation", meta(c.object("Secret", "shop-admin-1"), "uid"))
	c.reconcile() // lists it
	c.settle()
	c.wants("it goes on", "shop-admin-1 shop-connection", "Available")
	if c.value("shop-connection", "password") != was {
		t.Error("it has another value")
	}
}

func TestGenerationsByHand(t *testing.T) {
	key := "v1|Secret|team-a|shop-admin-"
	cases := map[string]struct {
		reason    string
		do        func(c *controlPlane)
		names     string
		condition string
		changes   bool // the value
	}{
		"TheOneInUseIsDeleted": {
			reason:    "its value is gone, and another one is made, under another name",
			do:        func(c *controlPlane) { delete(c.stored, key+"1") },
			names:     "shop-admin-2 shop-connection",
			condition: "Available",
			changes:   true,
		},
		"LosesItsAnnotations": {
			reason: "its UID was recorded, and it stays in use; when it was made is not known, so that the period is over",
			do: func(c *controlPlane) {
				maps.DeleteFunc(c.annotationsOf("Secret", "shop-admin-1"), func(k string, _ *structpb.Value) bool {
					return strings.HasPrefix(k, simulationPrefix)
				})
			},
			names:     "shop-admin-1 shop-admin-2 shop-connection",
			condition: "Available",
			changes:   true,
		},
		"LosesItsLabels": {
			reason: "it is found among the composed resources",
			do: func(c *controlPlane) {
				delete(c.stored[key+"1"].Fields["metadata"].GetStructValue().Fields, "labels")
			},
			names:     "shop-admin-1 shop-connection",
			condition: "Available",
		},
		"TheNextNameIsTaken": {
			reason: "what belongs to somebody else is not touched, and the next generation has another name",
			do: func(c *controlPlane) {
				c.stored[key+"2"] = parse(c.t, "{apiVersion: v1, kind: Secret, metadata: {name: shop-admin-2, namespace: team-a}, data: {a: Yg==}}")
				c.wait(interval)
			},
			names:     "shop-admin-1 shop-admin-2 shop-admin-3-<suffix> shop-connection",
			condition: "Available",
			changes:   true,
		},
		"TheOneInUseIsReplaced": {
			reason: "another object is not the generation that was recorded, and what is exported stays",
			do: func(c *controlPlane) {
				o := proto.Clone(c.stored[key+"1"]).(*structpb.Struct)
				set(o, "forged", "metadata", "uid")
				set(o, "Zm9yZ2Vk", "data", "password")
				c.stored[key+"1"] = o
			},
			names: "shop-admin-1 shop-connection",
			condition: `Conflict Secret "connection" is held as it was observed: waiting: key "password" for generated.admin (its generation in use, which is another object now); ` +
				`generator "admin": Secret team-a/shop-admin-1 is not the generation 1 that exports use: it has UID forged, and not uid-1. If it was restored from a backup, set the annotation ` +
				`export.fn.crossplane.io/accept-generation: forged on the composite to use it. Otherwise delete it, and another generation is made`,
		},
		"TheOneInUseIsRestored": {
			reason: "the owner of the composite accepts it",
			do: func(c *controlPlane) {
				o := proto.Clone(c.stored[key+"1"]).(*structpb.Struct)
				set(o, "restored", "metadata", "uid")
				c.stored[key+"1"] = o
				c.annotate(simulationPrefix+"accept-generation", "restored")
			},
			names:     "shop-admin-1 shop-connection",
			condition: "Available",
		},
	}
	suffix := regexp.MustCompile("-[0-9a-f]{10}")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newControlPlane(t, rotatedPassword+connectionOfAdmin)
			c.settle()
			was := c.value("shop-connection", "password")
			tc.do(c)
			c.settle()
			c.settle()
			if diff := cmp.Diff([]string{tc.names, tc.condition}, []string{suffix.ReplaceAllString(c.names(), "-<suffix>"), c.condition()}); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if changes := c.value("shop-connection", "password") != was; changes != tc.changes {
				t.Errorf("the value changes: %t", changes)
			}
		})
	}
}

const tokenOfResource = `
generators:
- name: token
  refreshPolicy: OnChange
  gracePeriod: 1h
  resource:
    manifest: {apiVersion: iam.example.org/v1, kind: AccessKey, spec: {forProvider: {user: app}}}
    set:
    - {fieldPath: spec.writeConnectionSecretToRef.name, value: "'shop-token-' + generation.id"}
    - {fieldPath: spec.forProvider.role, value: composite.spec.role}
    outputs: {id: resource.status.atProvider.id}
secrets:
- name: aws
  data:
  - {key: id, value: generated.token.id}
  - {key: secret, value: generated.token.secret}
  - {key: former, value: "previous.?token.?id", optional: true}
`

// provide is what the provider of a resource does.
func (c *controlPlane) provide(name, id, ready string) {
	key := "iam.example.org/v1|AccessKey|team-a|" + name
	c.stored[key].Fields["status"] = structpb.NewStructValue(parse(c.t, fmt.Sprintf("{atProvider: {id: %s}, conditions: [{type: Ready, status: %q}]}", id, ready)))
	c.details[key] = map[string][]byte{"secret": []byte("secret-of-" + id)}
}

func TestResourceThatMakesACredential(t *testing.T) {
	c := newControlPlane(t, tokenOfResource)
	c.reconcile()
	if c.ttl() != time.Minute {
		t.Errorf("TTL is %s: what is made is no secret, and may be kept", c.ttl())
	}
	c.settle()
	c.wants("not ready", "shop-token-1", `Waiting Secret "aws" is not created: waiting: key "id" for generated.token (its generation 1 is not ready: it waits for its condition Ready); key "secret" for generated.token (its generation 1 is not ready: it waits for its condition Ready)`)
	c.provide("shop-token-1", "one", "True")
	c.settle()
	c.wants("ready", "shop-aws shop-token-1", "Available")
	made := proto.Clone(c.object("AccessKey", "shop-token-1").GetFields()["spec"]).(*structpb.Value)

	set(c.xr, "writer", "spec", "role")
	c.settle()
	c.wants("the next one is not ready", "shop-aws shop-token-1 shop-token-2", `Waiting generator "token": generation 2 is not ready: it waits for its condition Ready; generation 1 stays in use`)
	if c.value("shop-aws", "id") != "one" || c.value("shop-aws", "secret") != "secret-of-one" {
		t.Error("the former one is not exported any more")
	}
	if !proto.Equal(made, c.object("AccessKey", "shop-token-1").GetFields()["spec"]) {
		t.Error("the former one changes")
	}
	if c.object("AccessKey", "shop-token-2").GetFields()["spec"].GetStructValue().GetFields()["forProvider"].GetStructValue().GetFields()["role"].GetStringValue() != "writer" {
		t.Error("the next one is not what is wanted")
	}
	c.provide("shop-token-2", "two", "True")
	c.settle()
	if c.value("shop-aws", "id") != "two" || c.value("shop-aws", "former") != "one" {
		t.Error("the next one is not exported, or the former one is not beside it")
	}
	c.provide("shop-token-2", "two", "False") // for a moment
	c.settle()
	if c.value("shop-aws", "id") != "two" {
		t.Error("one that was adopted is not exported any more")
	}
	c.provide("shop-token-2", "two", "True")
	c.wait(time.Hour)
	c.settle()
	c.wants("grace is over", "shop-aws shop-token-2", "Available")
}

func TestCertificateFollowsItsCA(t *testing.T) {
	c := newControlPlane(t, `
generators:
- {name: tls, refreshPolicy: OnChange, certificate: {ca: ca, dnsNames: [db.example.org], duration: 2160h, renewBefore: 720h}}
- {name: ca, refreshPolicy: OnChange, certificate: {isCA: true, subject: {commonName: root}, duration: 87600h}}
secrets:
- name: server
  type: kubernetes.io/tls
  dataFrom: [{extract: {key: generated.tls}}]
`)
	c.reconcile()
	c.wants("the CA is first", "shop-ca-1", `Waiting Secret "server" is not created: waiting: secrets[0].dataFrom[0] for generated.tls (the next generation of generated.ca); generator "ca": its generation 1 is to be stored`)
	c.settle()
	c.wants("made", "shop-ca-1 shop-server shop-tls-1", "Available")
	c.wait(1440*time.Hour - time.Minute)
	c.settle()
	c.wants("not yet renewed", "shop-ca-1 shop-server shop-tls-1", "Available")
	c.wait(time.Minute)
	c.settle()
	c.settle()
	c.wants("renewed", "shop-ca-1 shop-server shop-tls-2", "Available")
	c.annotate(rotateKey, "ca=1")
	c.settle()
	c.settle()
	c.wants("with its CA", "shop-ca-2 shop-server shop-tls-3", "Available")
	if c.value("shop-server", "ca.crt") != c.value("shop-ca-2", "tls.crt") {
		t.Error("it is not signed by the CA in use")
	}
}

func TestTOTP(t *testing.T) {
	c := newControlPlane(t, `
generators:
- {name: otp, totp: {secretExpression: generated.seed.seed, digits: 8}}
- {name: seed, password: {length: 20, digits: 0, symbols: 0, noUpper: true, allowRepeat: true, encoding: base32, secretKeys: [seed]}}
secrets:
- name: login
  data: [{key: token, value: generated.otp.token}]
`)
	c.now = c.now.Add(7 * time.Second)
	c.settle()
	c.wants("given", "shop-login shop-seed-1", "Available")
	was := c.value("shop-login", "token")
	if len(was) != 8 || c.ttl() < 20*time.Second || c.ttl() > 22*time.Second {
		t.Errorf("a token of %d digits, TTL %s", len(was), c.ttl())
	}
	c.wait(30 * time.Second)
	c.settle()
	if c.value("shop-login", "token") == was {
		t.Error("the token does not change")
	}
}

// A pipeline can have several steps with this function.
func TestGeneratorsOfSeveralSteps(t *testing.T) {
	const uuid = `
generators: [{name: id, uuid: {}, gracePeriod: 1h}]
secrets: [{name: ids, data: [{key: id, value: generated.id.uuid}]}]
`
	const none = `secrets: [{name: other, data: [{key: a, value: "'b'"}]}]`
	c := newControlPlane(t, none)
	c.later = []string{rotatedPassword + connectionOfAdmin, uuid, strings.ReplaceAll(none, "other", "last")}
	c.settle()
	c.wants("all of them", "shop-admin-1 shop-connection shop-id-1 shop-ids shop-last shop-other", "Available")
	was := c.value("shop-connection", "password")
	c.wait(time.Hour)
	c.settle()
	c.settle()
	c.wants("no step drops what another one has", "shop-admin-1 shop-connection shop-id-1 shop-ids shop-last shop-other", "Available")
	if f := meta(c.object("Secret", "shop-id-1"), "annotations", "export.fn.crossplane.io/flagged-for-gc-time"); f != "" {
		t.Error("a step flags what another one has")
	}
	if c.ttl() != time.Minute {
		t.Errorf("TTL is %s", c.ttl())
	}
	c.later = c.later[1:]
	c.setInput(rotatedPassword + connectionOfAdmin)
	c.settle()
	c.wants("moved to another step", "shop-admin-1 shop-connection shop-id-1 shop-ids shop-last", "Available")
	if c.value("shop-connection", "password") != was {
		t.Error("it has another value")
	}
	c.later = []string{strings.ReplaceAll(rotatedPassword, "24h", "1h"), none}
	c.reconcile()
	if text := c.fatal(); text != `invalid input: generators[0].name: an earlier step of the pipeline has a generator "admin", too: rename one of them` {
		t.Errorf("a generator that two steps have: %q", text)
	}
}

func TestSlowGenerationsTakeTurns(t *testing.T) {
	c := newControlPlane(t, `
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
	c.reconcile()
	c.wants("one after the other", "shop-a-1", `Waiting Secret "keys" is not created: waiting: key "a" for generated.a (its generation 1 is to be stored); key "b" for generated.b (its turn, for a key of that type takes long to make); ConfigMap "keys-public" is not created: waiting: key "a" for generated.a (its generation 1 is to be stored)`)
	c.settle()
	c.wants("both", "shop-a-1 shop-b-1 shop-keys shop-keys-public", "Available")
}

func TestFindAndExtractWhatIsGenerated(t *testing.T) {
	c := newControlPlane(t, `
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
	c.settle()
	c.wants("made", "shop-admin-1 shop-all shop-none", "Available")
	if got := slices.Sorted(maps.Keys(c.object("Secret", "shop-all").GetFields()["data"].GetStructValue().GetFields())); !slices.Equal(got, []string{"found-root"}) {
		t.Errorf("found %v", got)
	}
	if got := slices.Sorted(maps.Keys(c.object("Secret", "shop-none").GetFields()["data"].GetStructValue().GetFields())); !slices.Equal(got, []string{"a"}) {
		t.Errorf("a find that does not ask for what is generated finds %v", got)
	}
	if meta(c.object("Secret", "shop-all"), "annotations", "export.fn.crossplane.io/generated") == "" {
		t.Error("what is exported does not say which generation it is of")
	}
}

// The author of a composite cannot keep a generation from being made.
func TestAuthorsGiveWay(t *testing.T) {
	c := newControlPlane(t, rotatedPassword+connectionOfAdmin+`
fromComposite: {fieldPath: spec.exports, allow: {}}
`)
	c.settle()
	c.xr.Fields["spec"].GetStructValue().Fields["exports"] = structpb.NewStructValue(parse(t, `{secretExpressions: [{name: shop-admin-2, key: a, value: "'b'"}]}`))
	c.settle()
	c.wants("the author's", "shop-admin-1 shop-admin-2 shop-connection", "Available")
	c.wait(interval)
	c.settle()
	c.wait(grace)
	c.settle()
	if c.names() != "shop-admin-2 shop-connection" || c.value("shop-admin-2", "password") != c.value("shop-connection", "password") {
		t.Errorf("got %s: %s", c.names(), c.condition())
	}
}
