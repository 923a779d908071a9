package catalog

import (
	_ "embed" // of schemas
	"encoding/json"
	"strings"
	"sync"

	"google.golang.org/protobuf/types/known/structpb"
)

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
