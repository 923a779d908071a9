package world

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// A Cluster is the API server, with the informers of Crossplane.
type Cluster struct {
	Now     time.Time
	XR      *structpb.Struct             // the composite, without what it lists
	Stored  map[string]*structpb.Struct  // by apiVersion|kind|namespace|name
	Details map[string]map[string][]byte // connection details, by the same key
	UIDs    int                          // of created objects

	// Outside returns objects of others, each once. They are stored when a function requires them. It may be nil.
	Outside func(s *fnv1.ResourceSelector) []*structpb.Struct

	brought map[string]*structpb.Struct            // from outside
	late    map[string]map[string]*structpb.Struct // what late informers see, by kind
	deleted map[string]bool                        // keys of objects that Crossplane deletes in the foreground
}

// LookUp answers a requirement from the informers, as a fetch of Crossplane does.
func (c *Cluster) LookUp(s *fnv1.ResourceSelector) *fnv1.Resources {
	if c.Outside != nil {
		for _, o := range c.Outside(s) {
			if c.Stored[KeyOf(o)] = o; c.brought != nil {
				c.brought[KeyOf(o)] = o
			}
		}
	}
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
	f := o.GetFields()
	if f["apiVersion"].GetStringValue() != s.GetApiVersion() || f["kind"].GetStringValue() != s.GetKind() {
		return false
	}
	if s.GetMatchLabels() == nil && s.GetMatchName() != "" {
		return Meta(o, "namespace") == s.GetNamespace() && Meta(o, "name") == s.GetMatchName()
	}
	for k, v := range s.GetMatchLabels().GetLabels() {
		if Meta(o, "labels", k) != v {
			return false
		}
	}
	return s.GetNamespace() == "" || Meta(o, "namespace") == s.GetNamespace()
}

// BeLate makes the informer of a kind late: until CatchUp, Crossplane reads its objects as they are now. The informer
// of Secrets is never late, because Crossplane has none: it reads Secrets from the API server.
func (c *Cluster) BeLate(kind string) {
	if kind == "Secret" {
		return
	}
	view := map[string]*structpb.Struct{}
	for key, o := range c.seen(kind) {
		view[key] = proto.CloneOf(o)
	}
	c.late[kind] = view
}

// CatchUp ends what BeLate began.
func (c *Cluster) CatchUp(kind string) { delete(c.late, kind) }

// seen returns all objects that the reader of a kind sees. Other kinds may be among them.
func (c *Cluster) seen(kind string) map[string]*structpb.Struct {
	if view, ok := c.late[kind]; ok {
		return view
	}
	return c.Stored
}

// connectionSecret returns the Secret with that name to which a provider has written connection details, or nil. An
// object that names no namespace has it in its own.
func (c *Cluster) connectionSecret(namespace, name string) *structpb.Struct {
	for key, details := range c.Details {
		o := c.Stored[key]
		ref := o.GetFields()["spec"].GetStructValue().GetFields()["writeConnectionSecretToRef"].GetStructValue().GetFields()
		of := cmp.Or(Meta(o, "namespace"), ref["namespace"].GetStringValue())
		if name == "" || details == nil || of != namespace || ref["name"].GetStringValue() != name {
			continue
		}
		secret := NewSecret(namespace, name, details)
		SetValue(secret, OwnedBy(o), "metadata", "ownerReferences")
		return secret
	}
	return nil
}

// ErrModified means that an object is not as it was observed.
var ErrModified = errors.New("has been modified")

// delete deletes an observed object in the foreground: it stays with a deletionTimestamp until Collect. Crossplane
// updates the object before, so an object that has changed since is not deleted, and the reconcile ends.
func (c *Cluster) delete(observed *structpb.Struct) error {
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
	c.deleted[key] = true
	return nil
}

// Collect ends the deletions of Crossplane, as Kubernetes' garbage collector does.
func (c *Cluster) Collect() {
	for key := range c.deleted {
		if Meta(c.Stored[key], "deletionTimestamp") != "" {
			delete(c.Stored, key)
		}
	}
	clear(c.deleted)
}

// Create stores a new object, with a UID and the time.
func (c *Cluster) Create(o *structpb.Struct) {
	c.UIDs++
	Set(o, fmt.Sprintf("uid-%d", c.UIDs), "metadata", "uid")
	Set(o, c.Now.UTC().Format(time.RFC3339), "metadata", "creationTimestamp")
	c.Stored[KeyOf(o)] = o
}

// Put stores an object as it is. If it has no UID or no time, it gets them.
func (c *Cluster) Put(o *structpb.Struct) {
	o = proto.CloneOf(o)
	if uid, at := Meta(o, "uid"), Meta(o, "creationTimestamp"); uid == "" || at == "" {
		c.Create(o)
		for field, was := range map[string]string{"uid": uid, "creationTimestamp": at} {
			if was != "" {
				Set(o, was, "metadata", field)
			}
		}
	}
	c.Stored[KeyOf(o)] = o
}

// Adopt stores an object as if Crossplane had composed it before, under a composition resource name, and lists it.
func (w *World) Adopt(name string, o *structpb.Struct) {
	o = proto.CloneOf(o)
	Set(o, name, "metadata", "annotations", ResourceNameAnnotation)
	if controllerOf(o) == "" {
		SetValue(o, OwnedBy(w.XR), "metadata", "ownerReferences")
	}
	Manage(o)
	w.Put(o)
	w.Listed = append(w.Listed, KeyOf(o))
}

// Apply applies an object server side and by force, as Crossplane. Keys of labels, annotations and data that other
// managers have stay, and other fields are replaced. An unchanged object stays the same value. An error means that
// the object is invalid.
func (c *Cluster) Apply(name string, o *structpb.Struct) error {
	o = proto.CloneOf(o)
	key, was := KeyOf(o), c.Stored[KeyOf(o)]
	Set(o, name, "metadata", "annotations", ResourceNameAnnotation)
	SetValue(o, OwnedBy(c.XR), "metadata", "ownerReferences")
	if was == nil {
		Manage(o)
		c.Create(o)
		return nil
	}
	apply(was, o)
	if err := c.validate(key, was, o); err != nil {
		return err
	}
	for _, field := range []string{"uid", "creationTimestamp", "deletionTimestamp", "resourceVersion"} {
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

// An InvalidError says why the API server refuses an object.
type InvalidError struct{ Key, Why string }

// Error names the object and the reason.
func (e *InvalidError) Error() string { return e.Key + " " + e.Why }

// validate checks a change of an object, as the API server does.
func (c *Cluster) validate(key string, was, o *structpb.Struct) error {
	before, after := was.GetFields(), o.GetFields()
	typeOf := func(f map[string]*structpb.Value) string { return cmp.Or(f["type"].GetStringValue(), "Opaque") }
	switch of := controllerOf(was); {
	case of != "" && of != Meta(c.XR, "uid"):
		return &InvalidError{key, "is controlled by another object"}
	case before["immutable"].GetBoolValue() &&
		(!after["immutable"].GetBoolValue() || !proto.Equal(before["data"], after["data"])):
		return &InvalidError{key, "is immutable"}
	case kindOf(key) == "Secret" && typeOf(before) != typeOf(after):
		return &InvalidError{key, "has the type " + typeOf(before)}
	}
	return nil
}
