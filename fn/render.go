package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-contrib/function-export/internal/schema"
)

// renderCmd is the command `fn render`: it runs this function alone, on local
// files, and prints what it composes.
//
// Flags have the names, types and meaning of `crossplane composition render`.
// Four things are more than there: -o may be repeated, --at, --schema and
// --show-secrets.
type renderCmd struct {
	Paths []string `arg:"" help:"A folder (see above), or the files xr.yaml composition.yaml [functions.yaml], in this order." name:"dir|files" predictor:"path"`

	// Flags. Keep them in alphabetical order.
	At                     time.Time         `help:"Render as if it was that time, for example 2026-11-21T12:00:00Z, to rehearse what generators do. Defaults to now."                                                                  placeholder:"TIME"`
	ContextFiles           map[string]string `help:"Context key-value pairs to pass to the function, separated by semicolons. Values must be files containing JSON or YAML."                                                      mapsep:""`
	ContextValues          map[string]string `help:"Context key-value pairs to pass to the function, separated by semicolons. Values must be JSON or YAML. Keys take precedence over --context-files, and both over environment.yaml." mapsep:""`
	IncludeContext         bool              `help:"Include the context in the output as an object of kind: Context."                                                                                                              short:"c"`
	IncludeFullXR          bool              `help:"Include a copy of the composite's spec and metadata in the output."                                                                                                            short:"x"`
	IncludeFunctionResults bool              `help:"Include normal and warning results of the function in the output as objects of kind: Result."                                                                                  short:"r"`
	ObservedResources      []string          `help:"A YAML file or folder of YAML files with observed composed resources. May be repeated. An object here replaces one of the folder with the same composition resource name."       placeholder:"PATH" predictor:"path" sep:"none" short:"o"`
	RequiredResources      []string          `aliases:"extra-resources" help:"A YAML file or folder of YAML files with the objects the function may ask for. May be repeated. An object here replaces the same object of the folder." placeholder:"PATH" predictor:"path" short:"e"`
	Schema                 []string          `help:"A file or folder with XRDs and CRDs, for the schemas the function may ask for. May be repeated." placeholder:"PATH" predictor:"path" sep:"none" short:"s"`
	ShowSecrets            bool              `help:"Print the data of Secrets and connection details, instead of its length."`
}

// Help is what kong prints below the flags.
func (c *renderCmd) Help() string {
	return `Runs every pipeline step whose input is an Exports, without a cluster and without
a container. Other steps are skipped, and named on stderr.

A folder holds xr.yaml and composition.yaml. If they exist, functions.yaml,
observed.yaml and observed/, required.yaml and required/, xrd.yaml, and
environment.yaml (what an earlier step left in the context as
apiextensions.crossplane.io/environment) are read, too; flags add to them.

Connection details of an observed resource are read from the Secret that its
spec.writeConnectionSecretToRef names, if that Secret is among the files.
An observed resource needs the annotation crossplane.io/composition-resource-name.

Objects are printed on stdout; results, conditions and what Crossplane deletes on
stderr. A value of a Secret is printed as its length, unless --show-secrets is
given. A fatal result prints no object and exits with 1.

Examples:

    fn render example/postgresql-url

    fn render xr.yaml composition.yaml -o observed.yaml -e required.yaml \
      --context-values 'apiextensions.crossplane.io/environment={"region":"eu"}'`
}

// functionAt makes the function that is rendered with, at a time or, if that is zero,
// now. Bind one with kong.Bind.
type functionAt func(at time.Time) (fnv1.FunctionRunnerServiceServer, error)

// Run is called by kong, with what main binds.
func (c *renderCmd) Run(k *kong.Context, build functionAt) error {
	fn, err := build(c.At)
	if err != nil {
		return err
	}
	return c.run(context.Background(), fn, k.Stdout, k.Stderr)
}

// run renders the files with the function: objects to stdout, in one write and
// only if all went well; what a person should know to stderr, a line each.
//
// A fatal result is a line on stderr and a *renderFatalError, which does not
// repeat it. No text it writes or returns holds a value of a Secret, except for
// stdout with ShowSecrets.
func (c *renderCmd) run(ctx context.Context, fn fnv1.FunctionRunnerServiceServer, stdout, stderr io.Writer) error {
	in, err := c.load()
	if err != nil {
		return err
	}
	r, err := newRenderRun(in, fn, stderr)
	if err != nil {
		return err
	}
	for _, step := range in.steps {
		if err := r.step(ctx, step); err != nil {
			return err
		}
	}
	r.sayDeleted(in)
	out, err := c.print(in, r)
	if err != nil {
		return err
	}
	if _, err := stdout.Write(out); err != nil {
		return fmt.Errorf("cannot write the rendered objects: %w", err)
	}
	return nil
}

// A renderFatalError says which step ended the pipeline. Its result is on stderr.
type renderFatalError struct {
	step string
}

func (e *renderFatalError) Error() string {
	return fmt.Sprintf("pipeline step %q returned a fatal result", e.step)
}

// renderRun is one way through the pipeline: what flows from step to step, and
// what is left at its end.
type renderRun struct {
	fn     fnv1.FunctionRunnerServiceServer
	stderr io.Writer
	store  renderStore

	schemas *schema.Catalog

	observed *fnv1.State
	desired  *fnv1.State
	context  *structpb.Struct
	results  []renderResult
}

