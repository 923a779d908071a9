package lookup

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// GrantKind is the kind of the Gateway API with which the owner of a namespace permits references from other
// namespaces. Its CRD serves version v1 since release 1.5.
const (
	GrantKind  = "ReferenceGrant"
	grantGroup = "gateway.networking.k8s.io"
)

// A Consent decides which objects of other namespaces are read: those that a ReferenceGrant of their namespace permits
// the composite to reference. A nil Consent permits all.
//
// Crossplane waits for minutes if it must list a kind that does not exist. So first the CRD is looked up, then the
// grants are, and then the object is.
type Consent struct {
	Group, Kind, Namespace string // of the composite; if it is bound to a claim, the namespace of the claim
}

// GrantsCRD returns the definition of grants.
func GrantsCRD() Requirement {
	return Requirement{
		APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: "referencegrants." + grantGroup,
	}
}

// GrantsIn returns all grants of a namespace.
func GrantsIn(namespace string) Requirement {
	return Requirement{APIVersion: grantGroup + "/v1", Kind: GrantKind, Namespace: namespace}
}

// missing returns why an object must not be read now, or nothing, and what must be read to decide that. The text does
// not say whether the object exists.
func (c *Consent) missing(all *Answers, to Requirement) (why string, required []Requirement) {
	if c == nil || to.Namespace == "" || to.Namespace == c.Namespace {
		return "", nil
	}
	crd, grants := GrantsCRD(), GrantsIn(to.Namespace)
	if !slices.ContainsFunc(all.To(crd).Objects, servesGrants) {
		return fmt.Sprintf("%s, which needs a %s, but the cluster does not serve %s/v1: "+
			"install the Gateway API v1.5 or later", to, GrantKind, grantGroup), []Requirement{crd}
	}
	if !slices.ContainsFunc(all.To(grants).Objects, func(grant wire.Struct) bool { return c.permits(grant, to) }) {
		why = fmt.Sprintf("%s, which no %s in namespace %q permits: its owner can apply %s",
			to, GrantKind, to.Namespace, c.grant(to))
	}
	return why, []Requirement{crd, grants}
}

// elsewhere is why objects of other namespaces are not used that the Composition itself requires.
const elsewhere = "requireGrants is set, and it has objects of other namespaces, which the Composition requires: " +
	"read them as sources of this input"

// isElsewhere reports whether there is an object of another namespace.
func (c *Consent) isElsewhere(objects []wire.Struct) bool {
	return c != nil && slices.ContainsFunc(objects, func(o wire.Struct) bool {
		_, _, namespace, _ := object.Identity(o)
		return namespace != "" && namespace != c.Namespace
	})
}

// servesGrants reports whether the CRD serves the version of the grants.
func servesGrants(crd wire.Struct) bool {
	return !isDeleted(crd) && contains(crd.At("spec", "versions"), func(v wire.Struct) bool {
		return v.Get("name").Is("v1") && v.Get("served").Bool()
	})
}

// permits reports whether a grant permits the composite to read an object, or all objects with some labels. A grant
// that is being deleted is revoked, even if something delays the deletion. A malformed entry permits nothing. Only an
// entry without a name is about all objects: the Gateway API allows no empty one.
func (c *Consent) permits(grant wire.Struct, to Requirement) bool {
	group := object.GroupOf(to.APIVersion)
	from := func(v wire.Struct) bool {
		return v.Get("group").Is(c.Group) && v.Get("kind").Is(c.Kind) && v.Get("namespace").Is(c.Namespace)
	}
	target := func(v wire.Struct) bool {
		name := v.Get("name")
		return v.Get("group").Is(group) && v.Get("kind").Is(to.Kind) &&
			(!name.Exists() || to.Name != "" && name.Is(to.Name))
	}
	return !isDeleted(grant) && contains(grant.At("spec", "from"), from) && contains(grant.At("spec", "to"), target)
}

// grant returns the smallest grant that permits it, as YAML in one line. It has a name of its own: if the owner applies
// two of them, the second one does not replace the first one.
func (c *Consent) grant(to Requirement) string {
	name, only := strings.ToLower(c.Kind+"-"+c.Namespace+"-"+to.Kind), ""
	if to.Name != "" {
		name, only = name+"-"+to.Name, fmt.Sprintf(", name: %q", to.Name)
	}
	name = strings.TrimRight(name[:min(len(name), validation.DNS1123SubdomainMaxLength)], "-.")
	return fmt.Sprintf("{apiVersion: %s/v1, kind: %s, metadata: {name: %q, namespace: %q}, "+
		"spec: {from: [{group: %q, kind: %q, namespace: %q}], to: [{group: %q, kind: %q%s}]}}",
		grantGroup, GrantKind, name, to.Namespace,
		c.Group, c.Kind, c.Namespace, object.GroupOf(to.APIVersion), to.Kind, only)
}

func contains(list wire.Value, is func(wire.Struct) bool) bool {
	for _, v := range list.List().All() {
		if is(v.Struct()) {
			return true
		}
	}
	return false
}

func isDeleted(o wire.Struct) bool { return plan.MetadataOf(o).Get("deletionTimestamp").Exists() }
