package render

import (
	"bytes"
	"context"
	"maps"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/engine/schema"
)

// Setup reads and checks the files, as what a test begins with. The values of the context win over those of the flags.
func (c *Command) Setup(system *files.System, pipelineContext map[string]any) (*exportstest.Setup, error) {
	in, err := c.load(system)
	if err != nil {
		return nil, err
	}
	maps.Copy(in.context, pipelineContext)
	store, err := newStore(in)
	if err != nil {
		return nil, err
	}
	out := &exportstest.Setup{Steps: in.steps, Schemas: in.schemaOf, Later: map[int][]composition.Step{}}
	if out.XR, err = in.composite.message(); err != nil {
		return nil, err
	}
	if out.Context, err = structpb.NewStruct(in.context); err != nil {
		return nil, err //nolint:wrapcheck // the files are YAML
	}
	written := map[key]bool{} // connection Secrets, which the providers of the test write
	for _, d := range in.observed {
		m, err := d.message()
		if err != nil {
			return nil, err
		}
		out.Observed = append(out.Observed, exportstest.Observed{Name: d.resourceName(), Object: m, Details: store.connectionDetails(d)})
		written[d.connectionSecret()] = true
	}
	for _, d := range in.required {
		m, err := d.message()
		if err != nil {
			return nil, err
		}
		if !written[d.key()] {
			out.Required = append(out.Required, m)
		}
	}
	return out, nil
}

// schemaOf answers what a function requires. An empty schema was not found.
func (in *inputs) schemaOf(s *fnv1.SchemaSelector) *fnv1.Schema {
	return &fnv1.Schema{OpenapiV3: in.schemas.Find(schema.Kind{APIVersion: s.GetApiVersion(), Kind: s.GetKind()})}
}

// Steps reads the pipeline of another Composition.
func (c *Command) Steps(system *files.System, file string) ([]composition.Step, error) {
	in, err := c.load(system)
	if err != nil {
		return nil, err
	}
	if err := in.loadComposition(file); err != nil {
		return nil, err
	}
	return in.steps, nil
}

// A Rendering is what the command prints for a folder, with secrets.
type Rendering struct {
	Objects  []map[string]any // the composite first
	Observed map[string]bool  // composition resource names
	Messages string           // for people
}

// Render renders a folder at the time of its now.txt, or else at another time. The composite in the result has the
// conditions. Without objects, the messages say why.
func (c *Command) Render(ctx context.Context, system *files.System, at time.Time, build FunctionAt) (*Rendering, error) {
	in, err := c.load(system)
	if err != nil {
		return nil, err
	}
	if !in.now.IsZero() {
		at = in.now
	}
	seed, err := in.seed(at)
	if err != nil {
		return nil, err
	}
	fn, err := build(at, seed)
	if err != nil {
		return nil, err
	}
	var messages bytes.Buffer
	r, err := newRun(in, fn, &messages)
	if err != nil {
		return nil, err
	}
	out := &Rendering{Observed: map[string]bool{}}
	for name := range r.observed.GetResources() {
		out.Observed[name] = true
	}
	for _, step := range in.steps {
		if err := r.step(ctx, step); err != nil {
			if _, told := terminal.ExitCode(err); !told {
				return nil, err
			}
			break
		}
	}
	r.sayDeleted(in)
	out.Messages = messages.String()
	out.Objects = (&Command{IncludeContext: true}).docs(in, r)
	conditions := []any{}
	for _, c := range r.conditions {
		conditions = append(conditions, map[string]any{
			"type": c.GetType(), "status": statusText(c.GetStatus()), "reason": c.GetReason(), "message": c.GetMessage(),
		})
	}
	status, _ := out.Objects[0]["status"].(map[string]any)
	if status == nil {
		status = map[string]any{}
	}
	status["conditions"] = conditions
	out.Objects[0]["status"] = status
	return out, nil
}
