package main

import (
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

	"github.com/crossplane-contrib/function-export/internal/composition"
	"github.com/crossplane-contrib/function-export/internal/schema"
)

// renderEnvironmentKey is where an environment lies in the pipeline context.
const renderEnvironmentKey = "apiextensions.crossplane.io/environment"

// renderInputs are the files, read and checked.
type renderInputs struct {
	// composite has a UID even if its file, xr, gives it none.
	composite, xr renderDoc
	steps         []renderStep
	skipped       []composition.Step // of the steps those that do not run
	observed      []renderDoc
	required      []renderDoc
	context       map[string]any
	schemas       *schema.Catalog
}

// A renderLayout says which file is what. A path that is "" is not there.
type renderLayout struct {
	xr, composition, functions, environment string

	observed, required, schemas []string
}

// layout finds the files, by the names they have in a folder or by their order.
func (c *renderCmd) layout() (renderLayout, error) {
	for _, p := range c.Paths {
		info, err := os.Stat(p)
		if err != nil {
			return renderLayout{}, cannotRead(p, err)
		}
		if info.IsDir() && len(c.Paths) == 1 {
			return renderFolder(p), nil
		}
		if info.IsDir() {
			return renderLayout{}, fmt.Errorf("cannot render %s with other paths: give one folder, or the files xr.yaml composition.yaml [functions.yaml]", p)
		}
	}
	if n := len(c.Paths); n != 2 && n != 3 {
		return renderLayout{}, fmt.Errorf("cannot render %d files: give one folder, or the files xr.yaml composition.yaml [functions.yaml]", n)
	}
	l := renderLayout{xr: c.Paths[0], composition: c.Paths[1]}
	if len(c.Paths) == 3 {
		l.functions = c.Paths[2]
	}
	return l, nil
}

func renderFolder(dir string) renderLayout {
	// Lstat, so that a link to nowhere is an error and not left out.
	ifThere := func(name string) []string {
		p := filepath.Join(dir, name)
		if _, err := os.Lstat(p); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return []string{p}
	}
	first := func(ps []string) string { return slices.Concat(ps, []string{""})[0] }
	return renderLayout{
		xr:          filepath.Join(dir, "xr.yaml"),
		composition: filepath.Join(dir, "composition.yaml"),
		functions:   first(ifThere("functions.yaml")),
		environment: first(ifThere("environment.yaml")),
		observed:    slices.Concat(ifThere("observed.yaml"), ifThere("observed")),
		required:    slices.Concat(ifThere("required.yaml"), ifThere("required")),
		schemas:     ifThere("xrd.yaml"),
	}
}

// load reads and checks all files. Its errors name the file and what to change,
// and hold no value of it.
func (c *renderCmd) load() (*renderInputs, error) {
	l, err := c.layout()
	if err != nil {
		return nil, err
	}
	in := &renderInputs{}
	if in.xr, err = loadRenderXR(l.xr); err != nil {
		return nil, err
	}
	in.composite = withUID(in.xr)
	if in.steps, in.skipped, err = loadRenderSteps(l.composition, in.xr); err != nil {
		return nil, err
	}
	if err := checkRenderFunctions(l.functions); err != nil {
		return nil, err
	}
	if in.observed, err = loadRenderObserved(in.composite, l.observed, c.ObservedResources); err != nil {
		return nil, err
	}
	if in.required, err = loadRenderObjects(slices.Concat(l.required, c.RequiredResources)); err != nil {
		return nil, err
	}
	if in.schemas, err = loadRenderSchemas(slices.Concat(l.schemas, c.Schema)); err != nil {
		return nil, err
	}
	in.context, err = c.loadContext(l.environment)
	return in, err
}

// loadRenderSchemas reads the kinds that XRDs and CRDs declare.
func loadRenderSchemas(paths []string) (*schema.Catalog, error) {
	out := schema.NewCatalog()
	files, err := findFiles(paths)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		docs, err := readRenderFile(f)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			if err := out.Add(d.Object); err != nil {
				return nil, fmt.Errorf("%s: %w", d.at(), err)
			}
		}
	}
	return out, nil
}

