package functiontest

import (
	"encoding/base64"
	"maps"
	"math/rand/v2"
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
// of many reconciles use it. The real Crossplane is in
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
	Stored   map[string]*structpb.Struct  // by apiVersion|kind|namespace|name
	Listed   []string                     // keys of stored that the composite lists, or will be stored
	Details  map[string]map[string][]byte // connection details, by the same key
	UIDs     int                          // of created objects
	Calls    int                          // of the function, by all reconciles
	Response *fnv1.RunFunctionResponse    // the last one

	Earlier *fnv1.State // what an earlier step desires

	// Rand is the order of deletions and of applies, which is random in Crossplane. Without it, they are sorted by name.
	Rand *rand.Rand
	// Before is called before each write of a reconcile. Its error ends the reconcile there: Crossplane crashes, or the
	// API server fails or refuses the call.
	Before func(w Write) error
	// After is called after an object was applied, or refused as invalid. It may be nil.
	After func(w Write, was *structpb.Struct, err error)
	// Foreground is set if deletions of Crossplane end only with Collect. Otherwise they end with the reconcile.
	Foreground bool
	deleted    map[string]bool // keys of objects that Crossplane deletes in the foreground

	// Forgets is set for a Crossplane before v2.4. It neither watches required objects, nor remembers them for the next
	// reconcile.
	Forgets  bool
	required []map[string]*fnv1.ResourceSelector    // of the last reconcile that did not fail, by step
	requires []map[string]*fnv1.ResourceSelector    // of the last call
	late     map[string]map[string]*structpb.Struct // what late informers see, by kind
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
func (c *ControlPlane) Request() *fnv1.RunFunctionRequest { return c.request(c.Listed) }

// request returns what Crossplane observes if it reads a composite that lists these objects.
func (c *ControlPlane) request(listed []string) *fnv1.RunFunctionRequest {
	xr := proto.CloneOf(c.XR)
	List(xr, listed)
	req, unnamed := c.Observe(c.input, xr, listed)
	if unnamed != "" {
		c.T.Fatalf("%s has no composition resource name", unnamed)
	}
	return proto.CloneOf(req)
}

// Observe observes the objects that a composite lists. An object without a composition resource
// name fails the reconcile before the function is called. Then Observe returns its key.
func (c *ControlPlane) Observe(input, xr *structpb.Struct, listed []string) (req *fnv1.RunFunctionRequest, unnamed string) {
	req = &fnv1.RunFunctionRequest{
		Input: input, Desired: proto.CloneOf(c.Earlier),
		Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: xr}, Resources: map[string]*fnv1.Resource{}},
	}
	for _, key := range listed {
		o := c.seen(kindOf(key))[key]
		if o == nil {
			o = c.Stored[key] // Crossplane reads again from the API server
		}
		if of := controllerOf(o); o == nil || of != "" && of != Meta(xr, "uid") {
			continue // Crossplane neither observes nor applies what another object controls
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

// controllerOf returns the UID of an object's controller, or nothing.
func controllerOf(o *structpb.Struct) string {
	for _, v := range o.GetFields()["metadata"].GetStructValue().GetFields()["ownerReferences"].GetListValue().GetValues() {
		if f := v.GetStructValue().GetFields(); f["controller"].GetBoolValue() {
			return f["uid"].GetStringValue()
		}
	}
	return ""
}

// LookUp answers a requirement from the informers, as a fetch of Crossplane does.
func (c *ControlPlane) LookUp(s *fnv1.ResourceSelector) *fnv1.Resources {
	out, objects := &fnv1.Resources{}, c.seen(s.GetKind())
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		if selects(s, objects[key]) {
			out.Items = append(out.Items, &fnv1.Resource{Resource: objects[key]})
		}
	}
	if s := c.connectionSecret(s.GetNamespace(), s.GetMatchName()); len(out.GetItems()) == 0 && s != nil {
		out.Items = append(out.Items, &fnv1.Resource{Resource: s})
	}
	return out
}

// selects reports whether a selector selects an object. Without a namespace, it selects labels in all namespaces.
func selects(s *fnv1.ResourceSelector, o *structpb.Struct) bool {
	of := strings.Split(KeyOf(o), "|")
	if of[0] != s.GetApiVersion() || of[1] != s.GetKind() {
		return false
	}
	if s.GetMatchLabels() == nil {
		return of[2] == s.GetNamespace() && of[3] == s.GetMatchName()
	}
	for k, v := range s.GetMatchLabels().GetLabels() {
		if Meta(o, "labels", k) != v {
			return false
		}
	}
	return s.GetNamespace() == "" || of[2] == s.GetNamespace()
}

// BeLate makes the informer of a kind late: until CatchUp, Crossplane reads its objects as they are now. The informer of
// Secrets is never late, because Crossplane has none: it reads Secrets from the API server.
func (c *ControlPlane) BeLate(kind string) {
	if kind == "Secret" {
		return
	}
	if c.late == nil {
		c.late = map[string]map[string]*structpb.Struct{}
	}
	view := map[string]*structpb.Struct{}
	for key, o := range c.seen(kind) {
		if kindOf(key) == kind {
			view[key] = proto.CloneOf(o)
		}
	}
	c.late[kind] = view
}

// IsLate reports whether the informer of a kind is late.
func (c *ControlPlane) IsLate(kind string) bool { return c.late[kind] != nil }

// CatchUp ends what BeLate began.
func (c *ControlPlane) CatchUp(kind string) { delete(c.late, kind) }

// seen returns all objects that the reader of a kind sees. Other kinds may be among them.
func (c *ControlPlane) seen(kind string) map[string]*structpb.Struct {
	if view, ok := c.late[kind]; ok {
		return view
	}
	return c.Stored
}

func kindOf(key string) string { return strings.Split(key, "|")[1] }

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
