package main

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

// A controlPlane is a small Crossplane with an API server: it has one composite, calls the
// function as Crossplane v2.4 does, and applies what is desired. It is for what takes
// many reconciles; the real one is in internal/e2e.
type controlPlane struct {
	t  testing.TB
	fn *bothForms

	client   fnv1.FunctionRunnerServiceClient // or nil, to call fn itself
	tolerant bool                             // what the API server refuses is passed over, as Crossplane does

	now      time.Time
	xr       *structpb.Struct
	input    *structpb.Struct
	later    []string                    // inputs of further steps
	stored   map[string]*structpb.Struct // by apiVersion/kind/namespace/name
	listed   []string                    // keys of stored that the composite lists, or will be stored
	details  map[string]map[string][]byte
	uids     int
	response *fnv1.RunFunctionResponse // the last one
}

const controlPlaneXR = `
apiVersion: example.org/v1
kind: XDatabase
metadata: {name: shop, namespace: team-a, uid: 6f2a4c6e-0000-4000-8000-000000000001}
spec: {passwordVersion: 1, role: reader}
`

// newControlPlane has a composite, and an input below its apiVersion and kind.
func newControlPlane(t testing.TB, input string) *controlPlane {
	c := &controlPlane{
		t: t, fn: newFunction(t), now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		xr: parse(t, controlPlaneXR), stored: map[string]*structpb.Struct{}, details: map[string]map[string][]byte{},
	}
	c.fn.now = func() time.Time { return c.now }
	c.setInput(input)
	return c
}

func (c *controlPlane) setInput(input string) {
	c.input = parse(c.t, "apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\n"+input)
}

func keyOf(o *structpb.Struct) string {
	f, m := o.GetFields(), o.GetFields()["metadata"].GetStructValue().GetFields()
	return strings.Join([]string{f["apiVersion"].GetStringValue(), f["kind"].GetStringValue(), m["namespace"].GetStringValue(), m["name"].GetStringValue()}, "|")
}

func meta(o *structpb.Struct, path ...string) string {
	v := o.GetFields()["metadata"]
	for _, p := range path {
		v = v.GetStructValue().GetFields()[p]
	}
	return v.GetStringValue()
}

// request is what Crossplane observes. An object without a composition resource name
// fails the reconcile before the function is called.
func (c *controlPlane) request() *fnv1.RunFunctionRequest {
	xr := proto.Clone(c.xr).(*structpb.Struct)
	list(xr, c.listed)
	req := &fnv1.RunFunctionRequest{Input: c.input, Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: xr}, Resources: map[string]*fnv1.Resource{}}}
	for _, key := range c.listed {
		o, ok := c.stored[key]
		if !ok || isOthers(o, c.xr) {
			continue
		}
		name := meta(o, "annotations", resourceNameAnnotation)
		if name == "" {
			c.t.Fatalf("%s has no composition resource name", key)
		}
		req.Observed.Resources[name] = &fnv1.Resource{Resource: o, ConnectionDetails: c.details[key]}
	}
	return proto.Clone(req).(*fnv1.RunFunctionRequest)
}

// list what a composite composes, as Crossplane does before it applies anything.
func list(xr *structpb.Struct, keys []string) {
	refs := make([]*structpb.Value, len(keys))
	for i, key := range keys {
		ref, of := &structpb.Struct{Fields: map[string]*structpb.Value{}}, strings.Split(key, "|")
		set(ref, of[0], "apiVersion")
		set(ref, of[1], "kind")
		set(ref, of[3], "name")
		refs[i] = structpb.NewStructValue(ref)
	}
	own := &structpb.Struct{Fields: map[string]*structpb.Value{"resourceRefs": structpb.NewListValue(&structpb.ListValue{Values: refs})}}
	xr.Fields["spec"].GetStructValue().Fields["crossplane"] = structpb.NewStructValue(own)
}

// isOthers reports whether another object controls one, so that Crossplane neither
// observes nor applies it.
func isOthers(o, xr *structpb.Struct) bool {
	for _, v := range o.GetFields()["metadata"].GetStructValue().GetFields()["ownerReferences"].GetListValue().GetValues() {
		if f := v.GetStructValue().GetFields(); f["controller"].GetBoolValue() && f["uid"].GetStringValue() != meta(xr, "uid") {
			return true
		}
	}
	return false
}

