package state

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/crossplane-contrib/function-export/internal/desk/composition"
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

// allNamespaces is the flag of kubectl.
const allNamespaces = "--all-namespaces"

// scope returns the flag of kubectl for a namespace, or for all.
func scope(namespace string) string {
	if namespace == "" {
		return allNamespaces
	}
	return "--namespace=" + namespace
}

// can reports whether the user has a right. kubectl says no, and ends with an error.
func (k Kubectl) can(ctx context.Context, verb, resource, scope string) (bool, error) {
	answer, err := k(ctx, nil, "auth", "can-i", verb, resource, scope)
	if text := strings.TrimSpace(string(answer)); strings.HasPrefix(text, "yes") || strings.HasPrefix(text, "no") {
		return strings.HasPrefix(text, "yes"), nil
	}
	return false, err
}

// A query is what kubectl gets, with the verb that it needs. The first argument is the resource.
type query struct {
	verb string
	args []string
}

// read adds the objects of queries. All rights are checked before something is read.
func (k Kubectl) read(ctx context.Context, s *State, queries []query) error {
	var lacks []string
	for _, q := range queries {
		if may, err := k.can(ctx, q.verb, q.args[0], allNamespaces); err != nil {
			return err
		} else if !may {
			lacks = append(lacks, q.verb+" "+q.args[0]+" "+allNamespaces)
		}
	}
	if len(lacks) > 0 {
		return fmt.Errorf("kubectl lacks these rights: %s", strings.Join(lacks, "; "))
	}
	for _, q := range queries {
		if err := k.get(ctx, s, nil, q.args...); err != nil {
			return err
		}
	}
	return nil
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

// A cluster is read with kubectl when functions require something.
type cluster struct {
	kubectl Kubectl

	mu     sync.Mutex
	wanted map[string]*fnv1.ResourceSelector
	read   map[string]bool
}

func newCluster(k Kubectl) *cluster {
	return &cluster{kubectl: k, wanted: map[string]*fnv1.ResourceSelector{}, read: map[string]bool{}}
}

// The resources of Crossplane that are read first.
const (
	definitions  = "compositeresourcedefinitions." + group
	compositions = "compositions." + group
	revisions    = "compositionrevisions." + group
)

// list is the verb that most reads need.
const list = "list"

// composedLabel is on each object that Crossplane composes.
const composedLabel = "crossplane.io/composite"

// FromCluster reads the composites that use Compositions, with what Crossplane composes for them. Without the right to
// read Secrets, their data is unknown.
func FromCluster(ctx context.Context, k Kubectl, changed []map[string]any) (*State, error) {
	s, kinds, composed := New(), map[string]bool{}, map[string]bool{}
	lists, err := k.can(ctx, list, "secrets", allNamespaces)
	if err == nil && lists {
		s.Complete, err = k.can(ctx, "get", "secrets", allNamespaces)
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range changed {
		names, kinds[compositeType(c).resource()] = append(names, RefIn(c).Name), true
	}
	of := "crossplane.io/composition-name in (" + strings.Join(names, ",") + ")"
	if err := k.read(ctx, s, append([]query{
		{list, []string{definitions}}, {"get", append([]string{compositions}, names...)},
		{list, []string{revisions, "-l", of}},
	}, all(kinds)...)); err != nil {
		return nil, err
	}
	for _, of := range changed {
		for _, c := range s.Composites(of) {
			for _, r := range c.Refs() {
				if s.Complete || !r.isSecret() {
					composed[r.resource()] = true
				}
			}
		}
	}
	err = k.read(ctx, s, all(composed, "-l", composedLabel))
	s.cluster = newCluster(k)
	return s, err
}

// all returns the queries of all objects of kinds.
func all(kinds map[string]bool, flags ...string) (out []query) {
	for _, resource := range slices.Sorted(maps.Keys(kinds)) {
		out = append(out, query{list, append([]string{resource, allNamespaces}, flags...)})
	}
	return out
}

// resource returns a kind as kubectl names it.
func (r Ref) resource() string {
	kind := strings.ToLower(r.Kind)
	if group, version, ok := strings.Cut(r.APIVersion, "/"); ok {
		return kind + "." + version + "." + group
	}
	return kind
}

// want notes what a function requires, if it was not read.
func (s *State) want(sel *fnv1.ResourceSelector) {
	of := Selected(sel)
	if s.cluster == nil || of.isSecret() && !s.Complete || of.Name != "" && s.Find(of) != nil {
		return
	}
	key := of.resource() + "|" + of.String() + fmt.Sprint(sel.GetMatchLabels().GetLabels())
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	if !s.cluster.read[key] {
		s.cluster.wanted[key] = sel
	}
}

// Fetch reads what functions required since the last call, and was not read. It reports whether there was anything:
// then they must be called again.
func (s *State) Fetch(ctx context.Context) (bool, error) {
	if s.cluster == nil || len(s.cluster.wanted) == 0 {
		return false, nil
	}
	var named []any
	for _, key := range slices.Sorted(maps.Keys(s.cluster.wanted)) {
		sel := s.cluster.wanted[key]
		s.cluster.read[key] = true
		if sel.GetMatchLabels() == nil && sel.GetMatchName() != "" {
			named = append(named, Selected(sel).object())
		} else if err := s.fetchLabeled(ctx, sel); err != nil {
			return false, err
		}
	}
	clear(s.cluster.wanted)
	if len(named) == 0 {
		return true, nil
	}
	manifests, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": named})
	if err != nil {
		return false, err //nolint:wrapcheck // it has only texts
	}
	return true, s.cluster.kubectl.get(ctx, s, manifests, "-f", "-") // one call, whatever kinds and namespaces they have
}

func (s *State) fetchLabeled(ctx context.Context, sel *fnv1.ResourceSelector) error {
	args := []string{Selected(sel).resource(), scope(sel.GetNamespace())}
	if match := sel.GetMatchLabels().GetLabels(); len(match) > 0 {
		args = append(args, "-l", labels.Set(match).String())
	}
	return s.cluster.kubectl.get(ctx, s, nil, args...)
}

// OneFromCluster reads a composite, its Composition, and what Crossplane composes for it. The namespace is empty for a
// cluster-scoped one, and the kind may be empty. It needs only the right to get these objects, and to list the
// definitions. Without the right to get Secrets, their data is unknown.
func OneFromCluster(ctx context.Context, k Kubectl, kind, namespace, name string) (*State, error) {
	s := New()
	if err := k.get(ctx, s, nil, definitions); err != nil {
		return nil, err
	}
	s.Complete, _ = k.can(ctx, "get", "secrets", scope(namespace)) // otherwise, they are unknown
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
