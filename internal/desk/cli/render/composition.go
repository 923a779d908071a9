package render

import (
	"fmt"
	"slices"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/files"
	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

// loadComposition reads the pipeline that composes the composite.
func (in *inputs) loadComposition(file string) error {
	d, err := loadOne(file, "the Composition")
	if err != nil {
		return err
	}
	if gvk := d.GroupVersionKind(); gvk.Group != composition.Group || gvk.Kind != composition.Kind {
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
	for _, check := range []func(object, *composition.Composition) error{in.checkKind, checkPipeline, in.checkExports} {
		if err := check(d, c); err != nil {
			return err
		}
	}
	return nil
}

// checkKind refuses a Composition for other composites.
func (in *inputs) checkKind(d object, c *composition.Composition) error {
	if c.CompositeAPIVersion == in.xr.GetAPIVersion() && c.CompositeKind == in.xr.GetKind() {
		return nil
	}
	instead := "make them equal"
	switch {
	case in.xr.GetKind() == c.CompositeKind+"Claim":
		instead = fmt.Sprintf("pass the composite of kind %s in place of its claim", c.CompositeKind)
	case c.CompositeKind == "X"+in.xr.GetKind():
		instead += fmt.Sprintf(", or if %s is a claim, pass its composite", in.xr.GetKind())
	}
	return fmt.Errorf("%s: spec.compositeTypeRef is %s %s, but the composite at %s is %s %s: %s",
		d.line("spec", "compositeTypeRef"), c.CompositeAPIVersion, c.CompositeKind,
		in.xr.line(), in.xr.GetAPIVersion(), in.xr.GetKind(), instead)
}

func checkPipeline(d object, c *composition.Composition) error {
	if c.Mode != "Pipeline" {
		return fmt.Errorf("%s: spec.mode is %q: set it to Pipeline", d.line("spec", "mode"), c.Mode)
	}
	if len(c.Steps) == 0 {
		return fmt.Errorf("%s: spec.pipeline is empty: add a step with an input of kind %s",
			d.line("spec", "pipeline"), v1beta1.Kind)
	}
	for i, s := range c.Steps {
		line := d.line("spec", "pipeline", i, "step")
		if s.Name == "" {
			return fmt.Errorf("%s: spec.pipeline[%d].step is not set: set it to a name of its own", line, i)
		}
		if slices.ContainsFunc(c.Steps[:i], func(before composition.Step) bool { return before.Name == s.Name }) {
			return fmt.Errorf("%s: spec.pipeline[%d].step is %q, the name of an earlier step: rename one of them",
				line, i, s.Name)
		}
	}
	return nil
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
