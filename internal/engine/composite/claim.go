package composite

import (
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// CheckClaim refuses a composite whose claim is not its own. Its author could otherwise write the claim of another
// namespace into it, and read and write there. Until the claim is looked up, nothing is applied: Crossplane calls again
// with it.
func (c Composite) CheckClaim(answers *lookup.Answers) (outcome.Reply, error) {
	var out outcome.Reply
	if !c.Cluster || c.Namespace == "" || c.UID == "" { // without a UID, it is in a file
		return out, nil
	}
	ref := c.Object.At("spec", "claimRef").Struct()
	apiVersion, _, _, _ := object.Identity(c.Object)
	claim := lookup.Requirement{
		APIVersion: ref.Get("apiVersion").Text(), Kind: ref.Get("kind").Text(), Namespace: c.Namespace,
		Name: ref.Get("name").Text(),
	}
	if !strings.HasPrefix(claim.APIVersion, object.GroupOf(apiVersion)+"/") || claim.Kind == "" || claim.Name == "" {
		return out, &outcome.Fatal{State: outcome.Conflict, Message: "the composite's spec.claimRef does not name a " +
			"claim of this composite: remove it, or correct it"}
	}
	out.Require(claim)
	if a := answers.To(claim); a.Read && (len(a.Objects) != 1 || !isClaimOf(a.Objects[0], c.Object)) {
		return out, &outcome.Fatal{State: outcome.Conflict, Message: claim.String() + ", which the composite's " +
			"spec.claimRef names, is not its claim"}
	}
	return out, nil
}

// Consent returns what decides which objects of other namespaces the composite reads, once its claim was checked.
func (c Composite) Consent() *lookup.Consent {
	apiVersion, kind, _, _ := object.Identity(c.Object)
	return &lookup.Consent{Group: object.GroupOf(apiVersion), Kind: kind, Namespace: c.Namespace}
}

// isClaimOf reports whether a claim names a composite. Composites of different kinds can have the same name.
func isClaimOf(claim, xr wire.Struct) bool {
	ref := claim.At("spec", "resourceRef").Struct()
	apiVersion, kind, _, name := object.Identity(xr)
	return ref.Get("kind").Is(kind) && ref.Get("name").Is(name) &&
		object.GroupOf(ref.Get("apiVersion").Text()) == object.GroupOf(apiVersion)
}
