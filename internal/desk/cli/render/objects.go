package render

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/files"
)

// An object of a file, with its position.
type object struct {
	*manifest
	file files.File
	from files.Object
}

// at names the object and its position, for an error. With the path of a field, the position is that of the field, or
// of the nearest parent if the field is missing.
func (d object) at(path ...any) string {
	if d.name() == "" {
		return d.line(path...) + ": " + d.kind()
	}
	return fmt.Sprintf("%s: %s %q", d.line(path...), d.kind(), d.name())
}

// line returns the file and the line of a field, or of the object.
func (d object) line(path ...any) string {
	return fmt.Sprintf("%s:%d", d.file.Name, d.from.Line(path...))
}

// message converts the object. Its errors do not quote it.
func (d object) message() (*structpb.Struct, error) {
	m, err := structpb.NewStruct(d.Object)
	if err != nil {
		return nil, fmt.Errorf("%s: contains something that is not JSON", d.at())
	}
	return m, nil
}

// An object without apiVersion and kind.
var errNoObject = errors.New("not a Kubernetes object: it needs apiVersion and kind")

// readObjects reads all objects of the files, and of the YAML files in folders, in their order. A List is read as
// its items.
func (in *inputs) readObjects(paths ...string) ([]object, error) {
	read, err := readFiles(in.system, files.In, paths)
	if err != nil {
		return nil, err
	}
	var out []object
	for _, f := range read {
		for _, o := range f.Objects() {
			d, ok := objectOf(f, o)
			if !ok {
				return nil, fmt.Errorf("%s: %w", d.line(), errNoObject)
			}
			out = append(out, d)
		}
	}
	return out, nil
}

// readFiles reads files, and those that are selected in folders.
func readFiles(system *files.System, selected files.Selection, paths []string) ([]files.File, error) {
	names, err := system.Find(paths, selected)
	if err != nil {
		return nil, err
	}
	read := system.ReadAll(names, files.AnyText)
	for _, f := range read {
		if err := f.First(); err != nil {
			return nil, err
		}
	}
	return read, nil
}

// objectOf returns an object of a file. It reports whether the object has an apiVersion and a kind.
func objectOf(f files.File, o files.Object) (object, bool) {
	content, _ := o.Value.(map[string]any)
	d := object{&manifest{Object: content}, f, o}
	return d, content != nil && d.apiVersion() != "" && d.kind() != ""
}

// named refuses an object without a name.
func (d object) named() error {
	if d.name() == "" {
		return fmt.Errorf("%s: %s without a name: set metadata.name", d.line("metadata"), d.kind())
	}
	return nil
}
