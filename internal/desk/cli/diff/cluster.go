package diff

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
)

// readCluster reads the state of a cluster with kubectl.
func (c *Command) readCluster(ctx context.Context, changed []*composition) (*state.State, source, error) {
	k := Kubectl(c.Context, c.Kubeconfig)
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

// Kubectl returns the user's kubectl, with the flags that select the cluster. Both may be empty.
func Kubectl(contextName, kubeconfig string) state.Kubectl {
	var flags []string
	if kubeconfig != "" {
		flags = append(flags, "--kubeconfig="+kubeconfig)
	}
	if contextName != "" {
		flags = append(flags, "--context="+contextName)
	}
	return func(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
		out, err := terminal.Run(ctx, stdin, "kubectl", slices.Concat(args, flags)...)
		if missing := (*terminal.MissingError)(nil); errors.As(err, &missing) {
			err = fmt.Errorf("%w, or pass the output of kubectl get -o yaml with --from", missing)
		}
		return out, err //nolint:wrapcheck // it names the program
	}
}
