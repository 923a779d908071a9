package main

import (
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/composition"
)

// sayDeleted names the observed composed resources that no step desires: Crossplane deletes them. What a
// skipped step composes is not known to be gone. If its input cannot be read, only what is this function's
// to compose is named.
func (r *renderRun) sayDeleted(in *renderInputs) {
	skipped := func(holds func(composition.Step) bool) bool {
		return slices.ContainsFunc(in.skipped, holds)
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
		r.say("%s: %s %s, composed resource %q", text, d.GetKind(), strings.TrimPrefix(d.GetNamespace()+"/"+d.GetName(), "/"), name)
	}
}

// isOurs reports whether an object has an annotation that only this function sets.
func (d renderDoc) isOurs() bool {
	group, _, _ := strings.Cut(v1beta1.APIVersion, "/")
	for key := range d.GetAnnotations() {
		if strings.HasPrefix(key, group+"/") {
			return true
		}
	}
	return false
}

// isExportable reports whether an object is of a kind that exports have.
func (d renderDoc) isExportable() bool {
	return d.GetAPIVersion() == "v1" && (d.GetKind() == "Secret" || d.GetKind() == "ConfigMap")
}

// skippedSteps are those of other functions, as far as their inputs say what they compose.
func skippedSteps(c map[string]any, steps []renderStep) []composition.Step {
	read, err := composition.Read(c)
	var out []composition.Step
	for i, s := range steps {
		switch {
		case s.isExports():
		case err != nil:
			out = append(out, composition.Step{Opaque: true})
		default:
			out = append(out, read.Steps[i])
		}
	}
	return out
}
