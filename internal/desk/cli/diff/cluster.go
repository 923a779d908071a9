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

// A Place is where the state is: the flags of diff and of why.
type Place struct {
	Cluster             bool
	Context, Kubeconfig string // of kubectl; both may be empty
	From                []string
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

// TimeOf returns the time of --at, which is now if it is not set.
func TimeOf(at time.Time) time.Time {
	if at.IsZero() {
		return time.Now().UTC().Truncate(time.Second)
	}
	return at.UTC()
}

// readCluster reads the state of a cluster with kubectl.
func (c *Command) readCluster(ctx context.Context, changed []*composition) (*state.State, source, error) {
	k := c.place().Kubectl()
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
