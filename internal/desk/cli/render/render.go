// Package render implements the command function-export render: it runs the function on local files, as Crossplane
// does, and prints the composed objects.
package render

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
)

// Command is the command `function-export render`: it calls only this function, on local files, and prints the
// composed objects.
//
// Flags have the names, types and meaning of `crossplane composition render`, with these differences: -o is the format
// of the output, as in the other commands, --observed-resources and -s may be repeated, -s accepts definitions, and
// --allow-waiting, --at and --show-secrets are added.
type Command struct {
	Paths []string `arg:"" help:"A folder (see above), or the files xr.yaml composition.yaml [functions.yaml]." name:"dir|files" predictor:"path"`

	// Flags. Keep them in alphabetical order.
	AllowWaiting           bool              `help:"Exit with 0 also if an export only waits for an input."`
	At                     time.Time         `help:"Render at this time, for example 2026-11-21T12:00:00Z. The default is that in now.txt, or now." placeholder:"TIME"`
	ContextFiles           map[string]string `help:"Context key-value pairs, separated by semicolons. Values are files." mapsep:""`
	ContextValues          map[string]string `help:"Context key-value pairs, separated by semicolons. Values are JSON or YAML." mapsep:""`
	IncludeContext         bool              `help:"Include the context in the output, as an object." short:"c"`
	IncludeFullXR          bool              `help:"Include the spec and the metadata of the composite in the output." short:"x"`
	IncludeFunctionResults bool              `help:"Include results of the function in the output, as objects." short:"r"`
	ObservedResources      []string          `help:"Observed resources and their connection Secrets. May be repeated." placeholder:"PATH" predictor:"path" sep:"none"`
	Output                 string            `default:"yaml" enum:"yaml,json" help:"The output format: ${enum}. JSON is a list." short:"o"`
	RequiredResources      []string          `aliases:"extra-resources,function-credentials" help:"Objects that the function may require. May be repeated." placeholder:"PATH" predictor:"path" short:"e"`
	RequiredSchemas        []string          `aliases:"schema" help:"OpenAPI v3 documents, XRDs or CRDs. May be repeated." placeholder:"PATH" predictor:"path" sep:"none" short:"s"`
	ShowSecrets            bool              `help:"Print the data of Secrets and connection details, instead of its length."`
	Timeout                time.Duration     `default:"1m" help:"The maximum time for all steps."`
	XRD                    string            `help:"The XRD of the composite, for its defaults and its schema." placeholder:"PATH" predictor:"path"`

	Unused unused `embed:""`
}

// unused are flags of `crossplane composition render` that have no effect here, because nothing is downloaded, and
// neither containers nor Crossplane run.
type unused struct {
	CacheDir                string   `help:"Has no effect here." hidden:""`
	Config                  string   `help:"Has no effect here." hidden:""`
	CrossplaneBinary        string   `help:"Has no effect here." hidden:""`
	CrossplaneDockerNetwork string   `help:"Has no effect here." hidden:""`
	CrossplaneImage         string   `help:"Has no effect here." hidden:""`
	CrossplaneVersion       string   `help:"Has no effect here." hidden:""`
	FunctionAnnotations     []string `help:"Has no effect here." hidden:"" short:"a"`
	MaxConcurrency          uint     `help:"Has no effect here." hidden:""`
	ProjectFile             string   `help:"Has no effect here." hidden:"" short:"f"`
	Verbose                 bool     `help:"Has no effect here." hidden:""`
}

// Help is what kong prints below the flags.
func (c *Command) Help() string {
	return `Runs every pipeline step whose input is an Exports, without a cluster and without
a container. Other steps are named on stderr, and compose what is observed of their
resources, or else the bases of function-patch-and-transform.

A folder contains xr.yaml and composition.yaml. The command also reads these files
and folders if they exist: observed.yaml and observed/, required.yaml and required/,
xrd.yaml, now.txt (a time, see --at), and environment.yaml (the context value
apiextensions.crossplane.io/environment of an earlier step). Flags add to them, and an
object of a flag replaces that of the folder. PATH is a YAML file or a folder. A List, as
kubectl prints several objects, is read as its items.

The connection details of an observed resource are read from the Secret that its
spec.writeConnectionSecretToRef names, if that Secret is in the files. It may be among
the observed resources. stringData of a Secret is read as its data.
An observed resource needs the annotation crossplane.io/composition-resource-name.

Objects are printed on stdout. Results, conditions and the names of objects that
Crossplane deletes are printed on stderr. Values of Secrets are printed as their
length, unless --show-secrets is set.

The flags are those of crossplane composition render, except for -o. Flags about Docker,
Crossplane and projects have no effect.

Exit codes: 0 if each export is ready, or is created in this reconcile. 1 if the input
has errors, or an export waits, is held, or is in conflict; --allow-waiting allows
exports that wait. 2 if a file could not be read, if the command line is wrong, or if a
step does not end in time.

Examples:

    function-export render example/postgresql-url

    function-export render xr.yaml composition.yaml --observed-resources observed.yaml \
      --required-resources required.yaml --allow-waiting \
      --context-values 'apiextensions.crossplane.io/environment={"region":"eu"}'`
}

