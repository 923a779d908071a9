package plan

import (
	"errors"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/environment"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/strict"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Fields that neither a manifest nor set may write, and fields of the metadata that a manifest may have.
const notInManifest = "status"

var (
	dataFields = []string{"data", "stringData", "binaryData"}
	inMetadata = []string{"labels", "annotations"}
)

// refuseSetting refuses a field of a manifest that set may not write. data is set if the manifest may not hold data.
func (c *compiler) refuseSetting(at *field.Path, p environment.Path, data bool) {
	covers := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			fixed, _ := environment.ParsePath(name)
			return fixed.Covers(p)
		})
	}
	switch {
	case covers("apiVersion", "kind"):
		c.refuse(at, "must not be %s: write it into the manifest", p)
	case covers("metadata.name") && p.String() != "metadata.name":
		c.refuse(at, "must not be %s: write metadata.name", p)
	case covers(notInManifest):
		c.refuse(at, "must not be %s, because the resource's own controller writes it", p)
	case data && covers(dataFields...):
		c.refuse(at, "must not be %s, because the manifest is stored in an annotation: export the data instead", p)
	case covers("metadata") && !covers("metadata.name", "metadata.labels", "metadata.annotations"):
		c.refuse(at, "must not be %s: below metadata, set may write only name, labels and annotations", p)
	}
}

// HasData reports whether a manifest of the kind may not hold data.
func HasData(apiVersion, kind string) bool {
	return apiVersion == "v1" && (kind == string(object.Secret) || kind == string(object.ConfigMap))
}

// refuseManifest refuses fields that a manifest cannot have.
func (c *compiler) refuseManifest(at *field.Path, raw []byte, m *structpb.Struct) {
	if n := len(Compact(raw)); n > limits.ManifestBytes {
		c.refuse(at, "has %d bytes, over the limit of %d: the manifest is stored in an annotation", n, limits.ManifestBytes)
	}
	apiVersion, kind := m.GetFields()["apiVersion"].GetStringValue(), m.GetFields()["kind"].GetStringValue()
	if gv, err := schema.ParseGroupVersion(apiVersion); err != nil || gv.Version == "" {
		c.refuse(at.Child("apiVersion"), "must be a version, or a group, a slash and a version")
	}
	if kind == "" {
		c.refuse(at.Child("kind"), "must be a string")
	}
	if m.GetFields()[notInManifest] != nil {
		c.refuse(at.Child(notInManifest), "must not be set in a manifest")
	}
	for _, k := range dataFields {
		if HasData(apiVersion, kind) && m.GetFields()[k] != nil {
			c.refuse(at.Child(k), "must not be set, because the manifest is stored in an annotation: export the data, or let "+
				"another controller write it")
		}
	}
	c.refuseManifestMetadata(at.Child("metadata"), m.GetFields()["metadata"])
}

func (c *compiler) refuseManifestMetadata(at *field.Path, metadata *structpb.Value) {
	if metadata != nil && metadata.GetStructValue() == nil {
		c.refuse(at, "must be an object, but is %s", strict.KindText(wire.OfValue(metadata).Kind()))
	}
	for _, k := range SortedKeys(metadata.GetStructValue().GetFields()) {
		value, at := metadata.GetStructValue().GetFields()[k], at.Child(k)
		texts := Texts(wire.OfValue(value))
		var errs []error
		switch {
		case k == "namespace":
			errs = []error{object.ValidateNamespace(value.GetStringValue())}
		case !slices.Contains(inMetadata, k):
			errs = []error{errors.New("must not be set in a manifest")}
		case value.GetStructValue() == nil || len(texts) < len(value.GetStructValue().GetFields()):
			errs = []error{errors.New("must be an object whose values are strings")}
		case k == "labels":
			errs = object.ValidateLabels(texts)
		default:
			errs = object.ValidateAnnotations(texts)
		}
		c.refuseErr(at, errs...)
	}
}

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
