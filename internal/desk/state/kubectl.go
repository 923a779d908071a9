package state

import (
	"context"
	"fmt"
	"strings"
)

// A Kubectl runs the user's kubectl with a standard input, and returns its output.
type Kubectl func(ctx context.Context, stdin []byte, args ...string) ([]byte, error)

// CurrentContext returns the context that kubectl uses.
func (k Kubectl) CurrentContext(ctx context.Context) (string, error) {
	out, err := k(ctx, nil, "config", "current-context")
	if err != nil {
		return "", fmt.Errorf("cannot find the context of kubectl: %w: set one, or pass --context", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// A right is what kubectl must be allowed to do.
type right struct {
	verb, resource string
}

// String is the right as kubectl auth can-i has it.
func (r right) String() string { return r.verb + " " + r.resource + " --all-namespaces" }

// lacking returns the rights that the user does not have. kubectl says no, and ends with an error.
func (k Kubectl) lacking(ctx context.Context, rights ...right) ([]right, error) {
	var out []right
	for _, r := range rights {
		answer, err := k(ctx, nil, "auth", "can-i", r.verb, r.resource, "--all-namespaces")
		switch text := strings.TrimSpace(string(answer)); {
		case strings.HasPrefix(text, "yes"):
		case strings.HasPrefix(text, "no"):
			out = append(out, r)
		case err != nil:
			return nil, err
		}
	}
	return out, nil
}

// A RightsError lists the rights that are lacking.
type RightsError struct{ lacks []right }

// Error lists them, as kubectl auth can-i has them.
func (e *RightsError) Error() string {
	texts := make([]string, 0, len(e.lacks))
	for _, r := range e.lacks {
		texts = append(texts, r.String())
	}
	return "kubectl lacks these rights: " + strings.Join(texts, "; ")
}

// get adds the objects that kubectl gets.
func (k Kubectl) get(ctx context.Context, s *State, stdin []byte, args ...string) error {
	out, err := k(ctx, stdin, append(append([]string{"get"}, args...), "-o", "json", "--show-managed-fields", "--ignore-not-found")...)
	if err != nil {
		return err
	}
	_, err = s.Read("the output of kubectl get", string(out))
	return err
}
