// Package catalog knows the schemas of kinds: those that definitions and OpenAPI documents in files declare, and those
// of Kubernetes itself.
package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/schema"
)

// A Kind of objects.
type Kind = schema.Kind

// A Catalog knows the schemas of kinds. Several goroutines can read it, but not while Add runs.
type Catalog struct {
	kinds     map[Kind]declared
	documents map[Kind]func() *structpb.Struct // in OpenAPI documents
}

// A declared kind holds the data of its definition.
type declared struct {
	schema         *structpb.Struct
	connectionKeys []string // nil if the definition does not list them
	plural         string   // empty if it is not set
	composite      bool     // by a CompositeResourceDefinition
	scope          Scope
	cluster        bool // without a namespace, and without a claim that has a namespace
}

// NewCatalog returns a catalog of the built-in kinds.
func NewCatalog() *Catalog {
	return &Catalog{kinds: map[Kind]declared{}, documents: map[Kind]func() *structpb.Struct{}}
}

// A Scope says where the objects of a kind are. It is empty if it is unknown.
type Scope string

// The scopes. LegacyCluster is a composite of the style of Crossplane v1, or its claim: only these have
// connection details.
const (
	Namespaced    Scope = "Namespaced"
	Cluster       Scope = "Cluster"
	LegacyCluster Scope = "LegacyCluster"
)

var (
	crd   = Kind{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}
	xrd   = Kind{APIVersion: "apiextensions.crossplane.io/v1", Kind: "CompositeResourceDefinition"}
	xrdV2 = Kind{APIVersion: "apiextensions.crossplane.io/v2", Kind: "CompositeResourceDefinition"}
)

var errDifferent = errors.New("another definition of it differs: keep one of them")

// Add adds the kinds that a CustomResourceDefinition or a CompositeResourceDefinition declares, in all of
// its versions. Other objects are ignored. A kind may be declared twice if both definitions are equal. If
// there is an error, no kind is added.
func (c *Catalog) Add(object map[string]any) error {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	var found map[Kind]declared
	var err error
	switch (Kind{APIVersion: apiVersion, Kind: kind}) {
	case crd:
		found, err = declare(object, "")
	case xrd:
		found, err = declare(object, LegacyCluster)
	case xrdV2:
		found, err = declare(object, Namespaced)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	for _, k := range sorted(found) {
		d, err := found[k].merged(c.kinds[k])
		if err != nil {
			return fmt.Errorf("cannot add %s: %w", k, err)
		}
		found[k] = d
	}
	maps.Copy(c.kinds, found)
	return nil
}

// merged returns the definition of a kind that two objects declare. A CustomResourceDefinition may have been generated
// by Crossplane from the CompositeResourceDefinition, which says more.
func (d declared) merged(former declared) (declared, error) {
	switch {
	case former.schema == nil, d.composite && !former.composite:
		return d, nil
	case former.composite && !d.composite:
		return former, nil
	case !proto.Equal(former.schema, d.schema), d.plural != former.plural,
		!slices.Equal(former.connectionKeys, d.connectionKeys):
		return d, errDifferent
	}
	return d, nil
}

// Find returns the schema of a kind, as openAPIV3Schema has it, or nil if the kind is unknown. The
// result is shared, and must not be changed.
func (c *Catalog) Find(k Kind) *structpb.Struct {
	if d, ok := c.kinds[k]; ok {
		return d.schema
	}
	if s, ok := c.documents[k]; ok {
		return s()
	}
	return builtIn(k)
}

// ClusterScoped reports whether composites of a kind are known to have neither a namespace nor a claim
// with a namespace.
func (c *Catalog) ClusterScoped(k Kind) bool { return c.kinds[k].cluster }

// ScopeOf returns the scope of the objects of a kind.
func (c *Catalog) ScopeOf(k Kind) Scope {
	if d, ok := c.kinds[k]; ok {
		return d.scope
	}
	return builtInScope(k)
}

// ConnectionSecretKeys returns the keys that a CompositeResourceDefinition lists for the connection
// secret of a kind, or nil if it lists none.
func (c *Catalog) ConnectionSecretKeys(k Kind) []string {
	return slices.Clone(c.kinds[k].connectionKeys)
}

// Plural returns the name of the resource of a kind, for example accesskeys, or nothing if no definition
// has it.
func (c *Catalog) Plural(k Kind) string { return c.kinds[k].plural }

func sorted(kinds map[Kind]declared) []Kind {
	return slices.SortedFunc(maps.Keys(kinds), func(a, b Kind) int {
		return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind))
	})
}

// kindField matches the field kind of a YAML or JSON document, with its value.
var kindField = lazy.MustCompile(`kind["']?[ \t]*:\s*["']?([-A-Za-z0-9]+)`)

// Declares reports whether a YAML or JSON document may be a definition of a wanted kind for
// [Catalog.Add]. It only scans the text, which is much faster than decoding.
func Declares(document string, wanted func(kind string) bool) bool {
	if !strings.Contains(document, crd.Kind) && !strings.Contains(document, xrd.Kind) {
		return false
	}
	for _, m := range kindField().FindAllStringSubmatch(document, -1) {
		if wanted(m[1]) {
			return true
		}
	}
	return false
}
