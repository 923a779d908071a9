package main

import (
	"reflect"
	"regexp"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/definition"
)

// A schema of draft-07.
type schema = map[string]any

// convert a schema of the definition to draft-07. A value that is not set has no keyword.
func convert(s *definition.Schema) schema {
	out := schema{}
	for keyword, value := range map[string]any{
		"type": s.Type, "default": s.Default, "enum": s.Enum, "pattern": s.Pattern,
		"minLength": s.MinLength, "maxLength": s.MaxLength, "minimum": s.Minimum, "maximum": s.Maximum,
		"minItems": s.MinItems, "maxItems": s.MaxItems, "uniqueItems": s.ListType == "set",
		"minProperties": s.MinProperties, "maxProperties": s.MaxProperties, "required": s.Required,
	} {
		if v := reflect.ValueOf(value); v.IsValid() && !v.IsZero() {
			out[keyword] = value
		}
	}
	if s.Example != nil {
		out["examples"] = []any{s.Example}
	}
	if s.Items != nil {
		out["items"] = convert(s.Items)
	}
	convertObject(s, out)
	describe(s, out)
	return out
}

// convertObject adds the fields of an object. The function refuses unknown ones.
func convertObject(s *definition.Schema, out schema) {
	fields := schema{}
	for name, below := range s.Properties {
		fields[name] = convert(below)
	}
	if len(fields) > 0 {
		out["properties"] = fields
	}
	switch {
	case s.EmbeddedResource: // as the API server has it
		text := schema{"type": "string"}
		out["properties"] = schema{"apiVersion": text, "kind": text, "metadata": schema{"type": "object"}}
		out["required"] = []string{"apiVersion", "kind"}
	case s.AdditionalProperties != nil:
		out["additionalProperties"] = convert(s.AdditionalProperties)
	case s.Type == "object" && !s.PreserveUnknown:
		out["additionalProperties"] = false
	}
}

// describe adds the description of a field, and says of an expression that it is CEL.
func describe(s *definition.Schema, out schema) {
	text := pageLink.ReplaceAllString(wrapped.ReplaceAllString(s.Description, "$1 $2"), "$1")
	if s.Expression {
		text += "\n\nIt is a CEL expression."
	}
	if text != "" {
		out["description"] = strings.TrimSpace(text)
	}
}

// pageLink matches a link to another page, which an editor cannot follow.
var pageLink = regexp.MustCompile(`\[([^\]]*)\]\(\.\./[^)]*\)`)

// wrapped matches the end of a line that is not the end of a paragraph. An editor would show each line as a paragraph.
var wrapped = regexp.MustCompile(`([^\n])\n([^\n])`)
