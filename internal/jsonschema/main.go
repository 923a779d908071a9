// Command jsonschema writes JSON schemas of the function's input, for editors: one of
// an Exports document, and one of any Composition, which holds our steps' inputs
// against the former and leaves all else open. It reads the input's
// CustomResourceDefinition, which go generate has made before:
//
//	go run ./internal/jsonschema package/input/export.fn.crossplane.io_exports.yaml package/schema
//
// The schemas are of draft-07, which yaml-language-server reads. They never refuse what
// the definition takes. What they cannot say of its rules is listed in rules.go; a rule
// that is not there is an error, so that none is forgotten.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: jsonschema CRD FOLDER")
	}
	crd, err := os.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("cannot read CustomResourceDefinition: %w", err)
	}
	files, err := generate(crd)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(args[1], 0o755); err != nil { //nolint:gosec // a folder of the repository
		return fmt.Errorf("cannot make folder of schemas: %w", err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(args[1], name), content, 0o644); err != nil { //nolint:gosec // a file of the repository
			return fmt.Errorf("cannot write schema: %w", err)
		}
	}
	return nil
}

// Where the schemas are published, and what they are called there.
const (
	home            = "https://raw.githubusercontent.com/crossplane-contrib/function-export/main/package/schema/"
	exportsFile     = "exports.schema.json"
	compositionFile = "composition.schema.json"

	draft   = "http://json-schema.org/draft-07/schema#"
	comment = "Generated from the CustomResourceDefinition by go generate ./input. Do not edit."
)

// A definition is what is read of a CustomResourceDefinition.
type definition struct {
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

// generate the files by their names.
func generate(crd []byte) (map[string][]byte, error) {
	var d definition
	if err := yaml.Unmarshal(crd, &d); err != nil {
		return nil, fmt.Errorf("cannot read CustomResourceDefinition: %w", err)
	}
	if len(d.Spec.Versions) != 1 {
		return nil, fmt.Errorf("cannot choose a version: the CustomResourceDefinition has %d of them", len(d.Spec.Versions))
	}
	version := d.Spec.Versions[0]
	exports, err := convert(version.Schema.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	object(exports, d.Spec.Group+"/"+version.Name, d.Spec.Names.Kind)

	files := map[string][]byte{}
	for name, s := range map[string]schema{exportsFile: exports, compositionFile: composition(exports, d.Spec.Group)} {
		if files[name], err = encode(name, s); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// object says which object a document is. The definition leaves it to the API server,
// which never sees one.
func object(s schema, apiVersion, kind string) {
	properties := s["properties"].(map[string]any) //nolint:forcetypeassert // made by convert
	properties["apiVersion"] = schema{"const": apiVersion, "description": "APIVersion of the function's input."}
	properties["kind"] = schema{"const": kind, "description": "Kind of the function's input."}
	properties["metadata"] = schema{"type": "object", "description": "Metadata of the input. Nothing reads it."}
	s["required"] = []string{"apiVersion", "kind"}
}

// composition is the schema of any Composition, and of whatever stands beside it in a
// file. An input of another version than the one that we have is one of ours, too.
func composition(exports schema, group string) schema {
	ours := all(schema{"type": "object"}, has("apiVersion"), inside("apiVersion", matching("^"+regexp.QuoteMeta(group)+"/")))
	input := when(ours, schema{"$ref": "#/definitions/exports"})
	s := inside("spec", inside("pipeline", schema{"items": inside("input", input)}))
	s["definitions"] = map[string]any{"exports": exports}
	return s
}

// encode a schema as the file of that name. Members are in the order of their names, so
// that the same definition gives the same bytes.
func encode(name string, s schema) ([]byte, error) {
	file := schema{"$schema": draft, "$id": home + name, "$comment": comment}
	for k, v := range s {
		file[k] = v
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(file); err != nil {
		return nil, fmt.Errorf("cannot write schema: %w", err)
	}
	return b.Bytes(), nil
}
