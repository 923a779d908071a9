package generator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
)

// AnnotationState of a generation is the only annotation that is read from it: its state as JSON, sealed if it is a
// Secret.
const AnnotationState = object.StatePrefix + "generator-state"

// LabelGenerator is the label with the name of the generator, LabelKey the one with the key of the item if there is
// one, and LabelGeneration the one with the number. They are for people, and never read.
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

// AnnotationRecord of an export is its record: which generations its values belong to, as sealed JSON.
const AnnotationRecord = object.StatePrefix + "export-state"

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

// A Record is the state of a generation that its resource stores.
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
	State    State           `json:"state"`
	Follows  []Followed      `json:"follows,omitempty"`
}

// A State is what is stored of a generation: all of it in the generation, and a part of it in the exports that use it
// or have used it.
type State struct {
	Generator   string      `json:"generator,omitempty"`
	Number      int         `json:"generation,omitempty"`
	Kind        string      `json:"kind,omitempty"`
	Made        string      `json:"generatedAt,omitempty"`
	SpecHash    string      `json:"specHash,omitempty"`
	KeepersHash string      `json:"keepersHash,omitempty"`
	SourceHash  string      `json:"sourceHash,omitempty"`
	Rotation    string      `json:"rotation,omitempty"` // a hash
	GracePeriod string      `json:"gracePeriod,omitempty"`
	Adopted     bool        `json:"adopted,omitempty"`
	Flagged     string      `json:"flaggedForGCTime,omitempty"`
	Retired     bool        `json:"retired,omitempty"`
	Surplus     bool        `json:"surplus,omitempty"`
	OfferedAt   string      `json:"offeredAt,omitempty"`
	Waited      string      `json:"waited,omitempty"`
	Abandoned   bool        `json:"abandoned,omitempty"`
	Highest     int         `json:"highest,omitempty"`
	Failure     *failedOnce `json:"failure,omitempty"`
}

// failedOnce is a [Failure].
type failedOnce struct {
	Request string `json:"request"` // a hash
	Number  int    `json:"generation"`
	At      string `json:"at"`
	Times   int    `json:"times"`
}

// Annotation returns the annotation of the record, sealed with data if there is data. The same record has the same
// annotation.
func (r Record) Annotation(data Outputs) string {
	s := state{Resource: r.Resource, Follows: r.Follows, State: r.State()}
	s.State.Generator, s.State.Number, s.State.Surplus = r.Generator, r.Number, r.Surplus
	text, err := s.text()
	if err != nil { // Resource is not JSON
		s.Resource = nil
		text, _ = s.text()
	}
	if len(data) > 0 {
		text = Seal(AnnotationState, data, text)
	}
	return text
}

// State returns what is stored of a generation.
func (g Generation) State() State {
	s := State{
		Kind: g.Kind, Made: formatTime(g.Made), SpecHash: g.SpecHash, KeepersHash: g.KeepersHash, SourceHash: g.SourceHash,
		Rotation: g.Rotation, GracePeriod: formatDuration(g.GracePeriod), Adopted: g.Adopted, Flagged: formatTime(g.Flagged),
		Retired: g.Retired, OfferedAt: formatTime(g.OfferedAt), Waited: formatDuration(g.Waited), Abandoned: g.Abandoned,
		Highest: g.Highest,
	}
	if f := g.Failure; f != (Failure{}) {
		s.Failure = &failedOnce{f.Request, f.Number, formatTime(f.At), f.Times}
	}
	return s
}

// text does not escape HTML: it would be six times as long.
func (s state) text() (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// ReadRecord reads the annotation of a generation. A part that is missing, or that [Record.Annotation] would not write,
// stays zero: people can edit annotations.
func ReadRecord(text string) Record {
	var s state
	if json.Unmarshal([]byte(text), &s) != nil {
		s = state{}
	}
	return Record{
		Generator: s.State.Generator, Resource: s.Resource, Follows: s.Follows, Surplus: s.State.Surplus,
		Generation: s.State.Read(),
	}
}

// Read returns the generation with this state.
func (s State) Read() Generation {
	return Generation{
		Number: s.Number, Kind: s.Kind, Rotation: s.Rotation, Adopted: s.Adopted, Retired: s.Retired,
		GracePeriod: parseDuration(s.GracePeriod), Made: parseTime(s.Made), Flagged: parseTime(s.Flagged),
		SpecHash: s.SpecHash, KeepersHash: s.KeepersHash, SourceHash: s.SourceHash,
		OfferedAt: parseTime(s.OfferedAt), Waited: parseDuration(s.Waited), Abandoned: s.Abandoned,
		Highest: inRange(s.Highest), Failure: s.Failure.read(),
	}
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

// formatDuration is empty for zero.
func formatDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
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
