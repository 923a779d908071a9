package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	ucomposite "github.com/crossplane/crossplane-runtime/v2/pkg/resource/unstructured/composite"

	apis "github.com/crossplane/crossplane/apis/v2"
	apiextensionsv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"github.com/crossplane/crossplane/v2/internal/controller/apiextensions/composite"
	"github.com/crossplane/crossplane/v2/internal/controller/apiextensions/composite/dependency"
	"github.com/crossplane/crossplane/v2/internal/controller/apiextensions/composition"
	"github.com/crossplane/crossplane/v2/internal/features"
	"github.com/crossplane/crossplane/v2/internal/render"
	"github.com/crossplane/crossplane/v2/internal/xfn"
	fnv1 "github.com/crossplane/crossplane/v2/proto/fn/v1"
	renderv1alpha1 "github.com/crossplane/crossplane/v2/proto/render/v1alpha1"
)

// A response is a response of the function that may be repeated until its TTL is over.
type response struct {
	*fnv1.RunFunctionResponse

	until time.Time
}

// A session is one API server and one Crossplane, which is started again after a crash.
type session struct {
	api    *apiServer
	scheme *runtime.Scheme

	functions *render.FunctionRunner
	last      map[string]response // to a request, by its tag

	// The memory of Crossplane.
	reconciler *composite.Reconciler
	views      map[string]int // of informers, by kind

	xr    *unstructured.Unstructured
	calls []call // of this reconcile

	faults  map[int]string
	refused map[string]string // by call
	late    map[string]bool
}

func newSession(function string) (*session, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := apis.AddToScheme(scheme); err != nil {
		return nil, err
	}
	functions, err := render.NewFunctionRunner([]*renderv1alpha1.FunctionInput{{Name: "function-export", Address: function}})
	if err != nil {
		return nil, err
	}
	s := &session{scheme: scheme, functions: functions}
	s.reset()
	return s, nil
}

func (s *session) reset() {
	s.api, s.last = &apiServer{objects: map[key][]revision{}}, map[string]response{}
	s.reconciler = nil
}

// restart forgets what Crossplane has in memory.
func (s *session) restart() { s.reconciler = nil }

// compose stores a Composition, its revision, and a composite that uses it.
func (s *session) compose(o *unstructured.Unstructured) error {
	if o.GetKind() != "Composition" {
		s.xr = o
		_, err := s.api.apply(o, "user", true, false)
		return err
	}
	c := &apiextensionsv1.Composition{}
	text, err := json.Marshal(o.Object)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, c); err != nil {
		return err
	}
	stored, err := s.api.apply(o, "user", true, false)
	if err != nil {
		return err
	}
	c.SetUID(stored.GetUID())
	r := composition.NewCompositionRevision(c, 1)
	r.Status.SetConditions(apiextensionsv1.ValidPipeline())
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r)
	if err != nil {
		return err
	}
	revision := &unstructured.Unstructured{Object: fields}
	revision.SetGroupVersionKind(apiextensionsv1.CompositionRevisionGroupVersionKind)
	if _, err = s.api.create(revision, "crossplane"); err != nil {
		return err
	}
	return nil
}

// start starts Crossplane's controller of composites with its default flags.
func (s *session) start() {
	s.views = map[string]int{}
	cached, uncached := kube{session: s, cached: true}, kube{session: s}
	tracker := dependency.NewInMemory()
	resources, schemas := xfn.NewExistingRequiredResourcesFetcher(cached), xfn.NopRequiredSchemasFetcher{}
	flags := &feature.Flags{}
	flags.Enable(features.EnableBetaRealtimeCompositions)
	fetcher := composite.NewSecretConnectionDetailsFetcher(cached)
	composer := composite.NewFunctionComposer(cached, uncached, functionRunner{s, xfn.NewFetchingFunctionRunner(callRunner{s}, resources, schemas)},
		composite.WithComposedResourceObserver(composite.NewExistingComposedResourceObserver(cached, uncached, fetcher)),
		composite.WithCompositeConnectionDetailsFetcher(fetcher),
		composite.WithRequiredSchemasFetcher(schemas),
		composite.WithResourceTracker(tracker),
	)
	s.reconciler = composite.NewReconciler(cached, s.xr.GroupVersionKind(),
		composite.WithCompositeSchema(ucomposite.SchemaModern),
		composite.WithComposer(composer),
		composite.WithFeatures(flags),
		composite.WithWatchStarter("composite", nil, &composite.NopWatchStarter{}, tracker),
	)
}

// reconcile reconciles the composite once. After a crash, the next reconcile starts with an empty memory.
func (s *session) reconcile(c command) (a answer) {
	if s.reconciler == nil {
		s.start()
	}
	s.faults, s.refused, s.late, s.calls = map[int]string{}, map[string]string{}, c.Late, nil
	for _, f := range c.Faults {
		if f.Call != "" {
			s.refused[f.Call] = f.Kind
		} else {
			s.faults[f.At] = f.Kind
		}
	}
	defer func() {
		if e := recover(); e != nil {
			if _, ok := e.(crash); !ok {
				panic(e)
			}
			a = answer{Crashed: true}
			s.restart()
		}
		a.Calls = s.calls
	}()
	result, err := s.reconciler.Reconcile(context.Background(), ctrl.Request{
		NamespacedName: types.NamespacedName{Namespace: s.xr.GetNamespace(), Name: s.xr.GetName()},
	})
	if err != nil {
		a.Error = err.Error()
	}
	if result.RequeueAfter > 0 || result.Requeue { //nolint:staticcheck // the reconciler uses it
		a.Requeue = result.RequeueAfter.String()
	}
	return a
}

// A functionRunner is a Crossplane that may repeat the response to an equal request, as its cache of responses does.
type functionRunner struct {
	*session

	fetching composite.FunctionRunner
}

func (r functionRunner) RunFunction(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	tag := req.GetMeta().GetTag()
	if old := r.last[tag]; r.api.now.Before(old.until) && r.faults[len(r.calls)] == "old" {
		r.calls = append(r.calls, call{Verb: "repeat", Object: name, Fault: "old"})
		return proto.CloneOf(old.RunFunctionResponse), nil
	}
	rsp, err := r.fetching.RunFunction(ctx, name, req)
	if ttl := rsp.GetMeta().GetTtl().AsDuration(); err == nil && ttl > 0 {
		r.last[tag] = response{proto.CloneOf(rsp), r.api.now.Add(ttl)}
	}
	return rsp, err
}

// A callRunner calls the function.
type callRunner struct{ *session }

func (r callRunner) RunFunction(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (rsp *fnv1.RunFunctionResponse, err error) {
	err = r.point("call", keyOfFunction(name), false, func() error {
		rsp, err = r.functions.RunFunction(ctx, name, req)
		return err
	})
	return rsp, err
}

func conflict(k key) error {
	return kerrors.NewConflict(resourceOf(k), k.Name, fmt.Errorf("the object has been modified"))
}
