package function_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

const (
	revisionsKey  = functiontest.Prefix + "revisions"
	connectionKey = "v1|Secret|team-a|shop-connection"
)

// rolledOut has an export whose revision is read in each way: by later steps, in the status, in metadata, and in data
// of a later export.
const rolledOut = `
sources: [{name: db, apiVersion: v1, kind: Secret, nameExpression: "'db'"}]
secrets:
- name: connection
  metadata:
    labelsExpression: "{'example.org/own': string(revisions.connection)}"
    annotationsExpression: "{'example.org/own': string(revisions.connection)}"
  data:
  - {key: password, value: secrets.db.password}
  - {key: user, value: "secrets.db.?user", optional: true}
configMaps:
- name: later
  data:
  - {key: revision, value: string(revisions.connection)}
  - {key: context, value: json.encode(context)}
status:
- {fieldPath: revision, value: revisions.connection}
- {fieldPath: all, value: revisions}
`

// A rollOut is a control plane with a workload that carries the revision of connection.
type rollOut struct {
	*functiontest.ControlPlane

	carried []string // what the workload carried, one after another
}

func newRollOut(t *testing.T, input string) *rollOut {
	return &rollOut{ControlPlane: functiontest.NewControlPlane(t, input)}
}

// source sets the Secret that connection is made from.
func (r *rollOut) source(data ...string) {
	o := functiontest.Parse(r.T, "{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: team-a, uid: db}}")
	for _, d := range data {
		key, value, _ := strings.Cut(d, "=")
		world.Set(o, base64.StdEncoding.EncodeToString([]byte(value)), "data", key)
	}
	r.Stored["v1|Secret|team-a|db"] = o
}

// reconcile reconciles once. A later step of the pipeline creates the workload when there is a revision, and writes the
// revision to it.
func (r *rollOut) reconcile() {
	r.T.Helper()
	_, exists := r.Stored[connectionKey]
	rsp := r.Reconcile()
	if m := r.Fatal(); m != "" {
		r.T.Fatal(m)
	}
	n := revisionsOf(rsp).GetFields()["connection"].GetNumberValue()
	status := rsp.GetDesired().GetComposite().GetResource().GetFields()["status"]
	r.XR.Fields["status"] = status
	if got := status.GetStructValue().GetFields()["revision"].GetNumberValue(); got != n {
		r.T.Errorf("the status has revision %v, and the context %v", got, n)
	}
	text := fmt.Sprint(n)
	if len(r.carried) == 0 && n == 0 || len(r.carried) > 0 && r.carried[len(r.carried)-1] == text {
		return
	}
	if !exists && n != 0 {
		r.T.Errorf("revision %s before the Secret exists", text)
	}
	r.carried = append(r.carried, text)
}

// settle reconciles until nothing changes.
func (r *rollOut) settle() {
	r.T.Helper()
	for range 8 {
		r.reconcile()
	}
	want := r.Reconcile()
	if diff := cmp.Diff(want, r.Reconcile(), protocmp.Transform()); diff != "" {
		r.T.Errorf("the response changes although nothing else does: -first, +second:\n%s", diff)
	}
}

// carries checks what the workload carried.
func (r *rollOut) carries(when string, want ...string) {
	r.T.Helper()
	if diff := cmp.Diff(want, r.carried); diff != "" {
		r.T.Errorf("%s, the workload carried: -want, +got:\n%s", when, diff)
	}
}

func revisionsOf(rsp *fnv1.RunFunctionResponse) *structpb.Struct {
	return rsp.GetContext().GetFields()[revisionsKey].GetStructValue()
}

// TestRollOut holds the promise: one roll-out for each change, none without one, and none before the Secret exists.
func TestRollOut(t *testing.T) {
	r := newRollOut(t, rolledOut)
	r.settle()
	r.carries("before the source exists")
	r.source("password=a")
	r.settle()
	r.carries("after the first value", "1")
	r.source("password=b", "user=u")
	r.settle()
	r.carries("after two keys changed", "1", "2")
	r.source("password=b")
	r.settle()
	r.carries("after an optional key disappeared", "1", "2", "3")
	delete(r.Stored, "v1|Secret|team-a|db")
	r.settle()
	r.carries("after the source disappeared", "1", "2", "3")
	if got := r.Condition(); !strings.HasPrefix(got, "Held") {
		t.Errorf("the Secret is not kept: %s", got)
	}
	r.source("password=b")
	r.settle()
	r.carries("after the source is there again", "1", "2", "3")

	world.Set(r.Stored[connectionKey], base64.StdEncoding.EncodeToString([]byte("x")), "data", "password")
	r.settle()
	r.carries("after another writer changed the Secret", "1", "2", "3", "4")
	delete(r.Stored, connectionKey)
	r.settle()
	r.carries("after another writer deleted the Secret", "1", "2", "3", "4", "0", "1")
}

// TestRollOutOfItems tests the revisions of an export with a list.
func TestRollOutOfItems(t *testing.T) {
	const input = `
secrets:
- name: users
  forEachExpression: composite.spec.users
  keyExpression: item.name
  metadata: {annotationsExpression: "{'own': string(revisions.users[key])}"}
  data: [{key: role, value: item.role}]
status: [{fieldPath: revisions, value: revisions.users}]
`
	c := functiontest.NewControlPlane(t, input)
	spec := func(users string) {
		c.XR.Fields["spec"] = structpb.NewStructValue(functiontest.Parse(t, users))
	}
	for _, step := range []struct{ spec, first, want string }{
		{"{users: []}", "", ""},
		{"{users: [{name: anna, role: a}, {name: bert, role: a}]}", "anna:0 bert:0", "anna:1 bert:1"},
		{"{users: [{name: anna, role: b}, {name: bert, role: a}]}", "anna:1 bert:1", "anna:2 bert:1"},
		{"{users: [{name: bert, role: b}, {name: anna, role: b}, {name: carl, role: a}]}", "anna:2 bert:1 carl:0", "anna:2 bert:2 carl:1"},
		{"{team: a}", "anna:2 bert:2 carl:1", "anna:2 bert:2 carl:1"}, // the list is unknown
		{"{users: [{name: carl, role: a}]}", "carl:1", "carl:1"},
	} {
		spec(step.spec)
		for i, want := range []string{step.first, step.want, step.want, step.want} {
			if i == 1 {
				c.Settle()
			}
			rsp := c.Reconcile()
			if got := itemsText(revisionsOf(rsp).GetFields()["users"]); got != want {
				t.Errorf("%s, call %d: the context has %q, want %q", step.spec, i, got, want)
			}
			status := rsp.GetDesired().GetComposite().GetResource().GetFields()["status"].GetStructValue()
			if got := itemsText(status.GetFields()["revisions"]); got != want {
				t.Errorf("%s, call %d: the status has %q, want %q", step.spec, i, got, want)
			}
		}
	}
}

func itemsText(v *structpb.Value) string {
	var out []string
	for key, n := range v.GetStructValue().GetFields() {
		out = append(out, fmt.Sprintf("%s:%v", key, n.GetNumberValue()))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}
