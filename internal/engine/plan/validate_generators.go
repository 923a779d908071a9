package plan

import (
	"slices"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/environment"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// kinds of a generator that the input sets.
func kindsOf(g v1beta1.Generator) []string {
	var out []string
	for kind, set := range map[string]bool{
		kindPassword: g.Password != nil, kindUUID: g.UUID != nil, kindSSHKey: g.SSHKey != nil,
		KindCertificate: g.Certificate != nil, kindBcrypt: g.Bcrypt != nil, kindHtpasswd: g.Htpasswd != nil,
		kindPKCS12: g.PKCS12 != nil, kindJKS: g.JKS != nil, KindResource: g.Resource != nil,
	} {
		if set {
			out = append(out, kind)
		}
	}
	slices.Sort(out)
	return out
}

// generator refuses values that the definition cannot refuse.
func (v *validator) generator(at *field.Path, g v1beta1.Generator) {
	if g.Namespace != "" {
		v.err(at.Child("namespace"), object.ValidateNamespace(g.Namespace))
	}
	if p := g.Password; p != nil && p.Length != nil && p.LengthExpression != "" { // no rule of the definition reads numbers
		v.report(at.Child(kindPassword, "lengthExpression"), "must not be set together with length: keep one of them")
	}
	for _, err := range object.ValidateLabels(g.Labels) {
		v.err(at.Child("labels"), err)
	}
	const most = limits.Generations - 1 // besides the current one
	i, grace := g.RefreshInterval, g.GracePeriod
	if i != nil && grace != nil && i.Duration > 0 && grace.Duration/most > i.Duration {
		v.report(at.Child("gracePeriod"),
			"is %s, more than %d times the refreshInterval, but at most %d generations are kept at once: set it to at most %s",
			credential.DurationText(grace.Duration), most, limits.Generations, credential.DurationText(most*i.Duration))
	}
	if g.Resource == nil {
		return
	}
	at = at.Child(KindResource)
	m := v.manifest(at.Child("manifest"), g.Resource.Manifest.Raw)
	paths := make([]string, 0, len(g.Resource.Set))
	for _, f := range g.Resource.Set {
		paths = append(paths, f.FieldPath)
	}
	v.set(at.Child("set"), paths, func(at *field.Path, p environment.Path) { v.settable(at, p, m) })
	for _, k := range SortedKeys(g.Resource.Outputs) {
		v.err(at.Child("outputs").Key(k), object.ValidateKey(k))
		if g.Resource.Outputs[k] == "" {
			v.report(at.Child("outputs").Key(k), "must be set")
		}
	}
}

// Fields that neither a manifest nor set may write.
var (
	notInManifest = []string{"status"}
	dataFields    = []string{"data", "stringData", "binaryData"}
	inMetadata    = []string{"labels", "annotations"}
)

func (v *validator) settable(at *field.Path, p environment.Path, data bool) {
	covers := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			fixed, _ := environment.ParsePath(name)
			return fixed.Covers(p)
		})
	}
	switch {
	case covers("apiVersion", "kind"):
		v.report(at, "must not be %s: write it into the manifest", p)
	case covers("metadata.name") && p.String() != "metadata.name":
		v.report(at, "must not be %s: write metadata.name", p)
	case covers(notInManifest...):
		v.report(at, "must not be %s, because the resource's own controller writes it", p)
	case data && covers(dataFields...):
		v.report(at, "must not be %s, because the manifest is stored in an annotation: export the data instead", p)
	case covers("metadata") && !covers("metadata.name", "metadata.labels", "metadata.annotations"):
		v.report(at, "must not be %s: below metadata, set may write only name, labels and annotations", p)
	}
}

// HasData reports whether a manifest of the kind may not hold data.
func HasData(apiVersion, kind string) bool {
	return apiVersion == "v1" && (kind == string(object.Secret) || kind == string(object.ConfigMap))
}

// manifest refuses fields that a manifest cannot have.
func (v *validator) manifest(at *field.Path, raw []byte) (data bool) {
	m := &structpb.Struct{}
	switch n := len(Compact(raw)); {
	case len(raw) == 0: // already refused
		return false
	case n > limits.ManifestBytes:
		v.report(at, "has %d bytes, over the limit of %d: the manifest is stored in an annotation", n, limits.ManifestBytes)
		return false
	case m.UnmarshalJSON(raw) != nil:
		v.report(at, "must be an object")
		return false
	}
	apiVersion, kind := v.manifestText(at.Child("apiVersion"), m, "apiVersion"), v.manifestText(at.Child("kind"), m,
		"kind")
	if gv, err := schema.ParseGroupVersion(apiVersion); apiVersion != "" && (err != nil || gv.Version == "") {
		v.report(at.Child("apiVersion"), "must be a version, or a group, a slash and a version")
	}
	for _, k := range notInManifest {
		if m.GetFields()[k] != nil {
			v.report(at.Child(k), "must not be set in a manifest")
		}
	}
	for _, k := range dataFields {
		if HasData(apiVersion, kind) && m.GetFields()[k] != nil {
			v.report(at.Child(k), "must not be set, because the manifest is stored in an annotation: export the data, or let another controller write it")
		}
	}
	v.manifestMetadata(at.Child("metadata"), m.GetFields()["metadata"])
	return HasData(apiVersion, kind)
}

// manifestText returns a field that must be a string.
func (v *validator) manifestText(at *field.Path, m *structpb.Struct, name string) string {
	value := m.GetFields()[name]
	_, ok := value.GetKind().(*structpb.Value_StringValue)
	switch {
	case value == nil || ok && value.GetStringValue() == "":
		v.report(at, "must be set")
	case !ok:
		v.report(at, "must be a string, but is %s", kindOf(value))
	}
	return value.GetStringValue()
}

func (v *validator) manifestMetadata(at *field.Path, metadata *structpb.Value) {
	if metadata == nil {
		return
	}
	if metadata.GetStructValue() == nil {
		v.report(at, "must be an object, but is %s", kindOf(metadata))
		return
	}
	for _, k := range SortedKeys(metadata.GetStructValue().GetFields()) {
		value := metadata.GetStructValue().GetFields()[k]
		at := at.Child(k)
		switch {
		case k == "name":
			v.report(at, "must not be set, because each generation has its own name: leave it out, or write it with set and use generation.number in it")
		case k == "namespace":
			if _, ok := value.GetKind().(*structpb.Value_StringValue); ok {
				v.err(at, object.ValidateNamespace(value.GetStringValue()))
			} else {
				v.report(at, "must be a string, but is %s", kindOf(value))
			}
		case !slices.Contains(inMetadata, k):
			v.report(at, "must not be set in a manifest")
		case value.GetStructValue() == nil || len(Texts(wire.OfValue(value))) < len(value.GetStructValue().GetFields()):
			v.report(at, "must be an object whose values are strings")
		case k == "labels":
			for _, err := range object.ValidateLabels(Texts(wire.OfValue(value))) {
				v.err(at, err)
			}
		default:
			for _, err := range object.ValidateAnnotations(Texts(wire.OfValue(value))) {
				v.err(at, err)
			}
		}
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
