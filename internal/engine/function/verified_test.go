package function_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// verifiedPassword is a password that a database must accept before consumers have it. The source applied has the password
// that the database accepts.
const verifiedPassword = `
sources: [{name: applied, apiVersion: v1, kind: Secret, nameExpression: "'applied'"}]
generators:
- name: admin
  password: {length: 20, symbols: 0}
  gracePeriod: 1h
  readyExpression: secrets.applied.password == candidate.admin.password
  abandonAfter: 15m
secrets:
- {name: setter, data: [{key: password, value: candidate.admin.password}]}
- name: app
  data:
  - {key: password, value: generated.admin.password}
  - {key: former, value: "previous.?admin.?password"}
`

// A database accepts passwords that the Secret of the export setter has.
type database struct {
	*functiontest.ControlPlane
}

func newDatabase(t *testing.T, input string) database {
	d := database{functiontest.NewControlPlane(t, input)}
	d.set("")
	d.Settle()
	return d
}

// set sets the password that the database accepts.
func (d database) set(password string) {
	d.Stored["v1|Secret|team-a|applied"] = functiontest.Parse(d.T,
		"{apiVersion: v1, kind: Secret, metadata: {name: applied, namespace: team-a, uid: applied}}")
	functiontest.Set(d.Stored["v1|Secret|team-a|applied"], base64.StdEncoding.EncodeToString([]byte(password)), "data", "password")
}

// accept accepts the password of the setter.
func (d database) accept() {
	d.T.Helper()
	d.set(d.Value("shop-setter", "password"))
	d.Settle()
}

func (d database) wants(what, names, setter, app, condition string) {
	d.T.Helper()
	if got := strings.TrimPrefix(d.Names(), "applied "); got != names {
		d.T.Errorf("%s: there are %s, want %s", what, got, names)
	}
	if got := d.Condition(); !strings.HasPrefix(got, condition) {
		d.T.Errorf("%s: the condition is %s, want %s", what, got, condition)
	}
	for name, want := range map[string]string{"shop-setter": setter, "shop-app": app} {
		got := ""
		if _, ok := d.Stored["v1|Secret|team-a|"+name]; ok {
			got = d.Value(name, "password")
		}
		if want != "" {
			want = d.Value(want, "password")
		}
		if got != want {
			d.T.Errorf("%s: %s does not have the password that it must have", what, name)
		}
	}
}

func TestVerifiedRotation(t *testing.T) {
	d := newDatabase(t, verifiedPassword)
	const first, second = "shop-admin-1", "shop-admin-2"
	d.wants("the first one", "shop-admin-1 shop-setter", first, "", `Waiting`)
	d.accept()
	d.wants("accepted", "shop-admin-1 shop-app shop-setter", first, first, `Available`)
	d.Annotate(rotateKey, "admin=1")
	d.Settle()
	d.wants("the second one", "shop-admin-1 shop-admin-2 shop-app shop-setter", second, first, `Waiting generator "admin": generation 2 is not ready: `+
		`it waits for readyExpression to be true, which reads secrets.applied.password; generation 1 stays in use, and generation 2 is abandoned at `)
	if got, want := d.Condition(), "; see: kubectl describe secret applied --namespace team-a"; !strings.HasSuffix(got, want) {
		t.Errorf("the condition is %s, want %s at its end", got, want)
	}
	d.Wait(14 * time.Minute)
	d.Settle()
	d.accept()
	d.wants("accepted again", "shop-admin-1 shop-admin-2 shop-app shop-setter", second, second, `Available`)
	if got, want := d.Value("shop-app", "former"), d.Value(first, "password"); got != want {
		t.Error("the former password is another one")
	}
	d.Wait(2 * time.Hour)
	d.Settle()
	d.wants("after the grace period", "shop-admin-2 shop-app shop-setter", second, second, `Available`)
}

