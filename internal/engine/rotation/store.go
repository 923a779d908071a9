package rotation

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
)

// The only annotations that are read: the state of a generation, and the record of an export. Both are JSON, sealed
// with the data of the object.
const (
	AnnotationState  = object.StatePrefix + "generator-state"
	AnnotationRecord = object.StatePrefix + "export-state"
)

// The labels of a generation: the name of its generator, the key of the item if there is one, and the number. They
// are for people, and never read.
const (
	LabelGenerator  = object.StatePrefix + "generator"
	LabelKey        = object.StatePrefix + "generator-key"
	LabelGeneration = object.StatePrefix + "generation"
)

// stages are the texts of the stages that are stored.
var stages = []string{"", "pending", "retired", "current", "previous", "abandoned"}

// String returns the stage as it is stored, or an empty text.
func (s Stage) String() string {
	if s < 0 || int(s) >= len(stages) {
		return ""
	}
	return stages[s]
}

// storedState is the JSON of a State.
type storedState struct {
	Stage       string `json:"stage,omitempty"`
	Since       string `json:"since,omitempty"`
	Kind        string `json:"kind,omitempty"`
	SpecHash    string `json:"specHash,omitempty"`
	KeepersHash string `json:"keepersHash,omitempty"`
	SourceHash  string `json:"sourceHash,omitempty"`
	Request     string `json:"request,omitempty"`
	GracePeriod string `json:"gracePeriod,omitempty"`
	Failures    int    `json:"failures,omitempty"`
}

// MarshalJSON returns the state as it is stored. Times keep fractions of a second: a grace period must not end too
// early.
func (s State) MarshalJSON() ([]byte, error) {
	out := storedState{
		Stage: s.Stage.String(), Since: FormatTime(s.Since), Kind: s.Origin.Kind, SpecHash: s.Origin.Spec,
		KeepersHash: s.Origin.Keepers, SourceHash: s.Origin.Source, Request: s.Request, Failures: s.Failures,
	}
	if s.Grace != 0 {
		out.GracePeriod = s.Grace.String()
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the state of a generation: %w", err)
	}
	return b, nil
}

// UnmarshalJSON reads a stored state. A part that is missing or wrong is zero.
func (s *State) UnmarshalJSON(b []byte) error {
	var in storedState
	if json.Unmarshal(b, &in) != nil {
		in = storedState{}
	}
	grace := time.Duration(0)
	if in.GracePeriod != "" { // an error takes time
		grace, _ = time.ParseDuration(in.GracePeriod) // 0 on an error
	}
	*s = State{
		Stage: Stage(max(0, slices.Index(stages, in.Stage))), Since: ParseTime(in.Since),
		Origin:  Origin{Kind: in.Kind, Spec: in.SpecHash, Keepers: in.KeepersHash, Source: in.SourceHash},
		Request: in.Request, Grace: max(0, grace), Failures: min(max(0, in.Failures), limits.Retries),
	}
	return nil
}

// FormatTime returns a time as it is stored. It is empty for the zero time.
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// ParseTime returns a stored time, or zero.
func ParseTime(s string) time.Time {
	if s == "" { // an error takes time
		return time.Time{}
	}
	t, _ := time.Parse(time.RFC3339Nano, s) // zero on an error
	return t.UTC()
}
