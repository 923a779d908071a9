package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
)

// sayDeleted names the observed composed resources that no step desires, which Crossplane deletes. It omits
// resources that a skipped step may compose. If the input of a skipped step cannot be read, it names only
// resources that this function composes.
func (r *run) sayDeleted(in *inputs) {
	skipped := func(holds func(composition.Step) bool) bool {
		return slices.ContainsFunc(in.steps, func(s composition.Step) bool { return !files.IsExports(s) && holds(s) })
	}
	for _, d := range in.observed {
		name := d.resourceName()
		composes := func(s composition.Step) bool {
			return slices.ContainsFunc(s.Resources, func(c composition.Resource) bool { return c.Name == name })
		}
		_, desired := r.desired.GetResources()[name]
		opaque := skipped(func(s composition.Step) bool { return s.Opaque })
		text := "deleted"
		switch {
		case desired || skipped(composes), opaque && !d.isOurs() && !d.isExportable():
			continue
		case opaque && !d.isOurs():
			text += " unless a skipped step composes it"
		}
		r.deletes = r.deletes || d.isExportable()
		at := strings.TrimPrefix(d.namespace()+"/"+d.name(), "/")
		r.say(text, fmt.Sprintf("%s %s, composed resource %q", d.kind(), at, name))
	}
}

// isOurs reports whether an object has an annotation that only this function sets.
func (d object) isOurs() bool {
	for key := range d.texts("metadata", "annotations") {
		if strings.HasPrefix(key, files.Group+"/") {
			return true
		}
	}
	return false
}

// isExportable reports whether an object is of a kind that exports have.
func (d object) isExportable() bool {
	return d.apiVersion() == "v1" && (d.kind() == "Secret" || d.kind() == "ConfigMap")
}
