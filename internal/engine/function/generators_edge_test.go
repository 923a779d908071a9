package function_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
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

func TestNamesOfGenerations(t *testing.T) {
	for _, name := range []string{
		"generation.id", "composite.metadata.name + '-' + generation.id.substring(0, 6)",
		"['blue', 'green'][(generation.number - 1) % 2]", "'k-%d'.format([generation.number])",
	} {
		c := functiontest.NewControlPlane(t, accessKey("refreshPolicy: OnChange", fmt.Sprintf("{fieldPath: metadata.name, value: %q}", name)))
		c.Settle()
		if c.Names() == "" || !strings.HasPrefix(c.Condition(), `Waiting Secret "aws" (team-a/shop-aws) is not created`) || strings.Contains(c.Condition(), "creates no generation") {
			t.Errorf("%s: %q: %s", name, c.Names(), c.Condition())
		}
	}
}

// A resource is ready before its connection details come, or some of them.
func TestConnectionDetailsThatComeLate(t *testing.T) {
	c := functiontest.NewControlPlane(t, accessKey("gracePeriod: 1h", ""))
	c.Settle()
	c.Ready("shop-key-1", nil)
	c.Settle()
	c.Wants("no details", "shop-key-1", `Waiting Secret "aws" (team-a/shop-aws) is not created: secrets[0].dataFrom[0] waits for generated.key (its generation 1 is not ready: it waits for its connection details); see: kubectl describe accesskey.iam.example.org shop-key-1 --namespace team-a`)
	c.Ready("shop-key-1", map[string]string{"username": "u1", "password": "p1"})
	c.Settle()
	c.Annotate(rotateKey, "key=1")
	c.Settle()
	c.Ready("shop-key-2", map[string]string{"username": "u2"})
	c.Settle()
	c.Wants("some", "shop-aws shop-key-1 shop-key-2", `Waiting generator "key": generation 2 is not ready: it waits for "password" among its connection details; generation 1 stays in use; see: kubectl describe accesskey.iam.example.org shop-key-2 --namespace team-a`)
	if ready := c.Response.GetDesired().GetComposite().GetReady(); ready == fnv1.Ready_READY_FALSE {
		t.Error("a composite whose exports are all right is not ready")
	}
	for name, r := range c.Response.GetDesired().GetResources() {
		if r.GetReady() != fnv1.Ready_READY_TRUE {
			t.Errorf("%s is %s while another generation is in use", name, r.GetReady())
		}
	}
	c.Ready("shop-key-2", map[string]string{"username": "u2", "password": "p2"})
	c.Settle()
	if c.Value("shop-aws", "username")+c.Value("shop-aws", "password") != "u2p2" {
		t.Errorf("exported are %s and %s", c.Value("shop-aws", "username"), c.Value("shop-aws", "password"))
	}
	c.Details["iam.example.org/v1|AccessKey|team-a|shop-key-2"] = nil
	c.Settle()
	if c.Value("shop-aws", "username")+c.Value("shop-aws", "password") != "u2p2" || !strings.HasPrefix(c.Condition(), "Held") {
		t.Errorf("what is exported shrinks when connection details are away: %s", c.Condition())
	}
}

// A resource that has another UID after a restore from a backup goes on with its state.
func TestRestoredResourceKeepsItsState(t *testing.T) {
	c := functiontest.NewControlPlane(t, accessKey("gracePeriod: 24h", "{fieldPath: spec.role, value: composite.spec.role}"))
	c.Settle()
	c.Ready("shop-key-1", map[string]string{"username": "u1"})
	c.Settle()
	want := c.AnnotationsOf("AccessKey", "shop-key-1")
	functiontest.Set(c.Object("AccessKey", "shop-key-1"), "restored", "metadata", "uid")
	c.Settle()
	c.Wants("restored", "shop-aws shop-key-1", "Available")
	if diff := cmp.Diff(want, c.AnnotationsOf("AccessKey", "shop-key-1"), protocmp.Transform()); diff != "" {
		t.Errorf("the state of a restored resource: -before, +after:\n%s", diff)
	}
}

// Resources of two API groups can have one kind and name. Crossplane has not yet listed one of them.
func TestNamesInTwoGroups(t *testing.T) {
	one := `
- name: %[1]s
  resource:
    manifest: {apiVersion: %[1]s.example.org/v1, kind: User}
    set: [{fieldPath: metadata.name, value: "'u-' + string(generation.number)"}]`
	c := functiontest.NewControlPlane(t, "generators:"+fmt.Sprintf(one, "a")+fmt.Sprintf(one, "b"))
	c.Reconcile()
	c.ReconcileStale("a.example.org/v1|User|team-a|u-1")
	c.Reconcile()
	if c.Names() != "u-1 u-1" {
		t.Errorf("there are %s: %s", c.Names(), c.Condition())
	}
}

// Crossplane does not list what another client removed from the list. Its owner decides.
func TestResourceThatIsNotListed(t *testing.T) {
	c := functiontest.NewControlPlane(
		t,
		accessKey("refreshPolicy: OnChange\n  gracePeriod: 24h", "{fieldPath: spec.role, value: composite.spec.role}"),
	)
	c.Settle()
	c.Ready("shop-key-1", map[string]string{"username": "u1"})
	c.Settle()
	c.XR.GetFields()["spec"].GetStructValue().Fields["role"] = structpb.NewStringValue("writer")
	c.Settle()
	c.Wait(time.Hour)
	isNew := func(key string) bool { return strings.HasSuffix(key, "shop-key-2") }
	c.ReconcileStale(slices.DeleteFunc(slices.Clone(c.Listed), isNew)...)
	c.Reconcile()
	want := `Conflict generator "key": AccessKey team-a/shop-key-2 looks like a generation, but the composite does not list it, so it is left unchanged. ` +
		"If it was restored from a backup, set the annotation export.fn.crossplane.io/accept-generation: uid-3 on the composite to use it. Otherwise delete it"
	if c.Names() != "shop-aws shop-key-1 shop-key-2" || !strings.HasPrefix(c.Condition(), want) {
		t.Errorf("there are %s, and the message is %q", c.Names(), c.Condition())
	}
	c.Annotate("export.fn.crossplane.io/accept-generation", "uid-3")
	c.Ready("shop-key-2", map[string]string{"username": "u2"})
	c.Reconcile() // lists it
	c.Settle()
	c.Wants("accepted", "shop-aws shop-key-1 shop-key-2", "Available")
}

