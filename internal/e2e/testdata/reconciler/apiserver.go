package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
)

// A key is the key of an object.
type key struct {
	schema.GroupVersionKind
	types.NamespacedName
}

func keyOf(o *unstructured.Unstructured) key {
	return key{o.GroupVersionKind(), types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}}
}

// A revision of an object is its content since a revision of the API server. A deleted object has no content.
type revision struct {
	since   int
	content *unstructured.Unstructured
}

// An event is a change of an object.
type event struct {
	Type   string         `json:"type"` // ADDED, MODIFIED or DELETED
	Object map[string]any `json:"object"`
}

// An apiServer keeps objects and each of their revisions in memory. Apply and update are those of Kubernetes: it uses
// the field manager of the real API server, with the schemas of the built-in kinds. The schema of a composite is
// deduced, so its lists are atomic. It validates what matters to composed Secrets: immutable data, one controller,
// resource versions and UIDs. A deletion in the foreground ends only when collect is called.
type apiServer struct {
	now     time.Time
	latest  int
	created int
	objects map[key][]revision
	events  []event
}

// at returns an object at a revision, or nil.
func (s *apiServer) at(k key, latest int) *unstructured.Unstructured {
	for _, r := range slices.Backward(s.objects[k]) {
		if r.since <= latest {
			return r.content
		}
	}
	return nil
}

func (s *apiServer) get(k key) (*unstructured.Unstructured, error) {
	if o := s.at(k, s.latest); o != nil {
		return o, nil
	}
	return nil, kerrors.NewNotFound(resourceOf(k), k.Name)
}

func resourceOf(k key) schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: strings.ToLower(k.Kind) + "s"}
}

func (s *apiServer) keys() []key {
	return slices.SortedFunc(maps.Keys(s.objects), func(a, b key) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

// store stores an object that was created or changed. If nothing but times of managed fields would change, it does
// nothing, as the API server.
func (s *apiServer) store(was, is *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	k := keyOf(is)
	if err := validate(k, was, is); err != nil {
		return nil, err
	}
	if was == nil {
		s.created++
		is.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", s.created)))
		is.SetCreationTimestamp(metav1.NewTime(s.now))
		is.SetGeneration(1)
	} else {
		is.SetResourceVersion(was.GetResourceVersion())
		is.SetGeneration(was.GetGeneration())
		if !reflect.DeepEqual(was.Object["spec"], is.Object["spec"]) {
			is.SetGeneration(was.GetGeneration() + 1)
		}
		if same(was, is) {
			return was, nil
		}
	}
	s.latest++
	is.SetResourceVersion(fmt.Sprint(s.latest))
	kind := "MODIFIED"
	if was == nil {
		kind = "ADDED"
	}
	if is.GetDeletionTimestamp() != nil && len(is.GetFinalizers()) == 0 {
		s.objects[k] = append(s.objects[k], revision{s.latest, nil})
		s.events = append(s.events, event{"DELETED", is.Object})
		return is, nil
	}
	s.objects[k] = append(s.objects[k], revision{s.latest, is})
	s.events = append(s.events, event{kind, is.Object})
	return is, nil
}

func same(was, is *unstructured.Unstructured) bool {
	a, b := was.DeepCopy(), is.DeepCopy()
	for _, o := range []*unstructured.Unstructured{a, b} {
		fields := o.GetManagedFields()
		for i := range fields {
			fields[i].Time = nil
		}
		o.SetManagedFields(fields)
	}
	return reflect.DeepEqual(a.Object, b.Object)
}

func validate(k key, was, is *unstructured.Unstructured) error {
	var errs field.ErrorList
	controllers := 0
	for _, r := range is.GetOwnerReferences() {
		if r.Controller != nil && *r.Controller {
			controllers++
		}
	}
	if controllers > 1 {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "ownerReferences"), controllers, "Only one reference can have Controller set to true"))
	}
	if was != nil {
		fixed, _, _ := unstructured.NestedBool(was.Object, "immutable")
		still, _, _ := unstructured.NestedBool(is.Object, "immutable")
		if fixed && (!still || !reflect.DeepEqual(was.Object["data"], is.Object["data"])) {
			errs = append(errs, field.Forbidden(field.NewPath("data"), "field is immutable when `immutable` is set"))
		}
		if was.Object["type"] != is.Object["type"] && is.GetKind() == "Secret" {
			errs = append(errs, field.Invalid(field.NewPath("type"), is.Object["type"], "field is immutable"))
		}
	}
	if len(errs) > 0 {
		return kerrors.NewInvalid(k.GroupKind(), k.Name, errs)
	}
	return nil
}

