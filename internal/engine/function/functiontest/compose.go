package functiontest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// Call observes, and calls the function for each step.
func (c *ControlPlane) Call() *fnv1.RunFunctionResponse {
	c.T.Helper()
	return c.Run(c.Request())
}

// Run calls the function for each step.
func (c *ControlPlane) Run(req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	c.T.Helper()
	rsp := c.step(0, proto.CloneOf(req))
	shortest := rsp.GetMeta().GetTtl()
	for i, input := range c.Later {
		if FatalOf(rsp) != "" {
			return rsp
		}
		next := proto.CloneOf(req)
		next.Desired, next.Context, next.RequiredResources = rsp.GetDesired(), rsp.GetContext(), nil
		next.Input = Parse(c.T, "apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\n"+input)
		before := rsp.GetResults()
		rsp = c.step(i+1, next)
		rsp.Results = slices.Concat(before, rsp.GetResults())
		if t := rsp.GetMeta().GetTtl(); t != nil && (shortest == nil || t.AsDuration() < shortest.AsDuration()) {
			shortest = t
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

// step calls the function of a step until what it requires is stable. Crossplane begins with the objects that the step
// required in the last reconcile that did not fail.
func (c *ControlPlane) step(number int, req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	c.T.Helper()
	if !c.Forgets && number < len(c.required) {
		req.RequiredResources = map[string]*fnv1.Resources{}
		for name, s := range c.required[number] {
			req.RequiredResources[name] = c.LookUp(s)
		}
	}
	rsp := SettleRequirements(c.T, req, func(req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
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

// mostCalls is how often Crossplane calls a function whose requirements change.
const mostCalls = 6

// SettleRequirements calls the function until its requirements are stable, as Crossplane's FetchingFunctionRunner
// does: with the context of the previous response, and with the objects that it required. The objects that the first
// request has stay, unless the function requires others of the same name. One call is enough if the first request has
// all objects that are required. It ends early with a fatal result.
func SettleRequirements(t testing.TB, req *fnv1.RunFunctionRequest, call func(*fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse,
	lookUp func(*fnv1.ResourceSelector) *fnv1.Resources,
) *fnv1.RunFunctionResponse {
	t.Helper()
	seeded := req.GetRequiredResources()
	var before *fnv1.Requirements
	for i := range mostCalls {
		rsp := call(req)
		if FatalOf(rsp) != "" || proto.Equal(rsp.GetRequirements(), before) {
			return rsp
		}
		before = rsp.GetRequirements()
		found := map[string]*fnv1.Resources{}
		maps.Copy(found, seeded)
		for name, s := range before.GetResources() {
			found[name] = lookUp(s)
		}
		equal := func(a, b *fnv1.Resources) bool { return proto.Equal(a, b) }
		if i == 0 && maps.EqualFunc(req.GetRequiredResources(), found, equal) {
			return rsp
		}
		req = &fnv1.RunFunctionRequest{
			Meta: req.GetMeta(), Input: req.GetInput(), Observed: req.GetObserved(), Desired: req.GetDesired(), Credentials: req.GetCredentials(),
			Context: rsp.GetContext(), RequiredResources: found, RequiredSchemas: req.GetRequiredSchemas(),
		}
	}
	t.Fatalf("requirements are not stable after %d calls", mostCalls)
	return nil
}

func (c *ControlPlane) send(req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	if c.Client != nil {
		return c.Client.RunFunction(context.Background(), req)
	}
	return c.Fn.RunFunction(context.Background(), req)
}

// Restart forgets what Crossplane has in memory.
func (c *ControlPlane) Restart() { c.required, c.late = nil, nil }

// A Verb is what a write does.
type Verb string

// The writes of a reconcile, in this order.
const (
	Deletes Verb = "delete" // an object that is no longer desired
	Lists   Verb = "list"   // the references of the composite
	Applies Verb = "apply"  // a desired object
)

// A Write is a call of the API server that changes something.
type Write struct {
	Verb   Verb
	Name   string           // the composition resource name
	Key    string           // of the object
	Object *structpb.Struct // as it was observed, or as it is applied
	Listed []string         // the keys that the composite will list
}

// before reports whether a reconcile ends before a write.
func (c *ControlPlane) before(w Write) error {
	if c.Before == nil {
		return nil
	}
	return c.Before(w)
}

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
	req := c.request(listed)
	c.Response = c.Run(req)
	_ = c.Compose(c.Response, req.GetObserved().GetResources()) // an error ends the reconcile
}

// Compose does what Crossplane's composer does with a response. First, it deletes objects that are no longer desired.
// Then, the composite lists what is desired. Then, it applies that. Only if all of this succeeded, what the function
// requires is remembered. An object that the API server refuses as invalid is left out. An error ends the reconcile: a
// fatal result, an error of Before, or [ErrModified].
func (c *ControlPlane) Compose(rsp *fnv1.RunFunctionResponse, observed map[string]*fnv1.Resource) error {
	c.T.Helper()
	if text := FatalOf(rsp); text != "" {
		return errors.New(text)
	}
	if !c.Foreground {
		defer c.Collect()
	}
	objects, listed := c.desired(rsp, observed)
	for _, name := range c.order(observed) {
		o := observed[name].GetResource()
		// Crossplane does not delete an object that it cannot prove to be its own.
		if _, ok := objects[name]; ok || controllerOf(o) == "" {
			continue
		}
		if err := c.before(Write{Verb: Deletes, Name: name, Key: KeyOf(o), Object: o}); err != nil {
			return err
		}
		if err := c.delete(o); err != nil {
			return err
		}
	}
	if err := c.before(Write{Verb: Lists, Listed: listed}); err != nil {
		return err
	}
	c.Listed = listed
	for _, name := range c.order(rsp.GetDesired().GetResources()) {
		w := Write{Verb: Applies, Name: name, Key: KeyOf(objects[name]), Object: objects[name]}
		if err := c.applyDesired(w); err != nil {
			return err
		}
	}
	c.required = slices.Clone(c.requires)
	return nil
}

// desired returns the desired objects by their composition resource names, and their keys in the order of references.
// An object is in the namespace of the composite, and an observed object keeps its name, whatever name is desired.
func (c *ControlPlane) desired(rsp *fnv1.RunFunctionResponse, observed map[string]*fnv1.Resource) (objects map[string]*structpb.Struct, listed []string) {
	objects = map[string]*structpb.Struct{}
	for name, r := range rsp.GetDesired().GetResources() {
		o := proto.CloneOf(r.GetResource())
		if was, ok := observed[name]; ok {
			Set(o, Meta(was.GetResource(), "name"), "metadata", "name")
		}
		Set(o, Meta(c.XR, "namespace"), "metadata", "namespace")
		objects[name] = o
		listed = append(listed, KeyOf(o))
	}
	slices.Sort(listed)
	return objects, listed
}

// order returns names in the order in which Crossplane goes through them.
func (c *ControlPlane) order(of map[string]*fnv1.Resource) []string {
	names := slices.Sorted(maps.Keys(of))
	if c.Rand != nil {
		c.Rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	return names
}

// ErrModified means that an object is not as it was observed.
var ErrModified = errors.New("has been modified")

// delete deletes an observed object in the foreground: it stays with a deletionTimestamp until Collect. Crossplane
// updates the object before, so an object that has changed since is not deleted, and the reconcile ends.
func (c *ControlPlane) delete(observed *structpb.Struct) error {
	key := KeyOf(observed)
	was := c.Stored[key]
	switch {
	case was == nil:
		return nil
	case !proto.Equal(was, observed):
		return fmt.Errorf("%s %w", key, ErrModified)
	case Meta(was, "deletionTimestamp") == "":
		o := proto.CloneOf(was)
		Set(o, c.Now.UTC().Format(time.RFC3339), "metadata", "deletionTimestamp")
		c.Stored[key] = o
	}
	if c.deleted == nil {
		c.deleted = map[string]bool{}
	}
	c.deleted[key] = true
	return nil
}

// Collect ends the deletions of Crossplane, as Kubernetes' garbage collector does.
func (c *ControlPlane) Collect() {
	for key := range c.deleted {
		if Meta(c.Stored[key], "deletionTimestamp") != "" {
			delete(c.Stored, key)
		}
	}
	clear(c.deleted)
}

// applyDesired applies an object. An invalid object does not end the reconcile.
func (c *ControlPlane) applyDesired(w Write) error {
	c.T.Helper()
	if err := c.before(w); err != nil {
		return err
	}
	was := c.Stored[w.Key]
	err := c.Apply(w.Name, w.Object)
	switch {
	case c.After != nil:
		c.After(w, was, err)
	case err != nil && !c.tolerant:
		c.T.Fatalf("cannot apply %s: %v", w.Name, err)
	}
	return nil
}

// Apply applies an object server side and by force, as Crossplane. Keys of labels, annotations and data that other
// managers have stay, and other fields are replaced. An unchanged object stays the same value. An error means that
// the object is invalid.
func (c *ControlPlane) Apply(name string, o *structpb.Struct) error {
	o = proto.Clone(o).(*structpb.Struct)
	key, was := KeyOf(o), c.Stored[KeyOf(o)]
	Set(o, name, "metadata", "annotations", ResourceNameAnnotation)
	o.Fields["metadata"].GetStructValue().Fields["ownerReferences"] = OwnedBy(c.XR)
	if was == nil {
		c.UIDs++
		Set(o, fmt.Sprintf("uid-%d", c.UIDs), "metadata", "uid")
		Set(o, c.Now.UTC().Format(time.RFC3339), "metadata", "creationTimestamp")
		managers{composer: keysOf(o)}.store(o)
		c.Stored[key] = o
		return nil
	}
	apply(was, o)
	if err := c.validate(key, was, o); err != nil {
		return err
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

// validate checks a change of an object, as the API server does.
func (c *ControlPlane) validate(key string, was, o *structpb.Struct) error {
	before, after := was.GetFields(), o.GetFields()
	typeOf := func(f map[string]*structpb.Value) string { return cmp.Or(f["type"].GetStringValue(), "Opaque") }
	switch of := controllerOf(was); {
	case of != "" && of != Meta(c.XR, "uid"):
		return fmt.Errorf("%s is controlled by another object", key)
	case before["immutable"].GetBoolValue() && (!after["immutable"].GetBoolValue() || !proto.Equal(before["data"], after["data"])):
		return fmt.Errorf("%s is immutable", key)
	case kindOf(key) == "Secret" && typeOf(before) != typeOf(after):
		return fmt.Errorf("%s has the type %s", key, typeOf(before))
	}
	return nil
}
