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
	if rules := rules(s); len(rules) > 0 {
		out["allOf"] = rules
	}
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

// describe adds the description of a field, and says of an expression that it is CEL, with a link to the language.
func describe(s *definition.Schema, out schema) {
	const link = "https://github.com/crossplane-contrib/function-export/blob/main/input/README.md#what-an-expression-sees"
	text := pageLink.ReplaceAllString(wrapped.ReplaceAllString(s.Description, "$1 $2"), "$1")
	rich := escape(text)
	if s.Expression {
		text, rich = text+"\n\nIt is a CEL expression.", rich+"\n\nIt is a [CEL expression]("+link+")."
	}
	if text != "" {
		out["description"], out["markdownDescription"] = strings.TrimSpace(text), strings.TrimSpace(rich)
	}
}

// pageLink matches a link to another page, which an editor cannot follow.
var pageLink = regexp.MustCompile(`\[([^\]]*)\]\(\.\./[^)]*\)`)

// markdown matches characters that have a meaning in Markdown, except for the marks of code.
var markdown = regexp.MustCompile(`[\\*_{}\[\]<>#|~]`)

// escape escapes characters with a meaning in Markdown, outside of code.
func escape(text string) string {
	end, out := 0, strings.Builder{}
	for _, at := range spans.FindAllStringIndex(text, -1) {
		out.WriteString(markdown.ReplaceAllString(text[end:at[0]], `\$0`) + text[at[0]:at[1]])
		end = at[1]
	}
	return out.String() + markdown.ReplaceAllString(text[end:], `\$0`)
}

// wrapped matches the end of a line that is not the end of a paragraph. An editor would show each line as a paragraph.
var wrapped = regexp.MustCompile(`([^\n])\n([^\n])`)

// rules returns the rules of an object that draft-07 can express simply: which fields it must have, and which exclude
// each other. The function checks the other rules. An editor shows the errorMessage of the part that does not hold.
func rules(s *definition.Schema) (out []schema) {
	for _, r := range s.Rules {
		fields, some, exclusive := r.Presence()
		if !some && !exclusive {
			continue
		}
		alternatives := make([]schema, 0, len(fields))
		for i, f := range fields {
			f = strings.Trim(f, "_")
			alternatives = append(alternatives, schema{"required": []string{f}, "errorMessage": r.Message})
			if exclusive && i+1 < len(fields) { // not by oneOf, which an editor would not explain
				out = append(out, schema{"if": schema{"required": []string{f}}, "then": without(fields[i+1:], r.Message)})
			}
		}
		if some {
			out = append(out, schema{"anyOf": alternatives})
		}
	}
	return out
}

// without forbids all of the fields. An editor marks the name of the field.
func without(fields []string, message string) schema {
	properties := schema{}
	for _, f := range fields {
		properties[strings.Trim(f, "_")] = false
	}
	return schema{"properties": properties, "errorMessage": message}
}
