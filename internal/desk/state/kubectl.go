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

// allNamespaces is the flag of kubectl.
const allNamespaces = "--all-namespaces"

// scope returns the flag of kubectl for a namespace, or for all.
func scope(namespace string) string {
	if namespace == "" {
		return allNamespaces
	}
	return "--namespace=" + namespace
}

// lacking returns the rights that the user does not have. kubectl says no, and ends with an error.
func (k Kubectl) lacking(ctx context.Context, rights []right) ([]right, error) {
	var out []right
	for _, r := range rights {
		answer, err := k(ctx, nil, "auth", "can-i", r.verb, r.resource, allNamespaces)
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

// need returns an error with the rights that the user does not have, as kubectl auth can-i has them.
func (k Kubectl) need(ctx context.Context, rights []right) error {
	lacks, err := k.lacking(ctx, rights)
	if err != nil || len(lacks) == 0 {
		return err
	}
	texts := make([]string, 0, len(lacks))
	for _, r := range lacks {
		texts = append(texts, r.verb+" "+r.resource+" "+allNamespaces)
	}
	return fmt.Errorf("kubectl lacks these rights: %s", strings.Join(texts, "; "))
}

// get adds the objects that kubectl gets.
func (k Kubectl) get(ctx context.Context, s *State, stdin []byte, args ...string) error {
	out, err := k(ctx, stdin, append(append([]string{"get"}, args...), "-o", "json", "--show-managed-fields",
		"--ignore-not-found")...)
	if err != nil {
		return err
	}
	_, err = s.Read("the output of kubectl get", string(out))
	return err
}
