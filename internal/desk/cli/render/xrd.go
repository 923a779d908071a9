package render

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

// loadXRD reads the CompositeResourceDefinition of the composite, if there is one. As the API server does, it sets
// fields of the composite to their defaults.
func (in *inputs) loadXRD(paths []string) error {
	docs, err := in.readObjects(paths...)
	if err != nil {
		return err
	}
	for _, d := range docs {
		if err := in.schemas.Add(d.Object); err != nil {
			return fmt.Errorf("%s: %w", d.at(decode.At(err)...), err)
		}
	}
	in.legacy = looksLegacy(in.xr)
	if len(paths) > 0 {
		if err := in.define(docs, paths); err != nil {
			return err
		}
	}
	in.composite = withUID(in.xr)
	return nil
}

// define applies the definition of the composite.
func (in *inputs) define(docs []object, paths []string) error {
	gvk := in.xr.gvk()
	for _, d := range docs {
		if d.kind() != "CompositeResourceDefinition" || d.text("spec", "group") != gvk.Group {
			continue
		}
		switch gvk.Kind {
		case d.text("spec", "claimNames", "kind"):
			return fmt.Errorf("%s is a claim, not a composite resource (XR): pass the composite, of kind %s",
				in.xr.at(), d.text("spec", "names", "kind"))
		case d.text("spec", "names", "kind"):
			s := in.schemas.Find(catalog.Kind{APIVersion: in.xr.apiVersion(), Kind: gvk.Kind})
			if s == nil {
				return fmt.Errorf("%s has no version %s, the version of the composite at %s: add the version, "+
					"or change the apiVersion of the composite", d.at("spec", "versions"), gvk.Version, in.xr.line())
			}
			catalog.SetDefaults(in.xr.Object, s)
			in.legacy = isLegacy(d)
			return in.checkScope(d)
		}
	}
	return fmt.Errorf("%s: has no definition of %s of %s, the kind of the composite at %s: "+
		"pass the CompositeResourceDefinition of the composite", strings.Join(paths, ", "), gvk.Kind, gvk.Group, in.xr.line())
}

// checkScope refuses a composite without a namespace, if its definition says that it has one. The API server has no
// such composite, and the function would refuse its exports.
func (in *inputs) checkScope(xrd object) error {
	if scopeOf(xrd) != catalog.Namespaced || in.xr.namespace() != "" {
		return nil
	}
	return fmt.Errorf("%s has no metadata.namespace, but its definition at %s has the scope Namespaced: add the namespace",
		in.xr.at("metadata"), xrd.line("spec", "scope"))
}

// isLegacy reports whether the composites of a definition have the v1 style, the only one with connection details.
func isLegacy(xrd object) bool { return scopeOf(xrd) == catalog.LegacyCluster }

// scopeOf returns the scope of the composites of a definition.
func scopeOf(xrd object) catalog.Scope {
	preset := catalog.Namespaced
	if xrd.apiVersion() == composition.Group+"/v1" {
		preset = catalog.LegacyCluster
	}
	return cmp.Or(catalog.Scope(xrd.text("spec", "scope")), preset)
}

// looksLegacy reports whether a composite may have the v1 style. Without its definition this is visible only in fields
// that every composite of the v2 style has: a namespace, or spec.crossplane.
func looksLegacy(xr object) bool {
	modern := xr.value("spec", "crossplane") != nil
	return xr.namespace() == "" && !modern
}

// errNoSchema is about a file without schemas.
var errNoSchema = errors.New("neither a CustomResourceDefinition, a CompositeResourceDefinition, " +
	"nor an OpenAPI v3 document of kubectl get --raw /openapi/v3/apis/GROUP/VERSION")

// loadSchemas reads the kinds that definitions and OpenAPI documents declare.
func (in *inputs) loadSchemas(paths []string) error {
	read, err := readFiles(in.system, files.WithJSONBelow, paths)
	if err != nil {
		return err
	}
	for _, f := range read {
		for _, o := range f.Objects() {
			d, ok := objectOf(f, o)
			add := in.schemas.Add
			switch {
			case catalog.IsOpenAPI(d.Object):
				add = in.schemas.AddOpenAPI
			case !ok:
				return fmt.Errorf("%s: %w", d.line(), errNoSchema)
			}
			if err := add(d.Object); err != nil {
				return fmt.Errorf("%s: %w", d.line(decode.At(err)...), err)
			}
		}
	}
	return nil
}
