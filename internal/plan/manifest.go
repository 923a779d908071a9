package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/environment"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A manifest is that of a resource generator.
type manifest struct {
	apiVersion, kind, namespace string
	base                        *structpb.Struct
	set                         []manifestField
	outputs                     []output
	ready                       *expression.Expression // or nil: its condition Ready
}

// named reports whether set gives the generations their names.
func (m *manifest) named() bool {
	return slices.ContainsFunc(m.set, func(f manifestField) bool { return f.at.String() == "metadata.name" })
}

type manifestField struct {
	at    environment.Path
	path  string // of the entry
	value *expression.Expression
}

type output struct {
	key   string
	value *expression.Expression
}

func (c *compiler) manifest(m *maker, g *v1beta1.ResourceGenerator) {
	at := m.path.Child(kindResource)
	c.own = Kind{APIVersion: m.manifest.apiVersion, Kind: m.manifest.kind}
	defer func() { c.own = Kind{} }()
	for i, s := range g.Set {
		at := at.Child("set").Index(i)
		f := manifestField{path: at.String()}
		f.at, _ = environment.ParsePath(s.FieldPath) // refused by validate
		f.value = c.making(c.env.Making(), expression.Source{Text: s.Value, Path: at.Child("value").String(), Want: expression.WantJSON})
		m.late = m.late || c.isLate(f.value)
		c.refuseUnknownGeneration(f.value)
		uses := c.usesOf(f.value)
		if f.at.String() == "metadata.name" {
			c.refuseUnknown(f.value)
			c.refuseOneName(f.value)
			uses = nil // which are refused already
		}
		for _, u := range uses {
			c.refuseUse(u, ": leave it out")
		}
		m.manifest.set = append(m.manifest.set, f)
	}
	for _, k := range sortedKeys(g.Outputs) {
		x := c.making(c.env, expression.Source{Text: g.Outputs[k], Path: at.Child("outputs").Key(k).String(), Want: expression.WantText, Own: true})
		c.refuseGenerated(x, "its outputs are not known yet: use them where they are exported")
		m.manifest.outputs = append(m.manifest.outputs, output{k, x})
	}
	if g.ReadyExpression != "" {
		m.manifest.ready = c.making(c.env, expression.Source{Text: g.ReadyExpression, Path: at.Child("readyExpression").String(), Want: expression.WantBool, Own: true})
		c.refuseGenerated(m.manifest.ready, "whether a generation can be used is up to its own resource")
	}
}

// refuseUnknownGeneration refuses what generation does not have.
func (c *compiler) refuseUnknownGeneration(x *expression.Expression) {
	if x == nil {
		return
	}
	known := []string{"number", "id"}
	for _, r := range x.References() {
		if name := stepName(r, 0); r.Variable == expression.Generation && name != anything && !slices.Contains(known, name) {
			c.fault(x.Place(r), "generation has no field %q: it has number and id", name)
		}
	}
}

// refuseOneName refuses a name that all generations have.
func (c *compiler) refuseOneName(x *expression.Expression) {
	if x != nil && !slices.ContainsFunc(x.References(), func(r expression.Reference) bool { return r.Variable == expression.Generation }) {
		c.fault(x.Source().Path, "gives each generation the same name: use generation.number or generation.id in it")
	}
}

// compact JSON, as it stands in an annotation.
func compact(raw []byte) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return nil
	}
	return b.Bytes()
}

