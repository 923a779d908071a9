package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/document"
)

// A renderDoc is an object and the file it came from.
type renderDoc struct {
	*unstructured.Unstructured
	file string
}

// at names the object and its file, for an error.
func (d renderDoc) at() string {
	return fmt.Sprintf("%s: %s %q", d.file, d.GetKind(), d.GetName())
}

// message converts the object. Its errors do not quote it.
func (d renderDoc) message() (*structpb.Struct, error) {
	m, err := structpb.NewStruct(d.Object)
	if err != nil {
		return nil, fmt.Errorf("%s: holds something that is not JSON", d.at())
	}
	return m, nil
}

// readRenderDocs reads all objects of a file, or of the YAML files right inside
// a folder, sorted by file name, in the order they stand in.
func readRenderDocs(path string) ([]renderDoc, error) {
	files, err := renderFiles(path)
	if err != nil {
		return nil, err
	}
	var out []renderDoc
	for _, f := range files {
		docs, err := readRenderFile(f)
		if err != nil {
			return nil, err
		}
		out = append(out, docs...)
	}
	return out, nil
}

func renderFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, cannotRead(path, err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, cannotRead(path, err)
	}
	var files []string
	for _, e := range entries {
		file := filepath.Join(path, e.Name())
		if ext := filepath.Ext(file); ext != ".yaml" && ext != ".yml" {
			continue
		}
		// Stat, because a link's entry does not say what it leads to.
		info, err := os.Stat(file)
		if err != nil {
			return nil, cannotRead(file, err)
		}
		if !info.IsDir() {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("cannot find a .yaml or .yml file in %s", path)
	}
	return files, nil
}

func readRenderFile(file string) ([]renderDoc, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, cannotRead(file, err)
	}
	values, err := parseRenderYAML(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	docs := make([]renderDoc, 0, len(values))
	for i, v := range values {
		o, _ := v.(map[string]any)
		d := renderDoc{&unstructured.Unstructured{Object: o}, file}
		if o == nil || d.GetAPIVersion() == "" || d.GetKind() == "" {
			return nil, fmt.Errorf("%s: document %d is not a Kubernetes object: it needs apiVersion and kind", file, i+1)
		}
		docs = append(docs, d)
	}
	return docs, nil
}

// named refuses an object without a name.
func (d renderDoc) named() error {
	if d.GetName() == "" {
		return fmt.Errorf("%s: %s without a name: set metadata.name", d.file, d.GetKind())
	}
	return nil
}

// cannotRead names the file as it was given, and the cause once.
func cannotRead(file string, err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("cannot read %s: %w", file, err)
}

// parseRenderYAML parses a stream of YAML documents; empty ones are left out.
//
// Its errors name a line and nothing else: what a YAML parser says may quote the
// value it fell over.
func parseRenderYAML(text string) ([]any, error) {
	docs, err := document.Parse(text)
	if err != nil {
		return nil, err
	}
	out := make([]any, 0, len(docs))
	for _, d := range docs {
		out = append(out, d.Value())
	}
	return out, nil
}
