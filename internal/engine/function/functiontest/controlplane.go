package functiontest

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
)

// A ControlPlane is a simulated Crossplane with a function, for tests: what goes wrong in it ends the test. It is the
// only simulator of Crossplane: tests of many reconciles use it, and the simulation adds lag, errors and users. The
// real Crossplane is in internal/e2e.
type ControlPlane struct {
	*world.World

	T  testing.TB
	Fn *Function // the called function

	Client   fnv1.FunctionRunnerServiceClient // or nil, to call Fn itself
	Later    []string                         // inputs of further steps
	input    *structpb.Struct
	tolerant bool // objects that the API server refuses are skipped, as Crossplane does
}

// ControlPlaneXR is the composite of a new ControlPlane.
const ControlPlaneXR = `
apiVersion: example.org/v1
kind: XDatabase
metadata: {name: shop, namespace: team-a, uid: 6f2a4c6e-0000-4000-8000-000000000001}
spec: {passwordVersion: 1, role: reader}
`

// NewControlPlane returns a control plane with a composite, and an input without its apiVersion and kind.
func NewControlPlane(t testing.TB, input string) *ControlPlane {
	c := &ControlPlane{World: world.New(Parse(t, ControlPlaneXR)), T: t, Fn: New(t)}
	c.Now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	c.Fn.Now = func() time.Time { return c.Now }
	c.SetInput(input)
	return c
}

// SetInput replaces the input, without its apiVersion and kind.
func (c *ControlPlane) SetInput(input string) { c.input = exports(c.T, input) }

// exports parses an input without its apiVersion and kind.
func exports(t testing.TB, input string) *structpb.Struct {
	return Parse(t, "apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\n"+input)
}

// Request returns what Crossplane observes now.
func (c *ControlPlane) Request() *fnv1.RunFunctionRequest {
	req, err := c.World.Request(c.Listed)
	if err != nil {
		c.T.Fatal(err)
	}
	req.Input = c.input
	return req
}

// Observe observes the objects that a composite lists. It returns the key of an object without a composition resource
// name.
func (c *ControlPlane) Observe(
	input, xr *structpb.Struct, listed []string,
) (req *fnv1.RunFunctionRequest, unnamed string) {
	if req, unnamed = c.World.Observe(xr, listed); req != nil {
		req.Input = input
	}
	return req, unnamed
}

// Call observes, and calls the function for each step.
func (c *ControlPlane) Call() *fnv1.RunFunctionResponse {
	c.T.Helper()
	return c.Run(c.Request())
}

// Run calls the function for each step.
func (c *ControlPlane) Run(req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	c.T.Helper()
	c.compile(req.GetInput())
	rsp, err := c.World.Run(context.Background(), req, c.LookUp)
	if err != nil {
		c.T.Fatal(err)
	}
	return rsp
}

// compile sets the steps of the pipeline.
func (c *ControlPlane) compile(input *structpb.Struct) {
	c.Steps = []world.Step{{Input: input, Call: c.send}}
	for _, later := range c.Later {
		c.Steps = append(c.Steps, world.Step{Input: exports(c.T, later), Call: c.send})
	}
}

func (c *ControlPlane) send(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	if c.Client != nil {
		return c.Client.RunFunction(ctx, req)
	}
	return c.Fn.RunFunction(ctx, req)
}

// Fatal returns the fatal result of the last response, if it has one.
func (c *ControlPlane) Fatal() string { return world.FatalOf(c.Response) }

// Reconcile reconciles once: it calls the function, deletes objects that are no longer desired, and
// applies the rest.
func (c *ControlPlane) Reconcile() *fnv1.RunFunctionResponse {
	c.T.Helper()
	c.ReconcileStale(c.Listed...)
	return c.Response
}

// ReconcileStale reconciles once with an older composite that listed these objects. If that changes
// nothing, the next reconcile reads the current composite.
func (c *ControlPlane) ReconcileStale(listed ...string) {
	c.T.Helper()
	c.compile(c.input)
	err := c.World.Reconcile(context.Background(), listed...)
	if refused := (*world.InvalidError)(nil); err != nil && !(c.tolerant && errors.As(err, &refused)) {
		c.T.Fatal(err)
	}
}

// SettleRequirements calls the function until its requirements are stable.
func SettleRequirements(t testing.TB, req *fnv1.RunFunctionRequest,
	call func(*fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse,
	lookUp func(*fnv1.ResourceSelector) *fnv1.Resources,
) *fnv1.RunFunctionResponse {
	t.Helper()
	send := func(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return call(req), nil
	}
	rsp, err := world.SettleRequirements(context.Background(), req, send, lookUp, nil)
	if err != nil {
		t.Fatal(err)
	}
	return rsp
}

// Edit edits a stored object as kubectl does.
func (c *ControlPlane) Edit(key string, change func(o *structpb.Struct)) {
	c.T.Helper()
	if c.Stored[key] == nil {
		c.T.Fatalf("no object %s", key)
	}
	c.World.Edit(key, change)
}

// AnnotateSecret does what kubectl annotate --overwrite does to a stored Secret: an annotation without a value is
// removed.
func (c *ControlPlane) AnnotateSecret(name string, annotations map[string]string) {
	c.T.Helper()
	c.Edit("v1|Secret|team-a|"+name, func(o *structpb.Struct) {
		for key, text := range annotations {
			if world.Set(o, text, "metadata", "annotations", key); text == "" {
				delete(o.GetFields()["metadata"].GetStructValue().GetFields()["annotations"].GetStructValue().GetFields(), key)
			}
		}
	})
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

// Prefix begins labels and annotations of the function.
const Prefix = "export.fn.crossplane.io/"
