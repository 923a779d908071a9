package schema

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// A Kind of objects.
type Kind struct{ APIVersion, Kind string }

// String is the kind for people.
func (k Kind) String() string { return k.Kind + " of " + k.APIVersion }

// Path is the kind as a path of group, version and kind; the core group has no name.
func (k Kind) Path() string { return k.APIVersion + "/" + k.Kind }

// A Catalog knows the schemas of kinds. It may be asked by several goroutines at
// once, but not while something is added to it.
type Catalog struct{ kinds map[Kind]declared }

// What a definition declares of a kind.
type declared struct {
	schema *structpb.Struct

	// connectionKeys are nil where nobody lists them.
	connectionKeys []string

	// plural is the resource, empty where nobody says it.
	plural string

	composite bool // of a CompositeResourceDefinition
	cluster   bool // without a namespace, and without a claim that has one
}

// NewCatalog returns a catalog of no kinds but the built-in ones.
func NewCatalog() *Catalog { return &Catalog{kinds: map[Kind]declared{}} }

var (
	crd   = Kind{"apiextensions.k8s.io/v1", "CustomResourceDefinition"}
	xrd   = Kind{"apiextensions.crossplane.io/v1", "CompositeResourceDefinition"}
	xrdV2 = Kind{"apiextensions.crossplane.io/v2", "CompositeResourceDefinition"}
)

var errDifferent = errors.New("another definition of it differs: keep one of them")

// Add the kinds that a CustomResourceDefinition or a CompositeResourceDefinition
// declares, in each of its versions, served or not; anything else is not added. A
// kind may be declared twice if it is the same both times. With an error nothing is
// added.
func (c *Catalog) Add(object map[string]any) error {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	var found map[Kind]declared
	var err error
	switch (Kind{apiVersion, kind}) {
	case crd:
		found, err = resources(object)
	case xrd:
		found, err = composites(object, "LegacyCluster")
	case xrdV2:
		found, err = composites(object, "Namespaced")
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

// merged is what both declare: a CustomResourceDefinition that Crossplane made of a
// CompositeResourceDefinition has no connection keys.
func (d declared) merged(former declared) (declared, error) {
	if former.schema == nil {
		return d, nil
	}
	if d.composite != former.composite && !proto.Equal(former.schema, d.schema) {
		if former.composite { // the other one was made of it, by some version of Crossplane
			return former, nil
		}
		return d, nil
	}
	if !proto.Equal(former.schema, d.schema) {
		return d, errDifferent
	}
	d.composite, d.cluster = d.composite || former.composite, d.cluster || former.cluster
	if d.plural != "" && former.plural != "" && d.plural != former.plural {
		return d, errDifferent
	}
	d.plural = cmp.Or(d.plural, former.plural)
	if d.connectionKeys == nil {
		d.connectionKeys = former.connectionKeys
		return d, nil
	}
	if former.connectionKeys != nil && !slices.Equal(former.connectionKeys, d.connectionKeys) {
		return d, errDifferent
	}
	return d, nil
}

// Find the schema of a kind, as openAPIV3Schema has it; nil if it is not known. A
// kind that is not in the catalog may be built in. The result is shared, and must
// not be changed.
func (c *Catalog) Find(k Kind) *structpb.Struct {
	if d, ok := c.kinds[k]; ok {
		return d.schema
	}
	return builtIn(k)
}

// ClusterScoped reports whether composites of a kind have no namespace, and no claim
// that has one, as far as is known.
func (c *Catalog) ClusterScoped(k Kind) bool { return c.kinds[k].cluster }

// ConnectionSecretKeys are the keys that a CompositeResourceDefinition lists for a
// kind's connection secret; nil if there is none, or it lists none.
func (c *Catalog) ConnectionSecretKeys(k Kind) []string {
	return slices.Clone(c.kinds[k].connectionKeys)
}

// Plural is the resource that the API server knows a kind by, for example accesskeys;
// empty if no definition says it.
func (c *Catalog) Plural(k Kind) string { return c.kinds[k].plural }

func sorted(kinds map[Kind]declared) []Kind {
	return slices.SortedFunc(maps.Keys(kinds), func(a, b Kind) int {
		return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind))
	})
}
