package plan

import (
	"fmt"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// referredObjects are the Secrets and ConfigMaps in the composite's namespace that the
// Composition refers to, and who does: sources, and the composed resources, desired
// or observed. It may be a connection Secret that a provider is going to write, or a
// password that it reads: nobody but the Composition may have the name, also while
// there is no such object yet. It is not looked for unless wanted.
func (r *run) referredObjects(wanted bool) map[target]string {
	if !wanted {
		return nil
	}
	out := map[target]string{}
	add := func(who string, kind object.Kind, namespace, name string) {
		t := target{kind, r.namespace, name}
		if _, ok := out[t]; !ok && name != "" && (namespace == "" || namespace == r.namespace) {
			out[t] = who
		}
	}
	for _, s := range r.sourcesRead {
		if s.APIVersion == "v1" && s.Namespace == r.namespace {
			add("the Composition", object.Kind(s.Kind), s.Namespace, s.Name)
		}
	}
	walk := func(composed string, s wire.Struct) {
		who := fmt.Sprintf("the composed resource %q", composed)
		walkReferences(wire.OfStruct(s), func(kind object.Kind, namespace, name string) { add(who, kind, namespace, name) })
	}
	for _, composed := range sortedKeys(r.Desired) {
		walk(composed, r.Desired[composed])
	}
	for _, composed := range sortedKeys(r.Observation.Resources) {
		walk(composed, r.Observation.Resources[composed].Object)
	}
	return out
}

// walkReferences finds what refers to a Secret or a ConfigMap, by the names that
// such fields have: secretRef, writeConnectionSecretToRef, imagePullSecrets,
// configMapKeyRef hold a name, secretName is one. A manifest of one inside, too.
func walkReferences(v wire.Value, found func(kind object.Kind, namespace, name string)) {
	for _, e := range v.List().All() {
		walkReferences(e, found)
	}
	fields := v.Struct()
	if apiVersion, kind, ns, name := object.Identity(fields); apiVersion == "v1" {
		found(object.Kind(kind), ns, name)
	}
	for k, e := range fields.All() {
		walkReferences(e, found)
		kind, whole := referredKind(k)
		if kind == "" {
			continue
		}
		if whole {
			found(kind, "", e.Text())
		}
		refer := func(v wire.Value) { found(kind, v.Struct().Get("namespace").Text(), v.Struct().Get("name").Text()) }
		for _, ref := range e.List().All() {
			refer(ref)
		}
		refer(e)
	}
}

// referredKind is what a field refers to by its name, and whether the field itself
// holds the name of it.
func referredKind(field string) (kind object.Kind, whole bool) {
	field = strings.ToLower(field)
	whole = strings.HasSuffix(field, "secretname") || strings.HasSuffix(field, "configmapname")
	switch {
	case strings.Contains(field, "secret"):
		return object.Secret, whole
	case strings.Contains(field, "configmap"):
		return object.ConfigMap, whole
	}
	return "", false
}
