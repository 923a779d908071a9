package render

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/cli/files"
)

// An object of a file, with the file.
type object struct {
	*unstructured.Unstructured
	file string
}

// at names the object and its file, for an error.
func (d object) at() string {
	return fmt.Sprintf("%s: %s %q", d.file, d.GetKind(), d.GetName())
}

// message converts the object. Its errors do not quote it.
func (d object) message() (*structpb.Struct, error) {
	m, err := structpb.NewStruct(d.Object)
	if err != nil {
		return nil, fmt.Errorf("%s: contains something that is not JSON", d.at())
	}
	return m, nil
}

// readObjects reads all objects of the files, and of the YAML files that filesIn finds in folders, in their
// order.
func readObjects(filesIn func(folder string) ([]string, error), paths ...string) ([]object, error) {
	names, err := files.Find(paths, filesIn)
	if err != nil {
		return nil, err
	}
	var out []object
	for _, f := range files.ReadAll(names, nil, files.AnyText) {
		docs, err := f.Whole()
		if err != nil {
			return nil, err
		}
		for i, doc := range docs {
			o, _ := doc.Value().(map[string]any)
			d := object{&unstructured.Unstructured{Object: o}, f.Name}
			if o == nil || d.GetAPIVersion() == "" || d.GetKind() == "" {
				return nil, fmt.Errorf("%s: document %d is not a Kubernetes object: it needs apiVersion and kind", f.Name, i+1)
			}
			out = append(out, d)
		}
	}
	return out, nil
}

// named refuses an object without a name.
func (d object) named() error {
	if d.GetName() == "" {
		return fmt.Errorf("%s: %s without a name: set metadata.name", d.file, d.GetKind())
	}
	return nil
}
