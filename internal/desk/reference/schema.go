package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"

	"github.com/crossplane-contrib/function-export/internal/engine/definition"
)

// The schemas for editors use draft-07, which yaml-language-server reads. One is for an Exports document, and one for any
// Composition. They never refuse an input that the definition accepts, and contain few of its rules: see rules.

// The URL and the names of the published schemas.
const (
	home            = "https://raw.githubusercontent.com/crossplane-contrib/function-export/main/package/schema/"
	exportsFile     = "exports.schema.json"
	compositionFile = "composition.schema.json"

	draft   = "http://json-schema.org/draft-07/schema#"
	comment = "Generated from the CustomResourceDefinition by go generate ./input. Do not edit."
)

// editorSchemas returns the files by their names.
func editorSchemas(d *crd) (map[string][]byte, error) {
	exports, files := convert(d.schema), map[string][]byte{}
	object(exports, d.Spec.Group+"/"+d.Spec.Versions[0].Name, d.Spec.Names.Kind)
	for name, s := range map[string]schema{exportsFile: exports, compositionFile: composition(exports, d.Spec.Group)} {
		file := schema{"$schema": draft, "$id": home + name, "$comment": comment}
		maps.Copy(file, s)
		text, err := encode(file, "  ")
		if err != nil {
			return nil, err
		}
		files[name] = text
	}
	return files, nil
}

// encode encodes a value with its members in the order of their names, so that it always has the same bytes.
func encode(value any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(value); err != nil {
		return nil, fmt.Errorf("cannot write schema: %w", err)
	}
	return b.Bytes(), nil
}

// undescribed removes the descriptions, which only people read.
func undescribed(s *definition.Schema) *definition.Schema {
	if s == nil {
		return nil
	}
	s.Description = ""
	undescribed(s.Items)
	undescribed(s.AdditionalProperties)
	for _, below := range s.Properties {
		undescribed(below)
	}
	return s
}

// field is the schema of an object with a field.
func field(name string, value schema) schema { return schema{"properties": schema{name: value}} }

// object adds the apiVersion and kind of a document. The definition leaves them to the API server,
// which never reads such a document.
func object(s schema, apiVersion, kind string) {
	properties := s["properties"].(schema) //nolint:forcetypeassert // the input has fields
	properties["apiVersion"] = schema{"const": apiVersion, "description": "APIVersion of the function's input."}
	properties["kind"] = schema{"const": kind, "description": "Kind of the function's input."}
	properties["metadata"] = schema{"type": "object", "description": "Metadata of the input. Nothing reads it."}
	s["required"] = []string{"apiVersion", "kind"}
}

// composition is the schema of any Composition, and of other objects in its file. It checks
// the inputs of the group, also those of another version than this one.
func composition(exports schema, group string) schema {
	ours := field("apiVersion", schema{"type": "string", "pattern": "^" + regexp.QuoteMeta(group) + "/"})
	ours["type"], ours["required"] = "object", []string{"apiVersion"}
	input := schema{"if": ours, "then": schema{"$ref": "#/definitions/exports"}}
	s := field("spec", field("pipeline", schema{"items": field("input", input)}))
	s["definitions"] = schema{"exports": exports}
	return s
}
