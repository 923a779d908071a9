// Package world is a small Crossplane with an API server, for one composite. It calls a pipeline of functions as
// Crossplane v2.4 does, and applies the desired objects. Tests of the function and the command test use it: a test adds
// lag, errors, providers and people.
//
// A test compares it with Crossplane's own reconciler (internal/e2e/reconciler). It differs from the real one in this:
//
//   - Names of composed objects that no function names, and UIDs, are counted or derived, not random.
//   - Only labels, annotations, and data have field managers. All other fields belong to Crossplane.
//   - The API server knows no schemas: it refuses only changes of immutable objects, of the type of a Secret, and of
//     objects that another object controls.
//   - The status of the composite has what the functions desire, and no conditions of Crossplane.
//   - Events that call Crossplane again are not lost, and come at once: a caller reconciles after each change.
//   - Time advances only between reconciles.
package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// A World has one composite with its objects, and the pipeline that composes them.
type World struct {
	Cluster
	Pipeline

	Listed   []string                  // keys of stored objects that the composite lists, or that will be stored
	Response *fnv1.RunFunctionResponse // the last one

	ended error // why the last reconcile ended early, or what it left out

	// Rand is the order of deletions and of applies, which is random in Crossplane. Without it, they are sorted by name.
	Rand *rand.Rand
	// Before is called before each write of a reconcile. Its error ends the reconcile there: Crossplane crashes, or the
	// API server fails or refuses the call.
	Before func(w Write) error
	// After is called after an object was applied, or refused as invalid. It may be nil.
	After func(w Write, was *structpb.Struct, err error)
	// Foreground is set if deletions of Crossplane end only with Collect. Otherwise they end with the reconcile.
	Foreground bool
}

// New returns a simulation with a composite, and without other objects.
func New(xr *structpb.Struct) *World {
	return &World{Before: func(Write) error { return nil }, Cluster: Cluster{
		XR: xr, Stored: map[string]*structpb.Struct{}, Details: map[string]map[string][]byte{},
		late: map[string]map[string]*structpb.Struct{}, deleted: map[string]bool{},
	}}
}

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

// Request returns what Crossplane observes if it reads a composite that lists these objects.
func (w *World) Request(listed []string) (*fnv1.RunFunctionRequest, error) {
	xr := proto.CloneOf(w.XR)
	List(xr, listed)
	req, unnamed := w.Observe(xr, listed)
	if unnamed != "" {
		return nil, errors.New(unnamed + " has no composition resource name")
	}
	return proto.CloneOf(req), nil
}

// Observe observes the objects that a composite lists. An object without a composition resource name fails the
// reconcile before the function is called. Then Observe returns its key.
func (w *World) Observe(xr *structpb.Struct, listed []string) (req *fnv1.RunFunctionRequest, unnamed string) {
	req = &fnv1.RunFunctionRequest{
		Meta: w.Meta, Context: w.Context, Desired: proto.CloneOf(w.Earlier),
		Observed: &fnv1.State{
			Composite: &fnv1.Resource{Resource: xr, ConnectionDetails: w.Details[KeyOf(xr)]},
			Resources: map[string]*fnv1.Resource{},
		},
	}
	for _, key := range listed {
		o := w.seen(kindOf(key))[key]
		if o == nil {
			o = w.Stored[key] // Crossplane reads again from the API server
		}
		if of := controllerOf(o); o == nil || of != "" && of != Meta(xr, "uid") {
			continue // Crossplane neither observes nor applies what another object controls
		}
		name := Meta(o, "annotations", ResourceNameAnnotation)
		if name == "" {
			return nil, key
		}
		req.Observed.Resources[name] = &fnv1.Resource{Resource: o, ConnectionDetails: w.Details[key]}
	}
	return req, ""
}

// Reconcile reconciles once with a composite that lists these objects, and that may be old. If that changes nothing,
// the next reconcile reads the current composite. A function or an API server that fails ends the reconcile, without an
// error.
func (w *World) Reconcile(ctx context.Context, listed ...string) error {
	req, err := w.Request(listed)
	if err != nil {
		return err
	}
	if w.Response, err = w.Run(ctx, req, w.LookUp); err != nil {
		return err
	}
	if FatalOf(w.Response) == "" {
		w.mergeStatus()
	}
	w.ended = w.Compose(w.Response, req.GetObserved().GetResources())
	return invalidOnly(w.ended)
}

// invalidOnly returns an error that is about a desired object, and no other: a reconcile that ends early is tried
// again.
func invalidOnly(err error) error {
	if invalid := (*InvalidError)(nil); errors.As(err, &invalid) {
		return err
	}
	return nil
}

// Compose does what Crossplane's composer does with a response. First, it deletes objects that are no longer desired.
// Then, the composite lists what is desired. Then, it applies that. Only if all of this succeeded, what the function
// requires is remembered. An error ends the reconcile: a fatal result, an error of Before, or [ErrModified]. An object
// that the API server refuses is left out: it is an error of type [InvalidError] at the end, unless After is set.
func (w *World) Compose(rsp *fnv1.RunFunctionResponse, observed map[string]*fnv1.Resource) error {
	if text := FatalOf(rsp); text != "" {
		return errors.New(text)
	}
	if !w.Foreground {
		defer w.Collect()
	}
	objects, listed := w.desired(rsp, observed)
	for _, name := range w.order(observed) {
		o := observed[name].GetResource()
		// Crossplane does not delete an object that it cannot prove to be its own.
		if _, ok := objects[name]; ok || controllerOf(o) == "" {
			continue
		}
		if err := w.Before(Write{Verb: Deletes, Name: name, Key: KeyOf(o), Object: o}); err != nil {
			return err
		}
		if err := w.delete(o); err != nil {
			return err
		}
	}
	if err := w.Before(Write{Verb: Lists, Listed: listed}); err != nil {
		return err
	}
	w.Listed = listed
	var invalid error
	for _, name := range w.order(rsp.GetDesired().GetResources()) {
		call := Write{Verb: Applies, Name: name, Key: KeyOf(objects[name]), Object: objects[name]}
		if err := w.Before(call); err != nil {
			return err
		}
		was := w.Stored[call.Key]
		if refused := w.Apply(name, call.Object); w.After != nil {
			w.After(call, was, refused)
		} else {
			invalid = errors.Join(invalid, refused)
		}
	}
	w.remember()
	return invalid
}