func TestAbandonedRotation(t *testing.T) {
	d := newDatabase(t, verifiedPassword)
	const first, second, third = "shop-admin-1", "shop-admin-2", "shop-admin-3"
	d.Wait(time.Hour)
	d.Settle()
	d.wants("there is nothing to go back to", "shop-admin-1 shop-setter", first, "", `Waiting`)
	d.accept()
	d.Annotate(rotateKey, "admin=1")
	d.Settle()
	d.Wait(14 * time.Minute)
	d.Settle()
	d.wants("pending", "shop-admin-1 shop-admin-2 shop-app shop-setter", second, first, `Waiting generator "admin": generation 2 is not ready`)
	d.Wait(2 * time.Minute)
	d.Reconcile()
	d.wants("marked", "shop-admin-1 shop-admin-2 shop-app shop-setter", first, first, `Waiting generator "admin": generation 2 is abandoned`)
	d.Settle()
	d.wants("abandoned", "shop-admin-1 shop-admin-2 shop-app shop-setter", first, first, `Held generator "admin": generation 2 was abandoned`)
	if got, want := d.Condition(), "it waits for readyExpression to be true, which reads secrets.applied.password;"; !strings.Contains(got, want) {
		t.Errorf("the condition is %s, want %s in it", got, want)
	}
	d.Wait(30 * time.Minute)
	d.Settle()
	d.set(d.Value(second, "password")) // too late
	d.Settle()
	d.wants("too late", "shop-admin-1 shop-admin-2 shop-app shop-setter", first, first, `Held generator "admin": generation 2 was abandoned`)
	d.Wait(40 * time.Minute)
	d.Settle()
	d.wants("tried again", "shop-admin-1 shop-admin-3 shop-app shop-setter", third, first, `Waiting generator "admin": generation 3 is not ready`)
	d.accept()
	d.wants("accepted", "shop-admin-1 shop-admin-3 shop-app shop-setter", third, third, `Available`)
	for _, r := range d.Response.GetResults() {
		if strings.Contains(r.GetMessage(), d.Value(third, "password")) {
			t.Error("a message has a password")
		}
	}
}