// manifestOf is the manifest of a generation by its number; of number 0 it is what all
// have in common, to see a change of it by.
func (r *run) manifestOf(ctx context.Context, m *maker, number int) (*structpb.Struct, reasons) {
	out, why := m.manifest.base, reasons{}
	making := &observation.Making{Generation: wire.Of(&structpb.Struct{Fields: map[string]*structpb.Value{
		"number": structpb.NewNumberValue(float64(max(number, 1))),
		"id":     structpb.NewStringValue(r.generationID(m, number)),
	}})}
	for _, f := range m.manifest.set {
		v, err := r.evaluateMaking(ctx, f.value, making)
		var value *structpb.Value
		if err == nil {
			value, _, err = f.value.JSON(v, r.budget)
		}
		if err == nil && value != nil { // nil for optional.none()
			var set *structpb.Struct
			if set, err = environment.Set(out, f.at, value); err == nil {
				out = set
			} else {
				err = failed(f.path+".fieldPath", "%s", err.Error())
			}
		}
		why.add(f.value.Source().Path, err)
	}
	for _, name := range []string{"labels", "annotations"} {
		if v := madeMetadata(out)[name]; len(texts(wire.OfValue(v))) != len(v.GetStructValue().GetFields()) || v != nil && v.GetStructValue() == nil {
			why.failed = append(why.failed, fmt.Sprintf("%s: gives metadata.%s that are no strings: wrap them in string(...)", m.path.Child(kindResource, "set"), name))
		}
	}
	for _, err := range append(object.ValidateLabels(texts(wire.OfValue(madeMetadata(out)["labels"]))), object.ValidateAnnotations(texts(wire.OfValue(madeMetadata(out)["annotations"])))...) {
		why.failed = append(why.failed, fmt.Sprintf("%s: %s", m.path.Child(kindResource, "set"), err.Error()))
	}
	if !why.empty() {
		return nil, why
	}
	t := r.target(m)
	meta := maps.Clone(madeMetadata(out))
	if meta == nil {
		meta = map[string]*structpb.Value{}
	}
	_, ok := meta["name"].GetKind().(*structpb.Value_StringValue)
	switch {
	case meta["name"] == nil:
		meta["name"] = structpb.NewStringValue(r.defaultName(m.name, number))
	case !ok:
		why.failed = []string{m.path.Child(kindResource, "set").String() + ": gives a metadata.name that is no string"}
		return nil, why
	}
	if t.namespace != "" {
		meta["namespace"] = structpb.NewStringValue(t.namespace)
	}
	if err := object.ValidateName(meta["name"].GetStringValue()); err != nil {
		why.failed = []string{m.path.String() + ": " + err.Error()}
		return nil, why
	}
	out = copyOf(out)
	out.Fields["metadata"] = structpb.NewStructValue(&structpb.Struct{Fields: meta})
	return out, why
}

// generationID is generation.id: the same for each call, and another one for each
// generation of each generator of each composite, also of one that had its name before.
func (r *run) generationID(m *maker, number int) string {
	const digits = 10
	if number == 0 {
		return strings.Repeat("0", digits)
	}
	return generator.Hash(r.uid(), m.name, fmt.Sprint(number))[:digits]
}

// manifestAsMade is what a resource was made from. If nobody knows any more it is what is
// observed.
func (r *run) manifestAsMade(k *kept) *structpb.Struct {
	out := &structpb.Struct{}
	apiVersion, kind, ns, name := object.Identity(k.object)
	if out.UnmarshalJSON(k.Resource) != nil {
		out = copyOf(k.object.Proto())
		delete(out.Fields, "status")
		out.Fields["metadata"] = object.HeldMetadata(k.object)
		if hasData(apiVersion, kind) {
			out = object.Held(k.object)
		}
	}
	meta := maps.Clone(madeMetadata(out))
	if meta == nil {
		meta = map[string]*structpb.Value{}
	}
	meta["name"] = structpb.NewStringValue(name)
	if ns != "" {
		meta["namespace"] = structpb.NewStringValue(ns)
	}
	out = copyOf(out)
	out.Fields["apiVersion"], out.Fields["kind"] = structpb.NewStringValue(apiVersion), structpb.NewStringValue(kind)
	out.Fields["metadata"] = structpb.NewStructValue(&structpb.Struct{Fields: meta})
	return out
}

// copyOf an object that may be none, whose fields can be written to.
func copyOf(o *structpb.Struct) *structpb.Struct {
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(o.GetFields()))}
	maps.Copy(out.Fields, o.GetFields())
	return out
}
