package catalog

import (
	_ "embed" // of schemas
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/schema"
)

// refPrefix is the start of a reference to another schema of the same document.
const refPrefix = "#/components/schemas/"

// The field of a schema that lists its kinds.
const kindsField = "x-kubernetes-group-version-kind"

var errNoSchemas = errors.New("cannot read the OpenAPI document: components.schemas must be an object: " +
	"write it with kubectl get --raw /openapi/v3/apis/GROUP/VERSION")

// IsOpenAPI reports whether an object is an OpenAPI document of version 3.
func IsOpenAPI(object map[string]any) bool {
	version, _ := object["openapi"].(string)
	return strings.HasPrefix(version, "3.")
}

// AddOpenAPI adds the kinds of an OpenAPI document, as the API server returns it at /openapi/v3/…. A definition
// of the same kind has precedence. As in Crossplane, a schema that belongs to several kinds is ignored.
func (c *Catalog) AddOpenAPI(document map[string]any) error {
	components, _ := document["components"].(map[string]any)
	schemas, ok := components["schemas"].(map[string]any)
	if !ok {
		return errNoSchemas
	}
	for name, s := range schemas {
		if kind, ok := kindOf(s); ok {
			c.documents[kind] = sync.OnceValue(reference{schemas, name}.schema)
		}
	}
	return nil
}

func kindOf(s any) (Kind, bool) {
	object, _ := s.(map[string]any)
	kinds, _ := object[kindsField].([]any)
	if len(kinds) != 1 {
		return Kind{}, false
	}
	k, _ := kinds[0].(map[string]any)
	group, _ := k["group"].(string)
	version, _ := k["version"].(string)
	kind, _ := k["kind"].(string)
	return Kind{APIVersion: strings.TrimPrefix(group+"/"+version, "/"), Kind: kind}, version != "" && kind != ""
}

// A reference is a schema of an OpenAPI document, by its name.
type reference struct {
	schemas map[string]any
	name    string
}

// schema returns the schema without references: each is replaced by the schema that it refers to. It returns
// nil if the schema is not JSON.
func (r reference) schema() *structpb.Struct {
	s, err := structpb.NewStruct(r.resolved(map[string]any{"$ref": refPrefix + r.name}, nil))
	if err != nil {
		return nil
	}
	return s
}

// resolved returns a copy of a schema without references. A schema that contains itself is any object there,
// as in Crossplane.
func (r reference) resolved(s map[string]any, above []string) map[string]any {
	if name, ok := refOf(s); ok {
		if slices.Contains(above, name) {
			return map[string]any{"type": schema.Object}
		}
		s, _ = r.schemas[name].(map[string]any)
		above = append(slices.Clone(above), name)
	}
	out := maps.Clone(s)
	if properties, ok := s["properties"].(map[string]any); ok {
		all := make(map[string]any, len(properties))
		for name, p := range properties {
			p, _ := p.(map[string]any)
			all[name] = r.resolved(p, above)
		}
		out["properties"] = all
	}
	for _, field := range []string{"additionalProperties", "items"} {
		if value, ok := s[field].(map[string]any); ok {
			out[field] = r.resolved(value, above)
		}
	}
	return out
}

// refOf returns the name of the schema that another one refers to. A reference with a description is in allOf.
func refOf(s map[string]any) (string, bool) {
	if ref, ok := s["$ref"].(string); ok {
		return strings.CutPrefix(ref, refPrefix)
	}
	all, _ := s["allOf"].([]any)
	for _, one := range all {
		one, _ := one.(map[string]any)
		if name, ok := refOf(one); ok {
			return name, true
		}
	}
	return "", false
}

// kubernetes is an OpenAPI document with the kinds of Kubernetes that are common in Compositions, and that no
// definition declares: what Kubernetes publishes, with nothing but types. Secrets have no data, because no expression
// reads it from an object. TestBuiltInSchemas of internal/e2e compares and writes it.
//
//go:embed kubernetes.json
var kubernetes []byte

// builtIns returns the catalog of the kinds of Kubernetes.
var builtIns = sync.OnceValue(func() *Catalog {
	c := NewCatalog()
	if err := c.AddOpenAPI(builtInDocument()); err != nil {
		panic(err)
	}
	return c
})

var builtInDocument = sync.OnceValue(func() map[string]any {
	var document map[string]any
	if err := json.Unmarshal(kubernetes, &document); err != nil {
		panic(err)
	}
	return document
})

// objectMeta is the schema of the metadata of each object.
var objectMeta = sync.OnceValue(func() *structpb.Struct {
	components, _ := builtInDocument()["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	return reference{schemas, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}.schema()
})

// builtIn returns the schema of a kind of Kubernetes, or nil if it is unknown. It lacks fields of newer versions of
// Kubernetes. The result is shared, and must not be changed.
func builtIn(k Kind) *structpb.Struct {
	if s, ok := builtIns().documents[k]; ok {
		return s()
	}
	return nil
}

// builtInScope returns the scope of a kind of Kubernetes.
func builtInScope(k Kind) Scope {
	switch _, known := builtIns().documents[k]; {
	case !known:
		return ""
	case k.Kind == "Namespace" || strings.HasPrefix(k.Kind, "ClusterRole"):
		return Cluster
	}
	return Namespaced
}
