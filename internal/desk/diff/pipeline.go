package diff

import (
	"context"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Pipeline is the pipeline of a Composition, or of a revision of it. Several goroutines may use it.
type Pipeline struct {
	*composition.Composition

	inputs map[int]*structpb.Struct // of the steps that are called, by their index
	named  map[string]composition.Resource
	opaque bool // another step may compose more than what is named

	secretKeys []string // names that may be keys of Secrets in expressions
	object     map[string]any
}

// NewPipeline reads a Composition, or a revision of one.
func NewPipeline(c map[string]any) (*Pipeline, error) {
	read, err := composition.Read(c)
	if err != nil {
		return nil, err
	}
	out := &Pipeline{Composition: read, object: c, inputs: map[int]*structpb.Struct{}, named: map[string]composition.Resource{}}
	for i, s := range read.Steps {
		input := s.Input
		switch {
		case isExports(s):
			out.secretKeys = append(out.secretKeys, secretKeys(input)...)
		case s.Environment != nil: // this function looks the environment up in the same way
			input = map[string]any{"apiVersion": v1beta1.APIVersion, "kind": v1beta1.Kind, "environment": s.Environment}
		default:
			out.opaque = out.opaque || s.Opaque
			for _, r := range s.Resources {
				out.named[r.Name] = r
			}
			continue
		}
		if out.inputs[i], err = structpb.NewStruct(input); err != nil {
			return nil, err //nolint:wrapcheck // it was read from YAML
		}
	}
	return out, nil
}

// isExports reports whether a step runs this function, also if its input is missing.
func isExports(s composition.Step) bool {
	group, _, _ := strings.Cut(v1beta1.APIVersion, "/")
	return s.Group() == group || s.Group() == "" && strings.HasSuffix(s.Function, "function-export")
}

// statusIn returns the status fields of the inputs that a composite has.
func (p *Pipeline) statusIn(xr *structpb.Struct) *structpb.Value {
	out := &structpb.Struct{}
	for _, input := range p.Exports() {
		for _, f := range input.GetFields()["status"].GetListValue().GetValues() {
			path := append([]string{"status"}, strings.Split(f.GetStructValue().GetFields()["fieldPath"].GetStringValue(), ".")...)
			if v := wire.Of(xr).At(path...).Proto(); v != nil {
				world.SetValue(out, v, path...)
			}
		}
	}
	return out.GetFields()["status"]
}

// Exports returns the inputs of this function.
func (p *Pipeline) Exports() []*structpb.Struct {
	var out []*structpb.Struct
	for i, s := range p.Steps {
		if isExports(s) {
			out = append(out, p.inputs[i])
		}
	}
	return out
}

// OthersOnly returns a Composition with the steps of other functions, or nil if there are none.
func (p *Pipeline) OthersOnly() map[string]any {
	spec, _ := p.object["spec"].(map[string]any)
	pipeline, _ := spec["pipeline"].([]any)
	var others []any
	for i, s := range p.Steps {
		if !isExports(s) {
			others = append(others, pipeline[i])
		}
	}
	if len(others) == 0 {
		return nil
	}
	spec = maps.Clone(spec)
	spec["pipeline"] = others
	return map[string]any{
		"apiVersion": composition.Group + "/v1", "kind": composition.Kind, "metadata": map[string]any{"name": "others"}, "spec": spec,
	}
}

// Others returns the names of the steps of other functions whose inputs differ in two pipelines.
func (p *Pipeline) Others(before *Pipeline) []string {
	inputs := func(p *Pipeline) map[string]string {
		out := map[string]string{}
		for i, s := range p.Steps {
			if p.inputs[i] == nil {
				out[s.Name] = exportstest.Inline(s.Input)
			}
		}
		return out
	}
	by := CompareKeys(inputs(before), inputs(p))
	return slices.Sorted(slices.Values(slices.Concat(by.Changed, by.Added, by.Removed)))
}

// play sets the pipeline of a simulation. The other steps desire what they compose now, as far as the pipeline still
// has it; the pipeline in use may be unknown. recomposed is what they desire if they were recomputed, or nil.
func (p *Pipeline) play(w *world.World, call func(step int) world.Function, inUse *Pipeline, recomposed map[string]*structpb.Struct) {
	w.Steps = nil
	for i, s := range p.Steps {
		if p.inputs[i] != nil {
			w.Steps = append(w.Steps, world.Step{Input: p.inputs[i], Call: call(i), Required: exportstest.Required(s)})
		}
	}
	if len(w.Steps) == 0 {
		w.Steps = []world.Step{{Call: nothing}}
	}
	w.Earlier = &fnv1.State{Resources: map[string]*fnv1.Resource{}}
	if recomposed == nil {
		recomposed = p.asComposedNow(w, inUse)
	}
	for name, o := range recomposed {
		w.Earlier.Resources[name] = &fnv1.Resource{Resource: o}
	}
}

// nothing is a step that changes nothing.
func nothing(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	return &fnv1.RunFunctionResponse{Desired: req.GetDesired(), Context: req.GetContext()}, nil
}

// asComposedNow returns what the steps of other functions desire: what is observed of it. A resource that only the new
// pipeline names has its literal base.
func (p *Pipeline) asComposedNow(w *world.World, inUse *Pipeline) map[string]*structpb.Struct {
	out, observed := map[string]*structpb.Struct{}, map[string]bool{}
	namedNow := func(name string) bool { return inUse != nil && inUse.named[name].Name != "" }
	for _, key := range w.Listed {
		o := w.Stored[key]
		name := nameOf(o)
		_, named := p.named[name]
		observed[name] = !isOurs(o) || !named // an export may become a resource of another step
		if !isOurs(o) && (named || p.opaque && !namedNow(name) || inUse == nil && !p.Closed()) {
			out[name] = exportstest.Desired(o)
		}
	}
	for name, r := range p.named {
		if base, err := structpb.NewStruct(r.Base); err == nil && r.Base != nil && !observed[name] && !namedNow(name) {
			out[name] = base
		}
	}
	return out
}

// isOurs reports whether this function composes an object.
func isOurs(o *structpb.Struct) bool {
	for key := range object.Metadata(o)["annotations"].GetStructValue().GetFields() {
		if strings.HasPrefix(key, object.StatePrefix) {
			return true
		}
	}
	return isGeneration(o)
}