// Run is called by kong, with the values that main binds.
func (c *Command) Run(ctx context.Context, k *kong.Context, system *files.System, engine pipeline.Engine) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	return c.RunWith(ctx, system, engine, k.Stdout, k.Stderr)
}

// functionAt returns the function at a time, or at the time of the system if it is zero. With a time, it is a
// rehearsal, whose randomness depends only on the content of the files and on the time.
func (in *inputs) functionAt(engine pipeline.Engine, at time.Time) (world.Function, error) {
	if at.IsZero() {
		return engine(nil, nil, nil), nil
	}
	content, err := json.Marshal([]any{at.UTC(), in.XR, in.Pipeline.Steps, in.Observed, in.Connection, in.Required,
		in.context})
	if err != nil {
		return nil, fmt.Errorf("cannot read the files as JSON: %w", err)
	}
	return engine(func() time.Time { return at }, pipeline.Seeded(sha256.Sum256(content)), nil), nil
}

// RunWith renders the files. It writes objects to stdout, in one write and only
// without errors, and messages to stderr, one per line.
//
// A fatal result is a line on stderr and a *terminal.ExitError, which does not repeat it. No text
// that it writes or returns contains a value of a Secret, except stdout with ShowSecrets.
func (c *Command) RunWith(ctx context.Context, system *files.System, engine pipeline.Engine, stdout,
	stderr io.Writer) error {
	in, err := c.load(system)
	if err != nil {
		return err
	}
	at := c.At
	if at.IsZero() && !in.now.IsZero() {
		at = in.now
		_, _ = fmt.Fprintf(stderr, "at %s, as in now.txt\n", at.Format(time.RFC3339)) // the exit code tells the result
	}
	r, err := in.run(ctx, engine, at, stderr)
	if err != nil {
		return err
	}
	out, err := c.print(in, r)
	if err != nil {
		return err
	}
	if _, err = stdout.Write(out); err == nil && !r.ready(c.AllowWaiting) {
		err = &terminal.ExitError{Code: terminal.ExitErrors, Why: "an export is not ready"}
	}
	return err
}

// A run is what one run of the pipeline returned.
type run struct {
	*fnv1.RunFunctionResponse

	world   *world.World
	results []map[string]any // that did not end the pipeline, as documents
}

// run runs the pipeline at a time as Crossplane does, and prints messages. After a fatal result, it also returns what
// the pipeline returned until then.
func (in *inputs) run(ctx context.Context, engine pipeline.Engine, at time.Time, stderr io.Writer) (*run, error) {
	call, err := in.functionAt(engine, at)
	if err != nil {
		return nil, err
	}
	r := &run{world: in.Files()}
	responses, last := map[int]*fnv1.RunFunctionResponse{}, ""
	in.Pipeline.Play(r.world, pipeline.Options{Call: func(step int) world.Function {
		return func(ctx context.Context, req *fnv1.RunFunctionRequest) (rsp *fnv1.RunFunctionResponse, err error) {
			last = in.Pipeline.Steps[step].Name
			responses[step], err = call(ctx, req)
			return responses[step], err
		}
	}})
	req, _ := r.world.Observe(r.world.XR, r.world.Listed)
	r.RunFunctionResponse, err = r.world.Run(ctx, req, r.world.LookUp)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("cannot run pipeline step %q: it needs longer than allowed: set a longer --timeout", last)
	case err != nil:
		return nil, fmt.Errorf("cannot run pipeline step %q: %s", last, terminal.OneLine(err.Error()))
	}
	for i, step := range in.Pipeline.Steps {
		if !pipeline.IsExports(step) {
			text := "only function-export runs here"
			if step.Opaque {
				text += ": pass the resources that it composes with --observed-resources"
			}
			say(stderr, fmt.Sprintf("skipped step %q (%s)", step.Name, step.Function), text)
			continue
		}
		if err := in.respond(ctx, step.Name, responses[i], stderr); err != nil {
			return nil, err
		}
		if world.FatalOf(responses[i]) != "" {
			return r, &terminal.ExitError{Code: terminal.ExitErrors, Why: fmt.Sprintf("pipeline step %q returned a fatal result",
				step.Name)}
		}
		for _, rs := range responses[i].GetResults() {
			r.results = append(r.results, resultDoc(step.Name, rs))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(req.GetObserved().GetResources())) {
		if r.GetDesired().GetResources()[name] == nil {
			o := req.GetObserved().GetResources()[name].GetResource()
			at := strings.TrimPrefix(world.Meta(o, "namespace")+"/"+world.Meta(o, "name"), "/")
			say(stderr, "deleted", fmt.Sprintf("%s %s, composed resource %q", o.GetFields()["kind"].GetStringValue(), at, name))
		}
	}
	return r, nil
}

