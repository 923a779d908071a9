package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A kube is a client of the API server that fails as it is told to. A cached one reads from informers, which may be
// late: the view of a kind that is late is the one that it had before.
type kube struct {
	client.Client // methods that the reconciler does not use are nil, and panic

	*session
	cached bool
}

// view returns the revision that a read sees.
func (c kube) view(k schema.GroupVersionKind) int {
	if !c.cached {
		return c.api.latest
	}
	at, ok := c.views[k.Kind]
	if !ok || !c.late[k.Kind] {
		at = c.api.latest
		c.views[k.Kind] = at
	}
	return at
}

func (c kube) kindOf(o runtime.Object) schema.GroupVersionKind {
	if k := o.GetObjectKind().GroupVersionKind(); !k.Empty() {
		return k
	}
	kinds, _, err := c.scheme.ObjectKinds(o)
	if err != nil {
		panic(err)
	}
	return kinds[0]
}

// content returns an object without its type.
func (c kube) content(o client.Object) (*unstructured.Unstructured, error) {
	if w, ok := o.(interface {
		GetUnstructured() *unstructured.Unstructured
	}); ok {
		return w.GetUnstructured(), nil
	}
	if u, ok := o.(*unstructured.Unstructured); ok {
		return u, nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(c.kindOf(o))
	return u, err
}

// fill fills an object with what the API server returned.
func fill(o runtime.Object, from *unstructured.Unstructured) error {
	if w, ok := o.(interface {
		GetUnstructured() *unstructured.Unstructured
	}); ok {
		w.GetUnstructured().Object = from.DeepCopy().Object
		return nil
	}
	if u, ok := o.(*unstructured.Unstructured); ok {
		u.Object = from.DeepCopy().Object
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(from.DeepCopy().Object, o)
}

func (c kube) verb(v string) string {
	if c.cached {
		return v
	}
	return v + " uncached"
}

func (c kube) Get(_ context.Context, n client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	k := key{c.kindOf(o), n}
	return c.point(c.verb("get"), k, false, func() error {
		found := c.api.at(k, c.view(k.GroupVersionKind))
		if found == nil {
			return kerrors.NewNotFound(resourceOf(k), k.Name)
		}
		return fill(o, found)
	})
}

func (c kube) List(_ context.Context, l client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	kind := c.kindOf(l)
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	return c.point(c.verb("list"), key{GroupVersionKind: kind}, false, func() error {
		list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind + "List"}}
		at := c.view(kind)
		for _, k := range c.api.keys() {
			found := c.api.at(k, at)
			if k.GroupVersionKind != kind || found == nil || o.Namespace != "" && k.Namespace != o.Namespace {
				continue
			}
			if o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(found.GetLabels())) {
				list.Items = append(list.Items, *found.DeepCopy())
			}
		}
		if u, ok := l.(*unstructured.UnstructuredList); ok {
			*u = *list
			return nil
		}
		return runtime.DefaultUnstructuredConverter.FromUnstructured(list.UnstructuredContent(), l)
	})
}

// write writes an object, and fills it with the answer.
func (c kube) write(verb string, o client.Object, do func(u *unstructured.Unstructured) (*unstructured.Unstructured, error)) error {
	u, err := c.content(o)
	if err != nil {
		return err
	}
	return c.point(verb, keyOf(u), true, func() error {
		is, err := do(u)
		if err != nil {
			return err
		}
		return fill(o, is)
	})
}

func (c kube) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	return c.write("create", o, func(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return c.api.create(u, "crossplane")
	})
}

func (c kube) Update(_ context.Context, o client.Object, _ ...client.UpdateOption) error {
	return c.write("update", o, func(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return c.api.update(u, "crossplane", false)
	})
}

func (c kube) Patch(_ context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if p.Type() != types.ApplyPatchType {
		return fmt.Errorf("patches of type %s are not supported", p.Type())
	}
	var options client.PatchOptions
	options.ApplyOptions(opts)
	return c.write("apply", o, func(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return c.api.apply(u, options.FieldManager, options.Force != nil && *options.Force, false)
	})
}

func (c kube) Delete(_ context.Context, o client.Object, opts ...client.DeleteOption) error {
	u, err := c.content(o)
	if err != nil {
		return err
	}
	var options client.DeleteOptions
	options.ApplyOptions(opts)
	uid := types.UID("")
	if p := options.Preconditions; p != nil && p.UID != nil {
		uid = *p.UID
	}
	foreground := options.PropagationPolicy != nil && *options.PropagationPolicy == metav1.DeletePropagationForeground
	return c.point("delete", keyOf(u), true, func() error { return c.api.delete(keyOf(u), uid, foreground) })
}

func (c kube) Status() client.SubResourceWriter { return statusWriter{kube: c} }

type statusWriter struct {
	client.SubResourceWriter

	kube kube
}

func (w statusWriter) Update(_ context.Context, o client.Object, _ ...client.SubResourceUpdateOption) error {
	return w.kube.write("update status", o, func(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return w.kube.api.update(u, "crossplane", true)
	})
}

func (w statusWriter) Patch(_ context.Context, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	if p.Type() != types.ApplyPatchType {
		return fmt.Errorf("patches of type %s are not supported", p.Type())
	}
	var options client.SubResourcePatchOptions
	options.ApplyOptions(opts)
	return w.kube.write("apply status", o, func(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return w.kube.api.apply(u, options.FieldManager, options.Force != nil && *options.Force, true)
	})
}

func (c kube) Scheme() *runtime.Scheme     { return c.scheme }
func (c kube) RESTMapper() meta.RESTMapper { return nil }

func (c kube) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return c.kindOf(o), nil
}

func (c kube) IsObjectNamespaced(runtime.Object) (bool, error) { return true, nil }

var errUnavailable = errors.New("connection refused")
