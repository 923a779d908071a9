package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
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

func (c *controlPlane) ready(name string, details map[string]string) {
	key := "iam.example.org/v1|AccessKey|team-a|" + name
	c.stored[key].Fields["status"] = structpb.NewStructValue(parse(c.t, `{conditions: [{type: Ready, status: "True"}]}`))
	c.details[key] = map[string][]byte{}
	for k, v := range details {
		c.details[key][k] = []byte(v)
	}
}

func TestNamesOfGenerations(t *testing.T) {
	for _, name := range []string{
		"generation.id", "composite.metadata.name + '-' + generation.id.substring(0, 6)",
		"['blue', 'green'][(generation.number - 1) % 2]", "'k-%d'.format([generation.number])",
	} {
		c := newControlPlane(t, accessKey("refreshPolicy: OnChange", fmt.Sprintf("{fieldPath: metadata.name, value: %q}", name)))
		c.settle()
		if c.names() == "" || !strings.HasPrefix(c.condition(), `Waiting Secret "aws" is not created`) || strings.Contains(c.condition(), "makes no generation") {
			t.Errorf("%s: %q: %s", name, c.names(), c.condition())
		}
	}
}

// A resource is ready before its connection details come, or some of them.
func TestConnectionDetailsThatComeLate(t *testing.T) {
	c := newControlPlane(t, accessKey("gracePeriod: 1h", ""))
	c.settle()
	c.ready("shop-key-1", nil)
	c.settle()
	c.wants("no details", "shop-key-1", `Waiting Secret "aws" is not created: waiting: secrets[0].dataFrom[0] for generated.key (its generation 1 is not ready: it waits for its connection details)`)
	c.ready("shop-key-1", map[string]string{"username": "u1", "password": "p1"})
	c.settle()
	c.annotate(rotateKey, "key=1")
	c.settle()
	c.ready("shop-key-2", map[string]string{"username": "u2"})
	c.settle()
	c.wants("some", "shop-aws shop-key-1 shop-key-2", `Waiting generator "key": generation 2 is not ready: it waits for "password" among its connection details; generation 1 stays in use`)
	if ready := c.response.GetDesired().GetComposite().GetReady(); ready == fnv1.Ready_READY_FALSE {
		t.Error("a composite whose exports are all right is not ready")
	}
	for name, r := range c.response.GetDesired().GetResources() {
		if r.GetReady() != fnv1.Ready_READY_TRUE {
			t.Errorf("%s is %s while another generation is in use", name, r.GetReady())
		}
	}
	c.ready("shop-key-2", map[string]string{"username": "u2", "password": "p2"})
	c.settle()
	if c.value("shop-aws", "username")+c.value("shop-aws", "password") != "u2p2" {
		t.Errorf("exported are %s and %s", c.value("shop-aws", "username"), c.value("shop-aws", "password"))
	}
	c.details["iam.example.org/v1|AccessKey|team-a|shop-key-2"] = nil
	c.settle()
	if c.value("shop-aws", "username")+c.value("shop-aws", "password") != "u2p2" || !strings.HasPrefix(c.condition(), "Held") {
		t.Errorf("what is exported shrinks when connection details are away: %s", c.condition())
	}
}

// A step that knows nothing of a generator leaves alone what another one has judged.
func TestTwoStepsAndAGeneratorThatLeft(t *testing.T) {
	const held = `
secrets:
- name: connection
  data:
  - {key: password, value: %s}
  - {key: more, value: composite.status.more}
`
	c := newControlPlane(t, rotatedPassword+fmt.Sprintf(held, "generated.admin.password"))
	c.xr.Fields["status"] = structpb.NewStructValue(parse(t, "{more: a}"))
	c.later = []string{`secrets: [{name: other, data: [{key: a, value: "'b'"}]}]`}
	c.settle()
	delete(c.xr.Fields, "status") // it is held from now on
	c.setInput(strings.NewReplacer("name: admin", "name: root", "24h", "0s").Replace(rotatedPassword) + fmt.Sprintf(held, "generated.root.password"))
	c.settle() // or fails, if the steps never agree
	if c.names() != "shop-admin-1 shop-connection shop-other shop-root-1" {
		t.Errorf("what is still exported is not kept: %s", c.names())
	}
	if f := meta(c.object("Secret", "shop-admin-1"), "annotations", "export.fn.crossplane.io/flagged-for-gc-time"); f != "" {
		t.Errorf("a later step flags it at %s, which exports nothing of it", f)
	}
}

