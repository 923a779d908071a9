package diff

import (
	"slices"

	"github.com/crossplane-contrib/function-export/internal/desk/state"
)

// A Kind is what happens to a composite, or to one of its objects.
type Kind string

// The kinds of effects, the gravest first.
const (
	Refused            Kind = "refused"       // the input, or an object by the API server: nothing is applied
	ObjectDeleted      Kind = "objectDeleted" // now. An export that was renamed also has the effect ObjectRenamed
	Conflict           Kind = "conflict"
	Held               Kind = "held"    // an object is kept as it is
	Waiting            Kind = "waiting" // an object is not created, because it waits for an input
	ReadinessLost      Kind = "readinessLost"
	Rotates            Kind = "rotates" // a generation replaces another one, now or later
	KeysRemoved        Kind = "keysRemoved"
	KeysChanged        Kind = "keysChanged"
	KeysAdded          Kind = "keysAdded"
	ObjectRenamed      Kind = "objectRenamed" // an object is created in place of one that is deleted
	ObjectTakenOver    Kind = "objectTakenOver"
	ObjectCreated      Kind = "objectCreated"
	Retires            Kind = "retires"  // the generator of a generation left the input, or its grace period is over
	Abandons           Kind = "abandons" // a generation is never used
	StatusChanged      Kind = "statusChanged"
	EnvironmentChanged Kind = "environmentChanged"
	Reads              Kind = "reads" // an object that was not read before
	Unknown            Kind = "unknown"
	NotAffected        Kind = "notAffected"
	Expires            Kind = "expires" // a certificate, in a forecast
)

// An Effect is one difference that a changed Composition makes to a composite. It contains no value of a Secret.
type Effect struct {
	Kind       Kind       `json:"effect"`
	Object     *state.Ref `json:"object,omitempty"` // the composite has none
	Export     string     `json:"export,omitempty"`
	Generator  string     `json:"generator,omitempty"`
	Generation int        `json:"generation,omitempty"`
	Keys       []string   `json:"keys,omitempty"`   // of the data, or paths of fields
	At         string     `json:"at,omitempty"`     // if it happens later
	Reason     string     `json:"reason,omitempty"` // for people

	// Bytes are the lengths of the values of the keys before and after. The values are only compared.
	Bytes  [][2]int    `json:"bytes,omitempty"`
	Labels [][2]string `json:"-"` // random in each run
	values string      // before and after, of the only key
}

// subject is what the effect is about.
func (e Effect) subject() string {
	if e.Object == nil {
		return e.Generator
	}
	return e.Object.String()
}

// same identifies an effect. Effects on several keys of an object are the same.
func (e Effect) same() string {
	return string(e.Kind) + " " + e.subject() + " " + e.Export + " " + e.Generator
}

// ofKey identifies an effect on a key.
func (e Effect) ofKey() string {
	if e.Bytes == nil {
		return e.same()
	}
	return e.same() + " " + e.Keys[0]
}

// grouped returns the effects with one for all keys of an object, and with one about each object that is unknown.
func grouped(all []Effect) (out []Effect) {
	at := map[string]int{}
	for _, e := range all {
		i, again := at[e.same()]
		if !again || e.Bytes == nil && e.Kind != Unknown {
			at[e.same()] = len(out)
			out = append(out, e)
			continue
		}
		if of := &out[i]; len(e.Keys)*len(of.Keys) > 0 && !slices.Contains(of.Keys, e.Keys[0]) {
			of.Keys, of.Bytes = append(of.Keys, e.Keys...), append(of.Bytes, e.Bytes...)
			of.Labels = append(of.Labels, e.Labels...)
		}
	}
	return out
}
