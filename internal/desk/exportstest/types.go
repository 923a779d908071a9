// Package exportstest tests the exports of a Composition over time. An ExportsTest says what happens to one composite,
// moment by moment, and what is expected then. The package reads tests, plays them against package world with the real
// function, and compares. It opens no file: a command reads the files that a test names.
package exportstest

import (
	_ "embed"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/advice/fields"
	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/strict"
)

// The API version and kind of a test.
const (
	Group      = "test.export.fn.crossplane.io"
	APIVersion = Group + "/v1alpha1"
	Kind       = "ExportsTest"
)

// An ExportsTest is a file with tests. The file schema.yaml says what its fields may be.
type ExportsTest struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata,omitzero"`
	Spec       Spec     `json:"spec"`
}

// Metadata names the tests.
type Metadata struct {
	Name string `json:"name,omitempty"`
}

// A Spec has the inputs that tests share, and the tests.
type Spec struct {
	Inputs Inputs              `json:"inputs,omitzero"`
	Steps  map[string]Recorded `json:"steps,omitempty"`
	Tests  []Test              `json:"tests"`
}

// Inputs are files or objects. Paths are relative to the file of the test.
type Inputs struct {
	Composition        any            `json:"composition,omitempty"`
	XR                 any            `json:"xr,omitempty"`
	XRD                any            `json:"xrd,omitempty"`
	Observed           []any          `json:"observed,omitempty"`
	ObservedResources  []any          `json:"observedResources,omitempty"`
	ExtraResources     []any          `json:"extraResources,omitempty"`
	EnvironmentConfigs []any          `json:"environmentConfigs,omitempty"`
	Schemas            []any          `json:"schemas,omitempty"`
	Context            map[string]any `json:"context,omitempty"`
}

// Recorded is what a step of another function returns.
type Recorded struct {
	Resources map[string]any `json:"resources,omitempty"`
}

// A Test is one composite over time.
type Test struct {
	Name    string   `json:"name"`
	Inputs  Inputs   `json:"inputs,omitzero"`
	Moments []Moment `json:"moments"`
	Always  []any    `json:"always,omitempty"`
}

// A Moment is a point in time: what happens, and what is expected after Crossplane has reconciled.
type Moment struct {
	Name        string                 `json:"name,omitempty"`
	At          Time                   `json:"at,omitzero"`
	After       Duration               `json:"after,omitzero"`
	Until       string                 `json:"until,omitempty"`
	Composition any                    `json:"composition,omitempty"`
	Observe     map[string]Observation `json:"observe,omitempty"`
	Do          []Action               `json:"do,omitempty"`
	Expect      *Expectation           `json:"expect,omitempty"`
}

// An Observation is what a provider reports about a composed resource.
type Observation struct {
	ConnectionDetails map[string]string `json:"connectionDetails,omitzero"`
	Ready             *bool             `json:"ready,omitempty"`
	Status            map[string]any    `json:"status,omitempty"`
	Gone              bool              `json:"gone,omitempty"`
}

// An Action has one field: what is done.
type Action struct {
	Rotate    string            `json:"rotate,omitempty"`
	Edit      *Edit             `json:"edit,omitempty"`
	Create    map[string]any    `json:"create,omitempty"`
	Delete    string            `json:"delete,omitempty"`
	Annotate  map[string]string `json:"annotate,omitempty"`
	Pause     *bool             `json:"pause,omitempty"`
	Restore   string            `json:"restore,omitempty"`
	LoseWrite string            `json:"loseWrite,omitempty"`
	Late      string            `json:"late,omitempty"`
	Restart   bool              `json:"restart,omitempty"`
	Provider  *Provider         `json:"provider,omitempty"`
}

// An Edit is a merge patch.
type Edit struct {
	Object string         `json:"object,omitempty"`
	Patch  map[string]any `json:"patch"`
}

// A Provider sets a credential that an export offers to it.
type Provider struct {
	Resource string   `json:"resource,omitempty"`
	Accepts  string   `json:"accepts"`
	Key      string   `json:"key,omitempty"`
	After    Duration `json:"after,omitzero"`
	Refuses  bool     `json:"refuses,omitempty"`
}

// An Expectation is compared with what exists. Values in objects are equal, or {matches: REGEXP}, or {absent: true}.
type Expectation struct {
	Objects   map[string]map[string]any `json:"objects,omitempty"`
	Absent    []string                  `json:"absent,omitempty"`
	Composite map[string]any            `json:"composite,omitempty"`
	Condition *ConditionExpectation     `json:"condition,omitempty"`
	Results   []ResultExpectation       `json:"results,omitempty"`
	Changed   []any                     `json:"changed,omitempty"`
	Kept      []any                     `json:"kept,omitempty"`
	Gone      []any                     `json:"gone,omitempty"`
	Assert    []string                  `json:"assert,omitempty"`
}

// A ConditionExpectation is about a condition.
type ConditionExpectation struct {
	Type    string `json:"type,omitempty"`
	Status  string `json:"status,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message any    `json:"message,omitempty"`
}

// A ResultExpectation is about a result.
type ResultExpectation struct {
	Severity string `json:"severity,omitempty"`
	Message  any    `json:"message,omitempty"`
}

// A Duration is written as 24h or 1h30m.
type Duration struct{ time.Duration }

// UnmarshalJSON parses a duration.
func (d *Duration) UnmarshalJSON(text []byte) (err error) {
	d.Duration, err = time.ParseDuration(strings.Trim(string(text), `"`))
	return err //nolint:wrapcheck // the schema has refused it
}

// MarshalJSON writes a duration.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// A Time is written as 2026-01-01T00:00:00Z.
type Time struct{ time.Time }

//go:embed schema.yaml
var schema []byte

// Schema returns the schema of an ExportsTest. Each use of the command test shows that it can be parsed.
var Schema = sync.OnceValue(func() *definition.Schema { //nolint:gochecknoglobals // read at most once
	text, err := yaml.YAMLToJSON(schema)
	if err != nil {
		panic(err)
	}
	s, err := definition.Parse(text, ExportsTest{})
	if err != nil {
		panic(err)
	}
	return s
})

// Read reads an ExportsTest. It returns diagnostics in the order of the fields, with the messages of inputs.
func Read(value map[string]any) (*ExportsTest, diagnostic.List) {
	in := world.StructOf(value)
	wrong := strict.Fields(Schema(), nil, structpb.NewStructValue(in), fields.Adviser{})
	if len(wrong) > 0 {
		return nil, wrong
	}
	out := &ExportsTest{}
	text, err := in.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		return nil, diagnostic.List{{Path: "spec", Rule: diagnostic.Input, Message: "cannot be read"}}
	}
	return out, check(out)
}
