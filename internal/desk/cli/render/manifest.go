package render

import (
	"encoding/base64"
	"fmt"

	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// A manifest is an object of a file, with its position.
type manifest struct {
	state.Ref

	fields map[string]any
	from   files.Object
}

func manifestOf(o files.Object) manifest {
	fields, _ := o.Value.(map[string]any)
	return manifest{state.RefIn(fields), fields, o}
}

func (d manifest) isObject() bool { return d.APIVersion != "" && d.Kind != "" }

func (d manifest) isSecret() bool { return d.APIVersion == "v1" && d.Kind == "Secret" }

// at names the object and its position, for an error. With the path of a field, the position is that of the field, or
// of the nearest parent if the field is missing.
func (d manifest) at(path ...any) string {
	if d.Name == "" {
		return d.line(path...) + ": " + d.Kind
	}
	return fmt.Sprintf("%s: %s %q", d.line(path...), d.Kind, d.Name)
}

// line returns the file and the line of a field, or of the object.
func (d manifest) line(path ...any) string {
	return fmt.Sprintf("%s:%d", d.from.File, d.from.Line(path...))
}

// named refuses an object without a name.
func (d manifest) named() error {
	if d.Name == "" {
		return fmt.Errorf("%s: %s without a name: set metadata.name", d.line("metadata"), d.Kind)
	}
	return nil
}

// resourceName returns the composition resource name of an observed object.
func (d manifest) resourceName() string {
	return state.Texts(state.Field(d.fields, "metadata", "annotations"))[world.ResourceNameAnnotation]
}

// details returns the decoded data of a Secret, or nil without one.
func (d manifest) details() map[string][]byte {
	if d.fields == nil {
		return nil
	}
	out := map[string][]byte{}
	for key, text := range state.Texts(d.fields["data"]) {
		out[key], _ = base64.StdEncoding.DecodeString(text) // it was checked
	}
	return out
}

// checkSecret changes a Secret as the API server does: stringData goes into data, and replaces existing keys. Its
// errors name the key, never the value.
func (d manifest) checkSecret() error {
	all := map[string]any{}
	for _, field := range []string{"data", "stringData"} {
		values, isMap := d.fields[field].(map[string]any)
		if !isMap && d.fields[field] != nil {
			return fmt.Errorf("%s: data and stringData must be maps of keys and values", d.at())
		}
		for _, key := range plan.SortedKeys(values) {
			text, isText := values[key].(string)
			_, err := base64.StdEncoding.DecodeString(text)
			switch {
			case !isText && values[key] != nil:
				return fmt.Errorf("%s: %s.%s is not a string: put it in quotes", d.at(field, key), field, key)
			case field == "stringData":
				text = base64.StdEncoding.EncodeToString([]byte(text))
			case err != nil:
				return fmt.Errorf("%s: data.%s is not base64: encode it, or move it to stringData", d.at(field, key), key)
			}
			all[key] = text
		}
	}
	delete(d.fields, "stringData")
	if d.fields["data"] = all; len(all) == 0 {
		delete(d.fields, "data")
	}
	return nil
}

// all reads all objects of the files, and of the YAML files in folders, in their order. A List is read as its items.
func (in *inputs) all(paths []string) ([]manifest, error) {
	read, err := in.system.Objects(paths, files.In)
	out := make([]manifest, 0, len(read))
	for _, o := range read {
		d := manifestOf(o)
		if !d.isObject() {
			return nil, fmt.Errorf("%s: not a Kubernetes object: it needs apiVersion and kind", d.line())
		}
		out = append(out, d)
	}
	return out, err
}

// one reads a file that must contain one object. Its errors name the expected object with the argument what.
func (in *inputs) one(file, what string) (manifest, error) {
	all, err := in.all([]string{file})
	switch {
	case err != nil:
		return manifest{}, err
	case len(all) == 0:
		return manifest{}, fmt.Errorf("%s: is empty: it must contain %s", file, what)
	case len(all) > 1:
		return manifest{}, fmt.Errorf("%s is a second object: the file must contain only %s", all[1].at(), what)
	}
	return all[0], nil
}

// objects reads objects with names.
func (in *inputs) objects(paths []string) ([]manifest, error) {
	all, err := in.all(paths)
	for _, d := range all {
		if err := d.named(); err != nil {
			return nil, err
		}
		if d.isSecret() {
			if err := d.checkSecret(); err != nil {
				return nil, err
			}
		}
	}
	return all, err
}
