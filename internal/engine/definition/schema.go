// Package definition is the one description of the input: the CustomResourceDefinition that is generated from the Go
// types of package v1beta1. The check for unknown fields, the validation, the reference page and the schemas of editors
// read it. Package strict checks inputs against it.
package definition

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// A Schema of a value, with all keywords that the definition uses. Another keyword is an error, because it would not be
// checked.
type Schema struct {
	Type                 string             `json:"type,omitempty"`
	Format               string             `json:"format,omitempty"`
	Description          string             `json:"description,omitempty"`
	Default              any                `json:"default,omitempty"`
	Example              any                `json:"example,omitempty"`
	Enum                 []any              `json:"enum,omitempty"`
	Pattern              string             `json:"pattern,omitempty"`
	MinLength            *int               `json:"minLength,omitempty"`
	MaxLength            *int               `json:"maxLength,omitempty"`
	Minimum              *float64           `json:"minimum,omitempty"`
	Maximum              *float64           `json:"maximum,omitempty"`
	Items                *Schema            `json:"items,omitempty"`
	MinItems             *int               `json:"minItems,omitempty"`
	MaxItems             *int               `json:"maxItems,omitempty"`
	Properties           map[string]*Schema `json:"properties,omitempty"`
	AdditionalProperties *Schema            `json:"additionalProperties,omitempty"`
	MinProperties        *int               `json:"minProperties,omitempty"`
	MaxProperties        *int               `json:"maxProperties,omitempty"`
	Required             []string           `json:"required,omitempty"`

	EmbeddedResource bool     `json:"x-kubernetes-embedded-resource,omitempty"`
	ListMapKeys      []string `json:"x-kubernetes-list-map-keys,omitempty"`
	ListType         string   `json:"x-kubernetes-list-type,omitempty"`
	PreserveUnknown  bool     `json:"x-kubernetes-preserve-unknown-fields,omitempty"`
	Rules            []*Rule  `json:"x-kubernetes-validations,omitempty"`

	// The definition sorts the fields, and does not name the Go types:

	GoType     string   `json:"-"`
	Names      []string `json:"-"` // of the fields, in the order of the Go type
	Expression bool     `json:"-"` // the value is CEL
	NotEmpty   bool     `json:"-"` // an empty text is like no text

	pattern lazy.Pattern
}

// Matches reports whether a text matches the pattern.
func (s *Schema) Matches(text string) bool { return s.Pattern == "" || s.pattern().MatchString(text) }

// The schema of the input. go generate extracts it from the CustomResourceDefinition without the descriptions, because
// reading the whole definition takes six milliseconds at start.
//
//go:embed exports.json
var exports []byte

// Exports is the schema of the input. A test ensures that it can be parsed.
var Exports = sync.OnceValue(func() *Schema { //nolint:gochecknoglobals // read at most once
	s, err := Parse(exports, v1beta1.Exports{})
	if err != nil {
		panic(err)
	}
	return s
})

// Parse the schema of the type of a value.
func Parse(text []byte, of any) (*Schema, error) {
	s := &Schema{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("cannot read schema: %w", err)
	}
	s.describe("", reflect.TypeOf(of))
	return s, nil
}

// describe adds what the Go type of a field says.
func (s *Schema) describe(name string, t reflect.Type) {
	s.NotEmpty, s.pattern = t.Kind() == reflect.String, lazy.MustCompile(s.Pattern)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s.GoType = t.Name()
	isNamed := name == "value" || name == "valueMap" || strings.HasSuffix(name, "Expression")
	// The value of a label has the name of an expression, and is too short for one.
	s.Expression = isNamed && s.MaxLength != nil && *s.MaxLength == limits.ExpressionCharacters
	switch {
	case s.Items != nil:
		s.Items.describe("", t.Elem())
		s.Items.NotEmpty = false
	case s.AdditionalProperties != nil:
		s.AdditionalProperties.describe("", t.Elem())
		s.AdditionalProperties.NotEmpty, s.AdditionalProperties.Expression = false, name == "outputs"
	case s.Properties != nil:
		s.describeFields(t)
	}
}

func (s *Schema) describeFields(t reflect.Type) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if below := s.Properties[name]; below != nil {
			s.Names = append(s.Names, name)
			below.describe(name, f.Type)
		} else if f.Anonymous {
			s.describeFields(f.Type)
		}
	}
}
