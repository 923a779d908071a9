package render

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/cli/files"
	"github.com/crossplane-contrib/function-export/internal/composition"
	"github.com/crossplane-contrib/function-export/internal/schema"
)

// environmentKey is the key of the environment in the pipeline context.
const environmentKey = "apiextensions.crossplane.io/environment"

// inputs are the files, read and checked.
type inputs struct {
	// composite has a UID even if it has none in its file, xr.
	composite, xr object
	steps         []composition.Step
	observed      []object
	required      []object
	context       map[string]any
	schemas       *schema.Catalog
}

// A layout holds the path of each file. The path of a missing file is "".
type layout struct {
	xr, composition, functions, environment string

	observed, required, schemas []string
}

// layout finds the files by their names in a folder, or by their order.
func (c *Command) layout() (layout, error) {
	for _, p := range c.Paths {
		info, err := os.Stat(p)
		if err != nil {
			return layout{}, files.CannotRead(p, err)
		}
		if info.IsDir() && len(c.Paths) == 1 {
			return folderLayout(p), nil
		}
		if info.IsDir() {
			return layout{}, fmt.Errorf("cannot render %s with other paths: pass one folder, or the files xr.yaml composition.yaml [functions.yaml]", p)
		}
	}
	if n := len(c.Paths); n != 2 && n != 3 {
		return layout{}, fmt.Errorf("cannot render %d files: pass one folder, or the files xr.yaml composition.yaml [functions.yaml]", n)
	}
	l := layout{xr: c.Paths[0], composition: c.Paths[1]}
	if len(c.Paths) == 3 {
		l.functions = c.Paths[2]
	}
	return l, nil
}

func folderLayout(dir string) layout {
	// Lstat, so that a broken link is an error and not ignored.
	ifThere := func(name string) []string {
		p := filepath.Join(dir, name)
		if _, err := os.Lstat(p); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return []string{p}
	}
	first := func(ps []string) string { return slices.Concat(ps, []string{""})[0] }
	return layout{
		xr:          filepath.Join(dir, "xr.yaml"),
		composition: filepath.Join(dir, "composition.yaml"),
		functions:   first(ifThere("functions.yaml")),
		environment: first(ifThere("environment.yaml")),
		observed:    slices.Concat(ifThere("observed.yaml"), ifThere("observed")),
		required:    slices.Concat(ifThere("required.yaml"), ifThere("required")),
		schemas:     ifThere("xrd.yaml"),
	}
}

// load reads and checks all files. Its errors name the file and the correction, and contain no
// value of the file.
func (c *Command) load() (*inputs, error) {
	l, err := c.layout()
	if err != nil {
		return nil, err
	}
	in := &inputs{}
	if in.xr, err = loadXR(l.xr); err != nil {
		return nil, err
	}
	in.composite = withUID(in.xr)
	if in.steps, err = loadSteps(l.composition, in.xr); err != nil {
		return nil, err
	}
	if err := checkFunctions(l.functions); err != nil {
		return nil, err
	}
	if in.observed, err = loadObserved(in.composite, l.observed, c.ObservedResources); err != nil {
		return nil, err
	}
	if in.required, err = loadObjects(slices.Concat(l.required, c.RequiredResources)); err != nil {
		return nil, err
	}
	if in.schemas, err = loadSchemas(slices.Concat(l.schemas, c.Schema)); err != nil {
		return nil, err
	}
	in.context, err = c.loadContext(l.environment)
	return in, err
}

// loadSchemas reads the kinds that XRDs and CRDs declare.
func loadSchemas(paths []string) (*schema.Catalog, error) {
	out := schema.NewCatalog()
	docs, err := readObjects(files.Below, paths...)
	if err != nil {
		return nil, err
	}
	for _, d := range docs {
		if err := out.Add(d.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", d.at(), err)
		}
	}
	return out, nil
}

// loadOne reads a file that must contain one object. Its errors name the expected object with the argument what.
func loadOne(file, what string) (object, error) {
	docs, err := readObjects(files.In, file)
	if err != nil {
		return object{}, err
	}
	if len(docs) != 1 {
		return object{}, fmt.Errorf("%s: holds %d objects: it must contain only %s", file, len(docs), what)
	}
	return docs[0], nil
}

func loadXR(file string) (object, error) {
	xr, err := loadOne(file, "the composite resource (XR)")
	if err != nil {
		return object{}, err
	}
	if xr.GroupVersionKind().Group == composition.Group {
		return object{}, fmt.Errorf("%s: a %s is not a composite resource: pass the files as xr.yaml composition.yaml [functions.yaml]", file, xr.GetKind())
	}
	return xr, xr.named()
}