func TestGenerationsAreBounded(t *testing.T) {
	c := newControlPlane(t, "generators: [{name: admin, gracePeriod: 24h, password: {}}]"+connectionOfAdmin)
	for i := range 30 {
		c.annotate(rotateKey, fmt.Sprintf("admin=%d", i))
		c.settle()
	}
	if n := len(c.stored); n != 17 {
		t.Errorf("%d objects are stored", n)
	}
	if !strings.Contains(c.condition(), `generator "admin" makes no generation: waiting: one of its 16 generations to be dropped`) {
		t.Error(c.condition())
	}
	was := c.value("shop-connection", "password")
	c.wait(24 * time.Hour)
	c.settle()
	c.settle()
	if c.value("shop-connection", "password") == was {
		t.Error("the last one that was asked for is not made once there is room")
	}
	c.wait(24 * time.Hour)
	c.settle()
	c.wants("in the end", "shop-admin-17 shop-connection", "Available")
}

// What never rests makes no generation with each reconcile.
func TestKeepersThatNeverRest(t *testing.T) {
	c := newControlPlane(t, accessKey("refreshPolicy: OnChange\n  keepersExpression: composite.spec.passwordVersion", ""))
	for i := range 20 {
		c.xr.Fields["spec"].GetStructValue().Fields["passwordVersion"] = structpb.NewNumberValue(float64(i))
		c.reconcile()
	}
	c.wants("one in a minute", "shop-key-1", c.condition())
	if c.ttl() > time.Minute {
		t.Errorf("TTL is %s", c.ttl())
	}
	c.wait(time.Minute)
	c.reconcile()
	c.reconcile()
	c.wants("a minute later", "shop-key-2", c.condition())
}

func TestABrokenManifestCanBeMended(t *testing.T) {
	broken := accessKey("", "{fieldPath: spec.role, value: composite.spec.role}")
	c := newControlPlane(t, broken)
	c.settle()
	c.setInput(strings.ReplaceAll(broken, "composite.spec.role", "string('writer')"))
	c.wait(time.Minute)
	c.settle()
	c.wants("nobody has the first one", "shop-key-2", c.condition())
	c.ready("shop-key-2", map[string]string{"a": "b"})
	c.settle()
	c.setInput(broken)
	c.wait(time.Hour)
	c.settle()
	c.wants("once it is in use it stays", "shop-aws shop-key-2", "Available")
}

// A composite that is restored from a backup has another UID, and what it composed has no
// controller.
func TestRestoredComposite(t *testing.T) {
	c := newControlPlane(t, "generators: [{name: admin, refreshPolicy: OnChange, keepersExpression: composite.spec.passwordVersion, password: {}}]"+connectionOfAdmin)
	c.annotate(rotateKey, "admin=1")
	c.settle()
	was := c.value("shop-connection", "password")
	set(c.xr, "another-uid", "metadata", "uid")
	set(c.xr, "example.org/v2", "apiVersion")
	for _, o := range c.stored {
		delete(o.Fields["metadata"].GetStructValue().Fields, "ownerReferences")
	}
	c.settle()
	c.wants("restored", "shop-admin-1 shop-connection", "Available")
	if c.value("shop-connection", "password") != was {
		t.Error("it has another password")
	}
}

func TestTwoGeneratorsOfOneObject(t *testing.T) {
	const one = `
- name: %s
  resource:
    manifest: {apiVersion: iam.example.org/v1, kind: AccessKey, spec: {}}
    set: [{fieldPath: metadata.name, value: "'k-' + string(generation.number)"}]`
	c := newControlPlane(t, "generators:"+fmt.Sprintf(one, "a")+fmt.Sprintf(one, "b"))
	c.reconcile()
	c.wants("at once", "k-1", `Held generator "a": its generation 1 is to be stored; generator "b" makes no generation: generators[1].name: AccessKey team-a/k-1 would be composed by generation "a/1", too: give one of them another name`)
	c.settle()
	if !strings.Contains(c.condition(), `generator "b" makes no generation: generators[1].resource.set: gives a name that generation a/1 has: use generation.number or generation.id, and the generator's own name`) {
		t.Error(c.condition())
	}
}

// Where the API server does not take what is made Crossplane has to call again.
func TestRefusedGeneration(t *testing.T) {
	c := newControlPlane(t, rotatedPassword)
	c.listed = []string{"v1|Secret|team-a|shop-admin-1"}
	c.response = c.call()
	if c.ttl() != time.Minute {
		t.Errorf("TTL is %s", c.ttl())
	}
}

