package plan

import (
	"encoding/json"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/environment"
	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// kinds of a generator that are set.
func kindsOf(g v1beta1.Generator) []string {
	var out []string
	for kind, set := range map[string]bool{
		kindPassword: g.Password != nil, kindUUID: g.UUID != nil, kindSSHKey: g.SSHKey != nil,
		kindCertificate: g.Certificate != nil, kindTOTP: g.TOTP != nil, kindResource: g.Resource != nil,
	} {
		if set {
			out = append(out, kind)
		}
	}
	slices.Sort(out)
	return out
}

func (v *validator) generators(in *v1beta1.Exports) {
	all := names{"generator", 63, map[string]*field.Path{}}
	for i, g := range in.Generators[:v.length(field.NewPath("generators"), len(in.Generators), limits.ListItems)] {
		at := generatorsPath(i)
		v.name(all, at.Child("name"), g.Name)
		if g.Name != "" && len(g.Name) <= all.most && len(validation.IsDNS1123Label(g.Name)) > 0 {
			v.fault(at.Child("name"), "must be lower-case letters, digits and '-', and begin and end with a letter or a digit: it is part of its generations' names")
		}
		switch kinds := kindsOf(g); len(kinds) {
		case 0:
			v.missing(at, "must have password, uuid, sshKey, certificate, totp or resource")
		case 1:
		default:
			v.fault(at.Child(kinds[1]), "must not be set beside %s: keep one of them", kinds[0])
		}
		if g.Namespace != "" && g.Resource != nil {
			v.fault(at.Child("namespace"), "has no effect on a resource: set metadata.namespace of its manifest")
		}
		if g.Namespace != "" {
			v.err(at.Child("namespace"), object.ValidateNamespace(g.Namespace))
		}
		v.policy(at, g)
		v.resourceGenerator(at.Child(kindResource), g.Resource)
		if g.TOTP != nil && g.TOTP.SecretExpression == "" {
			v.missing(at.Child(kindTOTP, "secretExpression"), "must be set, for example secrets.db.otp")
		}
	}
}

// policy refuses what would have no effect, and what would never end.
func (v *validator) policy(at *field.Path, g v1beta1.Generator) {
	if g.TOTP != nil {
		v.noPolicy(at, g)
		return
	}
	const other = "has no effect with refreshPolicy CreatedOnce: set refreshPolicy to OnChange or Periodic"
	switch g.RefreshPolicy {
	case "", v1beta1.CreatedOnce:
		if g.KeepersExpression != "" {
			v.fault(at.Child("keepersExpression"), other)
		}
		if c := g.Certificate; c != nil && c.RenewBefore != nil {
			v.fault(at.Child(kindCertificate, "renewBefore"), other)
		}
	case v1beta1.OnChange, v1beta1.Periodic:
	default:
		v.fault(at.Child("refreshPolicy"), "must be CreatedOnce, Periodic or OnChange")
	}
	known := slices.Contains([]v1beta1.RefreshPolicy{"", v1beta1.CreatedOnce, v1beta1.OnChange}, g.RefreshPolicy)
	switch periodic := g.RefreshPolicy == v1beta1.Periodic; {
	case periodic && g.RefreshInterval == nil:
		v.missing(at.Child("refreshInterval"), "must be set with refreshPolicy Periodic, for example 720h")
	case periodic:
		v.duration(at.Child("refreshInterval"), g.RefreshInterval.Duration, limits.RefreshInterval)
	case g.RefreshInterval != nil && known:
		v.fault(at.Child("refreshInterval"), "has no effect without refreshPolicy Periodic: set it, or leave the interval out")
	}
	if g.GracePeriod == nil {
		return
	}
	v.duration(at.Child("gracePeriod"), g.GracePeriod.Duration, 0)
	if i := g.RefreshInterval; i != nil && i.Duration >= limits.RefreshInterval && g.GracePeriod.Duration/(limits.Generations-1) > i.Duration {
		v.fault(at.Child("gracePeriod"), "is %s, over %d times the refreshInterval, and at most %d generations are kept at once: set it to at most %s",
			generator.DurationText(g.GracePeriod.Duration), limits.Generations-1, limits.Generations, generator.DurationText((limits.Generations-1)*i.Duration))
	}
}

func (v *validator) duration(at *field.Path, d, least time.Duration) {
	if d < least || d > limits.Longest {
		v.fault(at, "is %s: must be from %s to %s, 100 years", generator.DurationText(d), generator.DurationText(least), generator.DurationText(limits.Longest))
	}
}

// noPolicy refuses what only a generator with generations can have.
func (v *validator) noPolicy(at *field.Path, g v1beta1.Generator) {
	for name, set := range map[string]bool{
		"refreshPolicy":     g.RefreshPolicy != "" && g.RefreshPolicy != v1beta1.CreatedOnce,
		"refreshInterval":   g.RefreshInterval != nil,
		"gracePeriod":       g.GracePeriod != nil,
		"namespace":         g.Namespace != "",
		"keepersExpression": g.KeepersExpression != "",
	} {
		if set {
			v.fault(at.Child(name), "must not be set for totp, which makes no generation")
		}
	}
}

func (v *validator) resourceGenerator(at *field.Path, g *v1beta1.ResourceGenerator) {
	if g == nil {
		return
	}
	v.manifest(at.Child("manifest"), g.Manifest.Raw)
	var m struct{ APIVersion, Kind string }
	if json.Unmarshal(g.Manifest.Raw, &m) == nil && hasData(m.APIVersion, m.Kind) && g.ReadyExpression == "" {
		v.missing(at.Child("readyExpression"), "must be set, for a "+m.Kind+" has no condition Ready: write for example has(resource.data.token)")
	}
	set := make([]writtenField, 0, len(g.Set))
	for _, f := range g.Set {
		set = append(set, writtenField{f.FieldPath, f.Value})
	}
	v.set(at.Child("set"), set, func(at *field.Path, p environment.Path) { v.settable(at, p, hasData(m.APIVersion, m.Kind)) })
	for i, k := range sortedKeys(g.Outputs) {
		if i == limits.ListItems {
			v.fault(at.Child("outputs"), "has %d outputs, over the limit of %d", len(g.Outputs), limits.ListItems)
			break
		}
		v.err(at.Child("outputs").Key(k), object.ValidateKey(k))
		if g.Outputs[k] == "" {
			v.missing(at.Child("outputs").Key(k), "must be set")
		}
	}
}

// Fields that are not the author's of a manifest, nor set's, to write.
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
		v.fault(at, "must not be %s: write it into the manifest", p)
	case covers("metadata.name") && p.String() != "metadata.name":
		v.fault(at, "must not be %s: write metadata.name", p)
	case covers(notInManifest...):
		v.fault(at, "must not be %s, which the resource's own controller writes", p)
	case data && covers(dataFields...):
		v.fault(at, "must not be %s, for a manifest is kept in an annotation: export the data instead", p)
	case covers("metadata") && !covers("metadata.name", "metadata.labels", "metadata.annotations"):
		v.fault(at, "must not be %s: of metadata, set writes name, labels and annotations", p)
	}
}

