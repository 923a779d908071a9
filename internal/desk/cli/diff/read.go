package diff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	compositions "github.com/crossplane-contrib/function-export/internal/desk/composition"
	rehearsal "github.com/crossplane-contrib/function-export/internal/desk/diff"
	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

// A Place is where the state is: the flags that diff and why share.
type Place struct {
	At         time.Time `help:"Do it for this time instead of now, for example 2026-11-21T12:00:00Z." placeholder:"TIME"`
	Cluster    bool      `help:"Read the state of the cluster with kubectl, which must be on the path."`
	Context    string    `help:"The context of kubectl. The default is its current one." placeholder:"NAME"`
	From       []string  `help:"Read the state from files or folders with the output of kubectl get -o yaml or -o json. May be repeated." placeholder:"PATH" predictor:"path" sep:"none"`
	Kubeconfig string    `help:"The configuration of kubectl." placeholder:"PATH" predictor:"path"`
}

// Validate returns an error unless the flags select one place.
func (p Place) Validate() error {
	switch {
	case p.Cluster == (len(p.From) > 0):
		return &terminal.UsageError{Text: "write either --cluster or --from PATH: where the state is read"}
	case !p.Cluster && p.Context+p.Kubeconfig != "":
		return &terminal.UsageError{Text: "--context and --kubeconfig are for --cluster"}
	}
	return nil
}

// Time returns the time of --at, which is now if it is not set.
func (p Place) Time() time.Time {
	if p.At.IsZero() {
		return time.Now().UTC().Truncate(time.Second)
	}
	return p.At.UTC()
}

// readCluster reads the state of a cluster with kubectl.
func (c *Command) readCluster(ctx context.Context, changed []*composition) (*state.State, source, error) {
	k := c.Kubectl()
	name := c.Context
	if name == "" {
		var err error
		if name, err = k.CurrentContext(ctx); err != nil {
			return nil, source{}, err //nolint:wrapcheck // it says what to do
		}
	}
	objects := make([]map[string]any, 0, len(changed))
	for _, of := range changed {
		objects = append(objects, of.Object)
	}
	all, err := state.FromCluster(ctx, k, objects)
	if err != nil {
		return nil, source{}, fmt.Errorf("context %s: %w", name, err)
	}
	return all, source{Kind: "cluster", Context: name, Objects: all.Len(), OtherSteps: asComposedNow}, nil
}

// Kubectl returns the user's kubectl, with the flags that select the cluster.
func (p Place) Kubectl() state.Kubectl {
	var flags []string
	if p.Kubeconfig != "" {
		flags = append(flags, "--kubeconfig="+p.Kubeconfig)
	}
	if p.Context != "" {
		flags = append(flags, "--context="+p.Context)
	}
	return func(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
		out, err := terminal.Run(ctx, stdin, "kubectl", slices.Concat(args, flags)...)
		if errors.Is(err, terminal.ErrMissing) {
			err = fmt.Errorf("%w, or pass the output of kubectl get -o yaml with --from", err)
		}
		return out, err //nolint:wrapcheck // it names the program
	}
}

// A composition is a changed Composition of a file.
type composition struct {
	*rehearsal.Pipeline

	file string
	line int
}

// readCompositions reads the Compositions in files. Other objects in them are left out. The errors of their inputs are
// printed as check does: what Crossplane would then do is an effect.
func readCompositions(
	ctx context.Context, system *files.System, paths []string, stderr io.Writer,
) ([]*composition, error) {
	names, err := system.Find(paths, files.Below)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	env, err := advice.NewEnvironment()
	if err != nil {
		return nil, err //nolint:wrapcheck // of this program
	}
	var out []*composition
	for _, f := range system.ReadAll(names, files.AnyText) {
		if err := f.First(); err != nil {
			return nil, err //nolint:wrapcheck // it names the file
		}
		for _, o := range f.Objects() {
			object, _ := o.Value.(map[string]any)
			r := state.RefIn(object)
			if r.Kind != compositions.Kind || !strings.HasPrefix(r.APIVersion, compositions.Group+"/") {
				continue
			}
			if r.Name == "" {
				return nil, fmt.Errorf("%s:%d: a Composition without a name: set metadata.name", f.Name, o.Line("metadata"))
			}
			p, err := rehearsal.NewPipeline(object)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", f.Name, o.Line(decode.At(err)...), err)
			}
			out = append(out, &composition{p, f.Name, o.Line()})
		}
		steps, wrong := files.FindSteps(f)
		for _, s := range steps {
			_, list := s.Compile(ctx, env)
			wrong = append(wrong, s.AllInFile(list)...)
		}
		_ = terminal.PrintText(stderr, wrong) // the exit code tells the result
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("cannot find a Composition in %s: name the files with the changed Compositions",
			strings.Join(paths, ", "))
	}
	return out, nil
}

// read reads the state.
func (c *Command) read(ctx context.Context, system *files.System, changed []*composition) (*state.State, source,
	error) {
	if c.Cluster {
		return c.readCluster(ctx, changed)
	}
	all, err := FromFiles(system, c.From)
	if err != nil {
		return nil, source{}, err
	}
	return all, source{Kind: "files", Paths: c.From, Objects: all.Len(), OtherSteps: asComposedNow}, nil
}

// FromFiles reads the state in files and folders.
func FromFiles(system *files.System, paths []string) (*state.State, error) {
	names, err := system.Find(paths, files.WithJSONBelow)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	all := state.New()
	errs := files.OnAllCores(names, func(name string) error { return readInto(all, system, name) }, func(int) {})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if all.Len() == 0 {
		return nil, errors.New("no object of Kubernetes is in the files of --from: pass the output of kubectl get -o yaml")
	}
	return all, nil
}

func readInto(all *state.State, system *files.System, name string) error {
	read := system.ReadFile
	if name == files.Stdin {
		read = func(string) ([]byte, error) { return io.ReadAll(system.Stdin) }
	}
	data, err := read(name)
	if err != nil {
		return files.CannotRead(name, err) //nolint:wrapcheck // it names the file
	}
	if name == files.Stdin {
		name = files.StdinName
	}
	_, err = all.Read(name, string(data))
	return err //nolint:wrapcheck // it names the file
}

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
