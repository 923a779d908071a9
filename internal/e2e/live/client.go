package live

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// fieldManager is the field manager of the tests.
const fieldManager = "live"

// A Client reads and writes objects of any kind. It is safe for concurrent use.
type Client struct {
	dynamic dynamic.Interface
	rest    rest.Interface

	mu     sync.Mutex // the mapper is reset if a kind is unknown
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

func newClient(config *rest.Config) (*Client, error) {
	config.QPS, config.Burst = 1000, 1000

	d, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}

	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}

	return &Client{dynamic: d, rest: disco.RESTClient(),
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))}, nil
}

// A Ref names an object.
type Ref struct{ APIVersion, Kind, Namespace, Name string }

// RefOf returns the reference of an object.
func RefOf(o *unstructured.Unstructured) Ref {
	return Ref{o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName()}
}

// String returns the kind and the name.
func (r Ref) String() string { return r.Kind + " " + r.Namespace + "/" + r.Name }

func (c *Client) resource(apiVersion, kind, namespace string) (dynamic.ResourceInterface, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, fmt.Errorf("cannot parse apiVersion: %w", err)
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	m, err := c.mapper.RESTMapping(schema.GroupKind{Group: gv.Group, Kind: kind}, gv.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()

		m, err = c.mapper.RESTMapping(schema.GroupKind{Group: gv.Group, Kind: kind}, gv.Version)
	}

	if err != nil {
		return nil, fmt.Errorf("cannot find kind: %w", err)
	}

	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.dynamic.Resource(m.Resource).Namespace(namespace), nil
	}

	return c.dynamic.Resource(m.Resource), nil
}

// Get returns an object. If it does not exist, IsNotFound is true for the error.
func (c *Client) Get(ctx context.Context, r Ref) (*unstructured.Unstructured, error) {
	res, err := c.resource(r.APIVersion, r.Kind, r.Namespace)
	if err != nil {
		return nil, err
	}

	return res.Get(ctx, r.Name, metav1.GetOptions{})
}

// IsNotFound reports whether an error says that an object does not exist.
func IsNotFound(err error) bool { return apierrors.IsNotFound(err) }

// List returns all objects of a kind with some labels, which may be empty.
func (c *Client) List(ctx context.Context, apiVersion, kind, namespace, labels string) ([]unstructured.Unstructured,
	error) {
	res, err := c.resource(apiVersion, kind, namespace)
	if err != nil {
		return nil, err
	}

	l, err := res.List(ctx, metav1.ListOptions{LabelSelector: labels})
	if err != nil {
		return nil, fmt.Errorf("cannot list %s: %w", kind, err)
	}

	return l.Items, nil
}

// Apply applies the objects of YAML documents with server-side apply.
func (c *Client) Apply(ctx context.Context, text string) error {
	objects, err := Parse(text)
	if err != nil {
		return err
	}

	for _, o := range objects {
		if err := c.ApplyObject(ctx, o); err != nil {
			return err
		}
	}

	return nil
}

// ApplyObject applies one object with server-side apply.
func (c *Client) ApplyObject(ctx context.Context, o *unstructured.Unstructured, subresources ...string) error {
	res, err := c.resource(o.GetAPIVersion(), o.GetKind(), o.GetNamespace())
	if err != nil {
		return err
	}

	o = o.DeepCopy()
	o.SetManagedFields(nil)

	if _, err := res.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: fieldManager, Force: true},
		subresources...); err != nil {
		return fmt.Errorf("cannot apply %s: %w", RefOf(o), err)
	}

	return nil
}

// Patch changes an object with a JSON merge patch.
func (c *Client) Patch(ctx context.Context, r Ref, patch string, subresources ...string) error {
	res, err := c.resource(r.APIVersion, r.Kind, r.Namespace)
	if err != nil {
		return err
	}

	if _, err := res.Patch(ctx, r.Name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: fieldManager}, subresources...); err != nil {
		return fmt.Errorf("cannot patch %s: %w", r, err)
	}

	return nil
}

// Delete deletes an object. The objects that it owns are deleted in the background. If the object does not
// exist, this is not an error.
func (c *Client) Delete(ctx context.Context, r Ref) error {
	res, err := c.resource(r.APIVersion, r.Kind, r.Namespace)
	if err != nil {
		return err
	}

	background := metav1.DeletePropagationBackground
	if err := res.Delete(ctx, r.Name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil &&
		!apierrors.IsNotFound(err) {
		return fmt.Errorf("cannot delete %s: %w", r, err)
	}

	return nil
}

// Watch watches a kind in all namespaces. It calls do for each event, in order, until the context ends. do
// must not block for long.
func (c *Client) Watch(ctx context.Context, apiVersion, kind string,
	do func(event string, o *unstructured.Unstructured)) error {
	res, err := c.resource(apiVersion, kind, "")
	if err != nil {
		return err
	}

	go func() {
		for ctx.Err() == nil {
			w, err := res.Watch(ctx, metav1.ListOptions{})
			if err != nil {
				time.Sleep(100 * time.Millisecond)
				continue
			}

			for e := range w.ResultChan() {
				if o, ok := e.Object.(*unstructured.Unstructured); ok {
					do(string(e.Type), o)
				}
			}
		}
	}()

	return nil
}

// Data returns the decoded data of a Secret.
func (c *Client) Data(ctx context.Context, namespace, name string) (map[string]string, error) {
	o, err := c.Get(ctx, Ref{"v1", "Secret", namespace, name})
	if err != nil {
		return nil, err
	}

	return DataOf(o), nil
}

// DataOf returns the decoded data of a Secret.
func DataOf(o *unstructured.Unstructured) map[string]string {
	data, _, _ := unstructured.NestedStringMap(o.Object, "data")
	out := make(map[string]string, len(data))

	for k, v := range data {
		b, _ := base64.StdEncoding.DecodeString(v) // the API server encoded it
		out[k] = string(b)
	}

	return out
}

// A Condition is a condition in the status of an object.
type Condition struct{ Status, Reason, Message string }

// ConditionOf returns a condition of an object, or the zero value.
func ConditionOf(o *unstructured.Unstructured, kind string) Condition {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, e := range list {
		m, _ := e.(map[string]any)
		if text := func(k string) string { s, _ := m[k].(string); return s }; text("type") == kind {
			return Condition{text("status"), text("reason"), text("message")}
		}
	}

	return Condition{}
}

// Parse parses YAML documents.
func Parse(text string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured

	d := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)

	for {
		o := &unstructured.Unstructured{}

		err := d.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return out, nil
		}

		if err != nil {
			return nil, fmt.Errorf("cannot parse YAML: %w", err)
		}

		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
}
