package object

import (
	"fmt"
	"strings"
)

// StatePrefix begins the names of this function's own annotations. Users cannot set a label or an annotation with it,
// because the function reads generator state from there.
const StatePrefix = "export.fn.crossplane.io/"

// annotationResourceName holds the composition resource name.
const annotationResourceName = "crossplane.io/composition-resource-name"

const setByCrossplane = "Crossplane sets it to find the objects of a composite again"

// Labels and annotations that Crossplane or kubectl sets, with the reason why users cannot set them. Source: the keys
// in pkg/xcrd of crossplane-runtime v2.4.0, as set by RenderComposedResourceMetadata.
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

// refuseReserved returns why a user cannot set a label or an annotation.
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

// IsReserved reports whether Crossplane, kubectl or this function sets a label or an annotation, so that
// users cannot.
func IsReserved(key string) bool {
	return crossplaneLabels[key] != "" || crossplaneAnnotations[key] != "" || strings.HasPrefix(key, StatePrefix)
}
