package state

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// OneFromCluster reads a composite, its Composition and what Crossplane composes for it. The namespace is empty for a
// cluster-scoped one, and the kind may be empty. It needs only the right to get these objects, and to list the
// definitions. Without the right to get Secrets, their data is unknown.
func OneFromCluster(ctx context.Context, k Kubectl, kind, namespace, name string) (*State, error) {
	s := New()
	if err := k.get(ctx, s, nil, definitions); err != nil {
		return nil, err
	}
	var resources []string
	for _, o := range s.OfKind(group, kindXRD) {
		xrd := o.Map()
		namespaced := text(xrd, "spec", "scope") == "Namespaced"
		if is := text(xrd, "spec", "names", "kind"); namespaced == (namespace != "") && (kind == "" || strings.EqualFold(is, kind)) {
			resources = append(resources, text(xrd, "spec", "names", "plural")+"."+text(xrd, "spec", "group"))
		}
	}
	if len(resources) == 0 {
		return nil, fmt.Errorf("no CompositeResourceDefinition has the kind %q of a composite in namespace %q", kind, namespace)
	}
	args := []string{strings.Join(resources, ","), name}
	if namespace != "" {
		args = append(args, "--namespace="+namespace)
	}
	if err := k.get(ctx, s, nil, args...); err != nil {
		return nil, err
	}
	return s, s.readOne(ctx, k, namespace, name)
}

// readOne reads what a composite names.
func (s *State) readOne(ctx context.Context, k Kubectl, namespace, name string) error {
	secrets := []string{"auth", "can-i", "get", "secrets"}
	if namespace == "" {
		secrets = append(secrets, "--all-namespaces")
	} else {
		secrets = append(secrets, "--namespace="+namespace)
	}
	answer, _ := k(ctx, nil, secrets...) // it says no with an error
	s.Complete = strings.HasPrefix(strings.TrimSpace(string(answer)), "yes")
	s.cluster = &cluster{kubectl: k, wanted: map[string]*fnv1.ResourceSelector{}, read: map[string]bool{}}
	var named []any
	for _, o := range s.composites(namespace, name) {
		c := &Composite{Object: o, fields: o.Map()}
		refs := append(c.Refs(), Ref{group + "/v1", "Composition", "", c.crossplaneText("compositionRef", "name")},
			Ref{group + "/v1", kindRevision, "", c.crossplaneText("compositionRevisionRef", "name")})
		for _, r := range refs {
			if r.Name != "" && (s.Complete || !r.isSecret()) {
				named = append(named, map[string]any{
					"apiVersion": r.APIVersion, "kind": r.Kind, "metadata": map[string]any{"name": r.Name, "namespace": r.Namespace},
				})
			}
		}
	}
	if len(named) == 0 {
		return nil
	}
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": named})
	if err != nil {
		return err //nolint:wrapcheck // it has only texts
	}
	return k.get(ctx, s, list, "-f", "-")
}

// composites returns the objects with a name of all kinds that have a definition.
func (s *State) composites(namespace, name string) []*Object {
	var out []*Object
	for _, o := range s.OfKind(group, kindXRD) {
		xrd := o.Map()
		for _, c := range s.OfKind(text(xrd, "spec", "group"), text(xrd, "spec", "names", "kind")) {
			if c.Namespace == namespace && c.Name == name {
				out = append(out, c)
			}
		}
	}
	return out
}
