package object

import (
	"fmt"
	"strings"
)

// StatePrefix is where this function keeps its own annotations. Nobody else may
// set a label or an annotation under it, for generator state is read from there.
const StatePrefix = "export.fn.crossplane.io/"

// annotationResourceName is where Crossplane keeps the name that a composed
// resource has in its pipeline.
const annotationResourceName = "crossplane.io/composition-resource-name"

const setByCrossplane = "Crossplane sets it to find the objects of a composite again"

// Labels and annotations that Crossplane sets on every composed resource, with
// the reason why nobody else may. Source: the keys in pkg/xcrd of
// crossplane-runtime v2.4.0, as set by RenderComposedResourceMetadata.
var (
	crossplaneLabels = map[string]string{
		"crossplane.io/composite":       setByCrossplane,
		"crossplane.io/claim-name":      setByCrossplane,
		"crossplane.io/claim-namespace": setByCrossplane,
	}
	crossplaneAnnotations = map[string]string{
		annotationResourceName:                             setByCrossplane,
		"kubectl.kubernetes.io/last-applied-configuration": "kubectl keeps a copy of all data in it, also of a Secret's",
	}
)

// refuseReserved says why a user cannot set a label or an annotation.
func refuseReserved(what, key string, reserved map[string]string) error {
	reason, ok := reserved[key]
	if strings.HasPrefix(key, StatePrefix) {
		reason, ok = "function-export keeps its own state there", true
	}
	if !ok {
		return nil
	}
	return fmt.Errorf("cannot set %s %s: %s; leave it out", what, quote(key), reason)
}

// IsReserved reports whether a label or an annotation is one that Crossplane, kubectl or
// this function sets, and no user may.
func IsReserved(key string) bool {
	_, label := crossplaneLabels[key]
	_, annotation := crossplaneAnnotations[key]
	return label || annotation || strings.HasPrefix(key, StatePrefix)
}