// loadSteps reads the pipeline that composes the composite.
func loadSteps(file string, xr object) ([]composition.Step, error) {
	d, err := loadOne(file, "the Composition")
	if err != nil {
		return nil, err
	}
	if gvk := d.GroupVersionKind(); gvk.Group != composition.Group || gvk.Kind != composition.Kind {
		return nil, fmt.Errorf("%s is not a Composition of %s", d.at(), composition.Group)
	}
	c, err := composition.Read(d.Object)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, err)
	case c.CompositeAPIVersion != xr.GetAPIVersion() || c.CompositeKind != xr.GetKind():
		return nil, fmt.Errorf("%s: spec.compositeTypeRef is %s %s, but the composite in %s is %s %s: make them equal",
			file, c.CompositeAPIVersion, c.CompositeKind, xr.file, xr.GetAPIVersion(), xr.GetKind())
	case c.Mode != "Pipeline":
		return nil, fmt.Errorf("%s: spec.mode is %q: set it to Pipeline", file, c.Mode)
	case len(c.Steps) == 0:
		return nil, fmt.Errorf("%s: spec.pipeline is empty: add a step with an input of kind %s", file, v1beta1.Kind)
	}
	for i, s := range c.Steps {
		if s.Name == "" || slices.ContainsFunc(c.Steps[:i], func(before composition.Step) bool { return before.Name == s.Name }) {
			return nil, fmt.Errorf("%s: spec.pipeline[%d].step is %q: give every step a name of its own", file, i, s.Name)
		}
	}
	if !slices.ContainsFunc(c.Steps, files.IsExports) {
		return nil, fmt.Errorf("%s: no pipeline step has an input of function-export: set an input to apiVersion %s, kind %s",
			file, v1beta1.APIVersion, v1beta1.Kind)
	}
	return c.Steps, nil
}

// withUID returns the composite with a UID. Every real composite has one. A composite without a UID
// gets the UID that `crossplane composition render` would set.
func withUID(xr object) object {
	out := object{xr.DeepCopy(), xr.file}
	if out.GetUID() == "" {
		id := xr.GroupVersionKind().String() + "\x00" + xr.GetNamespace() + "\x00" + xr.GetName()
		out.SetUID(types.UID(uuid.NewSHA1(uuid.Nil, []byte(id)).String()))
	}
	return out
}

// loadObjects reads objects that the function may require.
func loadObjects(paths []string) ([]object, error) {
	docs, err := readObjects(files.In, paths...)
	for _, d := range docs {
		if err := cmp.Or(d.named(), d.normalizeSecret()); err != nil {
			return nil, err
		}
	}
	return docs, err
}

// checkFunctions detects files in the wrong order. The functions are not used, because the input of
// a step decides which function it runs.
func checkFunctions(path string) error {
	if path == "" {
		return nil
	}
	docs, err := readObjects(files.In, path)
	if err != nil {
		return err
	}
	for _, d := range docs {
		if gvk := d.GroupVersionKind(); gvk.Group != "pkg.crossplane.io" || gvk.Kind != "Function" {
			return fmt.Errorf("%s is not a Function of pkg.crossplane.io: pass observed and required objects with -o and -e", d.at())
		}
	}
	return nil
}

// loadContext returns the context of earlier steps: the environment, then files, then values. Later
// ones take precedence.
func (c *Command) loadContext(environment string) (map[string]any, error) {
	out := map[string]any{}
	if environment != "" {
		d, err := loadOne(environment, "the environment")
		if err != nil {
			return nil, err
		}
		out[environmentKey] = d.Object
	}
	for _, key := range slices.Sorted(maps.Keys(c.ContextFiles)) {
		data, err := os.ReadFile(c.ContextFiles[key])
		if err != nil { // the path may be a value that was meant for --context-values
			return nil, fmt.Errorf("--context-files%s: %w", contextKey(key, " %s: cannot read its file", ": cannot read a file"), files.WithoutPath(err))
		}
		var v any
		if err := yaml.Unmarshal(data, &v); err != nil {
			return nil, fmt.Errorf("--context-files%s", contextKey(key, " %s: not valid JSON or YAML", ": a file is not valid JSON or YAML"))
		}
		out[key] = v
	}
	for _, key := range slices.Sorted(maps.Keys(c.ContextValues)) {
		var v any
		if err := yaml.Unmarshal([]byte(c.ContextValues[key]), &v); err != nil {
			return nil, fmt.Errorf("--context-values%s", contextKey(key, " %s: not valid JSON or YAML", ": a value is not valid JSON or YAML: write a semicolon in it as \\;, or use --context-files"))
		}
		out[key] = v
	}
	return out, nil
}

// contextKey returns a text that names a key of the context, if the key is a name with a domain, as all
// keys of Crossplane are. Otherwise the text does not contain the key, because it may be part of a value
// with a semicolon.
func contextKey(key, named, unnamed string) string {
	domain, _, ok := strings.Cut(key, "/")
	if !ok || !strings.Contains(domain, ".") || len(validation.IsQualifiedName(key)) > 0 {
		return unnamed
	}
	return fmt.Sprintf(named, key)
}