func loadRenderXR(file string) (renderDoc, error) {
	docs, err := readRenderFile(file)
	if err != nil {
		return renderDoc{}, err
	}
	if len(docs) != 1 {
		return renderDoc{}, fmt.Errorf("%s: holds %d objects: it must hold the composite resource (XR), and only that", file, len(docs))
	}
	if docs[0].GroupVersionKind().Group == "apiextensions.crossplane.io" {
		return renderDoc{}, fmt.Errorf("%s: a %s is no composite resource: give the files as xr.yaml composition.yaml [functions.yaml]", file, docs[0].GetKind())
	}
	return docs[0], docs[0].named()
}

// withUID is the composite with a UID. Every real one has a UID, so one without
// gets that which `crossplane composition render` would give it.
func withUID(xr renderDoc) renderDoc {
	out := renderDoc{xr.DeepCopy(), xr.file}
	if out.GetUID() == "" {
		id := xr.GroupVersionKind().String() + "\x00" + xr.GetNamespace() + "\x00" + xr.GetName()
		out.SetUID(types.UID(uuid.NewSHA1(uuid.Nil, []byte(id)).String()))
	}
	return out
}

// loadRenderObjects reads objects the function may ask for.
func loadRenderObjects(paths []string) ([]renderDoc, error) {
	var out []renderDoc
	for _, p := range paths {
		docs, err := readRenderDocs(p)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			if err := d.named(); err != nil {
				return nil, err
			}
			if err := d.normalizeSecret(); err != nil {
				return nil, err
			}
		}
		out = append(out, docs...)
	}
	return out, nil
}

// checkRenderFunctions only looks: which function a step runs is decided by its
// input. It finds files in the wrong order.
func checkRenderFunctions(path string) error {
	if path == "" {
		return nil
	}
	docs, err := readRenderDocs(path)
	if err != nil {
		return err
	}
	for _, d := range docs {
		if gvk := d.GroupVersionKind(); gvk.Group != "pkg.crossplane.io" || gvk.Kind != "Function" {
			return fmt.Errorf("%s is not a Function of pkg.crossplane.io: observed and required objects are given with -o and -e", d.at())
		}
	}
	return nil
}

// loadContext is what earlier steps left: the environment, files over it, and
// values over both.
func (c *renderCmd) loadContext(environment string) (map[string]any, error) {
	out := map[string]any{}
	if environment != "" {
		docs, err := readRenderFile(environment)
		if err != nil {
			return nil, err
		}
		if len(docs) != 1 {
			return nil, fmt.Errorf("%s: holds %d objects: it must hold the environment, and only that", environment, len(docs))
		}
		out[renderEnvironmentKey] = docs[0].Object
	}
	for _, key := range slices.Sorted(maps.Keys(c.ContextFiles)) {
		data, err := os.ReadFile(c.ContextFiles[key])
		if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
			err = pe.Err // without the path, which may be a value that was meant for --context-values
		}
		if err != nil {
			return nil, fmt.Errorf("--context-files%s: %w", contextKey(key, " %s: cannot read its file", ": cannot read a file"), err)
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
			return nil, fmt.Errorf("--context-values%s", contextKey(key, " %s: not valid JSON or YAML", ": a value is not valid JSON or YAML: write a semicolon in it as \\;, or give it with --context-files"))
		}
		out[key] = v
	}
	return out, nil
}

// contextKey is a text that names a key of the context, if that is a name with a domain, as all that
// Crossplane has. Anything else is a text without it: it may be part of a value with a semicolon in it.
func contextKey(key, named, unnamed string) string {
	domain, _, ok := strings.Cut(key, "/")
	if !ok || !strings.Contains(domain, ".") || len(validation.IsQualifiedName(key)) > 0 {
		return unnamed
	}
	return fmt.Sprintf(named, key)
}
