package files

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/rules"
	"github.com/crossplane-contrib/function-export/internal/desk/typecheck"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
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
		steps, err := StepsIn(o)
		if err != nil {
			unread = append(unread, f.unreadable(o.start(), err.Error()))
			continue
		}
		out = append(out, steps...)
	}
	return out, unread
}

// StepsIn returns the inputs of this function in an object.
func StepsIn(o Object) ([]Step, error) {
	steps, err := stepsOf(o)
	for i := range steps {
		steps[i].File, steps[i].doc = o.File, o.Doc
	}
	return steps, err
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
func StepAt(o Object) Step {
	content, _ := o.Value.(map[string]any)
	return Step{File: o.File, doc: o.Doc, at: o.At, Input: content}
}

// A Checked step is one with all that the check knows about it.
type Checked struct {
	Step

	Plan        *plan.Plan // of its valid parts; nil if the input cannot be read
	Known       *typecheck.Known
	Types       *typecheck.Inspection
	Diagnostics []Diagnostic
}

// Check returns the diagnostics of the steps of a file.
func (k *Knowledge) Check(ctx context.Context, env *expression.Environment, steps []Step) []Diagnostic {
	out := make([]Diagnostic, 0, len(steps))
	for _, c := range k.CheckEach(ctx, env, steps) {
		out = append(out, c.Diagnostics...)
	}
	return out
}

// CheckEach checks the steps of a file. Rules are for inputs that compile, because the cause of what they find is often
// another mistake.
func (k *Knowledge) CheckEach(ctx context.Context, env *expression.Environment, steps []Step) []*Checked {
	plans, wrong := make([]*plan.Plan, len(steps)), make([]diagnostic.List, len(steps))
	for i, s := range steps {
		plans[i], wrong[i] = s.compile(ctx, env, plan.CompilePartly)
	}
	out := make([]*Checked, 0, len(steps))
	for i, s := range steps {
		c := &Checked{Step: s, Plan: plans[i]}
		all := wrong[i]
		if p := plans[i]; p != nil {
			var found diagnostic.List
			view := k.view(steps, plans, i)
			c.Known = view.Known
			c.Types, found = typecheck.Inspect(p, c.Known)
			all = slices.Concat(all, p.Warnings, found)
			if len(wrong[i]) == 0 {
				found = rules.Check(view, k.Settings.Level(s.File))
				all = append(all, withoutPlacesOf(all, found)...)
			}
		}
		c.Diagnostics = s.AllInFile(all)
		out = append(out, c)
	}
	return out
}

// withoutPlacesOf returns the diagnostics of rules about fields that have no error, and at places that have no warning.
func withoutPlacesOf(before, found diagnostic.List) diagnostic.List {
	return slices.DeleteFunc(found, func(d *diagnostic.Diagnostic) bool {
		return slices.ContainsFunc(before, func(b *diagnostic.Diagnostic) bool {
			return b.Path == d.Path && (!b.Warning || b.Line == d.Line && b.Column == d.Column)
		})
	})
}

// Compile compiles the input of a step.
func (s Step) Compile(ctx context.Context, env *expression.Environment) (*plan.Plan, diagnostic.List) {
	return s.compile(ctx, env, plan.Compile)
}

// compile passes an input on as Crossplane does.
func (s Step) compile(ctx context.Context, env *expression.Environment, by func(context.Context,
	*expression.Environment, *structpb.Struct) (*plan.Plan, diagnostic.List)) (*plan.Plan, diagnostic.List) {
	if s.Input == nil {
		return by(ctx, env, nil)
	}
	input, err := structpb.NewStruct(s.Input)
	if err != nil {
		return nil, diagnostic.List{{Path: "input", Rule: diagnostic.Input, Message: "contains something that is not JSON"}}
	}
	return by(ctx, env, input)
}
