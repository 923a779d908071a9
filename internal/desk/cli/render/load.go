package render

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// environmentKey is the key of the environment in the pipeline context.
const environmentKey = "apiextensions.crossplane.io/environment"

// inputs are the files, read and checked.
type inputs struct {
	system *files.System

	// composite has a UID even if it has none in its file, xr.
	composite, xr object
	legacy        bool // the composite has the v1 style

	steps    []composition.Step
	exports  map[string]files.Step // the inputs of this function, by step
	observed []object
	details  []object // connection Secrets that are among the observed resources, but are not composed
	required []object
	context  map[string]any
	schemas  *catalog.Catalog
	now      time.Time // in now.txt, or zero
}

// A layout holds the path of each file. The path of a missing file is "".
type layout struct {
	xr, composition, functions, environment, now string

	observed, required, xrd []string
}

// The end of errors about the wrong files.
const (
	wantFiles = "the files xr.yaml composition.yaml [functions.yaml]"
	wantOrder = "pass the files in the order xr.yaml composition.yaml [functions.yaml]"
)

// layout finds the files by their names in a folder, or by their order.
func (c *Command) layout(system *files.System) (layout, error) {
	for i, p := range c.Paths {
		if files.IsFragment(p) {
			continue
		}
		isFolder, err := system.IsFolder(p)
		switch {
		case err != nil:
			return layout{}, files.CannotRead(p, err)
		case isFolder && len(c.Paths) == 1:
			return folderLayout(system, p)
		case isFolder && i != 2: // functions can be a folder
			const text = "cannot render the folder %s with other paths: pass only the folder, or %s"
			return layout{}, fmt.Errorf(text, p, wantFiles)
		}
	}
	if n := len(c.Paths); n != 2 && n != 3 {
		count := terminal.Counted(n, "file", "files")
		return layout{}, fmt.Errorf("cannot render %s: pass one folder, or %s", count, wantFiles)
	}
	l := layout{xr: c.Paths[0], composition: c.Paths[1]}
	if len(c.Paths) == 3 {
		l.functions = c.Paths[2]
	}
	return l, nil
}

func folderLayout(system *files.System, dir string) (layout, error) {
	entries, err := fs.ReadDir(system.FS, dir)
	if err != nil {
		return layout{}, files.CannotRead(dir, err)
	}
	ifThere := func(name string) []string { // a broken link is there, and an error
		if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name }) {
			return nil
		}
		return []string{filepath.Join(dir, name)}
	}
	for _, name := range []string{"xr.yaml", "composition.yaml"} {
		if ifThere(name) == nil {
			return layout{}, fmt.Errorf("cannot find %s in the folder %s: add it, or pass %s", name, dir, wantFiles)
		}
	}
	first := func(ps []string) string { return slices.Concat(ps, []string{""})[0] }
	return layout{
		xr:          filepath.Join(dir, "xr.yaml"),
		composition: filepath.Join(dir, "composition.yaml"),
		functions:   first(ifThere("functions.yaml")),
		environment: first(ifThere("environment.yaml")),
		now:         first(ifThere("now.txt")),
		observed:    slices.Concat(ifThere("observed.yaml"), ifThere("observed")),
		required:    slices.Concat(ifThere("required.yaml"), ifThere("required")),
		xrd:         ifThere("xrd.yaml"),
	}, nil
}