// precondition refuses a change of another object or of another revision.
func precondition(k key, was *unstructured.Unstructured, uid types.UID, version string) error {
	if uid != "" && uid != was.GetUID() {
		return kerrors.NewConflict(resourceOf(k), k.Name, fmt.Errorf("precondition failed: UID %s, and is %s", uid, was.GetUID()))
	}
	if version != "" && version != was.GetResourceVersion() {
		return kerrors.NewConflict(resourceOf(k), k.Name, fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

// apply applies an object server side. If status is true, only its status is applied.
func (s *apiServer) apply(o *unstructured.Unstructured, manager string, force, status bool) (*unstructured.Unstructured, error) {
	k := keyOf(o)
	was := s.at(k, s.latest)
	applied := o.DeepCopy()
	uid := applied.GetUID()
	if was == nil && (status || uid != "") {
		if status {
			return nil, kerrors.NewNotFound(resourceOf(k), k.Name)
		}
		return nil, kerrors.NewConflict(resourceOf(k), k.Name, fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
	}
	for _, f := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(applied.Object, "metadata", f)
	}
	live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind()}}
	if was != nil {
		live = was.DeepCopy()
		if err := precondition(k, was, uid, ""); err != nil {
			return nil, err
		}
	}
	if status {
		applied.Object = map[string]any{
			"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "status": applied.Object["status"],
			"metadata": map[string]any{"name": k.Name, "namespace": k.Namespace},
		}
		if applied.Object["status"] == nil {
			delete(applied.Object, "status")
		}
	} else if hasStatus(k) {
		delete(applied.Object, "status")
	}
	fm, err := fieldManager(k.GroupVersionKind, status)
	if err != nil {
		return nil, err
	}
	merged, err := fm.Apply(live, applied, manager, force)
	if err != nil {
		return nil, err
	}
	is := merged.(*unstructured.Unstructured)
	s.defaults(is)
	return s.store(was, is)
}

// defaults sets the defaults of the API server.
func (s *apiServer) defaults(o *unstructured.Unstructured) {
	if o.GetKind() == "Secret" && o.Object["type"] == nil {
		o.Object["type"] = "Opaque"
	}
}

// update replaces an object, or its status.
func (s *apiServer) update(o *unstructured.Unstructured, manager string, status bool) (*unstructured.Unstructured, error) {
	k := keyOf(o)
	was, err := s.get(k)
	if err != nil {
		return nil, err
	}
	if err := precondition(k, was, o.GetUID(), o.GetResourceVersion()); err != nil {
		return nil, err
	}
	is := o.DeepCopy()
	if status {
		is = was.DeepCopy()
		is.Object["status"] = runtime.DeepCopyJSONValue(o.Object["status"])
	} else if hasStatus(k) {
		delete(is.Object, "status")
		if v, ok := was.Object["status"]; ok {
			is.Object["status"] = runtime.DeepCopyJSONValue(v)
		}
	}
	is.SetUID(was.GetUID())
	is.SetCreationTimestamp(was.GetCreationTimestamp())
	is.SetDeletionTimestamp(was.GetDeletionTimestamp())
	fm, err := fieldManager(k.GroupVersionKind, status)
	if err != nil {
		return nil, err
	}
	merged, err := fm.Update(was.DeepCopy(), is, manager)
	if err != nil {
		return nil, err
	}
	return s.store(was, merged.(*unstructured.Unstructured))
}

func (s *apiServer) create(o *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	k := keyOf(o)
	if s.at(k, s.latest) != nil {
		return nil, kerrors.NewAlreadyExists(resourceOf(k), k.Name)
	}
	fm, err := fieldManager(k.GroupVersionKind, false)
	if err != nil {
		return nil, err
	}
	live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind()}}
	merged, err := fm.Update(live, o.DeepCopy(), manager)
	if err != nil {
		return nil, err
	}
	is := merged.(*unstructured.Unstructured)
	s.defaults(is)
	return s.store(nil, is)
}

