// Package composition reads what the pipeline of a Composition composes, as far as
// its text says so.
//
// A Composition comes in as it stands in a file, decoded; its steps come out, with
// the composed resources that their inputs name, and whether there may be others.
// No function is called, no template is rendered, and no object is looked at. What
// cannot be read is left open, never guessed.
package composition

import (
	"slices"
	"strings"
)

// A Composition, and the steps of its pipeline.
type Composition struct {
	// CompositeAPIVersion and CompositeKind are what it composes for.
	CompositeAPIVersion, CompositeKind string

	// Steps in the order of the pipeline.
	Steps []Step
}

// A Step of a pipeline.
type Step struct {
	Name string

	// Function is the name it was installed under, which says little about what it is.
	Function string

	// Input of the function as it stands, nil without one.
	Input map[string]any

	// Index of the step in spec.pipeline.
	Index int

	// Resources that the input names, in its order. Not all of them need to be
	// composed each time.
	Resources []Resource

	// Opaque steps may compose more than Resources.
	Opaque bool

	// Environment is what a step of function-environment-configs looks up, as its spec
	// has it; nil without one, and for others.
	Environment map[string]any

	// Required are the names of the resources that the step itself requires.
	Required []string
}

// A Resource is a composed resource that a step names.
type Resource struct {
	// Name in the pipeline: the composition resource name.
	Name string

	// APIVersion and Kind after the step. Both are empty if they cannot be read.
	APIVersion, Kind string
}

// The Compositions that can be read.
const (
	APIVersion = "apiextensions.crossplane.io/v1"
	Kind       = "Composition"
)

// Read a Composition. A field that is not of its type is an error with its path; one
// that is not there is as if it were empty. The result shares the inputs with what
// it is read from.
func Read(c map[string]any) (*Composition, error) {
	r := &reader{}
	top := value{reader: r, v: c}
	if top.field("apiVersion").text() != APIVersion || top.field("kind").text() != Kind {
		return nil, errNoComposition
	}
	spec := top.field("spec")
	out := &Composition{
		CompositeAPIVersion: spec.field("compositeTypeRef").field("apiVersion").text(),
		CompositeKind:       spec.field("compositeTypeRef").field("kind").text(),
	}
	for i, step := range spec.field("pipeline").list() {
		out.Steps = append(out.Steps, readStep(step, i, out.Steps))
	}
	if r.err != nil {
		return nil, r.err
	}
	return out, nil
}

// Closed reports whether all composed resources are known by name: no step is
// opaque.
func (c *Composition) Closed() bool {
	return !slices.ContainsFunc(c.Steps, func(s Step) bool { return s.Opaque })
}

func readStep(v value, index int, before []Step) Step {
	s := Step{
		Name:     v.field("step").text(),
		Function: v.field("functionRef").field("name").text(),
		Input:    v.field("input").object(),
		Index:    index,
	}
	for _, required := range v.field("requirements").field("requiredResources").list() {
		if name := required.field("requirementName").text(); name != "" {
			s.Required = append(s.Required, name)
		}
	}
	input := v.field("input")
	group, _, _ := strings.Cut(input.field("apiVersion").text(), "/")
	read, known := functions[group]
	if !known {
		s.Opaque = !strings.Contains(s.Function, autoReady)
		return s
	}
	read(&s, input, before)
	return s
}

// last is the kind that the steps before leave a resource with.
func last(before []Step, name string) (apiVersion, kind string) {
	for _, s := range before {
		for _, r := range s.Resources {
			if r.Name == name {
				apiVersion, kind = r.APIVersion, r.Kind
			}
		}
	}
	return apiVersion, kind
}