// load reads and checks all files. Its errors name the file, the line and the correction, and contain no
// value of the file.
func (c *Command) load(system *files.System) (*inputs, error) {
	l, err := c.layout(system)
	if err != nil {
		return nil, err
	}
	if c.XRD != "" {
		l.xrd = []string{c.XRD}
	}
	onDisk := *system
	onDisk.Stdin = nil // it is read once, and these files can be read again
	in := &inputs{system: &onDisk, schemas: catalog.NewCatalog()}
	for _, load := range []func() error{
		func() (err error) { in.xr, err = in.loadXR(l.xr); return err },
		func() error { return in.loadXRD(l.xrd) },
		func() error { return in.loadComposition(l.composition) },
		func() error { return in.checkFunctions(l.functions) },
		func() error { return in.loadObserved(l.observed, c.ObservedResources) },
		func() (err error) {
			in.required, err = in.loadObjects(slices.Concat(l.required, c.RequiredResources, c.credentials()))
			return err
		},
		func() error { return in.loadSchemas(c.RequiredSchemas) },
		func() (err error) { in.context, err = c.loadContext(in, l.environment); return err },
		func() (err error) { in.now, err = in.loadNow(l.now); return err },
	} {
		if err := load(); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// loadNow reads the time at which a folder is rendered.
func (in *inputs) loadNow(file string) (time.Time, error) {
	if file == "" {
		return time.Time{}, nil
	}
	text, err := in.system.ReadFile(file)
	if err != nil {
		return time.Time{}, files.CannotRead(file, err)
	}
	now, err := time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: must be a time, for example 2026-11-21T12:00:00Z", file)
	}
	return now, nil
}

// loadOne reads a file that must contain one object. Its errors name the expected object with the argument what.
func (in *inputs) loadOne(file, what string) (object, error) {
	docs, err := in.readObjects(file)
	switch {
	case err != nil:
		return object{}, err
	case len(docs) == 0:
		return object{}, fmt.Errorf("%s: is empty: it must contain %s", file, what)
	case len(docs) > 1:
		return object{}, fmt.Errorf("%s is a second object: the file must contain only %s", docs[1].at(), what)
	}
	return docs[0], nil
}

func (in *inputs) loadXR(file string) (object, error) {
	xr, err := in.loadOne(file, "the composite resource (XR)")
	if err != nil {
		return object{}, err
	}
	if g := xr.gvk().Group; g == composition.Group || g == packageGroup {
		return object{}, fmt.Errorf("%s is not a composite resource (XR): %s", xr.at(), wantOrder)
	}
	return object{xr.clone(), xr.file, xr.from}, xr.named()
}

// withUID returns the composite with a UID. Every real composite has one. A composite without a UID
// gets the UID that `crossplane composition render` would set.
func withUID(xr object) object {
	out := object{xr.clone(), xr.file, xr.from}
	if metadata, ok := out.value("metadata").(map[string]any); ok && out.uid() == "" {
		id := xr.gvk().String() + "\x00" + xr.namespace() + "\x00" + xr.name()
		metadata["uid"] = uuid.NewSHA1(uuid.Nil, []byte(id)).String()
	}
	return out
}

// loadObjects reads objects that the function may require.
func (in *inputs) loadObjects(paths []string) ([]object, error) {
	docs, err := in.readObjects(paths...)
	for _, d := range docs {
		if err := cmp.Or(d.named(), d.normalizeSecret()); err != nil {
			return nil, err
		}
	}
	return docs, err
}

// credentials returns the path of the Secrets that a Composition passes to functions. This function needs none. As in
// Crossplane, they are among the objects that it may require.
func (c *Command) credentials() []string {
	if c.FunctionCredentials == "" {
		return nil
	}
	return []string{c.FunctionCredentials}
}

// packageGroup is the API group of Functions.
const packageGroup = "pkg.crossplane.io"

// checkFunctions detects files in the wrong order. The functions are not used, because the input of
// a step decides which function it runs.
func (in *inputs) checkFunctions(path string) error {
	if path == "" {
		return nil
	}
	docs, err := in.readObjects(path)
	if err != nil {
		return err
	}
	for _, d := range docs {
		if gvk := d.gvk(); gvk.Group != packageGroup || gvk.Kind != "Function" {
			if gvk.Group == "meta."+packageGroup {
				return fmt.Errorf("%s is the metadata of a package, not a Function: leave %s out", d.at(), path)
			}
			return fmt.Errorf("%s is not a Function of %s: pass observed and required objects with --observed-resources and -e",
				d.at(), packageGroup)
		}
	}
	return nil
}

// loadContext returns the context of earlier steps: the environment, then files, then values. Later
// ones take precedence.
func (c *Command) loadContext(in *inputs, environment string) (map[string]any, error) {
	out := map[string]any{}
	if environment != "" {
		d, err := in.loadOne(environment, "the environment")
		if err != nil {
			return nil, err
		}
		out[environmentKey] = d.Object
	}
	for _, key := range slices.Sorted(maps.Keys(c.ContextFiles)) {
		data, err := in.system.ReadFile(c.ContextFiles[key])
		if err != nil { // the path may be a value that was meant for --context-values
			return nil, fmt.Errorf("--context-files%s: %w", contextKey(key, " %s: cannot read its file", ": cannot read a file"), files.WithoutPath(err))
		}
		var v any
		if err := yaml.Unmarshal(data, &v); err != nil {
			return nil, fmt.Errorf("--context-files%s: %s", contextKey(key, " %s", ": a file"), files.WhyNotYAML(string(data)))
		}
		out[key] = v
	}
	for _, key := range slices.Sorted(maps.Keys(c.ContextValues)) {
		if v := c.ContextValues[key]; !json.Valid([]byte(v)) && secondValue.MatchString(v) {
			return nil, errors.New("--context-values: two values are separated by a comma: write a semicolon between them, as in 'a={...};b={...}'")
		}
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

// secondValue is a comma between two values of --context-values.
var secondValue = lazy.MustCompile(`[}\]] *, *[A-Za-z][-.\w]*(?:/[-.\w]+)?=`)