// delete deletes an object. In the foreground, it stays until collect is called.
func (s *apiServer) delete(k key, uid types.UID, foreground bool) error {
	was, err := s.get(k)
	if err != nil {
		return err
	}
	if err := precondition(k, was, uid, ""); err != nil {
		return err
	}
	is := was.DeepCopy()
	if is.GetDeletionTimestamp() == nil {
		now := metav1.NewTime(s.now)
		is.SetDeletionTimestamp(&now)
	}
	if foreground && !slices.Contains(is.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		is.SetFinalizers(append(is.GetFinalizers(), metav1.FinalizerDeleteDependents))
	}
	_, err = s.store(was, is)
	return err
}

// collect ends deletions in the foreground, as Kubernetes' garbage collector.
func (s *apiServer) collect() error {
	for _, k := range s.keys() {
		o := s.at(k, s.latest)
		if o == nil || o.GetDeletionTimestamp() == nil || !slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents) {
			continue
		}
		is := o.DeepCopy()
		is.SetFinalizers(slices.DeleteFunc(is.GetFinalizers(), func(f string) bool { return f == metav1.FinalizerDeleteDependents }))
		if _, err := s.store(o, is); err != nil {
			return err
		}
	}
	return nil
}

// mergePatch merges a JSON merge patch into an object, as a user.
func (s *apiServer) mergePatch(k key, patch []byte) error {
	was, err := s.get(k)
	if err != nil {
		return err
	}
	var fields map[string]any
	if err := json.Unmarshal(patch, &fields); err != nil {
		return err
	}
	is := was.DeepCopy()
	merge(is.Object, fields)
	_, err = s.update(is, "user", false)
	return err
}

func merge(into, patch map[string]any) {
	for k, v := range patch {
		inner, ok := v.(map[string]any)
		was, both := into[k].(map[string]any)
		switch {
		case v == nil:
			delete(into, k)
		case ok && both:
			merge(was, inner)
		case ok:
			was = map[string]any{}
			merge(was, inner)
			into[k] = was
		default:
			into[k] = v
		}
	}
}

func hasStatus(k key) bool { return k.Group != "" }

var builtIn = applyconfigurations.NewTypeConverter(scheme.Scheme)

type managerKey struct {
	schema.GroupVersionKind
	status bool
}

var managers = map[managerKey]*managedfields.FieldManager{}

func fieldManager(k schema.GroupVersionKind, status bool) (*managedfields.FieldManager, error) {
	if m := managers[managerKey{k, status}]; m != nil {
		return m, nil
	}
	converter := managedfields.NewDeducedTypeConverter()
	if k.Group == "" {
		converter = builtIn
	}
	sub := ""
	if status {
		sub = "status"
	}
	m, err := managedfields.NewDefaultCRDFieldManager(converter, sameVersion{}, sameVersion{}, sameVersion{}, k, k.GroupVersion(), sub, nil)
	managers[managerKey{k, status}] = m
	return m, err
}

// sameVersion converts and defaults nothing: each kind has one version.
type sameVersion struct{}

func (sameVersion) Convert(in, out, _ any) error {
	in.(*unstructured.Unstructured).DeepCopyInto(out.(*unstructured.Unstructured))
	return nil
}

func (sameVersion) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (sameVersion) ConvertFieldLabel(schema.GroupVersionKind, string, string) (string, string, error) {
	return "", "", fmt.Errorf("no field labels")
}
func (sameVersion) Default(runtime.Object) {}

func (sameVersion) New(k schema.GroupVersionKind) (runtime.Object, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(k)
	return o, nil
}