func TestManifestWithALabelThatIsNoText(t *testing.T) {
	c := newControlPlane(t, accessKey("", "{fieldPath: metadata.labels.n, value: generation.number}"))
	c.reconcile()
	if want := `generator "key" makes no generation: generators[0].resource.set: gives metadata.labels that are no strings: wrap them in string(...)`; !strings.Contains(c.condition(), want) {
		t.Error(c.condition())
	}
}

func TestRotateAnnotation(t *testing.T) {
	for text, want := range map[string]string{
		"admin":            "the composite's annotation export.fn.crossplane.io/rotate must be <generator>=<anything new>, for example admin=1",
		"admin=":           "the composite's annotation export.fn.crossplane.io/rotate must be <generator>=<anything new>, for example admin=1",
		"root=1,x=1,y":     "the composite's annotation export.fn.crossplane.io/rotate names a generator that this step does not have: it has admin",
		"admin=1,\n admin": "the composite's annotation export.fn.crossplane.io/rotate must be <generator>=<anything new>, for example admin=1",
		"admin=a=b":        "",
		"admin=1\nadmin=2": "",
	} {
		c := newControlPlane(t, rotatedPassword)
		c.annotate(rotateKey, text)
		c.reconcile()
		got := ""
		for _, r := range c.response.GetResults() {
			got += r.GetMessage()
		}
		if got != want {
			t.Errorf("%q warns %q, not %q", text, got, want)
		}
	}
}

// A certificate that is to be made anew waits for a CA that is, too.
func TestCertificateAndItsCAAtOnce(t *testing.T) {
	c := newControlPlane(t, `
generators:
- {name: tls, refreshPolicy: OnChange, certificate: {ca: ca, dnsNames: [db.example.org]}}
- {name: ca, refreshPolicy: OnChange, certificate: {isCA: true, subject: {commonName: root}}}
secrets:
- {name: server, dataFrom: [{extract: {key: generated.tls}}]}
`)
	c.settle()
	c.annotate(rotateKey, "ca=1, tls=1")
	c.settle()
	c.settle()
	c.wants("one of each", "shop-ca-2 shop-server shop-tls-2", "Available")
	if c.value("shop-server", "ca.crt") != c.value("shop-ca-2", "tls.crt") {
		t.Error("it is not signed by the CA in use")
	}
}

// Without its controller a generation is nobody's; but it must not be thrown away for that.
func TestGenerationWithoutController(t *testing.T) {
	c := newControlPlane(t, rotatedPassword)
	c.settle()
	c.listed = nil
	delete(c.stored["v1|Secret|team-a|shop-admin-1"].Fields["metadata"].GetStructValue().Fields, "ownerReferences")
	c.reconcile()
	if !strings.Contains(c.condition(), `Secret team-a/shop-admin-1 looks like a generation, but the composite does not list it, so that it is left alone`) {
		t.Error(c.condition())
	}
}

// What former details had is not waited for where readyExpression says when to go on.
func TestDetailsThatAreNotNeeded(t *testing.T) {
	c := newControlPlane(t, strings.Replace(accessKey("gracePeriod: 1h", ""), "    set:", "    readyExpression: has(secret.username)\n    set:", 1))
	c.settle()
	c.ready("shop-key-1", map[string]string{"username": "u1", "password": "p1"})
	c.settle()
	c.annotate(rotateKey, "key=1")
	c.settle()
	c.ready("shop-key-2", map[string]string{"username": "u2"})
	c.settle()
	if c.value("shop-aws", "username") != "u2" {
		t.Error(c.condition())
	}
}

// annotations of what is stored as a generation.
func (c *controlPlane) annotationsOf(kind, name string) map[string]*structpb.Value {
	return c.object(kind, name).GetFields()["metadata"].GetStructValue().GetFields()["annotations"].GetStructValue().GetFields()
}

