package function_test

import (
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// verifiedPassword is a password that a database must accept before consumers have it. The source applied has the
// password that the database accepts.
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
	world.Set(d.Stored["v1|Secret|team-a|applied"], inBase64(password), "data", "password")
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

func TestAbandonedRotation(t *testing.T) {
	d := newDatabase(t, verifiedPassword)
	const first, second, third = "shop-admin-1", "shop-admin-2", "shop-admin-3"
	d.Now = d.Now.Add(time.Hour)
	d.Settle()
	d.wants("there is nothing to go back to", "shop-admin-1 shop-setter", first, "", `Waiting`)
	d.accept()
	d.Annotate(rotateKey, "admin=1")
	d.Settle()
	d.Now = d.Now.Add(14 * time.Minute)
	d.Settle()
	d.wants("pending", "shop-admin-1 shop-admin-2 shop-app shop-setter", second, first, `Waiting generator `+
		`"admin": generation 2 is not ready`)
	d.Now = d.Now.Add(2 * time.Minute)
	d.Reconcile()
	d.wants("marked", "shop-admin-1 shop-admin-2 shop-app shop-setter", first, first, `Waiting generator "admin": `+
		`generation 2 is abandoned`)
	d.Settle()
	d.wants("abandoned", "shop-admin-1 shop-admin-2 shop-app shop-setter", first, first, `Held generator "admin": `+
		`generation 2 was abandoned`)
	if got, want := d.Condition(), "it waits for readyExpression to be true, which reads "+
		"secrets.applied.password;"; !strings.Contains(got, want) {
		t.Errorf("the condition is %s, want %s in it", got, want)
	}
	d.Now = d.Now.Add(30 * time.Minute)
	d.Settle()
	d.set(d.Value(second, "password")) // too late
	d.Settle()
	d.wants("too late", "shop-admin-1 shop-admin-2 shop-app shop-setter", first, first, `Held generator "admin": `+
		`generation 2 was abandoned`)
	d.Now = d.Now.Add(40 * time.Minute)
	d.Settle()
	d.wants("tried again", "shop-admin-1 shop-admin-3 shop-app shop-setter", third, first, `Waiting generator `+
		`"admin": generation 3 is not ready`)
	d.accept()
	d.wants("accepted", "shop-admin-1 shop-admin-3 shop-app shop-setter", third, third, `Available`)
	for _, r := range d.Response.GetResults() {
		if strings.Contains(r.GetMessage(), d.Value(third, "password")) {
			t.Error("a message has a password")
		}
	}
}

// The users of a database are resources of another controller. If all states are lost while the list of users is
// unknown, the users in use stay in use once it is known.
func TestLostStatesWhileItemsAreUnknown(t *testing.T) {
	c := functiontest.NewControlPlane(t, `
generators:
- name: users
  forEachExpression: composite.spec.users
  keyExpression: item
  gracePeriod: 1h
  resource: {manifest: {apiVersion: example.org/v1, kind: User, spec: {}}, outputs: {id: resource.metadata.name}}
  readyExpression: has(resource.spec)
secrets:
- name: users
  data: [{key: id, value: generated.users.anna.id, optional: true}]
`)
	spec := c.XR.GetFields()["spec"].GetStructValue().GetFields()
	spec["users"] = functiontest.Parse(t, "users: [anna]").GetFields()["users"]
	c.Settle()
	for _, o := range c.Stored {
		annotations := o.GetFields()["metadata"].GetStructValue().GetFields()["annotations"].GetStructValue().GetFields()
		for name := range annotations {
			if strings.HasPrefix(name, functiontest.Prefix) {
				delete(annotations, name)
			}
		}
	}
	users := spec["users"]
	delete(spec, "users")
	c.Settle()
	spec["users"] = users
	c.Settle()
	c.Now = c.Now.Add(24 * time.Hour)
	c.Settle()
	if got, want := c.Names(), "shop-users shop-users-anna-1"; got != want {
		t.Errorf("there are %s, want %s", got, want)
	}
	if got, want := c.Value("shop-users", "id"), "shop-users-anna-1"; got != want {
		t.Errorf("the user is %s, want %s", got, want)
	}
}

// Two generations with one name: the message names the field that sets the name.
func TestNameOfEachGeneration(t *testing.T) {
	c := functiontest.NewControlPlane(t, `
generators:
- name: user
  resource:
    manifest: {apiVersion: example.org/v1, kind: User, spec: {}}
    set: [{fieldPath: metadata.name, value: "'same'"}]
  readyExpression: has(resource.spec)
`)
	c.Settle()
	c.Annotate(rotateKey, "user=1")
	c.Reconcile()
	const want = "generators[0].resource.set: User team-a/same is another generation: use generation.number"
	if got := c.Condition(); !strings.Contains(got, want) {
		t.Errorf("the condition is %s, want %s", got, want)
	}
}

// A generation that no export uses yet, and whose state another client changed, is not the latest one while the list of
// items is unknown: what later steps compose stays with the generation that an export recorded, or that is still known
// to be in use.
func TestLostStateOfAPendingGenerationWhileItemsAreUnknown(t *testing.T) {
	for name, recorded := range map[string]bool{"an export recorded it": true, "no export recorded it": false} {
		t.Run(name, func(t *testing.T) {
			c := functiontest.NewControlPlane(t, `
generators:
- {name: users, forEachExpression: composite.spec.users, keyExpression: item, password: {}}
secrets:
- name: users
  data: [{key: anna, value: generated.users.anna.password, optional: true}]
`)
			spec := c.XR.GetFields()["spec"].GetStructValue().GetFields()
			spec["users"] = functiontest.Parse(t, "users: [anna]").GetFields()["users"]
			c.Settle()
			c.Annotate(functiontest.Prefix+"rotate", "users/anna=1")
			c.Reconcile()
			next := c.Stored["v1|Secret|team-a|shop-users-anna-2"]
			if next == nil {
				t.Fatalf("there are %s, want the next generation", c.Names())
			}
			metadata := next.GetFields()["metadata"].GetStructValue().GetFields()
			delete(metadata["annotations"].GetStructValue().GetFields(), functiontest.Prefix+"generator-state")
			delete(spec, "users")
			if !recorded {
				delete(c.Stored, "v1|Secret|team-a|shop-users")
			}
			c.Reconcile()
			states := c.Response.GetContext().GetFields()[functiontest.Prefix+"generator-state"].GetStructValue().GetFields()
			latest := states["users/anna"].GetStructValue().GetFields()["latest"].GetStructValue().GetFields()
			if got, want := latest["name"].GetStringValue(), "shop-users-anna-1"; got != want {
				t.Errorf("the latest generation is %q, want %q", got, want)
			}
		})
	}
}
