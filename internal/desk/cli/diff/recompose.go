package diff

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	compositions "github.com/crossplane-contrib/function-export/internal/desk/composition"
	rehearsal "github.com/crossplane-contrib/function-export/internal/desk/diff"
	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
)

// A renderer runs the other steps of pipelines with crossplane composition render.
type renderer struct {
	functions string // the file with the Functions
	state     *state.State
}

// recompose returns what the steps of other functions desire for a composite, by composition resource name.
func (r *renderer) recompose(ctx context.Context, c *state.Composite, p *rehearsal.Pipeline) (
	map[string]*structpb.Struct, error) {
	if p.OthersOnly() == nil {
		return map[string]*structpb.Struct{}, nil
	}
	var observed []any
	for _, ref := range c.Refs() {
		if o := r.state.Find(ref); o != nil {
			observed = append(observed, o.Map())
		}
	}
	var required []any
	for _, o := range r.state.OfKind(compositions.Group, "EnvironmentConfig") {
		required = append(required, o.Map())
	}
	contents := map[string][]byte{}
	for name, objects := range map[string][]any{
		"xr.yaml": {c.Map()}, "composition.yaml": {p.OthersOnly()}, "observed.yaml": observed, "required.yaml": required,
	} {
		var out strings.Builder
		for _, o := range objects {
			b, err := yaml.Marshal(o)
			if err != nil {
				return nil, err //nolint:wrapcheck // it was read from YAML
			}
			out.WriteString("---\n" + string(b))
		}
		contents[name] = []byte(out.String())
	}
	var rendered []byte
	err := terminal.InFolder(contents, func(folder string) (err error) {
		in := func(name string) string { return filepath.Join(folder, name) }
		args := []string{"composition", "render", in("xr.yaml"), in("composition.yaml"), r.functions}
		if len(observed) > 0 {
			args = append(args, "--observed-resources="+in("observed.yaml"))
		}
		if len(required) > 0 {
			args = append(args, "--required-resources="+in("required.yaml"))
		}
		rendered, err = terminal.Run(ctx, nil, "crossplane", args...)
		return err //nolint:wrapcheck // it names the program
	})
	if err != nil {
		return nil, fmt.Errorf("cannot recompute the other steps for %s: %w", c.Ref, err)
	}
	docs, wrong := document.Parse(string(rendered))
	if len(wrong) > 0 {
		return nil, fmt.Errorf("cannot read the output of crossplane composition render: %w", wrong[0])
	}
	out := map[string]*structpb.Struct{}
	for _, d := range docs {
		fields, _ := d.Value().(map[string]any)
		if o := world.StructOf(fields); pipeline.NameOf(o) != "" {
			out[pipeline.NameOf(o)] = o
		}
	}
	return out, nil
}