// What was not looked up may be another generation, or somebody else's object.
func TestNothingIsDecidedBeforeAllIsRead(t *testing.T) {
	due := func(t *testing.T, input string) *controlPlane {
		c := newControlPlane(t, input)
		c.settle()
		c.wait(interval)
		return c
	}
	for name, tc := range map[string]struct {
		reason  string
		input   string
		do      func(c *controlPlane)
		message string
	}{
		"Due": {
			reason: "the next one is made once its name is known to be free",
			input:  rotatedPassword + connectionOfAdmin, do: func(*controlPlane) {},
			message: `key "password" for generated.admin (the look-up of Secret team-a/shop-admin-2, Secret team-a/shop-admin-3-`,
		},
		"ExportOutOfSight": {
			reason: "it may hold any generation",
			input:  strings.Replace(rotatedPassword, "Periodic\n  refreshInterval: 720h", "CreatedOnce", 1) + connectionOfAdmin,
			do: func(c *controlPlane) {
				c.listed = []string{"v1|Secret|team-a|shop-admin-1"}
			},
			message: `generator "admin" waits for the look-up of Secret team-a/shop-connection`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := due(t, tc.input)
			tc.do(c)
			was := c.annotationsOf("Secret", "shop-admin-1")
			rsp, err := c.fn.RunFunction(t.Context(), c.request())
			if err != nil {
				t.Fatal(err)
			}
			c.response = rsp
			if !strings.Contains(c.condition(), tc.message) {
				t.Errorf("%s: %s", tc.reason, c.condition())
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

// Keepers that cannot be read are not other keepers.
func TestKeepersThatAreNotThere(t *testing.T) {
	const kept = "generators: [{name: admin, refreshPolicy: OnChange, keepersExpression: composite.spec.%s, password: {}}]" + connectionOfAdmin
	c := newControlPlane(t, fmt.Sprintf(kept, "passwordVersion"))
	c.settle()
	c.setInput(fmt.Sprintf(kept, "nothing"))
	c.settle()
	c.wants("they went away", "shop-admin-1 shop-connection", `Waiting generator "admin" makes no generation: waiting: generators[0].keepersExpression for composite.spec.nothing; generation 1 stays in use`)
	c.annotate(rotateKey, "admin=1")
	c.settle()
	if c.names() != "shop-admin-1 shop-connection" {
		t.Errorf("made without its keepers: %s", c.names())
	}
	c.annotate(rotateKey, "")
	c.setInput(fmt.Sprintf(kept, "passwordVersion"))
	c.settle()
	c.wants("they are back", "shop-admin-1 shop-connection", "Available")

	c = newControlPlane(t, "generators: [{name: admin, password: {}}]"+connectionOfAdmin)
	c.settle()
	c.setInput(fmt.Sprintf(kept, "later"))
	c.settle()
	set(c.xr, "x", "spec", "later")
	c.settle()
	c.wants("the first ones that are read are those of what there is", "shop-admin-1 shop-connection", "Available")
}

// What lost its state is what the generator makes only if it looks like it.
func TestLostStateOfAnotherKind(t *testing.T) {
	c := newControlPlane(t, "generators: [{name: admin, password: {}}]"+connectionOfAdmin)
	c.settle()
	for k := range c.annotationsOf("Secret", "shop-admin-1") {
		if strings.HasPrefix(k, "export.fn.crossplane.io/") {
			delete(c.annotationsOf("Secret", "shop-admin-1"), k)
		}
	}
	c.setInput("generators: [{name: admin, uuid: {}}]" + strings.Replace(connectionOfAdmin, ".admin.password", ".admin.uuid", 1))
	c.settle()
	c.settle()
	c.wants("a password is no UUID", "shop-admin-2 shop-connection", "Available")
}

// What the composite does not list is not exported, and Crossplane deletes only what it
// lists: a generation that is dropped is listed first.
func TestStaleCompositeWhenAGenerationIsDropped(t *testing.T) {
	const prefix = "iam.example.org/v1|AccessKey|team-a|shop-key-"
	for name, listed := range map[string][]string{
		"Nothing": nil,
		"Second":  {"v1|Secret|team-a|shop-aws", prefix + "1", prefix + "2"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newControlPlane(t, accessKey("", ""))
			c.settle()
			c.ready("shop-key-1", map[string]string{"a": "b"})
			c.settle()
			for _, token := range []string{"key=1", "key=2"} {
				c.annotate(rotateKey, token)
				c.reconcile()
			}
			c.wants("the second one never got ready", "shop-aws shop-key-1 shop-key-2 shop-key-3", c.condition())
			c.reconcileStale(listed...)
			if stale := c.fatal() != ""; stale != (listed == nil) {
				t.Errorf("stale is %t: %s", stale, c.fatal())
			}
			for name, r := range c.response.GetDesired().GetResources() {
				if strings.HasPrefix(name, "generated/") && r.GetReady() != fnv1.Ready_READY_TRUE {
					t.Errorf("%s is %s while another generation is in use", name, r.GetReady())
				}
			}
			c.settle()
			c.wants("it is deleted", "shop-aws shop-key-1 shop-key-3", c.condition())
			if c.value("shop-aws", "a") != "b" {
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
	start := func(t *testing.T) *controlPlane {
		c := newControlPlane(t, `secrets: [{name: other, data: [{key: a, value: "'b'"}]}]`)
		c.xr.Fields["status"] = structpb.NewStructValue(parse(c.t, "{more: a}"))
		c.later = []string{strings.ReplaceAll(rotatedPassword, "24h", "0s") + fmt.Sprintf(held, "generated.admin.password")}
		c.settle()
		delete(c.xr.Fields, "status") // it is held from now on
		return c
	}
	t.Run("Left", func(t *testing.T) {
		c := start(t)
		c.later = []string{fmt.Sprintf(held, "string(composite.spec.role)")}
		c.settle()
		if c.names() != "shop-admin-1 shop-connection shop-other" {
			t.Errorf("what is still exported is not kept: %s", c.names())
		}
	})
	t.Run("Moved", func(t *testing.T) {
		c := start(t)
		c.setInput(rotatedPassword)
		c.later = []string{"generators: [{name: id, uuid: {}}]" + fmt.Sprintf(held, "string(composite.spec.role)")}
		c.settle()
		if state, _ := c.state()["admin"].(map[string]any); c.names() != "shop-admin-1 shop-connection shop-id-1" || state["input"] == nil {
			t.Errorf("a step judges what an earlier one has: %s, %v", c.names(), state)
		}
	})
}

// What leaves the input is looked after until it is gone, and keeps nobody waiting.
func TestAGeneratorThatLeftIsTold(t *testing.T) {
	c := newControlPlane(t, strings.Replace(rotatedPassword, "24h", "44s", 1)+connectionOfAdmin)
	c.settle()
	c.setInput(`secrets: [{name: other, data: [{key: a, value: "'b'"}]}]`)
	c.settle()
	for name, r := range c.response.GetDesired().GetResources() {
		if r.GetReady() != fnv1.Ready_READY_TRUE {
			t.Errorf("%s is %s", name, r.GetReady())
		}
	}
	state, _ := c.state()["admin"].(map[string]any)
	if gc, _ := state["gc"].(map[string]any); len(gc) != 1 || state["input"] != nil {
		t.Errorf("the state is %v", state)
	}
	if c.ttl() != 40*time.Second {
		t.Errorf("TTL is %s 44 seconds before it is dropped", c.ttl())
	}
}

// A step that does not have a generator cannot tell whether a later one does.
func TestALaterStepHasTheGenerator(t *testing.T) {
	c := newControlPlane(t, `secrets: [{name: other, data: [{key: a, value: "'b'"}]}]`)
	c.later = []string{strings.Replace(rotatedPassword, "24h", "44s", 1) + connectionOfAdmin}
	c.settle()
	c.settle()
	if c.ttl() != time.Minute {
		t.Errorf("TTL is %s, while nothing is to be dropped", c.ttl())
	}
}

// A manifest may be a Secret that somebody else fills in: its data stays theirs.
func TestASecretThatAnotherFillsIn(t *testing.T) {
	c := newControlPlane(t, `
generators:
- name: token
  resource:
    manifest: {apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {annotations: {kubernetes.io/service-account.name: app}}}
    readyExpression: has(secret.token)
secrets: [{name: api, data: [{key: token, value: generated.token.token}]}]
`)
	c.settle()
	c.wants("not filled in", "shop-token-1", c.condition())
	fill := func() {
		c.object("Secret", "shop-token-1").Fields["data"] = structpb.NewStructValue(parse(t, "{token: eA==}"))
	}
	for range 4 {
		fill()
		c.reconcile()
		o := c.response.GetDesired().GetResources()["generated/token/1"].GetResource()
		if o.GetFields()["data"] != nil || meta(o, "annotations", "kubernetes.io/service-account.name") != "app" || o.GetFields()["type"].GetStringValue() != "kubernetes.io/service-account-token" {
			t.Errorf("it is not as it was made: %s", o)
		}
	}
	if c.value("shop-api", "token") != "x" {
		t.Error("what was filled in is not exported")
	}
}

// A composite that is read as it was before it listed the generation in use: that one
// keeps its place, and another one is made after it.
func TestStaleCompositeWhenAGenerationIsMade(t *testing.T) {
	c := newControlPlane(t, "generators: [{name: admin, password: {}}]"+connectionOfAdmin)
	c.settle()
	c.annotate(rotateKey, "admin=1")
	c.settle()
	c.settle()
	c.wants("rotated", "shop-admin-2 shop-connection", "Available")
	c.annotate(rotateKey, "admin=2")
	was := c.value("shop-connection", "password")
	c.reconcileStale("v1|Secret|team-a|shop-connection")
	c.wants("nothing is changed", "shop-admin-2 shop-connection", `Waiting Secret team-a/shop-admin-2 is controlled by the composite, and the composite does not list it. If it was just created, the next reconcile sees that. Otherwise delete it`)
	if c.value("shop-connection", "password") != was {
		t.Error("it has another value")
	}
	c.settle()
	c.settle()
	c.wants("the next one", "shop-admin-3 shop-connection", "Available")
}

// A Secret is ready once it is made. A resource is when it says so, and keeps nobody
// waiting while another generation is in use.
func TestReadinessOfWhatIsMade(t *testing.T) {
	c := newControlPlane(t, strings.Replace(accessKey("", ""), "generators:", "generators:\n- {name: id, uuid: {}}", 1))
	readies := func(when, want string) {
		t.Helper()
		c.reconcile()
		got := ""
		for _, name := range []string{"generated/id/1", "generated/key/1", "generated/key/2"} {
			got += strings.TrimPrefix(c.response.GetDesired().GetResources()[name].GetReady().String(), "READY_") + " "
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%s: %s, not %s", when, got, want)
		}
	}
	readies("made", "TRUE FALSE UNSPECIFIED")
	if c.ttl() != 0 {
		t.Errorf("TTL is %s, and a UUID is among what was just made", c.ttl())
	}
	readies("stored", "TRUE FALSE UNSPECIFIED")
	c.ready("shop-key-1", map[string]string{"a": "b"})
	c.settle()
	c.annotate(rotateKey, "key=1")
	readies("the next one is made", "TRUE TRUE TRUE")
	readies("and stored", "TRUE TRUE TRUE")
}

// A name that a generation cannot have is said as what it is.
func TestAGenerationWithAnIllegalName(t *testing.T) {
	c := newControlPlane(t, accessKey("", `{fieldPath: metadata.name, value: "generation.number == 1 ? 'k' : 'K'"}`))
	c.settle()
	c.ready("k", map[string]string{"a": "b"})
	c.settle()
	c.annotate(rotateKey, "key=1")
	c.settle()
	if want := `generator "key" makes no generation: generators[0]: cannot use name "K"`; !strings.Contains(c.condition(), want) {
		t.Error(c.condition())
	}
}

// What a generation of another kind gives says nothing about what the next one is to give.
func TestAnotherKindOfGenerator(t *testing.T) {
	const password = "generators: [{name: key, password: {}}]\nsecrets: [{name: aws, dataFrom: [{extract: {key: generated.key}}]}]"
	c := newControlPlane(t, password)
	c.settle()
	c.setInput(strings.Replace(accessKey("", ""), "set: []", "outputs: {id: resource.status.id}", 1))
	c.reconcile()
	c.wants("a resource after a password", "shop-aws shop-key-1 shop-key-2", "Available")
	c.settle()
	c.ready("shop-key-2", map[string]string{"username": "u"})
	set(c.object("AccessKey", "shop-key-2"), "i", "status", "id")
	c.settle()
	c.settle()
	c.wants("it is whole with what it has", "shop-aws shop-key-2", "Available")
	c.setInput(password)
	c.reconcile()
	c.wants("and back", "shop-aws shop-key-2 shop-key-3", "Available") // the one in use lacks nothing: it is followed
	c.settle()
	c.settle()
	c.wants("the password", "shop-aws shop-key-3", "Available")
}

// Connection details that are away for a moment are not none.
func TestConnectionDetailsThatAreAway(t *testing.T) {
	c := newControlPlane(t, strings.Replace(accessKey("", ""), "{extract: {key: generated.key}}", "{valueMap: generated.key}, {valueMap: \"{'a': 'b'}\"}", 1))
	c.settle()
	c.ready("shop-key-1", map[string]string{"username": "u"})
	c.settle()
	c.details["iam.example.org/v1|AccessKey|team-a|shop-key-1"] = nil
	c.settle()
	c.wants("they are waited for", "shop-aws shop-key-1", `Held Secret "aws" is held as it was observed: waiting: secrets[0].dataFrom[0] for generated.key (generation 1: its connection details)`)
	if c.value("shop-aws", "username") != "u" {
		t.Error("what is exported shrinks")
	}
}

// With CreatedOnce nothing is made, and so it is said in time.
func TestACertificateThatIsMadeOnceEnds(t *testing.T) {
	c := newControlPlane(t, `
generators: [{name: tls, certificate: {subject: {commonName: db}, duration: 2160h}}]
secrets: [{name: server, data: [{key: tls.crt, value: "generated.tls['tls.crt']"}]}]
`)
	c.settle()
	warns := func(want int) {
		t.Helper()
		c.settle()
		if got := c.names(); got != "shop-server shop-tls-1" {
			t.Errorf("something is made: %s", got)
		}
		says := c.response.GetConditions()[0]
		if n := strings.Count(says.GetMessage(), "the certificate of generation 1 ends soon"); n != want || says.GetReason() != "Available" {
			t.Errorf("the condition says so %d times: %s", n, says)
		}
		if n := strings.Count(fmt.Sprint(c.response.GetResults()), "the certificate of generation 1 ends soon"); n != want {
			t.Errorf("%d warnings: %s", n, c.response.GetResults())
		}
	}
	c.wait(1440*time.Hour - time.Second)
	warns(0)
	c.wait(time.Second)
	warns(1)
}

// Later steps can see what is to come.
func TestStateOfWhatIsPending(t *testing.T) {
	c := newControlPlane(t, accessKey("", ""))
	c.settle()
	state, _ := c.state()["key"].(map[string]any)
	pending, _ := state["pending"].(map[string]any)
	if pending["name"] != "shop-key-1" || state["latest"] != nil || state["gc"] != nil {
		t.Errorf("the state is %v", state)
	}
}

// Crossplane hands a step its own context, each time that it calls it again.
func TestCalledAgainWithItsOwnState(t *testing.T) {
	const seen = `
configMaps: [{name: seen, data: [{key: state, value: "string('export.fn.crossplane.io/generator-state' in context)"}]}]
`
	for name, input := range map[string]string{"Has": rotatedPassword + seen, "Left": seen} {
		t.Run(name, func(t *testing.T) {
			c := newControlPlane(t, rotatedPassword+seen)
			c.settle()
			c.setInput(input)
			c.settle()
			req := c.request()
			var all []*fnv1.RunFunctionResponse
			for range 4 {
				rsp, err := c.fn.RunFunction(t.Context(), proto.Clone(req).(*fnv1.RunFunctionRequest))
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, rsp)
				req.Context, req.RequiredResources = rsp.GetContext(), map[string]*fnv1.Resources{}
				for key, s := range rsp.GetRequirements().GetResources() {
					req.RequiredResources[key] = c.lookUp(s)
				}
			}
			if c.state()["admin"] == nil || !proto.Equal(all[2], all[3]) {
				t.Errorf("it answers %s, and then %s", all[2], all[3])
			}
			if got := c.object("ConfigMap", "shop-seen").GetFields()["data"].GetStructValue().GetFields()["state"].GetStringValue(); got != "false" || !proto.Equal(all[3].GetDesired(), c.response.GetDesired()) {
				t.Errorf("it sees what itself left: %s: %s", got, all[3].GetDesired())
			}
		})
	}
}

// An annotation that was right stays so while what it names is on its way out, or is in
// another step.
func TestRotateAnnotationOfWhatIsElsewhere(t *testing.T) {
	root := strings.ReplaceAll(rotatedPassword, "admin", "root")
	c := newControlPlane(t, rotatedPassword)
	c.annotate(rotateKey, "admin=1")
	c.later = []string{root}
	c.settle()
	if r := c.response.GetResults(); len(r) != 0 {
		t.Errorf("in another step: %s", r)
	}
	c.later = nil
	c.setInput(root)
	c.settle()
	if r := c.response.GetResults(); len(r) != 0 || c.names() != "shop-admin-1 shop-root-1" {
		t.Errorf("on its way out: %s, %s", r, c.names())
	}
	c.wait(grace)
	c.settle()
	if r := c.response.GetResults(); len(r) != 1 || c.names() != "shop-root-1" {
		t.Errorf("gone: %s, %s", r, c.names())
	}
}

// No two resources have one ID, also if a composite has the name of one that is gone.
func TestGenerationIDs(t *testing.T) {
	ids := map[string]bool{}
	for _, uid := range []string{"u1", "u2"} {
		for _, name := range []string{"key", "pin"} {
			c := newControlPlane(t, strings.NewReplacer("name: key", "name: "+name, "generated.key", "generated."+name).Replace(accessKey("gracePeriod: 1h", "{fieldPath: metadata.name, value: generation.id}")))
			set(c.xr, uid, "metadata", "uid")
			c.settle()
			c.ready(c.names(), map[string]string{"a": "b"})
			c.annotate(rotateKey, name+"=1")
			c.settle()
			for _, id := range strings.Fields(c.names()) {
				ids[id] = true
			}
		}
	}
	delete(ids, "shop-aws")
	if len(ids) != 8 {
		t.Errorf("two of two generators of two composites have the IDs %v", ids)
	}
}

// A resource stays the object that it is, whatever people do to what it was made from.
func TestAResourceThatLostItsState(t *testing.T) {
	const state = "export.fn.crossplane.io/generator-state"
	for name, tc := range map[string]struct {
		reason string
		state  *structpb.Value
	}{
		"Lost":   {"what is observed is kept, without what others write", nil},
		"Forged": {"it cannot be made another object by it", structpb.NewStringValue(`{"resource":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"evil","namespace":"kube-system"},"spec":{"writeConnectionSecretToRef":{"name":"x"}}},"state":{"kind":"resource","adopted":true}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			c := newControlPlane(t, accessKey("", ""))
			c.settle()
			c.ready("shop-key-1", map[string]string{"a": "b"})
			c.settle()
			if c.annotationsOf("AccessKey", "shop-key-1")[state] = tc.state; tc.state == nil {
				delete(c.annotationsOf("AccessKey", "shop-key-1"), state)
			}
			first, err := c.fn.RunFunction(t.Context(), c.request()) // before anything is looked up
			if err != nil {
				t.Fatal(err)
			}
			for _, rsp := range []*fnv1.RunFunctionResponse{first, c.call()} {
				o := rsp.GetDesired().GetResources()["generated/key/1"].GetResource()
				_, status := o.GetFields()["status"]
				if keyOf(o) != "iam.example.org/v1|AccessKey|team-a|shop-key-1" || o.GetFields()["spec"].GetStructValue() == nil || status || meta(o, "uid") != "" {
					t.Errorf("%s: %s", tc.reason, o)
				}
			}
		})
	}
}

// An output that is empty is one to come.
func TestAnOutputThatIsEmpty(t *testing.T) {
	c := newControlPlane(t, tokenOfResource)
	c.settle()
	c.provide("shop-token-1", `""`, "True")
	c.settle()
	if c.names() != "shop-token-1" || !strings.Contains(c.condition(), "waits for generators[0].resource.outputs[id] that is not empty") {
		t.Errorf("%s: %s", c.names(), c.condition())
	}
}

// The names of a composite and of a generator may be too long for both.
func TestAGenerationWithALongName(t *testing.T) {
	c := newControlPlane(t, rotatedPassword)
	set(c.xr, strings.Repeat("x", 250), "metadata", "name")
	c.reconcile()
	if c.names() != "" || !strings.Contains(c.condition(), `generator "admin" makes no generation: generators[0].name: `) {
		t.Errorf("%s: %s", c.names(), c.condition())
	}
}

// A resource with some of its details waits for the others no longer.
func TestAResourceThatIsNotReadyBecomesAPassword(t *testing.T) {
	c := newControlPlane(t, accessKey("gracePeriod: 1h", ""))
	c.settle()
	c.ready("shop-key-1", map[string]string{"username": "u1", "password": "p1"})
	c.settle()
	c.annotate(rotateKey, "key=1")
	c.settle()
	c.ready("shop-key-2", map[string]string{"username": "u2"})
	c.settle()
	c.setInput("generators: [{name: key, gracePeriod: 1h, password: {}}]\nsecrets: [{name: aws, dataFrom: [{extract: {key: generated.key}}]}]")
	c.settle()
	if !strings.Contains(c.names(), "shop-key-3") {
		t.Error(c.names(), c.condition())
	}
}

// What an earlier step generates is none of the resources that a find waits for.
func TestFindBesideAGeneratorOfAnEarlierStep(t *testing.T) {
	c := newControlPlane(t, accessKey("", ""))
	c.later = []string{`secrets: [{name: rest, dataFrom: [{find: {name: {regexp: nothing}}, optional: true}, {valueMap: "{'a': 'b'}"}]}]`}
	c.settle()
	if c.value("shop-rest", "a") != "b" {
		t.Error(c.condition())
	}
}