// Two names are enough if each generation is deleted before its name is used again. The one after next has the name of
// the generation in use.
func TestNamesThatAlternate(t *testing.T) {
	c := functiontest.NewControlPlane(t, accessKey("refreshPolicy: OnChange\n  gracePeriod: 24h",
		"{fieldPath: metadata.name, value: \"['blue', 'green'][(generation.number - 1) % 2]\"}, {fieldPath: "+
			"spec.role, value: composite.spec.role}"))
	c.Settle()
	for i, name := range []string{"blue", "green", "blue"} {
		c.Ready(name, map[string]string{"username": fmt.Sprint(i)})
		c.Settle()
		if got := c.Value("shop-aws", "username"); got != fmt.Sprint(i) {
			t.Fatalf("the export has the value of generation %s, not %d: %s", got, i, c.Condition())
		}
		c.Wait(25 * time.Hour)
		c.Settle()
		c.XR.GetFields()["spec"].GetStructValue().Fields["role"] = structpb.NewStringValue(fmt.Sprint(i))
		c.Settle()
		if c.Names() != "blue green shop-aws" {
			t.Fatalf("generation %d does not exist: %s: %s", i+2, c.Names(), c.Condition())
		}
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
	c := functiontest.NewControlPlane(t, functiontest.RotatedPassword+fmt.Sprintf(held, "generated.admin.password"))
	c.XR.Fields["status"] = structpb.NewStructValue(functiontest.Parse(t, "{more: a}"))
	c.Later = []string{`secrets: [{name: other, data: [{key: a, value: "'b'"}]}]`}
	c.Settle()
	delete(c.XR.GetFields(), "status") // it is held from now on
	c.SetInput(strings.NewReplacer("name: admin", "name: root", "24h", "0s").Replace(functiontest.RotatedPassword) + fmt.Sprintf(held, "generated.root.password"))
	c.Settle() // or fails, if the steps never agree
	if c.Names() != "shop-admin-1 shop-connection shop-other shop-root-1" {
		t.Errorf("what is still exported is not kept: %s", c.Names())
	}
	if f := functiontest.FlaggedOf(c.Object("Secret", "shop-admin-1")); f != "" {
		t.Errorf("a later step flags it at %s, which exports nothing of it", f)
	}
}

func TestGenerationsAreBounded(t *testing.T) {
	c := functiontest.NewControlPlane(t, "generators: [{name: admin, gracePeriod: 24h, password: {}}]"+functiontest.ConnectionOfAdmin)
	for i := range 30 {
		c.Annotate(rotateKey, fmt.Sprintf("admin=%d", i))
		c.Settle()
	}
	if n := len(c.Stored); n != 17 {
		t.Errorf("%d objects are stored", n)
	}
	if !strings.Contains(c.Condition(), `generator "admin" creates no generation: it waits for one of its 16 generations to be deleted`) {
		t.Error(c.Condition())
	}
	was := c.Value("shop-connection", "password")
	c.Wait(24 * time.Hour)
	c.Settle()
	c.Settle()
	if c.Value("shop-connection", "password") == was {
		t.Error("the last requested generation is not created when there are fewer than the limit")
	}
	c.Wait(24 * time.Hour)
	c.Settle()
	c.Wants("in the end", "shop-admin-17 shop-connection", "Available")
}

// What never rests creates no generation with each reconcile.
func TestKeepersThatNeverRest(t *testing.T) {
	c := functiontest.NewControlPlane(t, accessKey("refreshPolicy: OnChange\n  keepersExpression: composite.spec.passwordVersion", ""))
	for i := range 20 {
		c.XR.Fields["spec"].GetStructValue().Fields["passwordVersion"] = structpb.NewNumberValue(float64(i))
		c.Reconcile()
	}
	c.Wants("one in a minute", "shop-key-1", c.Condition())
	if c.TTL() > time.Minute {
		t.Errorf("TTL is %s", c.TTL())
	}
	c.Wait(time.Minute)
	c.Reconcile()
	c.Reconcile()
	c.Wants("a minute later", "shop-key-2", c.Condition())
}

func TestABrokenManifestCanBeCorrected(t *testing.T) {
	broken := accessKey("", "{fieldPath: spec.role, value: composite.spec.role}")
	c := functiontest.NewControlPlane(t, broken)
	c.Settle()
	c.SetInput(strings.ReplaceAll(broken, "composite.spec.role", "string('writer')"))
	c.Wait(time.Minute)
	c.Settle()
	c.Wants("no other object has the first name", "shop-key-2", c.Condition())
	c.Ready("shop-key-2", map[string]string{"a": "b"})
	c.Settle()
	c.SetInput(broken)
	c.Wait(time.Hour)
	c.Settle()
	c.Wants("once it is in use it stays", "shop-aws shop-key-2", "Available")
}

// A composite that is restored from a backup has another UID, and what it composed has no
// controller.
func TestRestoredComposite(t *testing.T) {
	c := functiontest.NewControlPlane(t, "generators: [{name: admin, refreshPolicy: OnChange, keepersExpression: composite.spec.passwordVersion, password: {}}]"+functiontest.ConnectionOfAdmin)
	c.Annotate(rotateKey, "admin=1")
	c.Settle()
	was := c.Value("shop-connection", "password")
	functiontest.Set(c.XR, "another-uid", "metadata", "uid")
	functiontest.Set(c.XR, "example.org/v2", "apiVersion")
	for _, o := range c.Stored {
		delete(o.GetFields()["metadata"].GetStructValue().GetFields(), "ownerReferences")
	}
	c.Settle()
	c.Wants("restored", "shop-admin-1 shop-connection", "Available")
	if c.Value("shop-connection", "password") != was {
		t.Error("it has another password")
	}
}

// A backup brings the composite back without its list, while an export is kept with a former value.
func TestRestoredCompositeWithAKeptExport(t *testing.T) {
	input := func(kind string) string {
		return fmt.Sprintf(`
generators: [{name: admin, gracePeriod: 0s, %[1]s: {}}]
secrets:
- {name: cache, data: [{key: host, value: composite.spec.cache}, {key: admin, value: generated.admin.%[1]s}]}
- {name: connection, data: [{key: admin, value: generated.admin.%[1]s}]}
`, kind)
	}
	c := functiontest.NewControlPlane(t, input("password"))
	functiontest.Set(c.XR, "cache.example.org", "spec", "cache")
	c.Settle()
	delete(c.XR.GetFields()["spec"].GetStructValue().GetFields(), "cache")
	c.Annotate(rotateKey, "admin=1")
	c.Settle()

	c.Listed = nil
	c.Wait(time.Hour) // so that it is not taken for an outdated list
	c.SetInput(input("uuid"))
	uids := ""
	for _, name := range []string{"shop-admin-2", "shop-admin-1"} { // the condition names them in this order
		c.Settle()
		uid := functiontest.Meta(c.Object("Secret", name), "uid")
		if uids += " " + uid; !strings.Contains(c.Condition(), "accept-generation") {
			t.Errorf("the owner is not told to accept %s: %s", name, c.Condition())
		}
		c.Annotate(functiontest.Prefix+"accept-generation", uids)
	}
	for range 8 {
		c.Reconcile()
		c.Wait(time.Second)
	}
	if c.Value("shop-cache", "admin") != c.Value("shop-admin-1", "password") {
		t.Error("the kept export does not have the first value")
	}
	functiontest.Set(c.XR, "cache.example.org", "spec", "cache")
	for range 3 {
		c.Reconcile()
		c.Wait(time.Second)
	}
	c.Wants("no export has the first value", "shop-admin-3 shop-cache shop-connection", "Available")
}

// Crossplane calls a function only a few times with further requirements. The owner can still accept many generations at
// once that neither an export nor the composite names.
func TestManyAcceptedGenerations(t *testing.T) {
	c := functiontest.NewControlPlane(t, strings.Replace(adminOnce, "0s", "240h", 1))
	c.Settle()
	for i := range limits.Generations - 1 {
		c.Annotate(rotateKey, fmt.Sprintf("admin=%d", i))
		c.Settle()
	}
	want, value := c.Names(), c.Value("shop-connection", "password")
	var uids []string
	for number := range limits.Generations {
		uids = append(uids, functiontest.Meta(c.Object("Secret", fmt.Sprintf("shop-admin-%d", number+1)), "uid"))
	}
	delete(c.Stored, "v1|Secret|team-a|shop-connection")
	c.Listed = nil
	c.Restart()
	c.Wait(time.Hour) // so that it is not taken for an outdated list
	c.Annotate(functiontest.Prefix+"accept-generation", strings.Join(uids, ","))
	c.Settle()
	c.Wants("all are accepted", want, "Available")
	if got := c.Value("shop-connection", "password"); got != value {
		t.Error("another value is exported")
	}
}

func TestTwoGeneratorsOfOneObject(t *testing.T) {
	const one = `
- name: %s
  resource:
    manifest: {apiVersion: iam.example.org/v1, kind: AccessKey, spec: {}}
    set: [{fieldPath: metadata.name, value: "'k-' + string(generation.number)"}]`
	c := functiontest.NewControlPlane(t, "generators:"+fmt.Sprintf(one, "a")+fmt.Sprintf(one, "b"))
	c.Reconcile()
	c.Wants("at once", "k-1", `Held generator "b" creates no generation: generators[1].name: AccessKey team-a/k-1 would also be composed by generation "a/1": give one of them another name; generator "a": its generation 1 is created in this reconcile`)
	c.Settle()
	if !strings.Contains(c.Condition(), `generator "b" creates no generation: generators[1].resource.set: returns the name that generation a/1 has: use generation.number or generation.id, and the generator's own name`) {
		t.Error(c.Condition())
	}
}

// Where the API server does not take what is made Crossplane has to call again.
func TestRefusedGeneration(t *testing.T) {
	c := functiontest.NewControlPlane(t, functiontest.RotatedPassword)
	c.Listed = []string{"v1|Secret|team-a|shop-admin-1"}
	c.Response = c.Call()
	if c.TTL() != plan.PollTTL {
		t.Errorf("TTL is %s", c.TTL())
	}
}

func TestManifestWithALabelThatIsNoText(t *testing.T) {
	c := functiontest.NewControlPlane(t, accessKey("", "{fieldPath: metadata.labels.n, value: generation.number}"))
	c.Reconcile()
	if want := `generator "key" creates no generation: generators[0].resource.set: returns metadata.labels that are not strings: wrap them in string(...)`; !strings.Contains(c.Condition(), want) {
		t.Error(c.Condition())
	}
}

func TestRotateAnnotation(t *testing.T) {
	for text, want := range map[string]string{
		"admin":            "the composite's annotation export.fn.crossplane.io/rotate must be <generator>=<anything new>, for example admin=1",
		"admin=":           "the composite's annotation export.fn.crossplane.io/rotate must be <generator>=<anything new>, for example admin=1",
		"root=1,x=1,y":     "the composite's annotation export.fn.crossplane.io/rotate names a generator that this step does not have. This step has: admin",
		"admin=1,\n admin": "the composite's annotation export.fn.crossplane.io/rotate must be <generator>=<anything new>, for example admin=1",
		"admin=a=b":        "",
		"admin=1\nadmin=2": "",
	} {
		c := functiontest.NewControlPlane(t, functiontest.RotatedPassword)
		c.Annotate(rotateKey, text)
		c.Reconcile()
		got := ""
		for _, r := range c.Response.GetResults() {
			got += r.GetMessage()
		}
		if got != want {
			t.Errorf("%q warns %q, not %q", text, got, want)
		}
	}
}

func TestRotateOneOfTwoNames(t *testing.T) {
	c := functiontest.NewControlPlane(t, functiontest.RotatedPassword)
	c.Settle()
	c.Annotate(rotateKey, "root=1, admin=1") // there is no generator root
	c.Settle()
	if !strings.Contains(c.Names(), "shop-admin-2") || !strings.Contains(c.Condition(), "does not have") {
		t.Errorf("admin is not rotated, or root is not reported: %s: %s", c.Names(), c.Condition())
	}
}

// A certificate that must be renewed waits for a CA that must also be renewed.
func TestCertificateAndItsCAAtOnce(t *testing.T) {
	c := functiontest.NewControlPlane(t, `
generators:
- {name: tls, refreshPolicy: OnChange, certificate: {ca: ca, dnsNames: [db.example.org]}}
- {name: ca, refreshPolicy: OnChange, certificate: {isCA: true, subject: {commonName: root}}}
secrets:
- {name: server, dataFrom: [{extract: {key: generated.tls}}]}
`)
	c.Settle()
	c.Annotate(rotateKey, "ca=1, tls=1")
	c.Settle()
	c.Settle()
	c.Wants("one of each", "shop-ca-2 shop-server shop-tls-2", "Available")
	if c.Value("shop-server", "ca.crt") != c.Value("shop-ca-2", "tls.crt") {
		t.Error("it is not signed by the CA in use")
	}
}

// A generation without its controller belongs to no composite, until the owner of the composite accepts it.
func TestGenerationWithoutController(t *testing.T) {
	c := functiontest.NewControlPlane(t, functiontest.RotatedPassword)
	c.Settle()
	c.Listed = nil
	was := functiontest.Meta(c.Object("Secret", "shop-admin-1"), "uid")
	delete(c.Stored["v1|Secret|team-a|shop-admin-1"].GetFields()["metadata"].GetStructValue().GetFields(), "ownerReferences")
	c.Reconcile()
	if !strings.Contains(c.Condition(), `Secret team-a/shop-admin-1 looks like a generation, but the composite does not list it, so it is left unchanged`) {
		t.Error(c.Condition())
	}
	c.Annotate(functiontest.Prefix+"accept-generation", was)
	c.Reconcile() // lists it
	c.Annotate(functiontest.Prefix+"accept-generation", "")
	c.Settle()
	c.Wants("accepted", "shop-admin-1", "Available")
	if functiontest.Meta(c.Object("Secret", "shop-admin-1"), "uid") != was {
		t.Error("it is another one")
	}
}

// A generation with a readyExpression does not wait for the connection details of the previous generation.
func TestDetailsThatAreNotNeeded(t *testing.T) {
	c := functiontest.NewControlPlane(t, strings.Replace(accessKey("gracePeriod: 1h", ""), "  resource:", "  readyExpression: has(secret.username)\n  resource:", 1))
	c.Settle()
	c.Ready("shop-key-1", map[string]string{"username": "u1", "password": "p1"})
	c.Settle()
	c.Annotate(rotateKey, "key=1")
	c.Settle()
	c.Ready("shop-key-2", map[string]string{"username": "u2"})
	c.Settle()
	if c.Value("shop-aws", "username") != "u2" {
		t.Error(c.Condition())
	}
}

// An object that was not looked up may be another generation, or the object of another owner.
func TestNothingIsDecidedBeforeAllIsRead(t *testing.T) {
	due := func(t *testing.T, input string) *functiontest.ControlPlane {
		c := functiontest.NewControlPlane(t, input)
		c.Settle()
		c.Wait(functiontest.Interval)
		return c
	}
	for name, tc := range map[string]struct {
		reason  string
		input   string
		do      func(c *functiontest.ControlPlane)
		message string
	}{
		"Due": {
			reason: "the next one is made once its name is known to be free",
			input:  functiontest.RotatedPassword + functiontest.ConnectionOfAdmin, do: func(*functiontest.ControlPlane) {},
			message: `key "password" waits for generated.admin (the lookup of Secret team-a/shop-admin-2)`,
		},
		"ExportOutOfSight": {
			reason: "it may hold any generation",
			input:  strings.Replace(functiontest.RotatedPassword, "Periodic\n  refreshInterval: 720h", "CreatedOnce", 1) + functiontest.ConnectionOfAdmin,
			do: func(c *functiontest.ControlPlane) {
				c.Listed = []string{"v1|Secret|team-a|shop-admin-1"}
			},
			message: `generator "admin" waits for the lookup of Secret team-a/shop-connection`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := due(t, tc.input)
			tc.do(c)
			was := c.AnnotationsOf("Secret", "shop-admin-1")
			rsp, err := c.Fn.RunFunction(t.Context(), c.Request())
			if err != nil {
				t.Fatal(err)
			}
			c.Response = rsp
			if !strings.Contains(c.Condition(), tc.message) {
				t.Errorf("%s: %s", tc.reason, c.Condition())
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
	const kept = "generators: [{name: admin, refreshPolicy: OnChange, keepersExpression: composite.spec.%s, password: {}}]" + functiontest.ConnectionOfAdmin
	c := functiontest.NewControlPlane(t, fmt.Sprintf(kept, "passwordVersion"))
	c.Settle()
	c.SetInput(fmt.Sprintf(kept, "nothing"))
	c.Settle()
	c.Wants("they went away", "shop-admin-1 shop-connection", `Waiting generator "admin" creates no generation: generators[0].keepersExpression waits for composite.spec.nothing (correct it, set it in XDatabase shop, or write .?nothing.orValue('none') for a default); generation 1 stays in use`)
	c.Annotate(rotateKey, "admin=1")
	c.Settle()
	if c.Names() != "shop-admin-1 shop-connection" {
		t.Errorf("made without its keepers: %s", c.Names())
	}
	c.Annotate(rotateKey, "")
	c.SetInput(fmt.Sprintf(kept, "passwordVersion"))
	c.Settle()
	c.Wants("they are back", "shop-admin-1 shop-connection", "Available")

	c = functiontest.NewControlPlane(t, "generators: [{name: admin, password: {}}]"+functiontest.ConnectionOfAdmin)
	c.Settle()
	c.SetInput(fmt.Sprintf(kept, "later"))
	c.Settle()
	functiontest.Set(c.XR, "x", "spec", "later")
	c.Settle()
	c.Wants("the first ones that are read are those of what there is", "shop-admin-1 shop-connection", "Available")
}

// An object that lost its state is used only if it has the outputs of its generator.
func TestLostStateOfAnotherKind(t *testing.T) {
	const password = "generators: [{name: admin, password: {}}]"
	for name, exports := range map[string]string{
		"Recorded":    functiontest.ConnectionOfAdmin,
		"NotRecorded": "\nsecrets: [{name: connection, data: [{key: a, value: \"'b'\"}]}]",
	} {
		t.Run(name, func(t *testing.T) {
			c := functiontest.NewControlPlane(t, password+exports)
			c.Settle()
			maps.DeleteFunc(c.AnnotationsOf("Secret", "shop-admin-1"), func(k string, _ *structpb.Value) bool {
				return strings.HasPrefix(k, functiontest.Prefix+"gen")
			})
			c.SetInput("generators: [{name: admin, uuid: {}}]" + strings.Replace(functiontest.ConnectionOfAdmin, ".admin.password", ".admin.uuid", 1))
			c.Settle()
			c.Settle()
			c.Wants("a password is no UUID", "shop-admin-2 shop-connection", "Available")
		})
	}
}

// A generation that the composite does not list is not exported, and Crossplane deletes only listed
// objects: a generation is listed before it is dropped.
func TestStaleCompositeWhenAGenerationIsDropped(t *testing.T) {
	const prefix = "iam.example.org/v1|AccessKey|team-a|shop-key-"
	for name, listed := range map[string][]string{
		"Nothing": nil,
		"First":   {"v1|Secret|team-a|shop-aws", prefix + "1"},
	} {
		t.Run(name, func(t *testing.T) {
			c := functiontest.NewControlPlane(t, accessKey("", ""))
			c.Settle()
			c.Ready("shop-key-1", map[string]string{"a": "b"})
			c.Settle()
			for _, token := range []string{"key=1", "key=2"} {
				c.Annotate(rotateKey, token)
				c.Reconcile()
			}
			c.Wants("the second one is abandoned", "shop-aws shop-key-1 shop-key-2", c.Condition())
			c.ReconcileStale(listed...)
			if c.Fatal() == "" {
				t.Errorf("an old composite is not noticed: %s", c.Condition())
			}
			c.Settle()
			c.Wants("it is deleted", "shop-aws shop-key-1 shop-key-3", c.Condition())
			if c.Value("shop-aws", "a") != "b" {
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
	start := func(t *testing.T) *functiontest.ControlPlane {
		c := functiontest.NewControlPlane(t, `secrets: [{name: other, data: [{key: a, value: "'b'"}]}]`)
		c.XR.Fields["status"] = structpb.NewStructValue(functiontest.Parse(c.T, "{more: a}"))
		c.Later = []string{strings.ReplaceAll(functiontest.RotatedPassword, "24h", "0s") + fmt.Sprintf(held, "generated.admin.password")}
		c.Settle()
		delete(c.XR.GetFields(), "status") // it is held from now on
		return c
	}
	t.Run("Left", func(t *testing.T) {
		c := start(t)
		c.Later = []string{fmt.Sprintf(held, "string(composite.spec.role)")}
		c.Settle()
		if c.Names() != "shop-admin-1 shop-connection shop-other" {
			t.Errorf("what is still exported is not kept: %s", c.Names())
		}
	})
	t.Run("Moved", func(t *testing.T) {
		c := start(t)
		c.SetInput(functiontest.RotatedPassword)
		c.Later = []string{"generators: [{name: id, uuid: {}}]" + fmt.Sprintf(held, "string(composite.spec.role)")}
		c.Settle()
		if state, _ := c.State()["admin"].(map[string]any); c.Names() != "shop-admin-1 shop-connection shop-id-1" || state["input"] == nil {
			t.Errorf("a step judges what an earlier one has: %s, %v", c.Names(), state)
		}
	})
}

// A generator that leaves the input is handled until its generations are deleted, and delays no other export.
func TestAGeneratorThatLeftIsTold(t *testing.T) {
	c := functiontest.NewControlPlane(t, strings.Replace(functiontest.RotatedPassword, "24h", "44s", 1)+functiontest.ConnectionOfAdmin)
	c.Settle()
	c.SetInput(`secrets: [{name: other, data: [{key: a, value: "'b'"}]}]`)
	c.Settle()
	for name, r := range c.Response.GetDesired().GetResources() {
		if r.GetReady() != fnv1.Ready_READY_TRUE {
			t.Errorf("%s is %s", name, r.GetReady())
		}
	}
	state, _ := c.State()["admin"].(map[string]any)
	if gc, _ := state["gc"].(map[string]any); len(gc) != 1 || state["input"] != nil {
		t.Errorf("the state is %v", state)
	}
	if c.TTL() != 40*time.Second {
		t.Errorf("TTL is %s 44 seconds before it is dropped", c.TTL())
	}
}

// A step that does not have a generator cannot tell whether a later one does.
func TestALaterStepHasTheGenerator(t *testing.T) {
	c := functiontest.NewControlPlane(t, `secrets: [{name: other, data: [{key: a, value: "'b'"}]}]`)
	c.Later = []string{strings.Replace(functiontest.RotatedPassword, "24h", "44s", 1) + functiontest.ConnectionOfAdmin}
	c.Settle()
	c.Settle()
	if c.TTL() != plan.WatchTTL {
		t.Errorf("TTL is %s, while nothing is to be dropped", c.TTL())
	}
}

// A manifest may be a Secret that somebody else fills in: its data stays theirs.
func TestASecretThatAnotherFillsIn(t *testing.T) {
	c := functiontest.NewControlPlane(t, `
generators:
- name: token
  resource:
    manifest: {apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {annotations: {kubernetes.io/service-account.name: app}}}
  readyExpression: has(secret.token)
secrets: [{name: api, data: [{key: token, value: generated.token.token}]}]
`)
	c.Settle()
	c.Wants("not filled in", "shop-token-1", c.Condition())
	fill := func() {
		c.Object("Secret", "shop-token-1").Fields["data"] = structpb.NewStructValue(functiontest.Parse(t, "{token: eA==}"))
	}
	for range 4 {
		fill()
		c.Reconcile()
		o := c.Response.GetDesired().GetResources()["generated/token/1"].GetResource()
		if o.GetFields()["data"] != nil || functiontest.Meta(o, "annotations", "kubernetes.io/service-account.name") != "app" || o.GetFields()["type"].GetStringValue() != "kubernetes.io/service-account-token" {
			t.Errorf("it is not as it was made: %s", o)
		}
	}
	if c.Value("shop-api", "token") != "x" {
		t.Error("what was filled in is not exported")
	}
}

// A Secret is ready once it is created. A resource is ready when its condition says so, and does
// not block exports while another generation is in use.
func TestReadinessOfWhatIsMade(t *testing.T) {
	c := functiontest.NewControlPlane(t, strings.Replace(accessKey("", ""), "generators:", "generators:\n- {name: id, uuid: {}}", 1))
	readies := func(when, want string) {
		t.Helper()
		c.Reconcile()
		got := ""
		for _, name := range []string{"generated/id/1", "generated/key/1", "generated/key/2"} {
			got += strings.TrimPrefix(c.Response.GetDesired().GetResources()[name].GetReady().String(), "READY_") + " "
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%s: %s, not %s", when, got, want)
		}
	}
	readies("made", "FALSE FALSE UNSPECIFIED")
	if c.TTL() != 0 {
		t.Errorf("TTL is %s, and a UUID is among what was just made", c.TTL())
	}
	readies("stored", "TRUE FALSE UNSPECIFIED")
	c.Ready("shop-key-1", map[string]string{"a": "b"})
	c.Settle()
	c.Annotate(rotateKey, "key=1")
	readies("the next one is made", "TRUE TRUE TRUE")
	readies("and stored", "TRUE TRUE TRUE")
}

// A name that a generation cannot have is said as what it is.
func TestAGenerationWithAnIllegalName(t *testing.T) {
	c := functiontest.NewControlPlane(t, accessKey("", `{fieldPath: metadata.name, value: "generation.number == 1 ? 'k' : 'K'"}`))
	c.Settle()
	c.Ready("k", map[string]string{"a": "b"})
	c.Settle()
	c.Annotate(rotateKey, "key=1")
	c.Settle()
	if want := `generator "key" creates no generation: generators[0]: cannot use name "K"`; !strings.Contains(c.Condition(), want) {
		t.Error(c.Condition())
	}
}

// The outputs of a generation of another kind do not determine the outputs of the next one.
func TestAnotherKindOfGenerator(t *testing.T) {
	const password = "generators: [{name: key, password: {}}]\nsecrets: [{name: aws, dataFrom: [{extract: {key: generated.key}}]}]"
	c := functiontest.NewControlPlane(t, password)
	c.Settle()
	c.SetInput(strings.Replace(accessKey("", ""), "set: []", "outputs: {id: resource.status.id}", 1))
	c.Reconcile()
	c.Wants("a resource after a password", "shop-aws shop-key-1 shop-key-2", `Waiting generator "key": its generation 2 is created in this reconcile; generation 1 stays in use`)
	c.Settle()
	c.Ready("shop-key-2", map[string]string{"username": "u"})
	functiontest.Set(c.Object("AccessKey", "shop-key-2"), "i", "status", "id")
	c.Settle()
	c.Settle()
	c.Wants("it is whole with what it has", "shop-aws shop-key-2", "Available")
	c.SetInput(password)
	c.Reconcile()
	c.Wants("and back", "shop-aws shop-key-2 shop-key-3", `Waiting generator "key": its generation 3 is created in this reconcile; generation 2 stays in use`) // the one in use lacks nothing: it is followed
	c.Settle()
	c.Settle()
	c.Wants("the password", "shop-aws shop-key-3", "Available")
}

// Connection details that are away for a moment are not none.
func TestConnectionDetailsThatAreAway(t *testing.T) {
	c := functiontest.NewControlPlane(t, strings.Replace(accessKey("", ""), "{extract: {key: generated.key}}", "{valueMap: generated.key}, {valueMap: \"{'a': 'b'}\"}", 1))
	c.Settle()
	c.Ready("shop-key-1", map[string]string{"username": "u"})
	c.Settle()
	c.Details["iam.example.org/v1|AccessKey|team-a|shop-key-1"] = nil
	c.Settle()
	c.Wants("they are waited for", "shop-aws shop-key-1", `Held Secret "aws" (team-a/shop-aws) is kept unchanged: secrets[0].dataFrom[0] waits for generated.key (generation 1: its connection details)`)
	if c.Value("shop-aws", "username") != "u" {
		t.Error("what is exported shrinks")
	}
}

// With CreatedOnce nothing is made, and so it is said in time.
func TestACertificateThatIsMadeOnceEnds(t *testing.T) {
	c := functiontest.NewControlPlane(t, `
generators: [{name: tls, certificate: {subject: {commonName: db}, duration: 2160h}}]
secrets: [{name: server, data: [{key: tls.crt, value: "generated.tls['tls.crt']"}]}]
`)
	c.Settle()
	warns := func(want int) {
		t.Helper()
		c.Settle()
		if got := c.Names(); got != "shop-server shop-tls-1" {
			t.Errorf("something is made: %s", got)
		}
		says := c.Response.GetConditions()[0]
		if n := strings.Count(says.GetMessage(), "the certificate of generation 1 expires soon"); n != want || says.GetReason() != "Available" {
			t.Errorf("the condition says so %d times: %s", n, says)
		}
		if n := strings.Count(fmt.Sprint(c.Response.GetResults()), "the certificate of generation 1 expires soon"); n != want {
			t.Errorf("%d warnings: %s", n, c.Response.GetResults())
		}
	}
	c.Wait(1440*time.Hour - time.Second)
	warns(0)
	c.Wait(time.Second)
	warns(1)
}

// Later steps can see what is to come.
func TestStateOfWhatIsPending(t *testing.T) {
	c := functiontest.NewControlPlane(t, accessKey("", ""))
	c.Settle()
	state, _ := c.State()["key"].(map[string]any)
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
	for name, input := range map[string]string{"Has": functiontest.RotatedPassword + seen, "Left": seen} {
		t.Run(name, func(t *testing.T) {
			c := functiontest.NewControlPlane(t, functiontest.RotatedPassword+seen)
			c.Settle()
			c.SetInput(input)
			c.Settle()
			req := c.Request()
			var all []*fnv1.RunFunctionResponse
			for range 4 {
				rsp, err := c.Fn.RunFunction(t.Context(), proto.Clone(req).(*fnv1.RunFunctionRequest))
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, rsp)
				req.Context, req.RequiredResources = rsp.GetContext(), map[string]*fnv1.Resources{}
				for key, s := range rsp.GetRequirements().GetResources() {
					req.RequiredResources[key] = c.LookUp(s)
				}
			}
			if c.State()["admin"] == nil || !proto.Equal(all[2], all[3]) {
				t.Errorf("it answers %s, and then %s", all[2], all[3])
			}
			if got := c.Object("ConfigMap", "shop-seen").GetFields()["data"].GetStructValue().GetFields()["state"].GetStringValue(); got != "false" || !proto.Equal(all[3].GetDesired(), c.Response.GetDesired()) {
				t.Errorf("it sees what itself left: %s: %s", got, all[3].GetDesired())
			}
		})
	}
}

// An annotation that was right stays so while what it names is on its way out, or is in
// another step.
func TestRotateAnnotationOfWhatIsElsewhere(t *testing.T) {
	root := strings.ReplaceAll(functiontest.RotatedPassword, "admin", "root")
	c := functiontest.NewControlPlane(t, functiontest.RotatedPassword)
	c.Annotate(rotateKey, "admin=1")
	c.Later = []string{root}
	c.Settle()
	if r := c.Response.GetResults(); len(r) != 0 {
		t.Errorf("in another step: %s", r)
	}
	c.Later = nil
	c.SetInput(root)
	c.Settle()
	if r := c.Response.GetResults(); len(r) != 0 || c.Names() != "shop-admin-1 shop-root-1" {
		t.Errorf("on its way out: %s, %s", r, c.Names())
	}
	c.Wait(functiontest.Grace)
	c.Settle()
	if r := c.Response.GetResults(); len(r) != 1 || c.Names() != "shop-root-1" {
		t.Errorf("gone: %s, %s", r, c.Names())
	}
}

// No two resources have one ID, also if a composite has the name of one that is gone.
func TestGenerationIDs(t *testing.T) {
	ids := map[string]bool{}
	for _, uid := range []string{"u1", "u2"} {
		for _, name := range []string{"key", "pin"} {
			c := functiontest.NewControlPlane(t, strings.NewReplacer("name: key", "name: "+name, "generated.key", "generated."+name).Replace(accessKey("gracePeriod: 1h", "{fieldPath: metadata.name, value: generation.id}")))
			functiontest.Set(c.XR, uid, "metadata", "uid")
			c.Settle()
			c.Ready(c.Names(), map[string]string{"a": "b"})
			c.Annotate(rotateKey, name+"=1")
			c.Settle()
			for _, id := range strings.Fields(c.Names()) {
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
		"Forged": {"it cannot be made another object by it", structpb.NewStringValue(`{"generator":"key","generation":1,"resource":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"evil","namespace":"kube-system"},"spec":{"writeConnectionSecretToRef":{"name":"x"}}},"state":{"stage":"current","kind":"resource"}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			c := functiontest.NewControlPlane(t, accessKey("", ""))
			c.Settle()
			c.Ready("shop-key-1", map[string]string{"a": "b"})
			c.Settle()
			if c.AnnotationsOf("AccessKey", "shop-key-1")[state] = tc.state; tc.state == nil {
				delete(c.AnnotationsOf("AccessKey", "shop-key-1"), state)
			}
			first, err := c.Fn.RunFunction(t.Context(), c.Request()) // before anything is looked up
			if err != nil {
				t.Fatal(err)
			}
			for _, rsp := range []*fnv1.RunFunctionResponse{first, c.Call()} {
				o := rsp.GetDesired().GetResources()["generated/key/1"].GetResource()
				_, status := o.GetFields()["status"]
				if functiontest.KeyOf(o) != "iam.example.org/v1|AccessKey|team-a|shop-key-1" || o.GetFields()["spec"].GetStructValue() == nil || status || functiontest.Meta(o, "uid") != "" {
					t.Errorf("%s: %s", tc.reason, o)
				}
			}
		})
	}
}

// An output that is empty is one to come.
func TestAnOutputThatIsEmpty(t *testing.T) {
	c := functiontest.NewControlPlane(t, functiontest.TokenOfResource)
	c.Settle()
	c.Provide("shop-token-1", `""`, "True")
	c.Settle()
	if c.Names() != "shop-token-1" || !strings.Contains(c.Condition(), "waits for generators[0].resource.outputs[id] that is not empty") {
		t.Errorf("%s: %s", c.Names(), c.Condition())
	}
}

// The names of a composite and of a generator may be too long for both.
func TestAGenerationWithALongName(t *testing.T) {
	c := functiontest.NewControlPlane(t, functiontest.RotatedPassword)
	functiontest.Set(c.XR, strings.Repeat("x", 250), "metadata", "name")
	c.Reconcile()
	if c.Names() != "" || !strings.Contains(c.Condition(), `generator "admin" creates no generation: generators[0].name: `) {
		t.Errorf("%s: %s", c.Names(), c.Condition())
	}
}

// A resource with some of its details waits for the others no longer.
func TestAResourceThatIsNotReadyBecomesAPassword(t *testing.T) {
	c := functiontest.NewControlPlane(t, accessKey("gracePeriod: 1h", ""))
	c.Settle()
	c.Ready("shop-key-1", map[string]string{"username": "u1", "password": "p1"})
	c.Settle()
	c.Annotate(rotateKey, "key=1")
	c.Settle()
	c.Ready("shop-key-2", map[string]string{"username": "u2"})
	c.Settle()
	c.SetInput("generators: [{name: key, gracePeriod: 1h, password: {}}]\nsecrets: [{name: aws, dataFrom: [{extract: {key: generated.key}}]}]")
	c.Wait(time.Minute)
	c.Settle()
	if !strings.Contains(c.Names(), "shop-key-3") {
		t.Error(c.Names(), c.Condition())
	}
}

// A find does not wait for generations of an earlier step.
func TestFindBesideAGeneratorOfAnEarlierStep(t *testing.T) {
	c := functiontest.NewControlPlane(t, accessKey("", ""))
	c.Later = []string{`secrets: [{name: rest, dataFrom: [{find: {name: {regexp: nothing}}, optional: true}, {valueMap: "{'a': 'b'}"}]}]`}
	c.Settle()
	if c.Value("shop-rest", "a") != "b" {
		t.Error(c.Condition())
	}
}

// The state of a resource has no seal. The copies of it that exports recorded count.
func TestForgedStateOfAResourceThatIsNotReady(t *testing.T) {
	const state = "export.fn.crossplane.io/generator-state"
	input := functiontest.TokenOfResource + "- name: other\n  data: [{key: a, value: \"'b'\"}"
	c := functiontest.NewControlPlane(t, input+"]\n")
	c.Settle()
	c.Provide("shop-token-1", "one", "True")
	c.Settle()
	// From now on it is kept as observed, because an input is missing.
	c.SetInput(input + ", {key: id, value: generated.token.id}, {key: c, value: resources.none.status.c}]\n")
	functiontest.Set(c.XR, "writer", "spec", "role")
	c.Settle()
	c.Provide("shop-token-2", "two", "False")
	annotations := c.AnnotationsOf("AccessKey", "shop-token-2")
	forged := strings.Replace(annotations[state].GetStringValue(), `"stage":"pending"`, `"stage":"current"`, 1)
	if !strings.Contains(forged, `"stage":"current"`) {
		t.Fatalf("cannot forge the state in %s", forged)
	}
	annotations[state] = structpb.NewStringValue(forged)
	c.Settle()
	if got := c.Value("shop-aws", "id"); got != "one" {
		t.Errorf("want the generation in use, got %q: %s", got, c.Condition())
	}
	c.Provide("shop-token-2", "two", "True")
	c.Settle()
	if got := c.Value("shop-aws", "id"); got != "two" {
		t.Errorf("want the next generation once it is ready, got %q: %s", got, c.Condition())
	}
}
