package diff

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Pipeline is the pipeline of a Composition, or of a revision of it. Several goroutines may use it.
type Pipeline struct {
	*pipeline.Pipeline

	secretKeys []string // names that may be keys of Secrets in expressions
	object     map[string]any
}

// NewPipeline reads a Composition, or a revision of one.
func NewPipeline(c map[string]any) (*Pipeline, error) {
	read, err := composition.Read(c)
	if err != nil {
		return nil, err
	}
	out := &Pipeline{Pipeline: pipeline.New(read), object: c}
	for _, input := range out.Exports() {
		out.secretKeys = append(out.secretKeys, secretKeys(input)...)
	}
	return out, nil
}

// statusIn returns the status fields of the inputs that a composite has.
func (p *Pipeline) statusIn(xr *structpb.Struct) *structpb.Value {
	out := &structpb.Struct{}
	for _, input := range p.Exports() {
		fields, _ := input["status"].([]any)
		for _, v := range fields {
			f, _ := v.(map[string]any)
			path := append([]string{"status"}, strings.Split(state.Text(f, "fieldPath"), ".")...)
			if v := wire.Of(xr).At(path...).Proto(); v != nil {
				world.SetValue(out, v, path...)
			}
		}
	}
	return out.GetFields()["status"]
}

// OthersOnly returns a Composition with the steps of other functions, or nil if there are none.
func (p *Pipeline) OthersOnly() map[string]any {
	spec, _ := p.object["spec"].(map[string]any)
	steps, _ := spec["pipeline"].([]any)
	var others []any
	for i, s := range p.Steps {
		if !pipeline.IsExports(s) {
			others = append(others, steps[i])
		}
	}
	if len(others) == 0 {
		return nil
	}
	spec = maps.Clone(spec)
	spec["pipeline"] = others
	return map[string]any{
		"apiVersion": composition.Group + "/v1", "kind": composition.Kind, "metadata": map[string]any{"name": "others"},
		"spec": spec,
	}
}

// Others returns the names of the steps of other functions whose inputs differ in two pipelines.
func (p *Pipeline) Others(before *Pipeline) []string {
	inputs := func(p *Pipeline) map[string]string {
		out := map[string]string{}
		for _, s := range p.Steps {
			if !pipeline.IsExports(s) && s.Environment == nil {
				out[s.Name] = exportstest.Inline(s.Input)
			}
		}
		return out
	}
	by := CompareKeys(inputs(before), inputs(p))
	return slices.Sorted(slices.Values(slices.Concat(by.Changed, by.Added, by.Removed)))
}
