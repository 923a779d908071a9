package functiontest

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// A ControlPlane is a small Crossplane with an API server: it has one composite, calls the function as
// Crossplane v2.4 does, and applies the desired objects. It is the only simulator of Crossplane: tests
// of many reconciles use it, and the simulation adds lag, errors and users. The real Crossplane is in
// internal/e2e.
type ControlPlane struct {
	T  testing.TB
	Fn *Function // the called function

	Client   fnv1.FunctionRunnerServiceClient // or nil, to call Fn itself
	tolerant bool                             // objects that the API server refuses are skipped, as Crossplane does

	Now      time.Time
	XR       *structpb.Struct // the composite
	input    *structpb.Struct
	Later    []string                     // inputs of further steps
	Stored   map[string]*structpb.Struct  // by apiVersion/kind/namespace/name
	Listed   []string                     // keys of stored that the composite lists, or will be stored
	Details  map[string]map[string][]byte // connection details, by the same key
	UIDs     int                          // of created objects
	Calls    int                          // of the function, by all reconciles
	Response *fnv1.RunFunctionResponse    // the last one

	// Forgets is set for a Crossplane before v2.4. It neither watches required objects, nor remembers them for the next
	// reconcile.
	Forgets  bool
	required []map[string]*fnv1.ResourceSelector // of the last reconcile, by step
	requires []map[string]*fnv1.ResourceSelector // of the last call
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
	c := &ControlPlane{
		T: t, Fn: New(t), Now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		XR: Parse(t, ControlPlaneXR), Stored: map[string]*structpb.Struct{}, Details: map[string]map[string][]byte{},
	}
	c.Fn.Now = func() time.Time { return c.Now }
	c.SetInput(input)
	return c
}

// SetInput replaces the input, without its apiVersion and kind.
func (c *ControlPlane) SetInput(input string) {
	c.input = Parse(c.T, "apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\n"+input)
}

// KeyOf returns the key of an object: its apiVersion, kind, namespace and name.
func KeyOf(o *structpb.Struct) string {
	f, m := o.GetFields(), o.GetFields()["metadata"].GetStructValue().GetFields()
	return strings.Join([]string{f["apiVersion"].GetStringValue(), f["kind"].GetStringValue(), m["namespace"].GetStringValue(), m["name"].GetStringValue()}, "|")
}

// Meta returns the text at a path of an object's metadata.
func Meta(o *structpb.Struct, path ...string) string {
	v := o.GetFields()["metadata"]
	for _, p := range path {
		v = v.GetStructValue().GetFields()[p]
	}
	return v.GetStringValue()
}

// Request returns what Crossplane observes now.
func (c *ControlPlane) Request() *fnv1.RunFunctionRequest {
	xr := proto.Clone(c.XR).(*structpb.Struct)
	List(xr, c.Listed)
	req, unnamed := c.Observe(c.input, xr, c.Listed)
	if unnamed != "" {
		c.T.Fatalf("%s has no composition resource name", unnamed)
	}
	return proto.Clone(req).(*fnv1.RunFunctionRequest)
}

// Observe observes the objects that a composite lists. An object without a composition resource
// name fails the reconcile before the function is called. Then Observe returns its key.
func (c *ControlPlane) Observe(input, xr *structpb.Struct, listed []string) (req *fnv1.RunFunctionRequest, unnamed string) {
	req = &fnv1.RunFunctionRequest{Input: input, Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: xr}, Resources: map[string]*fnv1.Resource{}}}
	for _, key := range listed {
		o := c.Stored[key]
		if o == nil || isOthers(o, xr) {
			continue
		}
		name := Meta(o, "annotations", ResourceNameAnnotation)
		if name == "" {
			return nil, key
		}
		req.Observed.Resources[name] = &fnv1.Resource{Resource: o, ConnectionDetails: c.Details[key]}
	}
	return req, ""
}

// List lists the objects that a composite composes, as Crossplane does before it applies them.
func List(xr *structpb.Struct, keys []string) {
	refs := make([]*structpb.Value, len(keys))
	for i, key := range keys {
		ref, of := &structpb.Struct{Fields: map[string]*structpb.Value{}}, strings.Split(key, "|")
		Set(ref, of[0], "apiVersion")
		Set(ref, of[1], "kind")
		Set(ref, of[3], "name")
		refs[i] = structpb.NewStructValue(ref)
	}
	own := &structpb.Struct{Fields: map[string]*structpb.Value{"resourceRefs": structpb.NewListValue(&structpb.ListValue{Values: refs})}}
	xr.Fields["spec"].GetStructValue().Fields["crossplane"] = structpb.NewStructValue(own)
}

// isOthers reports whether another owner controls an object, so that Crossplane neither observes
// nor applies it.
func isOthers(o, xr *structpb.Struct) bool {
	for _, v := range o.GetFields()["metadata"].GetStructValue().GetFields()["ownerReferences"].GetListValue().GetValues() {
		if f := v.GetStructValue().GetFields(); f["controller"].GetBoolValue() && f["uid"].GetStringValue() != Meta(xr, "uid") {
			return true
		}
	}
	return false
}

