// Command reference writes what people and editors read of the input's CustomResourceDefinition, which go generate has
// created before: the reference, input/README.md, with its fields, the functions of its expressions and its limits;
// JSON schemas for editors; and the copy of the definition that the function checks inputs against. go generate runs
// it:
//
//	go run ./internal/desk/reference package/input/export.fn.crossplane.io_exports.yaml input/README.md \
//		package/schema internal/engine/definition/exports.json internal/desk/vocabulary/fields.json
//
// Fields are in the order of the Go types. A test compares the tables of variables, which are in the text of the page,
// with the environment of expressions.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/vocabulary"
	"github.com/crossplane-contrib/function-export/internal/engine/definition"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 5 {
		return errors.New("usage: reference CRD PAGE SCHEMAS COPY FIELDS")
	}
	text, err := os.ReadFile(args[0]) //nolint:gosec // a file of the repository
	if err != nil {
		return fmt.Errorf("cannot read: %w", err)
	}
	d, err := readCRD(text)
	if err != nil {
		return err
	}
	page, pageErr := generate(d)
	schemas, schemasErr := editorSchemas(d)
	descriptions := map[string]map[string]string{}
	undescribed(d.schema, descriptions)
	described, describedErr := encode(descriptions, " ")
	copied, copyErr := encode(d.schema, " ")
	if err := errors.Join(pageErr, schemasErr, describedErr, copyErr); err != nil {
		return err
	}
	out := map[string][]byte{args[1]: page, args[3]: copied, args[4]: described}
	for name, content := range schemas {
		out[filepath.Join(args[2], name)] = content
	}
	for path, content := range out {
		if err := os.WriteFile(path, content, 0o644); err != nil { //nolint:gosec // a file of the repository
			return fmt.Errorf("cannot write: %w", err)
		}
	}
	return nil
}

// A crd is the CustomResourceDefinition of the input.
type crd struct {
	Spec struct {
		Group    string `json:"group"`
		Names    struct{ Kind string }
		Versions []struct {
			Name   string
			Schema struct{ OpenAPIV3Schema json.RawMessage }
		} `json:"versions"`
	} `json:"spec"`

	schema *definition.Schema
}

func readCRD(text []byte) (*crd, error) {
	d := &crd{}
	if err := yaml.Unmarshal(text, d); err != nil || len(d.Spec.Versions) != 1 {
		return nil, fmt.Errorf("cannot read the one version of the CustomResourceDefinition: %w", err)
	}
	// An unknown keyword would be lost.
	s, err := definition.Parse(d.Spec.Versions[0].Schema.OpenAPIV3Schema, v1beta1.Exports{})
	d.schema = s
	return d, err
}

// The text of the page, in which the lists are filled in, and its example.
var (
	//go:embed page.md.tmpl
	pageText string
	//go:embed example.yaml
	example string
)

// namesOf functions and macros, in a list.
func namesOf(entries []vocabulary.Entry) string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Names...)
		if len(e.Names) == 0 { // a macro is named as it is written
			name, _, _ := strings.Cut(e.Signatures[0], "(")
			out = append(out, name)
		}
	}
	return codes(out) + "."
}

// generate the page from the definition.
func generate(d *crd) ([]byte, error) {
	objects := fields(d.schema)
	share(objects)
	functions := template.FuncMap{
		"code": code, "codes": codes, "paragraphs": paragraphs, "bullet": bullet, "plain": plain,
		"namesOf": namesOf,
	}
	t, err := template.New("page").Option("missingkey=error").Funcs(functions).Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("cannot parse the text of the page: %w", err)
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Example": strings.TrimSpace(example), "Objects": objects, "Groups": vocabulary.Groups(),
		"Variables": vocabulary.Variables(), "Limits": limitTexts(),
	})
	if err != nil {
		return nil, fmt.Errorf("cannot write the page: %w", err)
	}
	return append(bytes.TrimSpace(b.Bytes()), '\n'), nil
}
