package reconcile

import (
	"fmt"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// lostStates says which of the generations have lost their states.
func lostStates(generations []*generation, r *recorded) (out []Outcome) {
	for _, k := range generations {
		if k.changed {
			out = append(out, lostState(k, r))
		}
	}
	return out
}

// lostState says that another client changed the state of a generation, and what follows.
func lostState(k *generation, r *recorded) Outcome {
	ref := k.reference()
	follows := "It is unknown what it was created for, so each request counts as a new one"
	if r != nil {
		if _, ok := r.states[ref.UID]; ok {
			follows = "It is restored from what exports recorded"
		}
	}
	return Outcome{Warn: true, Message: fmt.Sprintf(
		"generator %q: another client changed %s %s/%s or its annotation %s, so the state of generation %d is lost. %s",
		k.Generator, ref.Kind, ref.Namespace, ref.Name, generator.AnnotationState, k.Number, follows)}
}

// lostRecord says that another client changed the record of an export, and what follows.
func lostRecord(e plan.Export, at placement) Outcome {
	return Outcome{Warn: true, Message: fmt.Sprintf(
		"%s (%s): another client changed the data that the export writes, or the annotation %s, so it is unknown which "+
			"generations its values belong to. Until the annotation is written again, no generation in use or before it is deleted",
		e, at, generator.AnnotationRecord)}
}

// warnOfRotate warns of a request for a rotation on an object of the composite.
func (h *historyReader) warnOfRotate(o wire.Struct) {
	if !plan.MetadataOf(o).At("annotations", plan.RotateAnnotation).Exists() {
		return
	}
	_, kind, ns, name := object.Identity(o)
	_, of, _, xr := object.Identity(h.object)
	h.report(Outcome{Warn: true, Message: fmt.Sprintf("%s %s/%s has the annotation %s, which has no effect there: set it on %s %s",
		kind, ns, name, plan.RotateAnnotation, of, xr)})
}
