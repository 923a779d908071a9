package render

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/structpb"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// environmentKey is the key of the environment in the pipeline context.
const environmentKey = "apiextensions.crossplane.io/environment"

// inputs are the files, read and checked.
type inputs struct {
	pipeline.Setup

	system  *files.System
	xr      manifest              // as it is in its file
	exports map[string]files.Step // the inputs of this function, by step
	context map[string]any
	schemas *catalog.Catalog
	now     time.Time // in now.txt, or zero
}

// The end of errors about the wrong files.
const (
	wantFiles = "the files xr.yaml composition.yaml [functions.yaml]"
	wantOrder = "pass the files in the order xr.yaml composition.yaml [functions.yaml]"
)

// inFolder returns the command with the files of a folder, if its path is one, and the paths of files that no flag has.
// Files of flags follow those of the folder. Functions are not read, because the input of a step decides which function
// it runs.
func (c *Command) inFolder(system *files.System) (all Command, environment, now string, err error) {
	if all = *c; len(c.Paths) == 2 || len(c.Paths) == 3 {
		return all, "", "", nil
	}
	dir := c.Paths[0]
	isFolder, err := system.IsFolder(dir)
	if err != nil {
		return all, "", "", files.CannotRead(dir, err)
	}
	if !isFolder || len(c.Paths) > 1 {
		count := terminal.Counted(len(c.Paths), "file", "files")
		return all, "", "", fmt.Errorf("cannot render %s: pass one folder, or %s", count, wantFiles)
	}
	entries, err := fs.ReadDir(system.FS, dir)
	if err != nil {
		return all, "", "", files.CannotRead(dir, err)
	}
	there := func(names ...string) (out []string) { // a broken link is there, and an error
		for _, name := range names {
			if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name }) {
				out = append(out, filepath.Join(dir, name))
			}
		}
		return out
	}
	for _, name := range []string{"xr.yaml", "composition.yaml"} {
		if there(name) == nil {
			return all, "", "", fmt.Errorf("cannot find %s in the folder %s: add it, or pass %s", name, dir, wantFiles)
		}
	}
	one := func(name string) string { return append(there(name), "")[0] }
	all.Paths = []string{filepath.Join(dir, "xr.yaml"), filepath.Join(dir, "composition.yaml")}
	all.XRD = cmp.Or(c.XRD, one("xrd.yaml"))
	all.ObservedResources = append(there("observed.yaml", "observed"), c.ObservedResources...)
	all.RequiredResources = append(there("required.yaml", "required"), c.RequiredResources...)
	return all, one("environment.yaml"), one("now.txt"), nil
}

