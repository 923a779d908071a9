package render

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// resourceNameKey is the annotation with which Crossplane identifies composed resources.
const resourceNameKey = "crossplane.io/composition-resource-name"

// resourceName returns the composition resource name of an observed object.
func (d object) resourceName() string {
	return d.texts("metadata", "annotations")[resourceNameKey]
}

// loadObserved reads observed composed resources. A resource from added replaces the one from base with the same
// composition resource name. Within each of the two that name is unique. A Secret without such a name belongs to the
// resource that names it as its connection Secret.
func (in *inputs) loadObserved(base, added []string) error {
	byName := map[string]object{}
	for _, paths := range [][]string{base, added} {
		docs, err := in.loadObjects(paths)
		if err != nil {
			return err
		}
		group := map[string]object{}
		for _, d := range docs {
			if d.resourceName() == "" && d.isSecret() {
				in.details = append(in.details, d)
				continue
			}
			if err := in.checkObserved(d); err != nil {
				return err
			}
			if other, ok := group[d.resourceName()]; ok {
				return fmt.Errorf("%s has the same annotation %s=%s as %s: set a different one on each",
					d.at("metadata", "annotations"), resourceNameKey, d.resourceName(), other.at("metadata", "annotations"))
			}
			group[d.resourceName()] = d
		}
		maps.Copy(byName, group)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		in.observed = append(in.observed, byName[name])
	}
	return in.checkDetails()
}

// checkObserved refuses an object that Crossplane cannot observe as a resource of this composite.
func (in *inputs) checkObserved(d object) error {
	composite := in.composite
	if d.resourceName() == "" && d.gvk() == in.xr.gvk() && d.name() == in.xr.name() {
		return fmt.Errorf("%s is the composite, which is not one of its composed resources: remove it from this file", d.at("metadata"))
	}
	if d.resourceName() == "" {
		name := "the name of the resource in the pipeline"
		if known := in.composedAs(d); known != "" {
			name += ", for example " + known
		}
		return fmt.Errorf("%s has no annotation %s: add it, with %s; or pass the object with -e",
			d.at("metadata", "annotations"), resourceNameKey, name)
	}
	if ns := composite.namespace(); ns != "" && d.namespace() != ns {
		return fmt.Errorf("%s is in namespace %q: a namespaced composite composes in its own namespace, "+
			"so set metadata.namespace to %s", d.at("metadata", "namespace"), d.namespace(), ns)
	}
	if uid, ok := d.controller(); ok && uid != composite.uid() {
		return fmt.Errorf("%s is controlled by an object other than the composite: set the uid of that owner reference "+
			"to %s, or pass the object with -e", d.at("metadata", "ownerReferences"), composite.uid())
	}
	return nil
}

// composedAs returns the name of a resource in the pipeline that has the kind of the object, or nothing.
func (in *inputs) composedAs(d object) string {
	for _, s := range in.steps {
		for _, r := range s.Resources {
			if r.APIVersion == d.apiVersion() && r.Kind == d.kind() {
				return r.Name
			}
		}
	}
	return ""
}

// checkDetails refuses a Secret that is neither a composed resource nor the connection Secret of one.
func (in *inputs) checkDetails() error {
	owners := in.observed
	if in.legacy {
		owners = append(slices.Clip(owners), in.composite)
	}
	for _, d := range in.details {
		if slices.ContainsFunc(owners, func(o object) bool { return o.connectionSecret() == d.key() }) {
			continue
		}
		return fmt.Errorf("%s has no annotation %s, and no observed resource names it in spec.writeConnectionSecretToRef: "+
			"add the annotation or the reference, or pass the Secret with -e", d.at("metadata", "annotations"), resourceNameKey)
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
	if in.legacy {
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

// connectionDetails returns the data of the Secret that an object names in
// spec.writeConnectionSecretToRef; none if the Secret does not exist.
//
// As in Crossplane, a namespaced object has its Secret in its own namespace, and the namespace of
// the reference is ignored. A cluster scoped object has it in the namespace of the reference.
func (s store) connectionDetails(d object) map[string][]byte {
	k := d.connectionSecret()
	secret, ok := s[k]
	if k.name == "" || !ok {
		return nil
	}
	data := secret.texts("data")
	out := make(map[string][]byte, len(data))
	for k, v := range data {
		// normalizeSecret has checked it.
		out[k], _ = base64.StdEncoding.DecodeString(v)
	}
	return out
}

// connectionSecret returns the key of the Secret that an object names.
func (d object) connectionSecret() key {
	namespace := d.namespace()
	if namespace == "" {
		namespace = d.text("spec", "writeConnectionSecretToRef", "namespace")
	}
	return key{"v1", "Secret", namespace, d.text("spec", "writeConnectionSecretToRef", "name")}
}

func (d object) isSecret() bool { return d.apiVersion() == "v1" && d.kind() == "Secret" }

// normalizeSecret changes a v1 Secret as the API server does: stringData goes into data, and
// replaces existing keys. Other objects do not change. Its errors name the key, never the value.
func (d object) normalizeSecret() error {
	if !d.isSecret() {
		return nil
	}
	data, err := d.secretMap("data")
	if err != nil {
		return err
	}
	for _, k := range slices.Sorted(maps.Keys(data)) {
		if _, err := base64.StdEncoding.DecodeString(data[k]); err != nil {
			return fmt.Errorf("%s: data.%s is not base64: encode it, or move it to stringData", d.at("data", k), k)
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
	encoded := make(map[string]any, len(data))
	for k, v := range data {
		encoded[k] = v
	}
	d.Object["data"] = encoded
	return nil
}

// secretMap reads a map of strings. A null is an empty value.
func (d object) secretMap(field string) (map[string]string, error) {
	out := map[string]string{}
	if d.Object[field] == nil {
		return out, nil
	}
	m, ok := d.Object[field].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: %s is not a map of keys and values", d.at(field), field)
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		v, ok := m[k].(string)
		if !ok && m[k] != nil {
			return nil, fmt.Errorf("%s: %s.%s is not a string: put it in quotes", d.at(field, k), field, k)
		}
		out[k] = v
	}
	return out, nil
}
