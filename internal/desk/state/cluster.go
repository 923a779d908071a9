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
)

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
