package generator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane-contrib/function-export/internal/object"
)

// The annotations of a generation, and its labels.
const (
	annotationGenerator  = object.StatePrefix + "generator"
	annotationGeneration = object.StatePrefix + "generation"
	annotationMade       = object.StatePrefix + "generated-at"
	annotationSpec       = object.StatePrefix + "spec-hash"
	annotationKeepers    = object.StatePrefix + "keepers-hash"
	annotationFlagged    = object.StatePrefix + "flagged-for-gc-time"
	annotationState      = object.StatePrefix + "generator-state"

	// LabelGenerator is the label with the name of the generator, and LabelGeneration the
	// one with the number.
	LabelGenerator  = object.StatePrefix + "generator"
	LabelGeneration = object.StatePrefix + "generation"

	// AnnotationGenerated is of what is exported: which generations its values are of.
	AnnotationGenerated = object.StatePrefix + "generated"
)

// A Reference names a generation so that it is known when it is gone.
type Reference struct {
	Generation int    `json:"generation"`
	UID        string `json:"uid,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
}

// A Followed is a generation that another one follows.
type Followed struct {
	Reference

	// Codes are what [Code] returned for the two, with each value that the former one is
	// known by. A kind of resource that is no Secret carries none.
	Codes []string `json:"codes,omitempty"`
}

// A Record is what is kept of a generation, in the annotations of its resource.
type Record struct {
	Generation

	// Follows are the generations that were there when this one was made.
	Follows []Followed

	// Surplus is set if the composite did not list the resource when it was found: it is
	// deleted once the composite lists it.
	Surplus bool

	// Generator is the name of the generator.
	Generator string

	// Resource is what the generation was made from: the generator in the input, or for
	// a composed resource its manifest. It is JSON without a secret.
	Resource json.RawMessage
}

// state is what generator-state holds, as JSON.
type state struct {
	Resource json.RawMessage `json:"resource,omitempty"`
	State    inState         `json:"state"`
	Follows  []Followed      `json:"follows,omitempty"`
}

type inState struct {
	Kind        string `json:"kind,omitempty"`
	Rotation    string `json:"rotation,omitempty"` // a hash
	GracePeriod string `json:"gracePeriod,omitempty"`
	Adopted     bool   `json:"adopted,omitempty"`
	Flagged     bool   `json:"flagged,omitempty"`
	Retired     bool   `json:"retired,omitempty"`
	Surplus     bool   `json:"surplus,omitempty"`
}

// Annotations of the record. The same record has the same annotations.
func (r Record) Annotations() map[string]string {
	out := map[string]string{annotationGenerator: r.Generator, annotationGeneration: strconv.Itoa(r.Number)}
	put := func(key, value string) {
		if value != "" {
			out[key] = value
		}
	}
	put(annotationMade, formatTime(r.Made))
	put(annotationSpec, r.SpecHash)
	put(annotationKeepers, r.KeepersHash)
	put(annotationFlagged, formatTime(r.Flagged))
	s := state{Resource: r.Resource, Follows: r.Follows, State: inState{
		Kind: r.Kind, Rotation: r.Rotation, Adopted: r.Adopted, Flagged: !r.Flagged.IsZero(), Retired: r.Retired, Surplus: r.Surplus,
	}}
	if r.GracePeriod != 0 {
		s.State.GracePeriod = r.GracePeriod.String()
	}
	text, err := s.text()
	if err != nil { // of a Resource that is not JSON
		s.Resource = nil
		text, _ = s.text()
	}
	put(annotationState, text)
	return out
}

// text does not escape what HTML would: it would be six times as long.
func (s state) text() (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// ReadRecord reads the annotations of a generation. What is not there, or is not what
// [Record.Annotations] writes, stays zero: people can edit them. The generator and the
// number are the caller's to know.
func ReadRecord(annotations map[string]string) Record {
	var s state
	if json.Unmarshal([]byte(annotations[annotationState]), &s) != nil {
		s = state{}
	}
	grace, err := time.ParseDuration(s.State.GracePeriod)
	if err != nil || grace < 0 {
		grace = 0
	}
	flagged := parseTime(annotations[annotationFlagged])
	if s.State.Kind != "" && !s.State.Flagged {
		flagged = time.Time{} // somebody else's, which server-side apply leaves where it is
	}
	return Record{Resource: s.Resource, Follows: s.Follows, Surplus: s.State.Surplus, Generation: Generation{
		Kind: s.State.Kind, Rotation: s.State.Rotation, Adopted: s.State.Adopted, Retired: s.State.Retired, GracePeriod: grace,
		Made: parseTime(annotations[annotationMade]), Flagged: flagged,
		SpecHash: annotations[annotationSpec], KeepersHash: annotations[annotationKeepers],
	}}
}

// Key names a generation that waits to be dropped: a hash of what it was made from and
// of its state, as in External Secrets' generator state.
func (r Record) Key() string {
	return Hash(string(r.Resource), r.Kind, strconv.Itoa(r.Number), formatTime(r.Made))
}

// hashBytes of a hash are shown: enough to tell what changed.
const hashBytes = 16

// Hash of texts: none of them is secret, and none alone in it is a value of anybody's.
func Hash(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		_, _ = h.Write([]byte(strconv.Itoa(len(t)) + ":" + t)) // which never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:hashBytes])
}

// formatTime is empty for the zero time. Fractions of a second stay, for a grace period
// must not be over too early.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
