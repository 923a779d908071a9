package diff

import (
	"maps"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
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
	is, was := inputs(p), inputs(before)
	return slices.DeleteFunc(names(was, is), func(step string) bool { return was[step] == is[step] })
}