// LookUp answers a requirement.
func (c *ControlPlane) LookUp(s *fnv1.ResourceSelector) *fnv1.Resources {
	out := &fnv1.Resources{}
	for _, key := range slices.Sorted(maps.Keys(c.Stored)) {
		o := c.Stored[key]
		want := strings.Join([]string{s.GetApiVersion(), s.GetKind(), s.GetNamespace(), s.GetMatchName()}, "|")
		if s.GetMatchLabels() == nil {
			if key == want {
				out.Items = append(out.Items, &fnv1.Resource{Resource: o})
			}
			continue
		}
		matches := strings.HasPrefix(key, want)
		for k, v := range s.GetMatchLabels().GetLabels() {
			matches = matches && Meta(o, "labels", k) == v
		}
		if matches {
			out.Items = append(out.Items, &fnv1.Resource{Resource: o})
		}
	}
	if s := c.connectionSecret(s.GetNamespace(), s.GetMatchName()); len(out.GetItems()) == 0 && s != nil {
		out.Items = append(out.Items, &fnv1.Resource{Resource: s})
	}
	return out
}

// connectionSecret returns the Secret with that name to which a provider has written connection
// details, or nil.
func (c *ControlPlane) connectionSecret(namespace, name string) *structpb.Struct {
	for key, details := range c.Details {
		o := c.Stored[key]
		ref := o.GetFields()["spec"].GetStructValue().GetFields()["writeConnectionSecretToRef"].GetStructValue()
		if name == "" || details == nil || Meta(o, "namespace") != namespace || ref.GetFields()["name"].GetStringValue() != name {
			continue
		}
		data := map[string]any{}
		for k, v := range details {
			data[k] = base64.StdEncoding.EncodeToString(v)
		}
		owner := map[string]any{"apiVersion": o.GetFields()["apiVersion"].GetStringValue(), "kind": o.GetFields()["kind"].GetStringValue(), "name": Meta(o, "name"), "uid": Meta(o, "uid"), "controller": true}
		out, err := structpb.NewStruct(map[string]any{
			"apiVersion": "v1", "kind": "Secret", "data": data,
			"metadata": map[string]any{"name": name, "namespace": namespace, "ownerReferences": []any{owner}},
		})
		if err != nil {
			c.T.Fatal(err)
		}
		return out
	}
	return nil
}

// Call calls the function for each step.
func (c *ControlPlane) Call() *fnv1.RunFunctionResponse {
	c.T.Helper()
	req := c.Request()
	rsp := c.step(0, req)
	shortest := rsp.GetMeta().GetTtl()
	for i, input := range c.Later {
		next := proto.Clone(req).(*fnv1.RunFunctionRequest)
		next.Desired, next.Context, next.RequiredResources = rsp.GetDesired(), rsp.GetContext(), nil
		next.Input = Parse(c.T, "apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\n"+input)
		rsp = c.step(i+1, next)
		if t := rsp.GetMeta().GetTtl(); t != nil && (shortest == nil || t.AsDuration() < shortest.AsDuration()) {
			shortest = t
		}
		if FatalOf(rsp) != "" {
			return rsp
		}
	}
	if rsp.GetMeta() != nil {
		rsp.Meta.Ttl = shortest
	}
	return rsp
}

// FatalOf returns the fatal result of a response, if it has one.
func FatalOf(rsp *fnv1.RunFunctionResponse) string {
	for _, r := range rsp.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			return r.GetMessage()
		}
	}
	return ""
}

// Fatal returns the fatal result of the last response, if it has one.
func (c *ControlPlane) Fatal() string { return FatalOf(c.Response) }

// step calls the function of a step until what it requires is stable.
func (c *ControlPlane) step(number int, req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	c.T.Helper()
	if !c.Forgets && number < len(c.required) {
		req.RequiredResources = map[string]*fnv1.Resources{}
		for name, s := range c.required[number] {
			req.RequiredResources[name] = c.LookUp(s)
		}
	}
	rsp, _ := SettleRequirements(c.T, req, func(req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
		rsp, err := c.send(proto.CloneOf(req))
		if err != nil {
			c.T.Fatal(err)
		}
		c.Calls++
		return rsp
	}, c.LookUp)
	c.requires = append(c.requires[:number], rsp.GetRequirements().GetResources())
	return rsp
}