// desired returns the desired objects by their composition resource names, and their keys in the order of references. A
// namespaced composite composes in its own namespace, and an observed object keeps its name, whatever name is desired.
func (w *World) desired(rsp *fnv1.RunFunctionResponse, observed map[string]*fnv1.Resource) (map[string]*structpb.Struct,
	[]string) {
	all := rsp.GetDesired().GetResources()
	objects, listed := map[string]*structpb.Struct{}, make([]string, 0, len(all))
	for name, r := range all {
		o := proto.CloneOf(r.GetResource())
		switch was, ok := observed[name]; {
		case ok:
			Set(o, Meta(was.GetResource(), "name"), "metadata", "name")
		case Meta(o, "name") == "":
			Set(o, generatedName(w.XR, name), "metadata", "name")
		}
		if namespace := Meta(w.XR, "namespace"); namespace != "" {
			Set(o, namespace, "metadata", "namespace")
		}
		objects[name] = o
		listed = append(listed, KeyOf(o))
	}
	slices.Sort(listed)
	return objects, listed
}

// order returns names in the order in which Crossplane goes through them.
func (w *World) order(of map[string]*fnv1.Resource) []string {
	names := slices.Sorted(maps.Keys(of))
	if w.Rand != nil {
		w.Rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	return names
}

const (
	// pace is the time from one reconcile to the next one, if the first one changed something.
	pace = time.Second

	// mostReconciles is how many reconciles in a row may change something.
	mostReconciles = 50
)

// An UnsettledError names what each reconcile changes again: the composite, or composition resource names.
type UnsettledError struct{ Changed []string }

// Error names what changes.
func (e *UnsettledError) Error() string {
	return fmt.Sprintf("after %d reconciles, each one still changes %s", mostReconciles, strings.Join(e.Changed, ", "))
}

// Settle reconciles until nothing changes. An object that the API server refuses is an error at the end.
func (w *World) Settle(ctx context.Context) error {
	unsettled := &UnsettledError{}
	for range mostReconciles {
		stored, xr := maps.Clone(w.Stored), w.XR
		w.brought = map[string]*structpb.Struct{} // they are no change
		err := w.Reconcile(ctx, w.Listed...)
		maps.Copy(stored, w.brought)
		lost := w.ended != nil && invalidOnly(w.ended) == nil && FatalOf(w.Response) == "" // Crossplane tries again
		if maps.Equal(stored, w.Stored) && xr == w.XR && !lost {
			return err
		}
		unsettled.Changed = w.changed(stored, xr)
		w.Now = w.Now.Add(pace)
	}
	return unsettled
}

// changed names what differs from earlier objects and an earlier composite.
func (w *World) changed(stored map[string]*structpb.Struct, xr *structpb.Struct) (out []string) {
	if xr != w.XR {
		out = append(out, "the composite")
	}
	for _, key := range slices.Sorted(maps.Keys(w.Stored)) {
		if o := w.Stored[key]; stored[key] != o {
			out = append(out, cmp.Or(Meta(o, "annotations", ResourceNameAnnotation), key))
		}
	}
	return out
}

// Due returns when Crossplane reconciles again although nothing has changed, or zero.
func (w *World) Due() time.Time {
	ttl := w.Response.GetMeta().GetTtl().AsDuration()
	if ttl == 0 {
		return time.Time{}
	}
	return w.Now.Add(ttl)
}

// mergeStatus merges the status that the functions desire into the one of the composite. An unchanged composite stays
// the same value.
func (w *World) mergeStatus() {
	status := w.Response.GetDesired().GetComposite().GetResource().GetFields()["status"].GetStructValue()
	if status == nil {
		return
	}
	xr := proto.CloneOf(w.XR)
	mergeFields(xr, &structpb.Struct{Fields: map[string]*structpb.Value{"status": structpb.NewStructValue(status)}})
	if !proto.Equal(xr, w.XR) {
		w.XR = xr
	}
}

// mergeFields merges fields into an object. A null removes a field, as in a merge patch.
func mergeFields(into, fields *structpb.Struct) {
	if into.Fields == nil {
		into.Fields = map[string]*structpb.Value{}
	}
	for name, v := range fields.GetFields() {
		below := into.GetFields()[name].GetStructValue()
		switch _, isNull := v.GetKind().(*structpb.Value_NullValue); {
		case isNull:
			delete(into.GetFields(), name)
		case v.GetStructValue() != nil && below != nil:
			mergeFields(below, v.GetStructValue())
		default:
			into.Fields[name] = v
		}
	}
}

// Patch merges fields, which are JSON, into a stored object as kubectl patch does. A null removes a field.
func (c *Cluster) Patch(key string, fields map[string]any) {
	c.Edit(key, func(o *structpb.Struct) { mergeFields(o, StructOf(fields)) })
}

// PatchXR merges fields, which are JSON, into the composite.
func (c *Cluster) PatchXR(fields map[string]any) {
	c.XR = proto.CloneOf(c.XR)
	mergeFields(c.XR, StructOf(fields))
}
