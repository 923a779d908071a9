package state

import (
	"context"
	"fmt"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-contrib/function-export/internal/desk/composition"
)

// OneFromCluster reads a composite, its Composition, and what Crossplane composes for it. The namespace is empty for a
// cluster-scoped one, and the kind may be empty. It needs only the right to get these objects, and to list the
// definitions. Without the right to get Secrets, their data is unknown.
func OneFromCluster(ctx context.Context, k Kubectl, kind, namespace, name string) (*State, error) {
	s := New()
	if err := k.get(ctx, s, nil, definitions); err != nil {
		return nil, err
	}
	answer, _ := k(ctx, nil, "auth", "can-i", "get", "secrets", scope(namespace)) // it says no with an error
	s.Complete = strings.HasPrefix(strings.TrimSpace(string(answer)), "yes")
	args := []string{strings.Join(s.compositeResources(kind, namespace != ""), ","), name}
	if namespace != "" {
		args = append(args, scope(namespace))
	}
	if args[0] == "" {
		return nil, fmt.Errorf("no CompositeResourceDefinition defines a composite of kind %q in namespace %q",
			kind, namespace)
	}
	if err := k.get(ctx, s, nil, args...); err != nil {
		return nil, err
	}
	s.cluster = newCluster(k)
	for _, o := range s.objects {
		if o.group() == group || o.Name != name || o.Namespace != namespace {
			continue
		}
		c := &Composite{Object: o, fields: o.Map()}
		refs := append(c.Refs(), Ref{group + "/v1", composition.Kind, "", c.crossplaneText("compositionRef", "name")},
			Ref{group + "/v1", kindRevision, "", c.crossplaneText("compositionRevisionRef", "name")})
		for _, r := range refs {
			if r.Name != "" {
				s.want(r.selector())
			}
		}
	}
	_, err := s.Fetch(ctx)
	return s, err
}

// compositeResources returns the resources of composites of a scope, as kubectl names them. The kind may be empty.
func (s *State) compositeResources(kind string, namespaced bool) (out []string) {
	for _, o := range s.OfKind(group, kindXRD) {
		xrd := o.Map()
		inScope := (Text(xrd, "spec", "scope") == "Namespaced") == namespaced
		if inScope && (kind == "" || strings.EqualFold(Text(xrd, "spec", "names", "kind"), kind)) {
			out = append(out, Text(xrd, "spec", "names", "plural")+"."+Text(xrd, "spec", "group"))
		}
	}
	return out
}

// selector selects one object.
func (r Ref) selector() *fnv1.ResourceSelector {
	return &fnv1.ResourceSelector{
		ApiVersion: r.APIVersion, Kind: r.Kind, Namespace: &r.Namespace,
		Match: &fnv1.ResourceSelector_MatchName{MatchName: r.Name},
	}
}
