package render

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/desk/composition"
)

// maxIterations is Crossplane's MaxRequirementsIterations: how often a function may change its
// requirements before they are unstable.
const maxIterations = 5

// A key is the identity of an object.
type key struct {
	apiVersion, kind, namespace, name string
}

// A store simulates the cluster: it has all objects of the files. It answers requirements as the
// in-memory client of Crossplane's render engine does, so it also has the composite and its observed
// resources.
type store map[key]stored

// A stored is an object, with its form in a request.
type stored struct {
	*manifest
	message *structpb.Struct
}

// key returns the identity of an object.
func (d object) key() key { return key{d.apiVersion(), d.kind(), d.namespace(), d.name()} }

// newStore returns a filled store. Of two objects with the same identity, a required one takes
// precedence over an observed one, and a later one over an earlier one.
func newStore(in *inputs) (store, error) {
	s := store{}
	for _, d := range slices.Concat([]object{in.composite}, in.observed, in.details, in.required) {
		m, err := d.message()
		if err != nil {
			return nil, err
		}
		s[d.key()] = stored{d.manifest, m}
	}
	return s, nil
}

// bootstrap answers the requirements that the Composition declares for a step.
func (s store) bootstrap(step composition.Step) map[string]*fnv1.Resources {
	out := map[string]*fnv1.Resources{}
	for _, r := range step.Required {
		sel := &fnv1.ResourceSelector{ApiVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace}
		switch {
		case r.MatchName != nil:
			sel.Match = &fnv1.ResourceSelector_MatchName{MatchName: *r.MatchName}
		case r.MatchLabels != nil:
			sel.Match = &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: r.MatchLabels}}
		}
		out[r.Name] = s.fetch(sel)
	}
	return out
}

// fetch answers one selector, sorted by namespace and name. An object that is not found is omitted.
//
// With a name the namespace must be equal, so a namespaced object needs a namespace. With labels,
// or with neither, no namespace means all namespaces.
func (s store) fetch(sel *fnv1.ResourceSelector) *fnv1.Resources {
	if name, ok := sel.GetMatch().(*fnv1.ResourceSelector_MatchName); ok {
		o, ok := s[key{sel.GetApiVersion(), sel.GetKind(), sel.GetNamespace(), name.MatchName}]
		if !ok {
			return &fnv1.Resources{}
		}
		return resourcesOf(o)
	}

	match := labels.SelectorFromSet(sel.GetMatchLabels().GetLabels())
	var found []stored
	for k, o := range s {
		if k.apiVersion != sel.GetApiVersion() || k.kind != sel.GetKind() {
			continue
		}
		if ns := sel.GetNamespace(); ns != "" && ns != k.namespace {
			continue
		}
		if match.Matches(labels.Set(o.texts("metadata", "labels"))) {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b stored) int {
		return cmp.Compare(a.namespace()+"/"+a.name(), b.namespace()+"/"+b.name())
	})
	return resourcesOf(found...)
}

func resourcesOf(os ...stored) *fnv1.Resources {
	out := &fnv1.Resources{}
	for _, o := range os {
		out.Items = append(out.Items, &fnv1.Resource{Resource: o.message})
	}
	return out
}

// runFunction calls the function until its requirements are stable, and returns its last response.
// It does the same as Crossplane's FetchingFunctionRunner: desired state is the same in every call,
// and the context is passed on.
func (s store) runFunction(ctx context.Context, fn fnv1.FunctionRunnerServiceServer, known *catalog.Catalog, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	bootstrap := maps.Clone(req.GetRequiredResources())
	var requirements *fnv1.Requirements

	for i := range maxIterations + 1 {
		rsp, err := callFunction(ctx, fn, req)
		if err != nil {
			return nil, err
		}
		if isFatal(rsp) {
			return rsp, nil
		}
		reqs := rsp.GetRequirements()
		if proto.Equal(reqs, requirements) {
			return rsp, nil
		}

		next := maps.Clone(bootstrap)
		for n, sel := range reqs.GetResources() {
			next[n] = s.fetch(sel)
		}
		schemas := map[string]*fnv1.Schema{}
		for n, sel := range reqs.GetSchemas() { // an empty one was not found
			schemas[n] = &fnv1.Schema{OpenapiV3: known.Find(catalog.Kind{APIVersion: sel.GetApiVersion(), Kind: sel.GetKind()})}
		}
		// The first call may already have everything that it requires, from the Composition.
		if i == 0 && maps.EqualFunc(req.GetRequiredResources(), next, equalResources) && len(schemas) == 0 {
			return rsp, nil
		}
		requirements = reqs
		req.RequiredResources = next
		req.RequiredSchemas = schemas
		req.Context = rsp.GetContext()
	}
	return nil, fmt.Errorf("requirements didn't stabilize after the maximum number of iterations (%d)", maxIterations)
}

func equalResources(a, b *fnv1.Resources) bool { return proto.Equal(a, b) }

// callFunction calls the function once. The value of a panic can contain any part of the request, so only its type is
// reported.
func callFunction(ctx context.Context, fn fnv1.FunctionRunnerServiceServer, req *fnv1.RunFunctionRequest) (rsp *fnv1.RunFunctionResponse, err error) {
	defer func() {
		if value := recover(); value != nil {
			rsp, err = nil, fmt.Errorf("the function panicked with a %T", value)
		}
	}()
	return fn.RunFunction(ctx, proto.CloneOf(req))
}

func isFatal(rsp *fnv1.RunFunctionResponse) bool {
	return slices.ContainsFunc(rsp.GetResults(), func(r *fnv1.Result) bool {
		return r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL
	})
}