// ready reports whether all exports are ready, or will be in the next reconcile, because only their objects do not
// exist yet. The states of all steps of the function are in the context.
func (r *run) ready(allowWaiting bool) bool {
	allowed := reconcile.Created
	if allowWaiting {
		allowed = reconcile.Waiting
	}
	reports := r.GetContext().GetFields()["export.fn.crossplane.io/exports"].GetStructValue().GetFields()
	for _, report := range reports {
		if reconcile.State(report.GetStructValue().GetFields()["state"].GetNumberValue()) > allowed {
			return false
		}
	}
	return len(reports) > 0 || !slices.ContainsFunc(r.GetConditions(), func(c *fnv1.Condition) bool {
		return c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE
	})
}

// severityText returns the text of a severity. An unknown severity is a warning, as in Crossplane.
func severityText(s fnv1.Severity) string {
	known := map[fnv1.Severity]string{fnv1.Severity_SEVERITY_FATAL: "fatal", fnv1.Severity_SEVERITY_NORMAL: "normal"}
	return cmp.Or(known[s], "warning")
}

func statusText(s fnv1.Status) string {
	known := map[fnv1.Status]string{fnv1.Status_STATUS_CONDITION_TRUE: "True", fnv1.Status_STATUS_CONDITION_FALSE: "False"}
	return cmp.Or(known[s], "Unknown")
}

// A Rendering is what the command prints for a folder, with secrets.
type Rendering struct {
	Objects  []map[string]any // the composite first, with its conditions
	Observed map[string]bool  // composition resource names
}

// Render renders a folder at the time of its now.txt, or else at another time.
func (c *Command) Render(ctx context.Context, system *files.System, at time.Time, engine pipeline.Engine) (*Rendering,
	error) {
	in, err := c.load(system)
	if err != nil {
		return nil, err
	}
	if !in.now.IsZero() {
		at = in.now
	}
	r, err := in.run(ctx, engine, at, io.Discard)
	if r == nil {
		return nil, err
	}
	out := &Rendering{Objects: (&Command{IncludeContext: true}).docs(in, r), Observed: map[string]bool{}}
	for _, o := range in.Observed {
		out.Observed[o.Name] = true
	}
	conditions := []any{}
	for _, c := range r.GetConditions() {
		conditions = append(conditions, map[string]any{
			"type": c.GetType(), "status": statusText(c.GetStatus()), "reason": c.GetReason(), "message": c.GetMessage(),
		})
	}
	out.Objects[0]["status"] = mergeMaps(map[string]any{"conditions": conditions}, mapIn(out.Objects[0], "status"))
	return out, nil
}

// Setup reads and checks the files, as what a test begins with. The values of the context win over those of the flags.
func (c *Command) Setup(system *files.System, pipelineContext map[string]any) (*pipeline.Setup, error) {
	in, err := c.load(system)
	if err != nil {
		return nil, err
	}
	maps.Copy(in.context, pipelineContext)
	in.Context = world.StructOf(in.context)
	return &in.Setup, nil
}

// Pipeline reads the pipeline of another Composition.
func (c *Command) Pipeline(system *files.System, file string) (*pipeline.Pipeline, error) {
	in, err := c.load(system)
	if err != nil {
		return nil, err
	}
	return in.loadComposition(file)
}