// hasData reports whether a kind is one of those whose data is not in a manifest.
func hasData(apiVersion, kind string) bool {
	return apiVersion == "v1" && (kind == string(object.Secret) || kind == string(object.ConfigMap))
}

func (v *validator) manifest(at *field.Path, raw []byte) {
	m := &structpb.Struct{}
	switch n := len(compact(raw)); {
	case len(raw) == 0:
		v.missing(at, "must be set")
		return
	case n > limits.ManifestBytes:
		v.fault(at, "has %d bytes, over the limit of %d: it is kept in an annotation", n, limits.ManifestBytes)
		return
	case m.UnmarshalJSON(raw) != nil:
		v.fault(at, "must be an object")
		return
	}
	apiVersion, kind := v.manifestText(at.Child("apiVersion"), m, "apiVersion"), v.manifestText(at.Child("kind"), m, "kind")
	if gv, err := schema.ParseGroupVersion(apiVersion); apiVersion != "" && (err != nil || gv.Version == "") {
		v.fault(at.Child("apiVersion"), "must be a version, or a group, a slash and a version")
	}
	for _, k := range notInManifest {
		if m.GetFields()[k] != nil {
			v.fault(at.Child(k), "must not be set in a manifest")
		}
	}
	for _, k := range dataFields {
		if hasData(apiVersion, kind) && m.GetFields()[k] != nil {
			v.fault(at.Child(k), "must not be set, for a manifest is kept in an annotation: a Secret's data is somebody else's to fill in, or is exported")
		}
	}
	v.manifestMetadata(at.Child("metadata"), m.GetFields()["metadata"])
}

// manifestText is a field that has to be a string.
func (v *validator) manifestText(at *field.Path, m *structpb.Struct, name string) string {
	value := m.GetFields()[name]
	_, ok := value.GetKind().(*structpb.Value_StringValue)
	switch {
	case value == nil || ok && value.GetStringValue() == "":
		v.missing(at, "must be set")
	case !ok:
		v.fault(at, "must be a string, but is %s", kindOf(value))
	}
	return value.GetStringValue()
}

func (v *validator) manifestMetadata(at *field.Path, metadata *structpb.Value) {
	if metadata == nil {
		return
	}
	if metadata.GetStructValue() == nil {
		v.fault(at, "must be an object, but is %s", kindOf(metadata))
		return
	}
	for _, k := range sortedKeys(metadata.GetStructValue().GetFields()) {
		value := metadata.GetStructValue().GetFields()[k]
		at := at.Child(k)
		switch {
		case k == "name":
			v.fault(at, "must not be set, for each generation has a name of its own: leave it out, or write it by set with generation.number in it")
		case k == "namespace":
			if _, ok := value.GetKind().(*structpb.Value_StringValue); ok {
				v.err(at, object.ValidateNamespace(value.GetStringValue()))
			} else {
				v.fault(at, "must be a string, but is %s", kindOf(value))
			}
		case !slices.Contains(inMetadata, k):
			v.fault(at, "must not be set in a manifest")
		case value.GetStructValue() == nil || len(texts(wire.OfValue(value))) < len(value.GetStructValue().GetFields()):
			v.fault(at, "must be an object whose values are strings")
		case k == "labels":
			for _, err := range object.ValidateLabels(texts(wire.OfValue(value))) {
				v.err(at, err)
			}
		default:
			for _, err := range object.ValidateAnnotations(texts(wire.OfValue(value))) {
				v.err(at, err)
			}
		}
	}
}

// texts of a map of strings; what is none is left out.
func texts(v wire.Value) map[string]string {
	out := map[string]string{}
	for k, e := range v.Struct().All() {
		if e.Kind() == wire.Text {
			out[k] = e.Text()
		}
	}
	return out
}
