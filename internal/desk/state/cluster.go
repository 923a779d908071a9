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

// FromCluster reads the composites that use Compositions, with what Crossplane composes for them. Rights are checked
// before something is read. Without the right to read Secrets, their data is unknown.
func FromCluster(ctx context.Context, k Kubectl, changed []map[string]any) (*State, error) {
	s, kinds := New(), map[string]bool{}
	reads := append(make([][]string, 0, 2+2*len(changed)), []string{definitions}, []string{compositions})
	for _, c := range changed {
		name := RefIn(c).Name
		kinds[compositeType(c).resource()] = true
		reads[1] = append(reads[1], name)
		reads = append(reads, []string{revisions, "-l", "crossplane.io/composition-name=" + name})
	}
	rights := append(make([]right, 0, 3+len(kinds)),
		right{list, definitions}, right{"get", compositions}, right{list, revisions})
	for _, resource := range slices.Sorted(maps.Keys(kinds)) {
		rights = append(rights, right{list, resource})
		reads = append(reads, []string{resource, allNamespaces})
	}
	if err := k.need(ctx, rights); err != nil {
		return nil, err
	}
	lacks, err := k.lacking(ctx, []right{{list, "secrets"}, {"get", "secrets"}})
	if err != nil {
		return nil, err
	}
	s.Complete = len(lacks) == 0
	for _, args := range reads {
		if err := k.get(ctx, s, nil, args...); err != nil {
			return nil, err
		}
	}
	return s, s.readComposed(ctx, k, changed)
}

// readComposed reads the composed resources of all composites.
func (s *State) readComposed(ctx context.Context, k Kubectl, changed []map[string]any) error {
	kinds := map[right]bool{}
	for _, of := range changed {
		for _, c := range s.Composites(of) {
			for _, r := range c.Refs() {
				if s.Complete || !r.isSecret() {
					kinds[right{list, r.resource()}] = true
				}
			}
		}
	}
	rights := slices.SortedFunc(maps.Keys(kinds), func(a, b right) int { return strings.Compare(a.resource, b.resource) })
	if err := k.need(ctx, rights); err != nil {
		return err
	}
	for _, r := range rights {
		if err := k.get(ctx, s, nil, r.resource, allNamespaces, "-l", composedLabel); err != nil {
			return err
		}
	}
	s.cluster = newCluster(k)
	return nil
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
