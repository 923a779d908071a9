// Command jsonschema writes JSON schemas of the function's input, for editors: one for an Exports
// document, and one for any Composition. The latter applies the former to the inputs of this
// function, and allows everything else. It reads the input's CustomResourceDefinition, which go
// generate has created before:
//
//	go run ./internal/desk/jsonschema package/input/export.fn.crossplane.io_exports.yaml package/schema internal/engine/definition/exports.json
//
// The schemas use draft-07, which yaml-language-server reads. They never refuse an input that the
// definition accepts. They contain the rules that draft-07 can express simply: required fields, and the
// allowed texts of a field. The function checks the other rules.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"

	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/definition"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: jsonschema CRD FOLDER COPY")
	}
	text, err := os.ReadFile(args[0]) //nolint:gosec // a file of the repository
	if err != nil {
		return fmt.Errorf("cannot read CustomResourceDefinition: %w", err)
	}
	files, bare, err := generate(text)
	if err != nil {
		return err
	}
	out := map[string][]byte{args[2]: bare}
	for name, content := range files {
		out[filepath.Join(args[1], name)] = content
	}
	for path, content := range out {
		if err := os.WriteFile(path, content, 0o644); err != nil { //nolint:gosec // a file of the repository
			return fmt.Errorf("cannot write schema: %w", err)
		}
	}
	return nil
}

// The URL and the names of the published schemas.
const (
	home            = "https://raw.githubusercontent.com/crossplane-contrib/function-export/main/package/schema/"
	exportsFile     = "exports.schema.json"
	compositionFile = "composition.schema.json"

	draft   = "http://json-schema.org/draft-07/schema#"
	comment = "Generated from the CustomResourceDefinition by go generate ./input. Do not edit."
)

// generate returns the files by their names, and the copy of the definition.
func generate(text []byte) (files map[string][]byte, bare []byte, err error) {
	var d struct {
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Kind string `json:"kind"`
			} `json:"names"`
			Versions []struct {
				Name   string `json:"name"`
				Schema struct {
					OpenAPIV3Schema json.RawMessage `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &d); err != nil {
		return nil, nil, fmt.Errorf("cannot read CustomResourceDefinition: %w", err)
	}
	if len(d.Spec.Versions) != 1 {
		return nil, nil, fmt.Errorf("cannot choose a version: the CustomResourceDefinition has %d of them", len(d.Spec.Versions))
	}
	version := d.Spec.Versions[0]
	raw := version.Schema.OpenAPIV3Schema
	if _, err := definition.Parse(raw); err != nil { // an unknown keyword would be lost
		return nil, nil, err
	}
	var exports, described schema
	if err := errors.Join(json.Unmarshal(raw, &exports), json.Unmarshal(raw, &described)); err != nil {
		return nil, nil, fmt.Errorf("cannot read schema: %w", err)
	}
	if bare, err = json.MarshalIndent(undescribed(described), "", " "); err != nil {
		return nil, nil, fmt.Errorf("cannot write the copy of the definition: %w", err)
	}
	if err := convert(exports, ""); err != nil {
		return nil, nil, err
	}
	object(exports, d.Spec.Group+"/"+version.Name, d.Spec.Names.Kind)
	files = map[string][]byte{}
	for name, s := range map[string]schema{exportsFile: exports, compositionFile: composition(exports, d.Spec.Group)} {
		if files[name], err = encode(name, s); err != nil {
			return nil, nil, err
		}
	}
	return files, append(bare, '\n'), nil
}

// undescribed removes the descriptions, which only people read.
func undescribed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["description"].(string); ok {
			delete(v, "description")
		}
		for _, below := range v {
			undescribed(below)
		}
	case []any:
		for _, below := range v {
			undescribed(below)
		}
	}
	return v
}

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
	input := when(ours, schema{"$ref": "#/definitions/exports"})
	s := field("spec", field("pipeline", schema{"items": field("input", input)}))
	s["definitions"] = schema{"exports": exports}
	return s
}

// encode encodes a schema as the file with that name. Members are in the order of their names, so
// that the same definition always has the same bytes.
func encode(name string, s schema) ([]byte, error) {
	file := schema{"$schema": draft, "$id": home + name, "$comment": comment}
	maps.Copy(file, s)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(file); err != nil {
		return nil, fmt.Errorf("cannot write schema: %w", err)
	}
	return b.Bytes(), nil
}
