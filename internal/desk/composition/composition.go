// Package composition reads which resources the pipeline of a Composition composes, as far as its
// text shows them.
//
// It calls no function and renders no template. Parts that it cannot read are unknown; it never guesses.
package composition

import (
	"errors"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

// A Composition has the steps of its pipeline.
type Composition struct {
	Name                               string // empty if it has none
	CompositeAPIVersion, CompositeKind string // of its composite resources
	Steps                              []Step
}

// A Step of a pipeline.
type Step struct {
	Name string

	// Function is the name of the installed function, which does not identify the function.
	Function string

	// Input is the input of the function as it is in the file, or nil.
	Input map[string]any

	// Err names the first field of the input with a wrong type. Such a step is Opaque.
	Err error

	// Status are the fields of the composite's status that the step writes.
	Status []string

	// Resources that the input names, in its order. The step may compose only some of them.
	Resources []Resource

	// Opaque steps may compose more than Resources.
	Opaque bool

	// Environment is the spec of a step of function-environment-configs.
	Environment map[string]any

	// Required are the resources that the step itself requires.
	Required []Requirement
}

// Group is the API group of the step's input, empty without an input.
func (s Step) Group() string {
	apiVersion, _ := s.Input["apiVersion"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	return group
}

// A Resource is a composed resource that a step names.
type Resource struct {
	Name             string // the composition resource name
	APIVersion, Kind string // after the step; both are empty if they cannot be read

	// Object is the name of the object, with [CompositeName] in place of the name of the composite. It is empty if it
	// cannot be read. Namespace is literal, or empty.
	Object, Namespace string

	// Base is the literal manifest that patches are applied to, or nil.
	Base map[string]any
}

// CompositeName is the name of the composite in the name of an object.
const CompositeName = "{composite}"

// A Requirement is a resource that the Composition requires for a step. It is selected by its labels
// if it has no MatchName.
type Requirement struct {
	Name, APIVersion, Kind string
	Namespace, MatchName   *string
	MatchLabels            map[string]string
}

// The API group and kinds of a Composition. A revision has another kind, and the same spec.
const (
	Group        = "apiextensions.crossplane.io"
	Kind         = "Composition"
	kindRevision = "CompositionRevision"
)

var errNoComposition = errors.New("cannot read the object: it is not a Composition of " + Group + "/v1")

// Read reads a Composition, or a revision of one. The first field with a wrong type is an error with
// its path, in addition to the readable parts. An absent field is empty. The inputs of the steps have
// errors of their own. The result shares the inputs with c. It is nil if c is not a Composition.
func Read(c map[string]any) (*Composition, error) {
	var first decode.First
	top := decode.Value{Raw: c, Report: first.Report}
	group, _, _ := strings.Cut(top.Get("apiVersion").Text(), "/")
	if kind := top.Get("kind").Text(); group != Group || kind != Kind && kind != kindRevision {
		return nil, errNoComposition
	}
	spec := top.Get("spec")
	out := &Composition{
		Name:                top.Get("metadata", "name").Text(),
		CompositeAPIVersion: spec.Get("compositeTypeRef", "apiVersion").Text(),
		CompositeKind:       spec.Get("compositeTypeRef", "kind").Text(),
		Steps:               readSteps(spec.Get("pipeline")),
	}
	return out, first.Err
}

// ReadSteps reads steps that are not in a Composition. A field with a wrong type is ignored.
func ReadSteps(pipeline []any) []Step {
	var ignored decode.First
	return readSteps(decode.Value{Raw: pipeline, Report: ignored.Report})
}

// Closed reports whether all composed resources are known by name: no step is opaque.
func (c *Composition) Closed() bool {
	return !slices.ContainsFunc(c.Steps, func(s Step) bool { return s.Opaque })
}

// InputError is the first error of a step.
func (c *Composition) InputError() error {
	for _, s := range c.Steps {
		if s.Err != nil {
			return s.Err
		}
	}
	return nil
}

func readSteps(pipeline decode.Value) []Step {
	list := pipeline.List()
	out := make([]Step, 0, len(list))
	for _, step := range list {
		out = append(out, readStep(step))
	}
	return out
}

func readStep(v decode.Value) Step {
	input := v.Get("input")
	s := Step{
		Name:     v.Get("step").Text(),
		Function: v.Get("functionRef", "name").Text(),
		Input:    input.Object(),
	}
	for _, r := range v.Get("requirements", "requiredResources").List() {
		if name := r.Get("requirementName").Text(); name != "" {
			s.Required = append(s.Required, Requirement{
				Name: name, APIVersion: r.Get("apiVersion").Text(), Kind: r.Get("kind").Text(),
				Namespace: textOrNil(r.Get("namespace")), MatchName: textOrNil(r.Get("name")),
				MatchLabels: labels(r.Get("matchLabels")),
			})
		}
	}
	var first decode.First // of the input, whose errors belong to the step
	input.Report = first.Report
	input.Get("apiVersion").Text()
	switch read, known := functions[s.Group()]; {
	case read != nil:
		read(&s, input)
	case !known:
		s.Opaque = !strings.Contains(s.Function, autoReady)
	}
	s.Err = first.Err
	s.Opaque = s.Opaque || s.Err != nil
	return s
}

func textOrNil(v decode.Value) *string {
	if !v.Exists() {
		return nil
	}
	return new(v.Text())
}

// labels returns the values of labels, or nil if there are none.
func labels(v decode.Value) map[string]string {
	if !v.Exists() {
		return nil
	}
	out := map[string]string{}
	for _, key := range v.Keys() {
		out[key] = v.Get(key).Text()
	}
	return out
}
