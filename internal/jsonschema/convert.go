package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/limits"
)

// A schema of draft-07.
type schema map[string]any

// An openAPI is the schema that a CustomResourceDefinition holds, with all keywords that
// ours has. One that is not here is an error: what it says would be lost.
type openAPI struct {
	Type                 string              `json:"type"`
	Format               string              `json:"format"`
	Description          string              `json:"description"`
	Default              any                 `json:"default"`
	Enum                 []any               `json:"enum"`
	Pattern              string              `json:"pattern"`
	MinLength            *uint64             `json:"minLength"`
	MaxLength            *uint64             `json:"maxLength"`
	Minimum              *json.Number        `json:"minimum"`
	Maximum              *json.Number        `json:"maximum"`
	Items                *openAPI            `json:"items"`
	MinItems             *uint64             `json:"minItems"`
	MaxItems             *uint64             `json:"maxItems"`
	Properties           map[string]*openAPI `json:"properties"`
	AdditionalProperties *openAPI            `json:"additionalProperties"`
	MinProperties        *uint64             `json:"minProperties"`
	MaxProperties        *uint64             `json:"maxProperties"`
	Required             []string            `json:"required"`

	EmbeddedResource bool     `json:"x-kubernetes-embedded-resource"`
	IntOrString      bool     `json:"x-kubernetes-int-or-string"`
	ListMapKeys      []string `json:"x-kubernetes-list-map-keys"` // draft-07 cannot say that they are unique
	ListType         string   `json:"x-kubernetes-list-type"`
	PreserveUnknown  bool     `json:"x-kubernetes-preserve-unknown-fields"`
	Validations      []rule   `json:"x-kubernetes-validations"`
}

// A rule is what a definition says in CEL, and what is told about a value against it.
type rule struct {
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

// convert a definition's schema.
func convert(raw []byte) (schema, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	d.UseNumber()
	var o openAPI
	if err := d.Decode(&o); err != nil {
		return nil, fmt.Errorf("cannot read schema: %w", err)
	}
	return o.convert("", "")
}

// convert what is at a path, under a name.
func (o *openAPI) convert(path, name string) (schema, error) {
	out := schema{}
	if err := o.scalar(out, path); err != nil {
		return nil, err
	}
	if err := o.list(out, path); err != nil {
		return nil, err
	}
	if err := o.object(out, path, name); err != nil {
		return nil, err
	}
	if o.Description != "" {
		out["description"] = unwrap(o.Description)
	}
	if o.isExpression(name) {
		describeExpression(out)
	}
	return out, o.rules(out, path)
}

// scalar converts what any value may have, and texts and numbers.
func (o *openAPI) scalar(out schema, path string) error {
	switch {
	case o.IntOrString:
		out["type"] = []string{"integer", "string"}
	case o.Type == "":
		return fmt.Errorf("cannot convert %q: it has no type", path)
	default:
		out["type"] = o.Type
	}
	if o.Format != "" && o.Format != "int64" && o.Format != "int32" { // of which the function takes all that JSON has
		return fmt.Errorf("cannot convert %q: format %s is not known", path, o.Format)
	}
	set(out, "minLength", o.MinLength)
	set(out, "maxLength", o.MaxLength)
	set(out, "minimum", o.Minimum)
	set(out, "maximum", o.Maximum)
	if o.Default != nil {
		out["default"] = o.Default
	}
	if o.Enum != nil {
		out["enum"] = o.Enum
	}
	if o.Pattern != "" {
		out["pattern"] = o.Pattern
	}
	return nil
}

func (o *openAPI) list(out schema, path string) error {
	set(out, "minItems", o.MinItems)
	set(out, "maxItems", o.MaxItems)
	switch o.ListType {
	case "set":
		out["uniqueItems"] = true
	case "", "atomic", "map":
	default:
		return fmt.Errorf("cannot convert %q: list type %s is not known", path, o.ListType)
	}
	if o.Items == nil {
		return nil
	}
	items, err := o.Items.convert(path+"[]", "")
	out["items"] = items
	return err
}

// object converts fields. Those that are not listed are refused, as the function does.
func (o *openAPI) object(out schema, path, name string) error {
	set(out, "minProperties", o.MinProperties)
	set(out, "maxProperties", o.MaxProperties)
	properties, required := map[string]any{}, o.Required
	if o.EmbeddedResource { // as the API server has it
		properties["apiVersion"], properties["kind"], properties["metadata"] = schema{"type": "string"}, schema{"type": "string"}, schema{"type": "object"}
		required = append(slices.Clone(required), "apiVersion", "kind")
	}
	for field, p := range o.Properties {
		s, err := p.convert(path+"."+field, field)
		if err != nil {
			return err
		}
		properties[field] = s
	}
	if len(properties) > 0 {
		out["properties"] = properties
	}
	if len(required) > 0 {
		out["required"] = required
	}
	switch {
	case o.AdditionalProperties != nil:
		values, err := o.AdditionalProperties.convert(path+"{}", "")
		if name == expressionMap {
			describeExpression(values)
		}
		out["additionalProperties"] = values
		return err
	case o.Type == "object" && !o.PreserveUnknown:
		out["additionalProperties"] = false
	}
	return nil
}

// rules converts the rules of a value.
func (o *openAPI) rules(out schema, path string) error {
	var all []schema
	for _, r := range o.Validations {
		t, ok := translations[r.Rule]
		if !ok {
			return fmt.Errorf("cannot translate rule %q of %q: add it to the translations", r.Rule, path)
		}
		if t.says != nil {
			all = append(all, tell(t.says, r.Message))
		}
	}
	if len(all) > 0 {
		out["allOf"] = all
	}
	return nil
}

// set a keyword that is there.
func set[T any](out schema, keyword string, value *T) {
	if value != nil {
		out[keyword] = *value
	}
}

// expressionMap is the field whose members are expressions.
const expressionMap = "outputs"

// isExpression reports whether a field is CEL by its name: a label's value, too, is
// called value, but is too short for an expression.
func (o *openAPI) isExpression(name string) bool {
	named := name == "value" || name == "valueMap" || strings.HasSuffix(name, "Expression")
	return named && o.MaxLength != nil && *o.MaxLength == limits.ExpressionCharacters
}

// describeExpression says of a field that it is CEL, and where its language is described.
func describeExpression(out schema) {
	const link = "https://github.com/crossplane-contrib/function-export#what-an-expression-sees"
	text, _ := out["description"].(string)
	out["description"] = strings.TrimSpace(text + "\n\nIt is a CEL expression.")
	out["markdownDescription"] = strings.TrimSpace(escape(text) + "\n\nIt is a [CEL expression](" + link + ").")
}

var markdown = regexp.MustCompile("[\\\\*_{}\\[\\]<>#|~]")

// unwrap the lines of paragraphs: an editor would show each as one of its own.
func unwrap(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = strings.ReplaceAll(p, "\n", " ")
	}
	return strings.Join(paragraphs, "\n\n")
}

// escape what has a meaning in Markdown, but for the marks of code.
func escape(text string) string { return markdown.ReplaceAllString(text, `\$0`) }
