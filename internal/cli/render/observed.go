package render

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// resourceNameKey is the annotation with which Crossplane identifies composed resources.
const resourceNameKey = "crossplane.io/composition-resource-name"

// resourceName returns the composition resource name of an observed object.
func (d object) resourceName() string {
	return d.GetAnnotations()[resourceNameKey]
}

// loadObserved reads observed composed resources. A resource from added replaces the one from base
// with the same composition resource name. Within each of the two that name is unique.
func loadObserved(composite object, base, added []string) ([]object, error) {
	byName := map[string]object{}
	for _, paths := range [][]string{base, added} {
		docs, err := loadObjects(paths)
		if err != nil {
			return nil, err
		}
		group := map[string]object{}
		for _, d := range docs {
			if err := checkObserved(composite, d); err != nil {
				return nil, err
			}
			if other, ok := group[d.resourceName()]; ok {
				return nil, fmt.Errorf("%s has the same annotation %s=%s as %s: give each its own", d.at(), resourceNameKey, d.resourceName(), other.at())
			}
			group[d.resourceName()] = d
		}
		maps.Copy(byName, group)
	}
	out := make([]object, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, byName[name])
	}
	return out, nil
}

// checkObserved refuses an object that Crossplane cannot observe as a resource of this composite.
func checkObserved(composite, d object) error {
	if d.resourceName() == "" {
		return fmt.Errorf("%s has no annotation %s: add it, with the name of the resource in the pipeline; or pass the object with -e", d.at(), resourceNameKey)
	}
	if ns := composite.GetNamespace(); ns != "" && d.GetNamespace() != ns {
		return fmt.Errorf("%s is in namespace %q: a namespaced composite composes in its own namespace, so set metadata.namespace to %s", d.at(), d.GetNamespace(), ns)
	}
	if c := metav1.GetControllerOfNoCopy(d); c != nil && c.UID != composite.GetUID() {
		return fmt.Errorf("%s is controlled by an object other than the composite: set the uid of that owner reference to %s, or pass the object with -e", d.at(), composite.GetUID())
	}
	return nil
}

// observedState returns what Crossplane observes: every object with its connection details.
func (in *inputs) observedState(store store) (*fnv1.State, error) {
	composite, err := in.composite.message()
	if err != nil {
		return nil, err
	}
	out := &fnv1.State{
		Composite: &fnv1.Resource{Resource: composite},
		Resources: map[string]*fnv1.Resource{},
	}
	if in.isLegacy() {
		out.Composite.ConnectionDetails = store.connectionDetails(in.composite)
	}
	for _, d := range in.observed {
		m, err := d.message()
		if err != nil {
			return nil, err
		}
		out.Resources[d.resourceName()] = &fnv1.Resource{Resource: m, ConnectionDetails: store.connectionDetails(d)}
	}
	return out, nil
}

// isLegacy reports whether the composite has the v1 style, the only one with connection details.
// Without the XRD this is visible only in fields that every composite of the v2 style has: a
// namespace, or spec.crossplane.
func (in *inputs) isLegacy() bool {
	_, modern, _ := unstructured.NestedFieldNoCopy(in.composite.Object, "spec", "crossplane")
	return in.composite.GetNamespace() == "" && !modern
}

// connectionDetails returns the data of the Secret that an object names in
// spec.writeConnectionSecretToRef; none if the Secret does not exist.
//
// As in Crossplane, a namespaced object has its Secret in its own namespace, and the namespace of
// the reference is ignored. A cluster scoped object has it in the namespace of the reference.
func (s store) connectionDetails(d object) map[string][]byte {
	name, _, _ := unstructured.NestedString(d.Object, "spec", "writeConnectionSecretToRef", "name")
	namespace := d.GetNamespace()
	if namespace == "" {
		namespace, _, _ = unstructured.NestedString(d.Object, "spec", "writeConnectionSecretToRef", "namespace")
	}
	secret, ok := s[key{"v1", "Secret", namespace, name}]
	if name == "" || !ok {
		return nil
	}
	data, _, _ := unstructured.NestedStringMap(secret.Object, "data")
	out := make(map[string][]byte, len(data))
	for k, v := range data {
		// normalizeSecret has checked it.
		out[k], _ = base64.StdEncoding.DecodeString(v)
	}
	return out
}

// normalizeSecret changes a v1 Secret as the API server does: stringData goes into data, and
// replaces existing keys. Other objects do not change. Its errors name the key, never the value.
func (d object) normalizeSecret() error {
	if d.GetAPIVersion() != "v1" || d.GetKind() != "Secret" {
		return nil
	}
	data, err := d.secretMap("data")
	if err != nil {
		return err
	}
	for _, k := range slices.Sorted(maps.Keys(data)) {
		if _, err := base64.StdEncoding.DecodeString(data[k]); err != nil {
			return fmt.Errorf("%s: data.%s is not base64: encode it, or move it to stringData", d.at(), k)
		}
	}
	plain, err := d.secretMap("stringData")
	if err != nil {
		return err
	}
	for k, v := range plain {
		data[k] = base64.StdEncoding.EncodeToString([]byte(v))
	}
	delete(d.Object, "stringData")
	if len(data) == 0 {
		delete(d.Object, "data")
		return nil
	}
	return unstructured.SetNestedStringMap(d.Object, data, "data")
}

// secretMap reads a map of strings. A null is an empty value.
func (d object) secretMap(field string) (map[string]string, error) {
	out := map[string]string{}
	if d.Object[field] == nil {
		return out, nil
	}
	m, ok := d.Object[field].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: %s is not a map of keys and values", d.at(), field)
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		v, ok := m[k].(string)
		if !ok && m[k] != nil {
			return nil, fmt.Errorf("%s: %s.%s is not a string: put it in quotes", d.at(), field, k)
		}
		out[k] = v
	}
	return out, nil
}
