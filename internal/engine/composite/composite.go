// Package composite knows one composite resource: its identity, the claim that it may have, and which objects it owns.
//
// Ownership is read only from what other clients cannot write: the controller of an object, and the list of a
// composite, which only its author can write.
package composite

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Composite is the composite resource of a request.
type Composite struct {
	Object    wire.Struct
	Name, UID string
	Namespace string // a legacy composite has the namespace of its claim
	Cluster   bool   // it is cluster scoped
}

// Of reads the composite. Only a legacy composite has a claim. In any other composite, which
// has spec.crossplane, the composite author can write a claimRef.
func Of(xr wire.Struct) Composite {
	_, _, ns, name := object.Identity(xr)
	out := Composite{Object: xr, Name: name, UID: plan.UIDOf(xr), Namespace: ns, Cluster: ns == ""}
	if object.IsLegacy(xr) {
		out.Namespace = xr.At("spec", "claimRef", "namespace").Text()
	}
	return out
}

// Controls reports whether the composite controls an object.
func (c Composite) Controls(o wire.Struct) bool {
	uid, _, _, _ := object.ControllerOf(o) // empty without a controller
	return uid == c.UID && uid != ""
}

// IsControlled reports whether an object has a controller.
func IsControlled(o wire.Struct) bool {
	_, _, _, controlled := object.ControllerOf(o)
	return controlled
}

// IsDeleted reports whether an object is being deleted: its credentials may be revoked.
func IsDeleted(o wire.Struct) bool { return plan.MetadataOf(o).Get("deletionTimestamp").Text() != "" }

// PlaceOf returns the place of an object of any kind. A file may omit its namespace.
func (c Composite) PlaceOf(o wire.Struct) lifecycle.Place {
	apiVersion, kind, ns, name := object.Identity(o)
	return lifecycle.PlaceOf(apiVersion, kind, cmp.Or(ns, c.Namespace), name)
}

func (c Composite) refList() wire.List {
	spec := c.Object.Get("spec").Struct()
	if own := spec.Get("crossplane"); own.Exists() {
		spec = own.Struct()
	}
	return spec.Get("resourceRefs").List()
}

// Lists reports whether a composite lists the object at a place. Only a cluster-scoped composite lists namespaces.
func (c Composite) Lists(at lifecycle.Place) bool {
	for _, v := range c.refList().All() {
		ref := v.Struct()
		apiVersion, ns := cmp.Or(ref.Get("apiVersion").Text(), "v1"), cmp.Or(ref.Get("namespace").Text(), at.Namespace)
		if ref.Get("name").Is(at.Name) && lifecycle.PlaceOf(apiVersion, ref.Get("kind").Text(), ns, at.Name) == at {
			return true
		}
	}
	return false
}

// compositeLabel is the label in which Crossplane writes the name of the composite that composed an object.
const compositeLabel = "crossplane.io/composite"

// OwnerOf returns whose an object is that the composite lists. One that has no controller and that this composite did
// not compose is foreign: the composite's author can write the list, and Crossplane would adopt the object. After a
// restore, the objects of a composite still have their label.
func (c Composite) OwnerOf(o wire.Struct) lifecycle.Owner {
	meta := plan.MetadataOf(o)
	inFile := meta.Get("resourceVersion").Text() == ""
	if inFile || c.Controls(o) || meta.At("labels", compositeLabel).Is(c.Name) {
		return lifecycle.Own
	}
	return lifecycle.Foreign
}

// NotComposed returns why an object is not a composed resource of this composite, or nothing. The text ends before
// another way to resolve that.
func (c Composite) NotComposed(found wire.Struct) string {
	_, _, _, controlled := object.ControllerOf(found)
	switch {
	case !controlled:
		return "exists and has no controller: delete it, or "
	case !c.Controls(found):
		return "exists and is controlled by " + c.otherController(found)
	case object.CompositionResourceName(found) == "":
		return "of this composite has no composition resource name: delete it, or "
	}
	return ""
}

// otherController describes the controller of an object that this composite does not control. A former
// composite of the same name has another UID.
func (c Composite) otherController(found wire.Struct) string {
	uid, kind, name, _ := object.ControllerOf(found)
	_, ownKind, _, ownName := object.Identity(c.Object)
	if kind != ownKind || name != ownName || c.UID == "" {
		return fmt.Sprintf("%s %q: ", kind, name)
	}
	return fmt.Sprintf("a previous %s %q with the UID %q, not by this one, whose UID is %q: "+
		"wait until Kubernetes has deleted it, or delete it, or ", kind, name, uid, c.UID)
}

// Salt returns the salt of hashes, which is the composite's name. It stays the same after a restore
// from a backup, and with another version of the API.
func (c Composite) Salt() string {
	apiVersion, kind, ns, name := object.Identity(c.Object)
	return strings.Join([]string{object.GroupOf(apiVersion), kind, ns, name}, "/")
}

// PausedAt returns when the composite was paused, if Crossplane has not changed its status since then, or zero.
func (c Composite) PausedAt() time.Time {
	synced := object.Condition(c.Object, "Synced")
	if !synced.Get("reason").Is("ReconcilePaused") {
		return time.Time{}
	}
	return object.Transition(synced)
}