// SettleRequirements calls the function until its requirements are stable, as Crossplane does: with
// the context of the previous response, and the objects that were found. Objects that the request
// already has are not looked up. It ends early with a fatal result, or without a response.
func SettleRequirements(t testing.TB, req *fnv1.RunFunctionRequest, call func(*fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse,
	lookUp func(*fnv1.ResourceSelector) *fnv1.Resources,
) (*fnv1.RunFunctionResponse, *fnv1.RunFunctionRequest) {
	t.Helper()
	seeded, before := req.GetRequiredResources(), map[string]*fnv1.Resources{}
	for range 5 {
		rsp := call(req)
		if rsp == nil || FatalOf(rsp) != "" {
			return rsp, req
		}
		found, stable := map[string]*fnv1.Resources{}, true
		for key, s := range rsp.GetRequirements().GetResources() {
			if _, ok := seeded[key]; ok {
				continue
			}
			_, ok := before[key]
			found[key], stable = lookUp(s), stable && ok
		}
		if stable && len(found) == len(before) {
			return rsp, req
		}
		before = found
		all := maps.Clone(found)
		maps.Copy(all, seeded)
		req = &fnv1.RunFunctionRequest{
			Meta: req.GetMeta(), Input: req.GetInput(), Observed: req.GetObserved(), Desired: req.GetDesired(), Credentials: req.GetCredentials(),
			Context: rsp.GetContext(), RequiredResources: all, RequiredSchemas: req.GetRequiredSchemas(),
		}
	}
	t.Fatal("requirements are not stable after 5 calls")
	return nil, nil
}

func (c *ControlPlane) send(req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	if c.Client != nil {
		return c.Client.RunFunction(context.Background(), req)
	}
	return c.Fn.RunFunction(context.Background(), req)
}

// Reconcile reconciles once: it calls the function, deletes objects that are no longer desired, and
// applies the rest.
func (c *ControlPlane) Reconcile() *fnv1.RunFunctionResponse {
	c.T.Helper()
	rsp := c.Call()
	c.Response = rsp
	if FatalOf(rsp) != "" {
		return rsp
	}
	c.required = slices.Clone(c.requires)
	desired := rsp.GetDesired().GetResources()
	for _, key := range c.Listed {
		o, ok := c.Stored[key]
		if !ok {
			continue
		}
		if _, ok := desired[Meta(o, "annotations", ResourceNameAnnotation)]; !ok && !isOthers(o, c.XR) {
			delete(c.Stored, key)
		}
	}
	c.Listed = nil
	names := slices.Sorted(maps.Keys(desired))
	for _, name := range names {
		c.Listed = append(c.Listed, KeyOf(desired[name].GetResource()))
	}
	for _, name := range names {
		if err := c.Apply(name, desired[name].GetResource()); err != nil && !c.tolerant {
			c.T.Fatalf("cannot apply %s: %v", name, err)
		}
	}
	return rsp
}

// ReconcileStale reconciles once with an older composite that listed these objects. If that changes
// nothing, the next reconcile reads the current composite.
func (c *ControlPlane) ReconcileStale(listed ...string) {
	c.T.Helper()
	was := c.Listed
	c.Listed = listed
	if c.Reconcile(); c.Fatal() != "" {
		c.Listed = was
	}
}

// Apply applies an object server side, as its only manager: fields that it no longer has are removed.
// An unchanged object stays the same value.
func (c *ControlPlane) Apply(name string, o *structpb.Struct) error {
	o = proto.Clone(o).(*structpb.Struct)
	key, was := KeyOf(o), c.Stored[KeyOf(o)]
	Set(o, name, "metadata", "annotations", ResourceNameAnnotation)
	o.Fields["metadata"].GetStructValue().Fields["ownerReferences"] = OwnedBy(c.XR)
	if was == nil {
		c.UIDs++
		Set(o, fmt.Sprintf("uid-%d", c.UIDs), "metadata", "uid")
		Set(o, c.Now.UTC().Format(time.RFC3339), "metadata", "creationTimestamp")
		c.Stored[key] = o
		return nil
	}
	if isOthers(was, c.XR) {
		return fmt.Errorf("%s is controlled by another object", key)
	}
	if was.GetFields()["immutable"].GetBoolValue() && !proto.Equal(was.GetFields()["data"], o.GetFields()["data"]) {
		return fmt.Errorf("%s is immutable", key)
	}
	for _, field := range []string{"uid", "creationTimestamp", "deletionTimestamp"} {
		if text := Meta(was, field); text != "" {
			Set(o, text, "metadata", field)
		}
	}
	if s, ok := was.GetFields()["status"]; ok {
		o.Fields["status"] = s
	}
	if !proto.Equal(was, o) {
		c.Stored[key] = o
	}
	return nil
}

// OwnedBy returns the owner reference with which a composite controls its objects.
func OwnedBy(xr *structpb.Struct) *structpb.Value {
	return structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
		"controller": structpb.NewBoolValue(true), "kind": structpb.NewStringValue("XDatabase"), "name": structpb.NewStringValue("shop"),
		"uid": structpb.NewStringValue(Meta(xr, "uid")),
	}})}})
}

// Set sets a text at a path of fields.
func Set(o *structpb.Struct, text string, path ...string) {
	for _, p := range path[:len(path)-1] {
		if o.GetFields()[p].GetStructValue() == nil {
			o.Fields[p] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{}})
		}
		if o = o.GetFields()[p].GetStructValue(); o.Fields == nil {
			o.Fields = map[string]*structpb.Value{}
		}
	}
	o.Fields[path[len(path)-1]] = structpb.NewStringValue(text)
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

// ResourceNameAnnotation has the composition resource name.
const ResourceNameAnnotation = "crossplane.io/composition-resource-name"
