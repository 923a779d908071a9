package plan

import (
	"slices"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// HasData reports whether a manifest of the kind may not hold data.
func HasData(apiVersion, kind string) bool {
	return apiVersion == "v1" && (kind == string(object.Secret) || kind == string(object.ConfigMap))
}

// refuseManifest refuses fields that a manifest cannot have. Data would be stored in an annotation.
func (c *compiler) refuseManifest(at *field.Path, raw []byte, m *structpb.Struct, hasData bool) {
	if n := len(Compact(raw)); n > limits.ManifestBytes {
		c.refuse(at, "has %d bytes, over the limit of %d: the manifest is stored in an annotation", n, limits.ManifestBytes)
	}
	for _, k := range SortedKeys(m.GetFields()) {
		if hasData && slices.Contains(dataFields, k) {
			c.refuse(at.Child(k), "must not be set, because the manifest is stored in an annotation: export the data, or let "+
				"another controller write it")
		}
	}
	if of := m.GetFields()["metadata"]; of != nil && of.GetStructValue() == nil {
		c.refuse(at.Child("metadata"), "must be an object")
	}
	metadata := m.GetFields()["metadata"].GetStructValue().GetFields()
	for _, k := range SortedKeys(metadata) {
		if !slices.Contains([]string{"namespace", "labels", "annotations"}, k) {
			c.refuse(at.Child("metadata", k), "must not be set in a manifest")
		}
	}
	if metadata["namespace"] != nil {
		c.refuseErr(at.Child("metadata", "namespace"), object.ValidateNamespace(metadata["namespace"].GetStringValue()))
	}
}

// dataFields are the fields of a Secret or a ConfigMap that hold data.
var dataFields = []string{"data", "stringData", "binaryData"} //nolint:gochecknoglobals // a constant

// Texts returns the strings of a map. Other values are left out.
func Texts(v wire.Value) map[string]string {
	out := map[string]string{}
	for k, e := range v.Struct().All() {
		if e.Kind() == wire.Text {
			out[k] = e.Text()
		}
	}
	return out
}
