package diff

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
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
		objects = append(objects, of.object)
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
		if missing := (*terminal.MissingError)(nil); errors.As(err, &missing) {
			err = fmt.Errorf("%w, or pass the output of kubectl get -o yaml with --from", missing)
		}
		return out, err //nolint:wrapcheck // it names the program
	}
}