// lookUp answers a requirement.
func (c *controlPlane) lookUp(s *fnv1.ResourceSelector) *fnv1.Resources {
	out := &fnv1.Resources{}
	for _, key := range slices.Sorted(maps.Keys(c.stored)) {
		o := c.stored[key]
		want := strings.Join([]string{s.GetApiVersion(), s.GetKind(), s.GetNamespace(), s.GetMatchName()}, "|")
		if s.GetMatchLabels() == nil {
			if key == want {
				out.Items = append(out.Items, &fnv1.Resource{Resource: o})
			}
			continue
		}
		matches := strings.HasPrefix(key, want)
		for k, v := range s.GetMatchLabels().GetLabels() {
			matches = matches && meta(o, "labels", k) == v
		}
		if matches {
			out.Items = append(out.Items, &fnv1.Resource{Resource: o})
		}
	}
	if s := c.connectionSecret(s.GetNamespace(), s.GetMatchName()); len(out.Items) == 0 && s != nil {
		out.Items = append(out.Items, &fnv1.Resource{Resource: s})
	}
	return out
}

// connectionSecret is the Secret of that name that a provider has written connection details
// to, or nil.
func (c *controlPlane) connectionSecret(namespace, name string) *structpb.Struct {
	for key, details := range c.details {
		o := c.stored[key]
		ref := o.GetFields()["spec"].GetStructValue().GetFields()["writeConnectionSecretToRef"].GetStructValue()
		if name == "" || details == nil || meta(o, "namespace") != namespace || ref.GetFields()["name"].GetStringValue() != name {
			continue
		}
		data := map[string]any{}
		for k, v := range details {
			data[k] = base64.StdEncoding.EncodeToString(v)
		}
		owner := map[string]any{"apiVersion": o.GetFields()["apiVersion"].GetStringValue(), "kind": o.GetFields()["kind"].GetStringValue(), "name": meta(o, "name"), "uid": meta(o, "uid"), "controller": true}
		out, err := structpb.NewStruct(map[string]any{
			"apiVersion": "v1", "kind": "Secret", "data": data,
			"metadata": map[string]any{"name": name, "namespace": namespace, "ownerReferences": []any{owner}},
		})
		if err != nil {
			c.t.Fatal(err)
		}
		return out
	}
	return nil
}

// call the function for each step.
func (c *controlPlane) call() *fnv1.RunFunctionResponse {
	c.t.Helper()
	req := c.request()
	rsp := c.step(req)
	shortest := rsp.GetMeta().GetTtl()
	for _, input := range c.later {
		next := proto.Clone(req).(*fnv1.RunFunctionRequest)
		next.Desired, next.Context, next.RequiredResources = rsp.GetDesired(), rsp.GetContext(), nil
		next.Input = parse(c.t, "apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\n"+input)
		rsp = c.step(next)
		if t := rsp.GetMeta().GetTtl(); t != nil && (shortest == nil || t.AsDuration() < shortest.AsDuration()) {
			shortest = t
		}
		if fatalOf(rsp) != "" {
			return rsp
		}
	}
	if rsp.Meta != nil {
		rsp.Meta.Ttl = shortest
	}
	return rsp
}

// fatalOf a response is its fatal result, if it has one.
func fatalOf(rsp *fnv1.RunFunctionResponse) string {
	for _, r := range rsp.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			return r.GetMessage()
		}
	}
	return ""
}

func (c *controlPlane) fatal() string { return fatalOf(c.response) }

// step calls the function until what it requires is stable.
func (c *controlPlane) step(req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	c.t.Helper()
	for range 5 {
		rsp, err := c.ask(req)
		if err != nil {
			c.t.Fatal(err)
		}
		if fatalOf(rsp) != "" {
			return rsp
		}
		asked := maps.Clone(req.GetRequiredResources())
		req = proto.Clone(req).(*fnv1.RunFunctionRequest)
		req.Context = rsp.GetContext()
		req.RequiredResources = map[string]*fnv1.Resources{}
		stable := len(asked) == len(rsp.GetRequirements().GetResources())
		for key, s := range rsp.GetRequirements().GetResources() {
			_, ok := asked[key]
			stable = stable && ok
			req.RequiredResources[key] = c.lookUp(s)
		}
		if stable {
			return rsp
		}
	}
	c.t.Fatal("requirements are not stable after 5 calls")
	return nil
}

