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
	"time"

	"github.com/alecthomas/kong"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
)

// Command is the command `function-export render`: it runs only this function, on local files, and prints the
// composed objects.
//
// Flags have the names, types and meaning of `crossplane composition render`, with these differences: -o is the format
// of the output, as in the other commands, --observed-resources and -s may be repeated, -s accepts definitions, and
// --allow-waiting, --at, --changes and --show-secrets are added.
type Command struct {
	Paths []string `arg:"" help:"A folder (see above), or the files xr.yaml composition.yaml [functions.yaml], in this order." name:"dir|files" predictor:"path"`

	// Flags. Keep them in alphabetical order.
	AllowWaiting           bool              `help:"Exit with 0 also if an export only waits for an input, as exports do before the composed resources exist."`
	At                     time.Time         `help:"Render at this time instead of now, for example 2026-11-21T12:00:00Z, to see the later steps of generators. The default is the time in the now.txt of the folder."                                                                  placeholder:"TIME"`
	Changes                bool              `help:"Print how the observed objects change instead of the objects, without values. The exit code is 1 if an export is not ready, or if a Secret or a ConfigMap is deleted or loses or changes a key."`
	ContextFiles           map[string]string `help:"Context key-value pairs, separated by semicolons. Values are files with JSON or YAML."                                                      mapsep:""`
	ContextValues          map[string]string `help:"Context key-value pairs, separated by semicolons. Values are JSON or YAML, and win over --context-files and environment.yaml." mapsep:""`
	FunctionAnnotations    []string          `help:"Accepted as in Crossplane's command, but has no effect." placeholder:"KEY=VALUE" short:"a"`
	FunctionCredentials    string            `help:"A YAML file or folder with the Secrets that a Composition passes to functions. The function may also require them." placeholder:"PATH" predictor:"path"`
	IncludeContext         bool              `help:"Include the context in the output as an object of kind: Context."                                                                                                              short:"c"`
	IncludeFullXR          bool              `help:"Include a copy of the composite's spec and metadata in the output."                                                                                                            short:"x"`
	IncludeFunctionResults bool              `help:"Include normal and warning results of the function in the output as objects of kind: Result."                                                                                  short:"r"`
	ObservedResources      []string          `help:"A YAML file or folder with observed composed resources, and their connection Secrets. May be repeated. An object here replaces that of the folder."       placeholder:"PATH" predictor:"path" sep:"none"`
	Output                 string            `default:"yaml" enum:"yaml,json" help:"The output format: ${enum}. JSON is a list." short:"o"`
	RequiredResources      []string          `aliases:"extra-resources" help:"A YAML file or folder with objects that the function may require. May be repeated. An object here replaces that of the folder." placeholder:"PATH" predictor:"path" short:"e"`
	RequiredSchemas        []string          `aliases:"schema" help:"A file or folder with schemas that the function may require: OpenAPI v3 documents, XRDs or CRDs. May be repeated. --schema is the same flag." placeholder:"PATH" predictor:"path" sep:"none" short:"s"`
	ShowSecrets            bool              `help:"Print the data of Secrets and connection details, instead of its length."`
	Timeout                time.Duration     `default:"1m" help:"The maximum time for all steps."`
	XRD                    string            `help:"The XRD of the composite, for its defaults and its schema. It replaces xrd.yaml of the folder." placeholder:"PATH" predictor:"path"`

	// Refused are the flags that this command does not need.
	Refused refused `embed:""`
}

// Help is what kong prints below the flags.
func (c *Command) Help() string {
	return `Runs every pipeline step whose input is an Exports, without a cluster and without
a container. Other steps are skipped, and named on stderr.

A folder contains xr.yaml and composition.yaml. The command also reads these files
and folders if they exist: functions.yaml, observed.yaml and observed/, required.yaml
and required/, xrd.yaml, now.txt (a time, see --at), and environment.yaml (the context
value apiextensions.crossplane.io/environment of an earlier step). Flags add to them.
A List, as kubectl prints several objects, is read as its items.

The connection details of an observed resource are read from the Secret that its
spec.writeConnectionSecretToRef names, if that Secret is in the files. It may be among
the observed resources. stringData of a Secret is read as its data.
An observed resource needs the annotation crossplane.io/composition-resource-name.

Objects are printed on stdout. Results, conditions and the names of objects that
Crossplane deletes are printed on stderr. Values of Secrets are printed as their
length, unless --show-secrets is set.

The flags are those of crossplane composition render, except for -o and for flags about
Docker, Crossplane and projects: this command needs none of them.

Exit codes: 0 if each export is ready, or is created in this reconcile. 1 if the input
has errors, or an export waits, is held, or is in conflict; --allow-waiting allows
exports that wait. 2 if a file could not be read, if the command line is wrong, or if a
step does not end in time. With --changes, 1 also means that a Secret or a ConfigMap is
deleted or loses or changes a key.

Examples:

    function-export render example/postgresql-url

    function-export render xr.yaml composition.yaml --changes \
      --observed-resources observed.yaml

    function-export render xr.yaml composition.yaml --observed-resources observed.yaml \
      --required-resources required.yaml --allow-waiting \
      --context-values 'apiextensions.crossplane.io/environment={"region":"eu"}'`
}

