package generator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
)

// The annotations of a generation.
const (
	annotationGenerator  = object.StatePrefix + "generator"
	annotationGeneration = object.StatePrefix + "generation"
	annotationMade       = object.StatePrefix + "generated-at"
	annotationSpec       = object.StatePrefix + "spec-hash"
	annotationKeepers    = object.StatePrefix + "keepers-hash"
	annotationSource     = object.StatePrefix + "source-hash"
	annotationFlagged    = object.StatePrefix + "flagged-for-gc-time"
	annotationState      = object.StatePrefix + "generator-state"
)

// LabelGenerator is the label with the name of the generator, LabelKey the one with the key of the item if there is one,
// and LabelGeneration the one with the number.
const (
	LabelGenerator  = object.StatePrefix + "generator"
	LabelKey        = object.StatePrefix + "generator-key"
	LabelGeneration = object.StatePrefix + "generation"
)

// Labels of a generation. The name of a generator for an item is <generator>/<key>.
func (r Record) Labels() map[string]string {
	name, key, ok := strings.Cut(r.Generator, "/")
	out := map[string]string{LabelGenerator: name, LabelGeneration: strconv.Itoa(r.Number)}
	if ok {
		out[LabelKey] = key
	}
	return out
}

// LabeledWith returns the name of the generator that labels contain, or an empty text.
func LabeledWith(labels map[string]string) string {
	if key := labels[LabelKey]; key != "" {
		return labels[LabelGenerator] + "/" + key
	}
	return labels[LabelGenerator]
}

// AnnotationGenerated of an export says which generations its values belong to.
const AnnotationGenerated = object.StatePrefix + "generated"

// A Reference identifies a generation even after it is deleted.
type Reference struct {
	Generation int    `json:"generation,omitempty"`
	UID        string `json:"uid,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
}

// A Followed is a generation that another one follows.
type Followed struct {
	Reference

	// Codes are the results of [Code] for the two generations, one for each known value of the previous one. Only Secrets
	// have codes.
	Codes []string `json:"codes,omitempty"`
}

// A Record is the content of the annotations of a generation's resource.
type Record struct {
	Generation

	Generator string // its name, for an item <generator>/<key>

	// Follows are the generations that existed when this one was created.
	Follows []Followed

	// Surplus is set if the composite did not list the resource when it was found: it is deleted once it is listed.
	Surplus bool

	// Resource is the source of the generation, as JSON without a secret: the generator in the input, or the manifest of a
	// composed resource.
	Resource json.RawMessage
}

// state is the JSON in the annotation generator-state.
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

	OfferedAt string      `json:"offeredAt,omitempty"`
	Waited    string      `json:"waited,omitempty"`
	Abandoned bool        `json:"abandoned,omitempty"`
	Highest   int         `json:"highest,omitempty"`
	Failure   *failedOnce `json:"failure,omitempty"`
}

// failedOnce is a [Failure].
type failedOnce struct {
	Request string `json:"request"` // a hash
	Number  int    `json:"generation"`
	At      string `json:"at"`
	Times   int    `json:"times"`
}

// Annotations of the record. The same record has the same annotations.
func (r Record) Annotations() map[string]string {
	s := state{Resource: r.Resource, Follows: r.Follows, State: inState{
		Kind: r.Kind, Rotation: r.Rotation, Adopted: r.Adopted, Flagged: !r.Flagged.IsZero(), Retired: r.Retired,
		Surplus: r.Surplus, OfferedAt: formatTime(r.OfferedAt), Abandoned: r.Abandoned, Highest: r.Highest,
	}}
	if r.GracePeriod != 0 {
		s.State.GracePeriod = r.GracePeriod.String()
	}
	if r.Waited != 0 {
		s.State.Waited = r.Waited.String()
	}
	if f := r.Failure; f != (Failure{}) {
		s.State.Failure = &failedOnce{f.Request, f.Number, formatTime(f.At), f.Times}
	}
	text, err := s.text()
	if err != nil { // Resource is not JSON
		s.Resource = nil
		text, _ = s.text()
	}
	out := map[string]string{
		annotationGenerator: r.Generator, annotationGeneration: strconv.Itoa(r.Number), annotationState: text,
		annotationMade: formatTime(r.Made), annotationFlagged: formatTime(r.Flagged),
		annotationSpec: r.SpecHash, annotationKeepers: r.KeepersHash, annotationSource: r.SourceHash,
	}
	maps.DeleteFunc(out, func(key, value string) bool { return value == "" && key != annotationGenerator })
	return out
}

// text does not escape HTML: it would be six times as long.
func (s state) text() (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// ReadRecord reads the annotations of a generation, except for the generator and the number. A part that is missing, or
// that [Record.Annotations] would not write, stays zero: people can edit annotations.
func ReadRecord(annotations map[string]string) Record {
	var s state
	if json.Unmarshal([]byte(annotations[annotationState]), &s) != nil {
		s = state{}
	}
	flagged := parseTime(annotations[annotationFlagged])
	if s.State.Kind != "" && !s.State.Flagged {
		flagged = time.Time{} // another writer set it, and server-side apply does not remove it
	}
	return Record{Resource: s.Resource, Follows: s.Follows, Surplus: s.State.Surplus, Generation: Generation{
		Kind: s.State.Kind, Rotation: s.State.Rotation, Adopted: s.State.Adopted, Retired: s.State.Retired,
		GracePeriod: parseDuration(s.State.GracePeriod), Made: parseTime(annotations[annotationMade]), Flagged: flagged,
		SpecHash: annotations[annotationSpec], KeepersHash: annotations[annotationKeepers],
		SourceHash: annotations[annotationSource],
		OfferedAt:  parseTime(s.State.OfferedAt), Waited: parseDuration(s.State.Waited), Abandoned: s.State.Abandoned,
		Highest: inRange(s.State.Highest), Failure: s.State.Failure.read(),
	}}
}

// read returns the failure. A number that no generation can have is left out.
func (f *failedOnce) read() Failure {
	if f == nil || inRange(f.Number) == 0 {
		return Failure{}
	}
	return Failure{Request: f.Request, Number: f.Number, At: parseTime(f.At), Times: min(max(f.Times, 1), limits.Retries)}
}

func inRange(number int) int {
	if number < 0 || number > limits.GenerationNumber {
		return 0
	}
	return number
}

// Key names a generation that waits to be dropped: a hash of its state and of what it was made from, as in External
// Secrets' generator state.
func (r Record) Key() string {
	return Hash(string(r.Resource), r.Kind, strconv.Itoa(r.Number), formatTime(r.Made))
}

// Hash of texts that are not secret. Its first 16 bytes are enough to detect changes.
func Hash(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		writeSized(h, []byte(t))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// formatTime is empty for the zero time. It keeps fractions of a second: a grace period must not end too early.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// parseDuration is zero for a text that is not a positive duration.
func parseDuration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0
	}
	return max(d, 0)
}

func parseTime(s string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, s) // zero if it is none
	return t.UTC()
}