func (c *controlPlane) ask(req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	if c.client != nil {
		return c.client.RunFunction(context.Background(), req)
	}
	return c.fn.RunFunction(context.Background(), req)
}

// reconcile once: call the function, delete what is not desired any more, and apply the
// rest.
func (c *controlPlane) reconcile() *fnv1.RunFunctionResponse {
	c.t.Helper()
	rsp := c.call()
	c.response = rsp
	if fatalOf(rsp) != "" {
		return rsp
	}
	desired := rsp.GetDesired().GetResources()
	for _, key := range c.listed {
		o, ok := c.stored[key]
		if !ok {
			continue
		}
		if _, ok := desired[meta(o, "annotations", resourceNameAnnotation)]; !ok && !isOthers(o, c.xr) {
			delete(c.stored, key)
		}
	}
	c.listed = nil
	names := slices.Sorted(maps.Keys(desired))
	for _, name := range names {
		c.listed = append(c.listed, keyOf(desired[name].GetResource()))
	}
	for _, name := range names {
		if err := c.apply(name, desired[name].GetResource()); err != nil && !c.tolerant {
			c.t.Fatalf("cannot apply %s: %v", name, err)
		}
	}
	return rsp
}

// reconcileStale reconciles once with the composite as it was when it listed these. If
// that changes nothing, the next reconcile reads the composite as it is.
func (c *controlPlane) reconcileStale(listed ...string) {
	c.t.Helper()
	was := c.listed
	c.listed = listed
	if c.reconcile(); c.fatal() != "" {
		c.listed = was
	}
}

// apply an object server side, as its only manager: what it had before and does not have
// any more goes.
func (c *controlPlane) apply(name string, o *structpb.Struct) error {
	o = proto.Clone(o).(*structpb.Struct)
	key, was := keyOf(o), c.stored[keyOf(o)]
	set(o, name, "metadata", "annotations", resourceNameAnnotation)
	if was == nil {
		c.uids++
		set(o, fmt.Sprintf("uid-%d", c.uids), "metadata", "uid")
		set(o, c.now.UTC().Format(time.RFC3339), "metadata", "creationTimestamp")
	} else {
		if isOthers(was, c.xr) {
			return fmt.Errorf("%s is controlled by another object", key)
		}
		if was.GetFields()["immutable"].GetBoolValue() && !proto.Equal(was.GetFields()["data"], o.GetFields()["data"]) {
			return fmt.Errorf("%s is immutable", key)
		}
		set(o, meta(was, "uid"), "metadata", "uid")
		if created := meta(was, "creationTimestamp"); created != "" {
			set(o, created, "metadata", "creationTimestamp")
		}
		if s, ok := was.GetFields()["status"]; ok {
			o.Fields["status"] = s
		}
	}
	o.Fields["metadata"].GetStructValue().Fields["ownerReferences"] = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{
		structpb.NewStructValue(parse(c.t, fmt.Sprintf("{controller: true, kind: XDatabase, name: shop, uid: %q}", meta(c.xr, "uid")))),
	}})
	c.stored[key] = o
	return nil
}

// set a text at a path of fields.
func set(o *structpb.Struct, text string, path ...string) {
	for _, p := range path[:len(path)-1] {
		if o.Fields[p].GetStructValue() == nil {
			o.Fields[p] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{}})
		}
		if o = o.Fields[p].GetStructValue(); o.Fields == nil {
			o.Fields = map[string]*structpb.Value{}
		}
	}
	o.Fields[path[len(path)-1]] = structpb.NewStringValue(text)
}

// names of what is stored, without its namespace.
func (c *controlPlane) names() string {
	var out []string
	for key := range c.stored {
		out = append(out, key[strings.LastIndex(key, "|")+1:])
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// value of a key of a stored Secret.
func (c *controlPlane) value(secret, key string) string {
	o := c.stored["v1|Secret|team-a|"+secret]
	b, err := base64.StdEncoding.DecodeString(o.GetFields()["data"].GetStructValue().GetFields()[key].GetStringValue())
	if err != nil {
		c.t.Fatal(err)
	}
	return string(b)
}

// condition is its reason and its message.
func (c *controlPlane) condition() string {
	cond := c.response.GetConditions()[0]
	return strings.TrimSpace(cond.GetReason() + " " + cond.GetMessage())
}
