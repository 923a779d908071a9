package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// A schema, of the definition or of draft-07. They share most keywords.
type schema = map[string]any

// convert the schema of a field of the definition to draft-07, in place.
func convert(s schema, name string) error {
	if err := convertBelow(s); err != nil {
		return err
	}
	rules, err := translateAll(s["x-kubernetes-validations"])
	if err != nil {
		return err
	}
	if len(rules) > 0 {
		s["allOf"] = rules
	}
	if s["type"] == "object" && s["additionalProperties"] == nil && s["x-kubernetes-preserve-unknown-fields"] == nil {
		s["additionalProperties"] = false // because the function refuses unknown fields
	}
	convertKeywords(s)
	if text, ok := s["description"].(string); ok {
		s["description"] = unwrap(text)
		if strings.Contains(text, "`") {
			s["markdownDescription"] = escape(unwrap(text))
		}
	}
	if isExpression(s, name) {
		describeExpression(s)
	}
	if values, ok := s["additionalProperties"].(schema); ok && name == "outputs" { // whose members are expressions
		describeExpression(values)
	}
	maps.DeleteFunc(s, func(keyword string, _ any) bool {
		return keyword == "format" || keyword == "example" || strings.HasPrefix(keyword, "x-kubernetes-")
	})
	return nil
}

// convertKeywords converts keywords of the definition that draft-07 spells in another way.
func convertKeywords(s schema) {
	if s["x-kubernetes-embedded-resource"] != nil { // as the API server has it
		text := schema{"type": "string"}
		s["properties"] = schema{"apiVersion": text, "kind": text, "metadata": schema{"type": "object"}}
		s["required"] = []string{"apiVersion", "kind"}
	}
	if s["x-kubernetes-int-or-string"] != nil {
		s["type"] = []string{"integer", "string"}
	}
	if s["x-kubernetes-list-type"] == "set" {
		s["uniqueItems"] = true
	}
	if example := s["example"]; example != nil {
		s["examples"] = []any{example}
	}
}

// convertBelow converts the schemas of fields, items and members.
func convertBelow(s schema) error {
	below := map[string]any{"": s["items"], "*": s["additionalProperties"]}
	fields, _ := s["properties"].(schema)
	maps.Copy(below, fields)
	for name, b := range below {
		if b, ok := b.(schema); ok {
			if err := convert(b, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// translateAll translates the rules of a value.
func translateAll(raw any) ([]schema, error) {
	text, err := json.Marshal(raw)
	if err != nil {
		return nil, fmt.Errorf("cannot read rules: %w", err)
	}
	var rules []*definition.Rule
	if err := json.Unmarshal(text, &rules); err != nil {
		return nil, fmt.Errorf("cannot read rules: %w", err)
	}
	var out []schema
	for _, r := range rules {
		if s := translate(r); s != nil {
			out = append(out, s)
		}
	}
	return out, nil
}

// isExpression reports whether a field is CEL. The value of a label has the same field name as an
// expression, but is too short for one.
func isExpression(s schema, name string) bool {
	named := name == "value" || name == "valueMap" || strings.HasSuffix(name, "Expression")
	return named && s["maxLength"] == float64(limits.ExpressionCharacters)
}

// describeExpression adds to the description of a field that it is CEL, with a link to the language.
func describeExpression(s schema) {
	const link = "https://github.com/crossplane-contrib/function-export/blob/main/input/README.md#what-an-expression-sees"
	text, _ := s["description"].(string)
	s["description"] = strings.TrimSpace(text + "\n\nIt is a CEL expression.")
	s["markdownDescription"] = strings.TrimSpace(escape(text) + "\n\nIt is a [CEL expression](" + link + ").")
}

// Characters that have a meaning in Markdown, except for the marks of code, and code.
var (
	markdown = regexp.MustCompile(`[\\*_{}\[\]<>#|~]`)
	spans    = regexp.MustCompile("``.*?``|`[^`]*`")
)

// escape escapes characters with a meaning in Markdown, outside of code.
func escape(text string) string {
	end, out := 0, strings.Builder{}
	for _, at := range spans.FindAllStringIndex(text, -1) {
		out.WriteString(markdown.ReplaceAllString(text[end:at[0]], `\$0`) + text[at[0]:at[1]])
		end = at[1]
	}
	return out.String() + markdown.ReplaceAllString(text[end:], `\$0`)
}

// unwrap joins the lines of paragraphs, because an editor would show each line as a paragraph.
func unwrap(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = strings.ReplaceAll(p, "\n", " ")
	}
	return strings.Join(paragraphs, "\n\n")
}
