package plan

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Manifest is the kind of a resource generator: another controller generates the outputs.
type Manifest struct {
	APIVersion, Kind string
	Base             *structpb.Struct
	Set              []Field
	Outputs          []Entry
}

// Object returns the kind in the manifest.
func (r *Manifest) Object() Kind { return Kind{APIVersion: r.APIVersion, Kind: r.Kind} }

// Names reports whether set writes metadata.name. Nil writes nothing.
func (r *Manifest) Names() bool {
	return r != nil && slices.ContainsFunc(r.Set, func(f Field) bool { return f.At.String() == "metadata.name" })
}

func (c *compiler) manifest(m *Generator, r *Manifest, g *v1beta1.ResourceGenerator) {
	at := m.Path.Child(KindResource)
	c.own = r.Object()
	defer func() { c.own = Kind{} }()
	hasData := HasData(r.APIVersion, r.Kind)
	c.refuseManifest(at.Child("manifest"), g.Manifest.Raw, r.Base, hasData)
	for i, s := range g.Set {
		x := expression.Source{Text: s.Value, Scope: expression.GenerationScope}
		f := c.nextField(at.Child("set"), r.Set, s.FieldPath, x)
		if first, _, _ := strings.Cut(f.At.String(), "."); hasData && slices.Contains(dataFields, first) {
			c.refuse(at.Child("set").Index(i).Child("fieldPath"), "must not be %s, because the manifest is stored in an "+
				"annotation: export the data instead", f.At)
		}
		m.LooksAhead = m.LooksAhead || c.readsLater(f.Value)
		c.refuseUnknownGeneration(f.Value)
		if f.At.String() == "metadata.name" {
			c.refuseUnknown(f.Value, "the name")
		} else {
			c.refuseAllSecrets(f.Value)
		}
		r.Set = append(r.Set, f)
	}
	for _, k := range SortedKeys(g.Outputs) {
		s := source(at.Child("outputs").Key(k), g.Outputs[k], expression.WantText)
		s.Own = true
		x := c.output(s)
		c.refuseGenerated(x, "its outputs are not known yet: use them where they are exported")
		r.Outputs = append(r.Outputs, Entry{Path: s.Path, Key: k, Value: x})
	}
}

// refuseUnknownGeneration refuses fields that the variable generation does not have.
func (c *compiler) refuseUnknownGeneration(x *expression.Expression) {
	if x == nil {
		return
	}
	known := []string{"number", "id"}
	for _, r := range x.References() {
		name := StepName(r, 0)
		if r.Variable == expression.Generation && name != Anything && !slices.Contains(known, name) {
			c.reportAt(x.Place(r), "generation has no field %q: it has number and id", name)
		}
	}
}

// Compact JSON, as an annotation holds it.
func Compact(raw []byte) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return nil
	}
	return b.Bytes()
}

// HasData reports whether a manifest of the kind may not hold data.
func HasData(apiVersion, kind string) bool {
	return apiVersion == "v1" && (kind == string(object.Secret) || kind == string(object.ConfigMap))
}

// refuseManifest refuses fields that a manifest cannot have. Data would be stored in an annotation.
func (c *compiler) refuseManifest(at *field.Path, raw []byte, m *structpb.Struct, hasData bool) {
	if n := len(Compact(raw)); n > limits.ManifestBytes {
		c.refuse(at, "has %d bytes, over the limit of %d: the manifest is stored in an annotation", n,
			limits.ManifestBytes)
	}
	for _, k := range SortedKeys(m.GetFields()) {
		if hasData && slices.Contains(dataFields, k) {
			c.refuse(at.Child(k), "must not be set, because the manifest is stored in an annotation: export the data, "+
				"or let another controller write it")
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