// FunctionAt returns the function to render with: now and with the system's randomness if the time is zero, and
// otherwise as a rehearsal at that time, with randomness from the seed. Bind one with kong.Bind.
type FunctionAt func(at time.Time, seed [32]byte) (fnv1.FunctionRunnerServiceServer, error)

// Run is called by kong, with the values that main binds.
func (c *Command) Run(k *kong.Context, system *files.System, build FunctionAt) error {
	in, err := c.load(system)
	if err != nil {
		return err
	}
	at := c.At
	if at.IsZero() && !in.now.IsZero() {
		at = in.now
		_, _ = fmt.Fprintf(k.Stderr, "at %s, as in now.txt\n", at.Format(time.RFC3339)) // the exit code tells the result
	}
	seed, err := in.seed(at)
	if err != nil {
		return err
	}
	fn, err := build(at, seed)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	return c.render(ctx, in, fn, k.Stdout, k.Stderr)
}

// seed returns the seed of a rehearsal, which depends only on the content of the files and on the time.
func (in *inputs) seed(at time.Time) ([32]byte, error) {
	content := []any{at.UTC(), in.composite.Object, in.steps, in.context}
	for _, list := range [][]object{in.observed, in.details, in.required} {
		for _, o := range list {
			content = append(content, o.Object)
		}
	}
	text, err := json.Marshal(content)
	if err != nil {
		return [32]byte{}, fmt.Errorf("cannot read the files as JSON: %w", err)
	}
	return sha256.Sum256(text), nil
}

// RunWith renders the files with the function. It writes objects to stdout, in one write and only
// without errors, and messages to stderr, one per line.
//
// A fatal result is a line on stderr and a *terminal.ExitError, which does not repeat it. No text
// that it writes or returns contains a value of a Secret, except stdout with ShowSecrets.
func (c *Command) RunWith(
	ctx context.Context, system *files.System, fn fnv1.FunctionRunnerServiceServer, stdout, stderr io.Writer,
) error {
	in, err := c.load(system)
	if err != nil {
		return err
	}
	return c.render(ctx, in, fn, stdout, stderr)
}

func (c *Command) render(
	ctx context.Context, in *inputs, fn fnv1.FunctionRunnerServiceServer, stdout, stderr io.Writer,
) error {
	if c.Changes { // one report
		stderr = stdout
	}
	r, err := newRun(in, fn, stderr)
	if err != nil {
		return err
	}
	for _, step := range in.steps {
		if err := r.step(ctx, step); err != nil {
			return err
		}
	}
	r.sayDeleted(in)
	if c.Changes {
		return r.printChanges(in, stdout, c.AllowWaiting)
	}
	out, err := c.print(in, r)
	if err != nil {
		return err
	}
	if _, err := stdout.Write(out); err != nil {
		return fmt.Errorf("cannot write the rendered objects: %w", err)
	}
	if !r.ready(c.AllowWaiting) {
		return &terminal.ExitError{Code: terminal.ExitErrors, Why: "an export is not ready"}
	}
	return nil
}

// printChanges prints the report of --changes. Its error says that applications would notice.
func (r *run) printChanges(in *inputs, stdout io.Writer, allowWaiting bool) error {
	report := r.changes(in)
	if _, err := stdout.Write(report.Bytes()); err != nil {
		return fmt.Errorf("cannot write the changes: %w", err)
	}
	if report.losses || !r.ready(allowWaiting) {
		return &terminal.ExitError{Code: terminal.ExitErrors, Why: "an object is lost or changes, or an export is not ready"}
	}
	return nil
}

// run is one run of the pipeline: the values that each step passes to the next one, and the result
// at the end.
type run struct {
	fn     fnv1.FunctionRunnerServiceServer
	stderr io.Writer
	store  store

	schemas *catalog.Catalog
	exports map[string]files.Step // by step
	skipped []composition.Step

	required []object
	observed *fnv1.State
	desired  *fnv1.State
	context  *structpb.Struct
	results  []result
	notes    []string // how to pass the resources of skipped steps
	unready  bool     // a condition is not true

	conditions []*fnv1.Condition // of all steps
	deletes    bool              // a Secret or a ConfigMap is deleted
}

