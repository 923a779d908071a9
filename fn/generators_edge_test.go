package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

// accessKey is a resource generator with its set, and a Secret with all it gives.
func accessKey(policy, set string) string {
	return `
generators:
- name: key
  ` + policy + `
  resource:
    manifest: {apiVersion: iam.example.org/v1, kind: AccessKey, spec: {writeConnectionSecretToRef: {name: x}}}
    set: [` + set + `]
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

// A composite that is restored from a backup has another UID.
func TestRestoredComposite(t *testing.T) {
	c := newControlPlane(t, "generators: [{name: admin, refreshPolicy: OnChange, keepersExpression: composite.spec.passwordVersion, password: {}}]"+connectionOfAdmin)
	c.annotate(rotateKey, "admin=1")
	c.settle()
	was := c.value("shop-connection", "password")
	set(c.xr, "another-uid", "metadata", "uid")
	set(c.xr, "example.org/v2", "apiVersion")
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
	c.xr.Fields["spec"].GetStructValue().Fields["crossplane"] = structpb.NewStructValue(parse(t, "{resourceRefs: [{apiVersion: v1, kind: Secret, name: shop-admin-1}]}"))
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
	if !strings.Contains(c.condition(), `looks like a generation of it, and has no controller`) {
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
