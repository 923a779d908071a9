// Package definition reads the CustomResourceDefinition of the input, and validates an input
// against it. Crossplane does not validate inputs: it passes an input as it is in the Composition.
// Bounds, enumerations, required fields, unique keys, and CEL rules with their messages are only
// in the definition.
package definition

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"sync"
)

// A Schema of a value, with all keywords that the definition uses. Another keyword is an error,
// because it would not be checked.
type Schema struct {
	Type                 string             `json:"type"`
	Format               string             `json:"format"`
	Description          string             `json:"description"`
	Default              any                `json:"default"`
	Example              any                `json:"example"`
	Enum                 []any              `json:"enum"`
	Pattern              *pattern           `json:"pattern"`
	MinLength            *int               `json:"minLength"`
	MaxLength            *int               `json:"maxLength"`
	Minimum              *float64           `json:"minimum"`
	Maximum              *float64           `json:"maximum"`
	Items                *Schema            `json:"items"`
	MinItems             *int               `json:"minItems"`
	MaxItems             *int               `json:"maxItems"`
	Properties           map[string]*Schema `json:"properties"`
	AdditionalProperties *Schema            `json:"additionalProperties"`
	MinProperties        *int               `json:"minProperties"`
	MaxProperties        *int               `json:"maxProperties"`
	Required             []string           `json:"required"`

	EmbeddedResource bool     `json:"x-kubernetes-embedded-resource"`
	IntOrString      bool     `json:"x-kubernetes-int-or-string"`
	ListMapKeys      []string `json:"x-kubernetes-list-map-keys"`
	ListType         string   `json:"x-kubernetes-list-type"`
	PreserveUnknown  bool     `json:"x-kubernetes-preserve-unknown-fields"`
	Rules            []*Rule  `json:"x-kubernetes-validations"`
}

// A pattern is a regular expression of RE2 that is compiled at its first use.
type pattern struct {
	text    string
	compile func() (*regexp.Regexp, error)
}

// UnmarshalJSON reads the text.
func (p *pattern) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, &p.text); err != nil {
		return fmt.Errorf("cannot read pattern: %w", err)
	}
	p.compile = sync.OnceValues(func() (*regexp.Regexp, error) { return regexp.Compile(p.text) })
	return nil
}

// String is the text.
func (p *pattern) String() string { return p.text }

// Parse a schema.
func Parse(text []byte) (*Schema, error) {
	s := &Schema{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("cannot read schema: %w", err)
	}
	return s, nil
}

// The schema of the input. go generate extracts it from the CustomResourceDefinition without the
// descriptions, because reading the whole definition takes six milliseconds at start.
//
//go:embed exports.json
var exports []byte

// Exports is the schema of the input. A test ensures that it can be parsed.
var Exports = sync.OnceValue(func() *Schema { //nolint:gochecknoglobals // read at most once
	s, err := Parse(exports)
	if err != nil {
		panic(err)
	}
	return s
})