// A result is a result that did not end the pipeline, and its step.
type result struct {
	step string
	*fnv1.Result
}

func newRun(in *inputs, fn fnv1.FunctionRunnerServiceServer, stderr io.Writer) (*run, error) {
	store, err := newStore(in)
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
	return &run{
		fn:       fn,
		stderr:   stderr,
		store:    store,
		schemas:  in.schemas,
		exports:  in.exports,
		required: in.required,
		observed: observed,
		desired:  &fnv1.State{},
		context:  pipelineContext,
	}, nil
}

// step runs one pipeline step as Crossplane does: with the results of the steps before it, and the
// resources that the Composition requires for it.
func (r *run) step(ctx context.Context, s composition.Step) error {
	if !files.IsExports(s) {
		r.skipped = append(r.skipped, s)
		r.say(fmt.Sprintf("skipped step %q (%s)", s.Name, s.Function), "only function-export runs here")
		return nil
	}
	input, err := structpb.NewStruct(s.Input)
	if err != nil {
		return fmt.Errorf("cannot convert the input of pipeline step %q: %w", s.Name, err)
	}
	rsp, err := r.store.runFunction(ctx, r.fn, r.schemas, &fnv1.RunFunctionRequest{
		Meta:              &fnv1.RequestMeta{Capabilities: world.Capabilities()},
		Observed:          r.observed,
		Desired:           r.desired,
		Context:           r.context,
		Input:             input,
		RequiredResources: r.store.bootstrap(s),
	})
	if ctx.Err() != nil {
		return fmt.Errorf("cannot run pipeline step %q: it needs longer than allowed: set a longer --timeout", s.Name)
	}
	if err != nil {
		return fmt.Errorf("cannot run pipeline step %q: %s", s.Name, terminal.OneLine(err.Error()))
	}
	diagnostics, err := r.diagnose(ctx, s.Name, rsp)
	if err != nil {
		return err
	}
	err = r.take(s.Name, rsp, diagnostics)
	r.sayNotes()
	return err
}

// take prints the messages of a step, and keeps its results for the next step. The diagnostics of its input are printed
// as function-export check does, instead of the one line that the function returns.
func (r *run) take(step string, rsp *fnv1.RunFunctionResponse, diagnostics []files.Diagnostic) error {
	r.desired, r.context = rsp.GetDesired(), rsp.GetContext()

	invalid := len(diagnostics) > 0
	_ = terminal.PrintText(r.stderr, diagnostics) // the exit code tells the result
	for _, rs := range rsp.GetResults() {
		text := r.withSkipped(rs.GetMessage())
		isFatal := rs.GetSeverity() == fnv1.Severity_SEVERITY_FATAL
		if isFatal && invalid {
			text = fmt.Sprintf("the input of pipeline step %q has %s", step, terminal.Counted(len(diagnostics), "error", "errors"))
		}
		r.say(severityText(rs.GetSeverity()), text)
		if !isFatal {
			r.results = append(r.results, result{step: step, Result: rs})
		}
	}
	r.conditions = append(r.conditions, rsp.GetConditions()...)
	for _, c := range rsp.GetConditions() {
		text := r.withSkipped(c.GetMessage())
		if invalid && c.GetReason() == reasonInvalid {
			text = "" // the diagnostics
		}
		r.unready = r.unready || c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE
		r.say(fmt.Sprintf("%s=%s %s", c.GetType(), statusText(c.GetStatus()), c.GetReason()), text)
	}
	if isFatal(rsp) {
		return &terminal.ExitError{Code: terminal.ExitErrors, Why: fmt.Sprintf("pipeline step %q returned a fatal result", step)}
	}
	return nil
}

// ready reports whether all exports are ready, or will be in the next reconcile, because only their objects do not
// exist yet. The states of all steps of the function are in the context.
func (r *run) ready(allowWaiting bool) bool {
	allowed := reconcile.Created
	if allowWaiting {
		allowed = reconcile.Waiting
	}
	reports := r.context.GetFields()["export.fn.crossplane.io/exports"].GetStructValue().GetFields()
	for _, report := range reports {
		if reconcile.State(report.GetStructValue().GetFields()["state"].GetNumberValue()) > allowed {
			return false
		}
	}
	return len(reports) > 0 || !r.unready
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
