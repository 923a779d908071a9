package object

import (
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Condition returns a condition of an object. It has no fields if the object does not have it.
func Condition(o wire.Struct, conditionType string) wire.Struct {
	for _, v := range o.At("status", "conditions").List().All() {
		if c := v.Struct(); c.Get("type").Is(conditionType) {
			return c
		}
	}
	return wire.Struct{}
}

// Transition returns the time of a condition, or zero.
func Transition(condition wire.Struct) time.Time {
	at, _ := time.Parse(time.RFC3339, condition.Get("lastTransitionTime").Text()) // zero on an error
	return at.UTC()
}

// IsReady reports whether an object has the condition Ready.
func IsReady(o wire.Struct) bool { return Condition(o, "Ready").Get("status").Is("True") }

// IsLegacy reports whether a composite has the v1 style, the only one with connection details.
func IsLegacy(xr wire.Struct) bool {
	_, _, ns, _ := Identity(xr)
	return ns == "" && !xr.At("spec", "crossplane").Exists()
}

// HasConnectionSecret reports whether a resource must have connection details.
func HasConnectionSecret(o wire.Struct) bool {
	return o.At("spec", "writeConnectionSecretToRef").Exists()
}

// IsSecret reports whether an object is a v1 Secret.
func IsSecret(o wire.Struct) bool {
	kind, _ := kindOf(o)
	return kind == Secret
}