// load reads and checks all files. Its errors name the file, the line and the correction, and contain no
// value of the file.
func (c *Command) load(system *files.System) (*inputs, error) {
	l, environment, now, err := c.inFolder(system)
	if err != nil {
		return nil, err
	}
	onDisk := *system
	onDisk.Stdin = nil // it is read once, and these files can be read again
	in := &inputs{system: &onDisk, schemas: catalog.NewCatalog()}
	in.Schemas = func(s *fnv1.SchemaSelector) *fnv1.Schema { // an empty one was not found
		return &fnv1.Schema{OpenapiV3: in.schemas.Find(catalog.Kind{APIVersion: s.GetApiVersion(), Kind: s.GetKind()})}
	}
	for _, load := range []func() error{
		func() error { return in.loadXR(l.Paths[0], l.XRD) },
		func() (err error) { in.Pipeline, err = in.loadComposition(l.Paths[1]); return err },
		func() error {
			return in.loadObjects(l.ObservedResources, len(c.ObservedResources), l.RequiredResources)
		},
		func() error { return in.loadSchemas(l.RequiredSchemas) },
		func() error { return in.loadContext(c, environment) },
		func() error { return in.loadNow(now) },
	} {
		if err := load(); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// loadNow reads the time at which a folder is rendered.
func (in *inputs) loadNow(file string) error {
	if file == "" {
		return nil
	}
	text, err := in.system.ReadFile(file)
	if err != nil {
		return files.CannotRead(file, err)
	}
	if in.now, err = time.Parse(time.RFC3339, strings.TrimSpace(string(text))); err != nil {
		return fmt.Errorf("%s: must be a time, for example 2026-11-21T12:00:00Z", file)
	}
	return nil
}

// loadXR reads the composite. As the API server does, it sets fields to the defaults of the definition.
func (in *inputs) loadXR(file, xrd string) error {
	xr, err := in.one(file, "the composite resource (XR)")
	if err != nil {
		return err
	}
	if g := object.GroupOf(xr.APIVersion); g == composition.Group || g == packageGroup {
		return fmt.Errorf("%s is not a composite resource (XR): %s", xr.at(), wantOrder)
	}
	if err := xr.named(); err != nil {
		return err
	}
	if xrd != "" {
		if err := in.loadSchemas([]string{xrd}); err != nil {
			return err
		}
		s := in.schemas.Find(catalog.Kind{APIVersion: xr.APIVersion, Kind: xr.Kind})
		if s == nil {
			return fmt.Errorf("%s: has no definition of %s of %s, the kind of the composite at %s: "+
				"pass the CompositeResourceDefinition of the composite", xrd, xr.Kind, xr.APIVersion, xr.line())
		}
		catalog.SetDefaults(xr.fields, s)
	}
	in.xr, in.XR = xr, withUID(xr)
	return nil
}

// withUID returns the composite with a UID, which every real one has. A composite without a UID gets the UID that
// `crossplane composition render` would set.
func withUID(xr manifest) *structpb.Struct {
	out := world.StructOf(xr.fields)
	if world.Meta(out, "uid") == "" {
		id := kubeschema.FromAPIVersionAndKind(xr.APIVersion, xr.Kind).String() + "\x00" + xr.Namespace + "\x00" + xr.Name
		world.Set(out, uuid.NewSHA1(uuid.Nil, []byte(id)).String(), "metadata", "uid")
	}
	return out
}

// packageGroup is the API group of Functions.
const packageGroup = "pkg.crossplane.io"

// loadComposition reads a pipeline that composes the composite.
func (in *inputs) loadComposition(file string) (*pipeline.Pipeline, error) {
	d, err := in.one(file, "the Composition")
	if err != nil {
		return nil, err
	}
	if object.GroupOf(d.APIVersion) != composition.Group || d.Kind != composition.Kind {
		return nil, fmt.Errorf("%s is not a Composition of %s: %s", d.at(), composition.Group, wantOrder)
	}
	c, err := composition.Read(d.fields)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", d.line(decode.At(err)...), err)
	case c.CompositeAPIVersion != in.xr.APIVersion || c.CompositeKind != in.xr.Kind:
		return nil, fmt.Errorf("%s: spec.compositeTypeRef is %s %s, but the composite at %s is %s %s: make them equal",
			d.line("spec", "compositeTypeRef"), c.CompositeAPIVersion, c.CompositeKind, in.xr.line(), in.xr.APIVersion,
			in.xr.Kind)
	case !slices.ContainsFunc(c.Steps, pipeline.IsExports):
		return nil, fmt.Errorf("%s: no pipeline step has an input of function-export: add a step with an input of "+
			"apiVersion %s, kind %s",
			d.line("spec", "pipeline"), v1beta1.APIVersion, v1beta1.Kind)
	}
	in.exports = map[string]files.Step{}
	steps, _ := files.StepsIn(d.from) // an error in an input is a diagnostic of the function
	for _, s := range steps {
		in.exports[s.Name] = s
	}
	return pipeline.New(c), nil
}

// loadContext reads the context of earlier steps: the environment, then files, then values. Later ones take
// precedence. Its errors quote neither values nor keys: a key may be part of a value with a semicolon.
func (in *inputs) loadContext(c *Command, environment string) (err error) {
	in.context = map[string]any{}
	if environment != "" {
		d, err := in.one(environment, "the environment")
		if err != nil {
			return err
		}
		in.context[environmentKey] = d.fields
	}
	for _, key := range plan.SortedKeys(c.ContextFiles) {
		data, err := in.system.ReadFile(c.ContextFiles[key])
		if err != nil {
			return fmt.Errorf("--context-files: cannot read a file: %w", files.WithoutPath(err))
		}
		if in.context[key], err = valueOf(string(data)); err != nil {
			return fmt.Errorf("--context-files: a file: %w", err)
		}
	}
	for key, text := range c.ContextValues {
		if in.context[key], err = valueOf(text); err != nil {
			return errors.New("--context-values: a value is not valid JSON or YAML: separate values with a semicolon, " +
				"write a semicolon in a value as \\;, or use --context-files")
		}
	}
	in.Context = world.StructOf(in.context)
	return nil
}

// valueOf returns the first value in a text. Its errors quote no value.
func valueOf(text string) (any, error) {
	docs, wrong := document.Parse(text)
	switch {
	case len(wrong) > 0:
		return nil, wrong[0]
	case len(docs) == 0:
		return nil, nil //nolint:nilnil // an empty text is null
	}
	return docs[0].Value(), nil
}

// loadSchemas reads the kinds that definitions and OpenAPI documents declare.
func (in *inputs) loadSchemas(paths []string) error {
	read, err := in.system.Objects(paths, files.WithJSONBelow)
	if err != nil {
		return err
	}
	for _, o := range read {
		d, add := manifestOf(o), in.schemas.Add
		switch {
		case catalog.IsOpenAPI(d.fields):
			add = in.schemas.AddOpenAPI
		case !d.isObject():
			return fmt.Errorf("%s: neither a CustomResourceDefinition, a CompositeResourceDefinition, "+
				"nor an OpenAPI v3 document of kubectl get --raw /openapi/v3/apis/GROUP/VERSION", d.line())
		}
		if err := add(d.fields); err != nil {
			return fmt.Errorf("%s: %w", d.line(decode.At(err)...), err)
		}
	}
	return nil
}

// loadObjects reads observed composed resources and other objects. A resource of a flag replaces one with the same
// composition resource name in the folder, and no two resources of one place may have the same.
func (in *inputs) loadObjects(observed []string, ofFlags int, required []string) error {
	others, err := in.objects(required)
	if err != nil {
		return err
	}
	byName, inFolder := map[string]manifest{}, len(observed)-ofFlags
	for _, paths := range [][]string{observed[:inFolder], observed[inFolder:]} {
		read, err := in.objects(paths)
		if err != nil {
			return err
		}
		group := map[string]manifest{}
		for _, d := range read {
			name := d.resourceName()
			if name == "" && d.isSecret() { // of the resource that names it as its connection Secret
				others = slices.Insert(others, 0, d)
				continue
			}
			if err := in.checkObserved(d); err != nil {
				return err
			}
			if other, ok := group[name]; ok {
				return fmt.Errorf("%s has the same annotation %s=%s as %s: set a different one on each",
					d.at("metadata", "annotations"), world.ResourceNameAnnotation, name, other.at("metadata", "annotations"))
			}
			group[name] = d
		}
		maps.Copy(byName, group)
	}
	in.setObjects(byName, others)
	return nil
}

// setObjects sets what the simulation begins with. Of two copies of an object, the observed one counts.
func (in *inputs) setObjects(observed map[string]manifest, others []manifest) {
	secrets := map[state.Ref]manifest{}
	for _, d := range slices.AppendSeq(slices.Clone(others), maps.Values(observed)) {
		secrets[d.Ref] = d
	}
	others = slices.DeleteFunc(others, func(d manifest) bool { return secrets[d.Ref].resourceName() != "" })
	connection := map[state.Ref]bool{}
	for _, name := range plan.SortedKeys(observed) {
		m := world.StructOf(observed[name].fields)
		to := connectionSecret(m)
		in.Observed = append(in.Observed, pipeline.Observed{Name: name, Object: m, Details: secrets[to].details()})
		connection[to] = true
	}
	if object.IsLegacy(wire.Of(in.XR)) {
		in.Details = secrets[connectionSecret(in.XR)].details()
	}
	for _, d := range others {
		list := &in.Required
		if connection[d.Ref] {
			list = &in.Connection
		}
		*list = append(*list, world.StructOf(d.fields))
	}
}

// checkObserved refuses an object that Crossplane cannot observe as a resource of this composite.
func (in *inputs) checkObserved(d manifest) error {
	if d.resourceName() == "" {
		return fmt.Errorf("%s has no annotation %s: add it, with the name of the resource in the pipeline; or pass the "+
			"object with -e",
			d.at("metadata", "annotations"), world.ResourceNameAnnotation)
	}
	of, _, _, isControlled := object.ControllerOf(wire.Of(world.StructOf(d.fields)))
	if uid := world.Meta(in.XR, "uid"); isControlled && of != uid {
		return fmt.Errorf("%s is controlled by an object other than the composite: set the uid of that owner reference "+
			"to %s, or pass the object with -e", d.at("metadata", "ownerReferences"), uid)
	}
	return nil
}

// connectionSecret returns which Secret an object names in spec.writeConnectionSecretToRef. As in Crossplane, that of a
// namespaced object is in its own namespace.
func connectionSecret(o *structpb.Struct) state.Ref {
	to := wire.Of(o).At("spec", "writeConnectionSecretToRef").Struct()
	namespace := cmp.Or(world.Meta(o, "namespace"), to.Get("namespace").Text())
	return state.Ref{APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: to.Get("name").Text()}
}
