// Command reference writes the reference of the input, input/README.md: its fields, the
// variables and functions of its expressions, and its limits. go generate runs it:
//
//	go run ./internal/desk/reference package/input/export.fn.crossplane.io_exports.yaml \
//		internal/desk/jsonschema/testdata/full.yaml internal/engine/limits/limits.go input/README.md
//
// Fields come from the CustomResourceDefinition, in the order of the Go types. Variables and
// functions come from the environment of expressions. Where a variable may be used is found
// out: each expression of an input that has every field is replaced by one that uses it.
// Limits are the constants of a Go file, with their comments. It is an error
// if one of them has no description, so that nothing is missing from the page.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/template"

	"github.com/crossplane-contrib/function-export/internal/desk/vocabulary"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 4 {
		return errors.New("usage: reference CRD INPUT LIMITS PAGE")
	}
	var from [3][]byte
	for i := range from {
		text, err := os.ReadFile(args[i]) //nolint:gosec // a file of the repository
		if err != nil {
			return fmt.Errorf("cannot read: %w", err)
		}
		from[i] = text
	}
	page, err := generate(from[0], from[1], from[2])
	if err != nil {
		return err
	}
	if err := os.WriteFile(args[3], page, 0o644); err != nil { //nolint:gosec // a file of the repository
		return fmt.Errorf("cannot write page: %w", err)
	}
	return nil
}

// The text of the page, in which the tables are filled in, and its example.
var (
	//go:embed page.md.tmpl
	pageText string
	//go:embed example.yaml
	example string
)

// generate the page from the definition, an input that has every field, and the source of the limits.
func generate(definition, full, limits []byte) ([]byte, error) {
	env, err := advice.NewEnvironment()
	if err != nil {
		return nil, fmt.Errorf("cannot describe expressions: %w", err)
	}
	objects, fieldsErr := fields(definition)
	seen, variablesErr := variables(env)
	places, placesErr := visibility(env, full, seen)
	groups, functionsErr := vocabulary.Of(context.Background(), env)
	numbers, limitsErr := limitsOf(limits)
	err = errors.Join(fieldsErr, variablesErr, placesErr, functionsErr, limitsErr, allPlaces(objects, places))
	if err != nil {
		return nil, err
	}
	functions := template.FuncMap{"anchor": anchor, "cell": cell, "code": code, "paragraphs": paragraphs, "bullet": bullet}
	functions["limit"] = func(name string) (string, error) { return valueOf(numbers, name) }
	t, err := template.New("page").Funcs(functions).Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("cannot parse the text of the page: %w", err)
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Example": strings.TrimSpace(example), "Objects": objects, "Variables": seen, "Places": places,
		"Groups": groups, "Limits": numbers,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot write the page: %w", err)
	}
	return append(bytes.TrimSpace(b.Bytes()), '\n'), nil
}
