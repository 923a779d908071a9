package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/composition"
)

// renderComposition is what render needs of a Composition.
type renderComposition struct {
	Spec struct {
		CompositeTypeRef struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		} `json:"compositeTypeRef"`
		Mode     string       `json:"mode"`
		Pipeline []renderStep `json:"pipeline"`
	} `json:"spec"`
}

// A renderStep is one step of the pipeline.
type renderStep struct {
	Step        string `json:"step"`
	FunctionRef struct {
		Name string `json:"name"`
	} `json:"functionRef"`
	Input        map[string]any `json:"input"`
	Requirements struct {
		RequiredResources []renderRequirement `json:"requiredResources"`
	} `json:"requirements"`
}

// isExports says whether the step is one for this function. Its version is the
// function's business.
func (s renderStep) isExports() bool {
	apiVersion, _ := s.Input["apiVersion"].(string)
	group, _, _ := strings.Cut(v1beta1.APIVersion, "/")
	return strings.HasPrefix(apiVersion, group+"/") && s.Input["kind"] == v1beta1.Kind
}

// A renderRequirement is a resource that the Composition requires for a step.
type renderRequirement struct {
	RequirementName string            `json:"requirementName"`
	APIVersion      string            `json:"apiVersion"`
	Kind            string            `json:"kind"`
	Namespace       *string           `json:"namespace"`
	Name            *string           `json:"name"`
	MatchLabels     map[string]string `json:"matchLabels"`
}

func (r renderRequirement) selector() *fnv1.ResourceSelector {
	sel := &fnv1.ResourceSelector{ApiVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace}
	switch {
	case r.Name != nil:
		sel.Match = &fnv1.ResourceSelector_MatchName{MatchName: *r.Name}
	case r.MatchLabels != nil:
		sel.Match = &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: r.MatchLabels}}
	}
	return sel
}

// loadRenderSteps reads the pipeline that composes the composite, and which of its steps are skipped.
func loadRenderSteps(file string, xr renderDoc) ([]renderStep, []composition.Step, error) {
	docs, err := readRenderFile(file)
	if err != nil {
		return nil, nil, err
	}
	if len(docs) != 1 {
		return nil, nil, fmt.Errorf("%s: holds %d objects: it must hold the Composition, and only that", file, len(docs))
	}
	if gvk := docs[0].GroupVersionKind(); gvk.Group != "apiextensions.crossplane.io" || gvk.Kind != "Composition" {
		return nil, nil, fmt.Errorf("%s is not a Composition of apiextensions.crossplane.io", docs[0].at())
	}
	comp, err := decodeRenderComposition(docs[0])
	if err != nil {
		return nil, nil, err
	}
	if ref := comp.Spec.CompositeTypeRef; ref.APIVersion != xr.GetAPIVersion() || ref.Kind != xr.GetKind() {
		return nil, nil, fmt.Errorf("%s: spec.compositeTypeRef is %s %s, but the composite in %s is %s %s: make them equal",
			file, ref.APIVersion, ref.Kind, xr.file, xr.GetAPIVersion(), xr.GetKind())
	}
	if comp.Spec.Mode != "Pipeline" {
		return nil, nil, fmt.Errorf("%s: spec.mode is %q: set it to Pipeline", file, comp.Spec.Mode)
	}
	steps := comp.Spec.Pipeline
	return steps, skippedSteps(docs[0].Object, steps), checkRenderSteps(file, steps)
}

func decodeRenderComposition(d renderDoc) (*renderComposition, error) {
	comp := &renderComposition{}
	b, err := json.Marshal(d.Object)
	if err == nil {
		err = json.Unmarshal(b, comp)
	}
	if te := (*json.UnmarshalTypeError)(nil); errors.As(err, &te) {
		return nil, fmt.Errorf("%s: %s is not of type %s", d.file, te.Field, te.Type.Kind())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: cannot read the Composition", d.file)
	}
	return comp, nil
}

func checkRenderSteps(file string, steps []renderStep) error {
	if len(steps) == 0 {
		return fmt.Errorf("%s: spec.pipeline is empty: add a step with an input of kind %s", file, v1beta1.Kind)
	}
	seen := map[string]bool{}
	exports := false
	for i, s := range steps {
		if s.Step == "" || seen[s.Step] {
			return fmt.Errorf("%s: spec.pipeline[%d].step is %q: give every step a name of its own", file, i, s.Step)
		}
		seen[s.Step] = true
		exports = exports || s.isExports()
	}
	if !exports {
		return fmt.Errorf("%s: no pipeline step is one of function-export: the input of one must be apiVersion %s, kind %s",
			file, v1beta1.APIVersion, v1beta1.Kind)
	}
	return nil
}
