package functiontest

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
)

// A ControlPlane is a small Crossplane with a function, for tests: any error in it ends the test.
type ControlPlane struct {
	*world.World

	T        testing.TB
	Fn       *Function                        // the called function
	Client   fnv1.FunctionRunnerServiceClient // or nil, to call Fn itself
	Tolerant bool                             // objects that the API server refuses are skipped, as Crossplane does
}

// ControlPlaneXR is the composite of a new ControlPlane.
const ControlPlaneXR = `
apiVersion: example.org/v1
kind: XDatabase
metadata: {name: shop, namespace: team-a, uid: 6f2a4c6e-0000-4000-8000-000000000001}
spec: {passwordVersion: 1, role: reader}
`

// Prefix begins labels and annotations of the function.
const Prefix = "export.fn.crossplane.io/"

// NewControlPlane returns a control plane with a composite, and an input without its apiVersion and kind.
func NewControlPlane(t testing.TB, input string) *ControlPlane {
	c := &ControlPlane{World: world.New(Parse(t, ControlPlaneXR)), T: t, Fn: New(t)}
	c.Now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	c.Fn.Now = func() time.Time { return c.Now }
	c.SetInput(input)
	return c
}

// SetInput replaces the input, without its apiVersion and kind.
func (c *ControlPlane) SetInput(input string) {
	exports := Parse(c.T, "apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\n"+input)
	c.Steps = []world.Step{{Input: exports, Call: c.send}}
}

func (c *ControlPlane) send(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	if c.Client != nil {
		return c.Client.RunFunction(ctx, req)
	}
	return c.Fn.RunFunction(ctx, req)
}

// Reconcile reconciles once: it calls the function, deletes objects that are no longer desired, and applies the rest.
func (c *ControlPlane) Reconcile() {
	c.T.Helper()
	err := c.World.Reconcile(context.Background(), c.Listed...)
	if refused := (*world.InvalidError)(nil); err != nil && !(c.Tolerant && errors.As(err, &refused)) {
		c.T.Fatal(err)
	}
}

// Settle reconciles until nothing changes.
func (c *ControlPlane) Settle() {
	c.T.Helper()
	for range 10 {
		before := maps.Clone(c.Stored)
		c.Reconcile()
		if maps.EqualFunc(before, c.Stored, func(a, b *structpb.Struct) bool { return proto.Equal(a, b) }) {
			return
		}
	}
	c.T.Fatal("it does not settle in 10 reconciles")
}

// Annotate annotates the composite.
func (c *ControlPlane) Annotate(key, value string) {
	world.Set(c.XR, value, "metadata", "annotations", key)
}

// Names returns the names of the stored objects, without their namespaces.
func (c *ControlPlane) Names() string {
	var out []string
	for key := range c.Stored {
		out = append(out, key[strings.LastIndex(key, "|")+1:])
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// Value returns the value of a key of a stored Secret.
func (c *ControlPlane) Value(secret, key string) string {
	o := c.Stored["v1|Secret|team-a|"+secret]
	b, err := base64.StdEncoding.DecodeString(o.GetFields()["data"].GetStructValue().GetFields()[key].GetStringValue())
	if err != nil {
		c.T.Fatal(err)
	}
	return string(b)
}

// Condition returns the reason and the message of the condition.
func (c *ControlPlane) Condition() string {
	cond := c.Response.GetConditions()[0]
	return strings.TrimSpace(cond.GetReason() + " " + cond.GetMessage())
}

// ObservedDatabase is a composite, and its database with connection details.
const ObservedDatabase = `
observed:
  composite:
    resource:
      apiVersion: example.org/v1
      kind: Database
      metadata: {name: orders, namespace: team-a, uid: "1"}
      spec: {size: 3}
  resources:
    db:
      resource:
        apiVersion: rds.aws.m.upbound.io/v1beta1
        kind: Instance
        metadata: {name: orders-db, namespace: team-a}
        status: {endpoint: db.example.org, port: 5432}
      connectionDetails: {username: YXBw, password: Y2FuYXJ5LXBhc3N3b3Jk}
`

// RotatedPassword is an input with a password that is renewed each month.
const RotatedPassword = `
generators:
- name: admin
  password: {length: 32, symbols: 4, symbolCharacters: "-_"}
  refreshPolicy: Periodic
  refreshInterval: 720h
  gracePeriod: 24h
`

// ConnectionOfAdmin exports that password, and the one before.
const ConnectionOfAdmin = `
secrets:
- name: connection
  data:
  - {key: password, value: generated.admin.password}
  - {key: former, value: "previous.?admin.?password", optional: true}
`