// A renderResult is a result that did not end the pipeline, and its step.
type renderResult struct {
	step string
	*fnv1.Result
}

func newRenderRun(in *renderInputs, fn fnv1.FunctionRunnerServiceServer, stderr io.Writer) (*renderRun, error) {
	store, err := newRenderStore(in)
	if err != nil {
		return nil, err
	}
	observed, err := in.observedState(store)
	if err != nil {
		return nil, err
	}
	pipelineContext, err := structpb.NewStruct(in.context)
	if err != nil {
		return nil, fmt.Errorf("cannot convert the context: %w", err)
	}
	return &renderRun{
		fn:       fn,
		stderr:   stderr,
		store:    store,
		schemas:  in.schemas,
		observed: observed,
		desired:  &fnv1.State{},
		context:  pipelineContext,
	}, nil
}

// step runs one pipeline step, as Crossplane does: with what the steps before
// it left, and the resources that the Composition requires for it.
func (r *renderRun) step(ctx context.Context, s renderStep) error {
	if !s.isExports() {
		r.say("skipped step %q (%s): only function-export runs here", s.Step, s.FunctionRef.Name)
		return nil
	}
	input, err := structpb.NewStruct(s.Input)
	if err != nil {
		return fmt.Errorf("cannot convert the input of pipeline step %q: %w", s.Step, err)
	}
	rsp, err := r.store.runFunction(ctx, r.fn, r.schemas, &fnv1.RunFunctionRequest{
		Meta:              &fnv1.RequestMeta{Capabilities: renderCapabilities()},
		Observed:          r.observed,
		Desired:           r.desired,
		Context:           r.context,
		Input:             input,
		RequiredResources: r.store.bootstrap(s),
	})
	if err != nil {
		return fmt.Errorf("cannot run pipeline step %q: %s", s.Step, oneLine(err.Error()))
	}
	return r.take(s.Step, rsp)
}

// take says what a step had to say, and keeps what it leaves to the next one.
func (r *renderRun) take(step string, rsp *fnv1.RunFunctionResponse) error {
	r.desired, r.context = rsp.GetDesired(), rsp.GetContext()

	fatal := false
	for _, rs := range rsp.GetResults() {
		r.say("%s: %s", renderSeverity(rs.GetSeverity()), rs.GetMessage())
		if rs.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			fatal = true
			continue
		}
		r.results = append(r.results, renderResult{step: step, Result: rs})
	}
	for _, c := range rsp.GetConditions() {
		text := fmt.Sprintf("%s=%s %s", c.GetType(), renderConditionStatus(c.GetStatus()), c.GetReason())
		if c.GetMessage() != "" {
			text += ": " + c.GetMessage()
		}
		r.say("%s", text)
	}
	if fatal {
		return &renderFatalError{step: step}
	}
	return nil
}

// say writes one line for a person. A line that cannot be written is lost: the
// objects and the exit code are what counts.
func (r *renderRun) say(format string, args ...any) {
	_, _ = fmt.Fprintln(r.stderr, oneLine(fmt.Sprintf(format, args...)))
}

// oneLine makes a text of the function fit to be seen: no second line, no control
// character.
func oneLine(text string) string {
	text = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || (c >= 0x80 && c < 0xa0) {
			return ' '
		}
		return c
	}, text)
	return strings.TrimSpace(text)
}

// renderCapabilities are those that Crossplane 2.4 advertises.
func renderCapabilities() []fnv1.Capability {
	return []fnv1.Capability{
		fnv1.Capability_CAPABILITY_CAPABILITIES,
		fnv1.Capability_CAPABILITY_REQUIRED_RESOURCES,
		fnv1.Capability_CAPABILITY_CREDENTIALS,
		fnv1.Capability_CAPABILITY_CONDITIONS,
		fnv1.Capability_CAPABILITY_REQUIRED_SCHEMAS,
	}
}

// An unknown severity is a warning, as it is for Crossplane.
func renderSeverity(s fnv1.Severity) string {
	switch s {
	case fnv1.Severity_SEVERITY_FATAL:
		return "fatal"
	case fnv1.Severity_SEVERITY_NORMAL:
		return "normal"
	case fnv1.Severity_SEVERITY_WARNING, fnv1.Severity_SEVERITY_UNSPECIFIED:
	}
	return "warning"
}

func renderConditionStatus(s fnv1.Status) string {
	switch s {
	case fnv1.Status_STATUS_CONDITION_TRUE:
		return "True"
	case fnv1.Status_STATUS_CONDITION_FALSE:
		return "False"
	case fnv1.Status_STATUS_CONDITION_UNKNOWN, fnv1.Status_STATUS_CONDITION_UNSPECIFIED:
	}
	return "Unknown"
}

// overWire copies a message the way gRPC would: what one side does to it later
// the other side does not see, and what cannot be sent is an error.
func overWire[M proto.Message](from, to M) (M, error) {
	b, err := proto.Marshal(from)
	if err != nil {
		return to, fmt.Errorf("cannot encode %s: %w", from.ProtoReflect().Descriptor().Name(), err)
	}
	if err := proto.Unmarshal(b, to); err != nil {
		return to, fmt.Errorf("cannot decode %s: %w", to.ProtoReflect().Descriptor().Name(), err)
	}
	return to, nil
}
