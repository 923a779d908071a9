package world

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

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
