package files

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/rules"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// Group is the API group of the input, of any version.
var Group, _, _ = strings.Cut(v1beta1.APIVersion, "/") //nolint:gochecknoglobals // a constant that must be cut

// A Step is one input of this function, with its position.
type Step struct {
	File string // its name
	doc  *document.Document
	at   []any  // the input's path in the document
	Name string // of the step, empty if the input is not in a pipeline

	composition *composition.Composition // nil if the input is not in a Composition
	index       int                      // of the step in the Composition
	Input       map[string]any           // nil if the step has none
}

// Title returns the name of the input for messages.
func (s Step) Title() string {
	if s.Name == "" {
		return s.File
	}
	return fmt.Sprintf("%s, step %q", s.File, s.Name)
}

// Document returns the document that has the input.
func (s Step) Document() *document.Document { return s.doc }

// At returns the path in the document of a field of the input.
func (s Step) At(path ...any) []any { return slices.Concat(s.at, path) }

// Pipeline returns the steps of the Composition that has the step, with the path of the first of them, or nothing.
func (s Step) Pipeline() (steps []composition.Step, at []any) {
	if s.composition == nil {
		return nil, nil
	}
	return s.composition.Steps, s.at[:slices.Index(s.at, any("pipeline"))+1]
}

// Owner returns the name of the Composition that the step belongs to, or empty without a Composition.
func (s Step) Owner() string {
	if s.composition == nil {
		return ""
	}
	return s.composition.Name
}

// view returns what is known about a step of a file, whose plans are in the order of the steps, and what rules see.
func (k *Knowledge) view(steps []Step, plans []*plan.Plan, i int) *rules.View {
	s, all := steps[i], []*plan.Plan(nil)
	out := &rules.View{Plan: plans[i], Composition: s.composition, Index: s.index,
		Plans: map[int]*plan.Plan{}, Functions: k.functions}
	for j, other := range steps {
		if s.composition != nil && other.composition == s.composition && plans[j] != nil {
			out.Plans[other.index], all = plans[j], append(all, plans[j])
		}
	}
	out.Known = k.Of(s, all...)
	return out
}

// FindSteps returns the inputs of this function in a file: in the pipelines of Compositions, in a
// list of pipeline steps, and as documents. A diagnostic is about one object; the objects after it
// are read.
func FindSteps(f File) ([]Step, []Diagnostic) {
	var out []Step
	var unread []Diagnostic
	for _, o := range f.Objects() {
		steps, err := stepsOf(o)
		if err != nil {
			unread = append(unread, f.unreadable(o.start(), err.Error()))
			continue
		}
		for _, s := range steps {
			s.File, s.doc = f.Name, o.Doc
			out = append(out, s)
		}
	}
	return out, unread
}

func stepsOf(o Object) ([]Step, error) {
	if list, ok := o.Value.([]any); ok { // of steps, as `function-export migrate` prints them
		return pipelineSteps(composition.ReadSteps(list), o.At, nil), nil
	}
	object, _ := o.Value.(map[string]any)
	apiVersion, _ := object["apiVersion"].(string)
	if g, _, _ := strings.Cut(apiVersion, "/"); g == Group {
		return []Step{{at: o.At, Input: object}}, nil
	}
	c, err := composition.Read(object)
	if c == nil {
		return nil, nil
	}
	steps := pipelineSteps(c.Steps, append(slices.Clone(o.At), "spec", "pipeline"), c)
	if len(steps) == 0 {
		return nil, nil // other parts of the object are not checked
	}
	return steps, cmp.Or(err, c.InputError())
}

func pipelineSteps(steps []composition.Step, at []any, c *composition.Composition) []Step {
	var out []Step
	for i, step := range steps {
		if !isForExports(step) {
			continue
		}
		s := Step{Name: step.Name, at: append(slices.Clone(at), i), composition: c, index: i, Input: step.Input}
		if s.Input != nil {
			s.at = append(s.at, "input")
		}
		out = append(out, s)
	}
	return out
}

// isForExports reports whether a step is meant to run this function: by its input, whose group may
// be misspelt, or without an input by the name of the function.
func isForExports(s composition.Step) bool {
	misspelt := s.Input["kind"] == v1beta1.Kind && suggest.Nearest(s.Group(), []string{Group}) != ""
	unset := s.Group() == "" && strings.HasSuffix(s.Function, "function-export")
	return s.Group() == Group || misspelt || unset
}

// mayHoldSteps scans a text quickly. It returns true for each text with an input of this function.
func mayHoldSteps(text string) bool {
	return strings.Contains(text, Group) || strings.Contains(text, "function-export")
}

// StepAt returns an object of a file as a step, so that a diagnostic of the object has its position in the file.
func StepAt(f File, o Object) Step {
	content, _ := o.Value.(map[string]any)
	return Step{File: f.Name, doc: o.Doc, at: o.At, Input: content}
}