// Other clients can write the annotations of a generation, but not its seal. They cannot make consumers have a value that
// the database did not accept, and they cannot take back that it was abandoned.
func TestForgedStateOfPendingGeneration(t *testing.T) {
	for name, state := range map[string]string{
		"Removed":  "",
		"Current":  `{"generator":"admin","generation":2,"state":{"stage":"current","kind":"password"}}`,
		"Resource": `{"generator":"admin","generation":2,"state":{"stage":"current","kind":"resource"}}`,
		"Pending":  `{"generator":"admin","generation":2,"state":{"stage":"pending","kind":"password"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			d := newDatabase(t, verifiedPassword)
			const first, second = "shop-admin-1", "shop-admin-2"
			d.accept()
			d.Annotate(rotateKey, "admin=1")
			d.Settle()
			forge := func() {
				functiontest.Set(d.Stored["v1|Secret|team-a|"+second], state, "metadata", "annotations", functiontest.Prefix+"generator-state")
				d.Settle()
			}
			forge()
			d.wants("pending", "shop-admin-1 shop-admin-2 shop-app shop-setter", second, first, `Waiting generator "admin": generation 2 is not ready`)
			d.Wait(16 * time.Minute)
			d.Settle()
			forge()
			d.wants("abandoned", "shop-admin-1 shop-admin-2 shop-app shop-setter", first, first, `Held generator "admin": `)
		})
	}
}

// A pending generation is not deleted while an export may set its value, also if another client changed the record of
// that export.
func TestCandidateWithoutItsRecord(t *testing.T) {
	d := newDatabase(t, verifiedPassword)
	d.Annotate(rotateKey, "admin=1")
	d.Wait(2 * time.Minute)
	d.Reconcile()
	functiontest.Set(d.Stored["v1|Secret|team-a|shop-setter"], "", "metadata", "annotations", functiontest.Prefix+"export-state")
	d.Reconcile()
	if got, want := d.Names(), "applied shop-admin-1 shop-admin-2 shop-setter"; got != want {
		t.Errorf("there are %s, want %s", got, want)
	}
}

// A generation can also be verified by its number: with a Job for each generation, or with what a provider reports.
func TestVerifiedByNumber(t *testing.T) {
	for name, tc := range map[string]struct{ ready, observed string }{
		"Job": {
			ready:    "resources[?'verify-' + string(generation.number)].?status.?succeeded.orValue(0) == 1",
			observed: "{apiVersion: batch/v1, kind: Job, metadata: {name: verify-%d, namespace: team-a, annotations: {crossplane.io/composition-resource-name: verify-%[1]d}}, status: {succeeded: 1}}",
		},
		"Provider": {
			ready:    "resources.db.status.atProvider.passwordVersion == generation.number",
			observed: "{apiVersion: example.org/v1, kind: Database, metadata: {name: db, namespace: team-a, annotations: {crossplane.io/composition-resource-name: db}}, status: {atProvider: {passwordVersion: %d}}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := functiontest.NewControlPlane(t, `
generators: [{name: admin, password: {length: 20, symbols: 0}, readyExpression: "`+tc.ready+`"}]
secrets:
- {name: setter, data: [{key: password, value: candidate.admin.password}]}
- {name: app, data: [{key: password, value: generated.admin.password}]}
`)
			verify := func(number int) { // the object is composed by another step
				o := functiontest.Parse(t, fmt.Sprintf(tc.observed, number))
				o.GetFields()["metadata"].GetStructValue().Fields["ownerReferences"] = functiontest.OwnedBy(c.XR)
				for range 4 {
					c.Stored[functiontest.KeyOf(o)] = o
					c.Listed = append(c.Listed, functiontest.KeyOf(o))
					c.Reconcile()
				}
			}
			c.Settle()
			c.Wants("the first one is not verified", "shop-admin-1 shop-setter", c.Condition())
			verify(1)
			c.Wants("the first one works", "shop-admin-1 shop-app shop-setter", "Available")
			c.Annotate(rotateKey, "admin=1")
			for range 3 {
				verify(1)
				if c.Value("shop-app", "password") != c.Value("shop-admin-1", "password") {
					t.Fatal("consumers have another password, and only the first generation is verified")
				}
			}
			second := c.Value("shop-admin-2", "password")
			verify(2)
			c.Wants("the second one works", "shop-admin-2 shop-app shop-setter", "Available")
			if c.Value("shop-app", "password") != second {
				t.Error("consumers do not have the verified password")
			}
		})
	}
}

// Time in which Crossplane does not reconcile a paused composite does not count.
func TestPausedRotation(t *testing.T) {
	d := newDatabase(t, verifiedPassword)
	d.accept()
	d.Annotate(rotateKey, "admin=1")
	d.Settle()
	d.Wait(10 * time.Minute)
	status := functiontest.Parse(t, fmt.Sprintf("{conditions: [{type: Synced, status: 'False', reason: ReconcilePaused, lastTransitionTime: %q}]}", d.Now.Format(time.RFC3339)))
	d.XR.Fields["status"] = structpb.NewStructValue(status)
	d.Wait(time.Hour)
	d.Reconcile()
	delete(d.XR.GetFields(), "status")
	d.Wait(4 * time.Minute)
	d.Settle()
	d.wants("paused", "shop-admin-1 shop-admin-2 shop-app shop-setter", "shop-admin-2", "shop-admin-1", `Waiting generator "admin": generation 2 is not ready`)
	d.Wait(2 * time.Minute)
	d.Settle()
	d.wants("too late", "shop-admin-1 shop-admin-2 shop-app shop-setter", "shop-admin-1", "shop-admin-1", `Held generator "admin": generation 2 was abandoned`)
}
