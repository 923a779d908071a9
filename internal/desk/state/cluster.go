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
)

// A cluster is read with kubectl when functions require something.
type cluster struct {
	kubectl Kubectl

	mu     sync.Mutex
	wanted map[string]*fnv1.ResourceSelector
	read   map[string]bool
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
	s := New()
	kinds := map[string]bool{}
	names := make([]string, 0, len(changed))
	for _, c := range changed {
		names = append(names, text(c, "metadata", "name"))
		of := Ref{APIVersion: text(c, "spec", "compositeTypeRef", "apiVersion"), Kind: text(c, "spec", "compositeTypeRef", "kind")}
		kinds[of.resource()] = true
	}
	rights := append(make([]right, 0, len(kinds)), right{list, definitions}, right{"get", compositions}, right{list, revisions})
	for _, resource := range slices.Sorted(maps.Keys(kinds)) {
		rights = append(rights, right{list, resource})
	}
	secrets := []right{{list, "secrets"}, {"get", "secrets"}}
	lacks, err := k.lacking(ctx, append(rights, secrets...)...)
	if err != nil {
		return nil, err
	}
	s.Complete = !slices.ContainsFunc(lacks, func(r right) bool { return slices.Contains(secrets, r) })
	if lacks = slices.DeleteFunc(lacks, func(r right) bool { return slices.Contains(secrets, r) }); len(lacks) > 0 {
		return nil, &RightsError{lacks}
	}
	reads := [][]string{{definitions}, append([]string{compositions}, names...)}
	for _, name := range names {
		reads = append(reads, []string{revisions, "-l", "crossplane.io/composition-name=" + name})
	}
	for _, resource := range slices.Sorted(maps.Keys(kinds)) {
		reads = append(reads, []string{resource, "--all-namespaces"})
	}
	for _, args := range reads {
		if err := k.get(ctx, s, nil, args...); err != nil {
			return nil, err
		}
	}
	return s, s.readComposed(ctx, k, changed)
}

// readComposed reads the composed resources of all composites.
func (s *State) readComposed(ctx context.Context, k Kubectl, changed []map[string]any) error {
	kinds := map[string]bool{}
	for _, of := range changed {
		for _, c := range s.Composites(of) {
			for _, r := range c.Refs() {
				if s.Complete || !r.isSecret() {
					kinds[r.resource()] = true
				}
			}
		}
	}
	resources := slices.Sorted(maps.Keys(kinds))
	rights := make([]right, 0, len(resources))
	for _, resource := range resources {
		rights = append(rights, right{list, resource})
	}
	lacks, err := k.lacking(ctx, rights...)
	switch {
	case err != nil:
		return err
	case len(lacks) > 0:
		return &RightsError{lacks}
	}
	for _, resource := range resources {
		if err := k.get(ctx, s, nil, resource, "--all-namespaces", "-l", composedLabel); err != nil {
			return err
		}
	}
	s.cluster = &cluster{kubectl: k, wanted: map[string]*fnv1.ResourceSelector{}, read: map[string]bool{}}
	return nil
}

// resource returns a kind as kubectl names it.
func (r Ref) resource() string {
	group, version, ok := strings.Cut(r.APIVersion, "/")
	if !ok {
		return strings.ToLower(r.Kind)
	}
	return strings.Join([]string{strings.ToLower(r.Kind), version, group}, ".")
}

// want notes what a function requires, if it was not read.
func (s *State) want(sel *fnv1.ResourceSelector) {
	of := Ref{sel.GetApiVersion(), sel.GetKind(), sel.GetNamespace(), sel.GetMatchName()}
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

// Fetch reads what functions required since the last call, and was not read. It reports whether there was anything: then
// they must be called again.
func (s *State) Fetch(ctx context.Context) (bool, error) {
	if s.cluster == nil || len(s.cluster.wanted) == 0 {
		return false, nil
	}
	var named []any
	for _, key := range slices.Sorted(maps.Keys(s.cluster.wanted)) {
		sel := s.cluster.wanted[key]
		s.cluster.read[key] = true
		if sel.GetMatchLabels() == nil && sel.GetMatchName() != "" {
			named = append(named, map[string]any{
				"apiVersion": sel.GetApiVersion(), "kind": sel.GetKind(),
				"metadata": map[string]any{"name": sel.GetMatchName(), "namespace": sel.GetNamespace()},
			})
			continue
		}
		if err := s.fetchLabeled(ctx, sel); err != nil {
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
	args := []string{Ref{APIVersion: sel.GetApiVersion(), Kind: sel.GetKind()}.resource()}
	if ns := sel.GetNamespace(); ns != "" {
		args = append(args, "--namespace="+ns)
	} else {
		args = append(args, "--all-namespaces")
	}
	labels := sel.GetMatchLabels().GetLabels()
	pairs := make([]string, 0, len(labels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, key+"="+labels[key])
	}
	if len(pairs) > 0 {
		args = append(args, "-l", strings.Join(pairs, ","))
	}
	return s.cluster.kubectl.get(ctx, s, nil, args...)
}
