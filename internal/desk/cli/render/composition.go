package render

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

// loadComposition reads the pipeline that composes the composite.
func (in *inputs) loadComposition(file string) error {
	d, err := in.loadOne(file, "the Composition")
	if err != nil {
		return err
	}
	if gvk := d.gvk(); gvk.Group != composition.Group || gvk.Kind != composition.Kind {
		return fmt.Errorf("%s is not a Composition of %s: %s", d.at(), composition.Group, wantOrder)
	}
	c, err := composition.Read(d.Object)
	if err != nil {
		return fmt.Errorf("%s: %w", d.line(decode.At(err)...), err)
	}
	in.exports = map[string]files.Step{}
	steps, _ := files.FindSteps(d.file) // an error in an input is a diagnostic of the function
	for _, s := range steps {
		in.exports[s.Name] = s
	}
	in.steps = c.Steps
	return cmp.Or(in.checkKind(d, c), in.checkExports(d, c))
}

// checkKind refuses a Composition for other composites.
func (in *inputs) checkKind(d object, c *composition.Composition) error {
	if c.CompositeAPIVersion == in.xr.apiVersion() && c.CompositeKind == in.xr.kind() {
		return nil
	}
	instead := "make them equal"
	if in.xr.kind() == c.CompositeKind+"Claim" {
		instead = fmt.Sprintf("pass the composite of kind %s in place of its claim", c.CompositeKind)
	}
	return fmt.Errorf("%s: spec.compositeTypeRef is %s %s, but the composite at %s is %s %s: %s",
		d.line("spec", "compositeTypeRef"), c.CompositeAPIVersion, c.CompositeKind,
		in.xr.line(), in.xr.apiVersion(), in.xr.kind(), instead)
}

// checkExports refuses a Composition without a step of this function. A step that seems meant to be one is named.
func (in *inputs) checkExports(d object, c *composition.Composition) error {
	if slices.ContainsFunc(c.Steps, files.IsExports) {
		return nil
	}
	for i, s := range c.Steps {
		if _, meant := in.exports[s.Name]; meant {
			return fmt.Errorf("%s: pipeline step %q has no input of function-export: set its input to apiVersion %s, kind %s",
				d.line("spec", "pipeline", i, "input"), s.Name, v1beta1.APIVersion, v1beta1.Kind)
		}
	}
	return fmt.Errorf("%s: no pipeline step has an input of function-export: "+
		"add a step with an input of apiVersion %s, kind %s", d.line("spec", "pipeline"), v1beta1.APIVersion, v1beta1.Kind)
}
