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
func (r *run) manifestOf(ctx context.Context, m *maker, number int, name string) (*structpb.Struct, reasons) {
	out, why := m.manifest.base, reasons{}
	making := &observation.Making{Generation: wire.Of(&structpb.Struct{Fields: map[string]*structpb.Value{
		"number": structpb.NewNumberValue(float64(max(number, 1))),
		"id":     structpb.NewStringValue(r.generationID(m, number, name)),
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
		meta["name"] = structpb.NewStringValue(name)
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

// idDigits of an ID in a name: 40 bits.
const idDigits = 10

// generationID is generation.id: the same for each call, and another one for each
// generation of each generator of each composite, also of one that had its name before.
func (r *run) generationID(m *maker, number int, name string) string {
	if number == 0 {
		return strings.Repeat("0", idDigits)
	}
	id := []string{r.uid(), m.name, fmt.Sprint(number)}
	if prefix := r.namePrefix(m); prefix != "" { // two that had one number have names of their own
		if _, suffix, ok := strings.Cut(strings.TrimPrefix(name, prefix), "-"); ok {
			id = append(id, suffix)
		}
	}
	return generator.Hash(id...)[:idDigits]
}

// manifestAsMade is what a resource was made from. People can change what its annotations
// say of that. So if the input is as it was the manifest comes from there, and otherwise
// each of its values is the observed one.
func (g *generating) manifestAsMade(ctx context.Context, k *kept) *structpb.Struct {
	apiVersion, kind, ns, name := object.Identity(k.object)
	if hasData(apiVersion, kind) && k.Kind != kindResource {
		return object.Held(k.object)
	}
	made := &structpb.Struct{}
	if made.UnmarshalJSON(k.Resource) != nil {
		made = &structpb.Struct{}
	}
	if m := g.plan.maker(k.Generator); m != nil && m.manifest != nil && m.manifest.apiVersion == apiVersion && m.manifest.kind == kind {
		fresh, why := g.manifestOf(ctx, m, k.Number, name)
		if why.empty() && k.madeFrom != "" && k.madeFrom == g.specHashes[k.Generator] {
			return withName(fresh, ns, name)
		}
		if len(made.GetFields()) > 0 {
			made = union(made, m.manifest.base, fresh)
		}
	}
	out := made
	if metadataOf(k.object).Get("uid").Text() != "" || len(made.GetFields()) == 0 { // a file may leave out what was made
		out = observedOf(made, k.object)
		delete(out.Fields, "status")
		out.Fields["metadata"] = object.HeldMetadata(k.object)
	}
	out = copyOf(out)
	out.Fields["apiVersion"], out.Fields["kind"] = structpb.NewStringValue(apiVersion), structpb.NewStringValue(kind)
	return withName(out, ns, name)
}

// union has the fields of all objects. Where two have one, the first counts, unless both
// are objects.
func union(all ...*structpb.Struct) *structpb.Struct {
	out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for _, s := range all {
		for name, v := range s.GetFields() {
			was, ok := out.Fields[name]
			switch {
			case !ok:
				out.Fields[name] = v
			case was.GetStructValue() != nil && v.GetStructValue() != nil:
				out.Fields[name] = structpb.NewStructValue(union(was.GetStructValue(), v.GetStructValue()))
			}
		}
	}
	return out
}

// observedOf are the fields that a manifest has, with the values that are observed. Without
// a manifest it is all that is observed.
func observedOf(manifest *structpb.Struct, observed wire.Struct) *structpb.Struct {
	if len(manifest.GetFields()) == 0 {
		return copyOf(observed.Proto())
	}
	out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for name, v := range manifest.GetFields() {
		is := observed.Get(name)
		switch below := v.GetStructValue(); {
		case !is.Exists():
		case len(below.GetFields()) > 0 && is.Kind() == wire.Object:
			out.Fields[name] = structpb.NewStructValue(observedOf(below, is.Struct()))
		default:
			out.Fields[name] = is.Proto()
		}
	}
	return out
}

// withName is an object with another name.
func withName(o *structpb.Struct, namespace, name string) *structpb.Struct {
	meta := maps.Clone(madeMetadata(o))
	if meta == nil {
		meta = map[string]*structpb.Value{}
	}
	meta["name"] = structpb.NewStringValue(name)
	if namespace != "" {
		meta["namespace"] = structpb.NewStringValue(namespace)
	}
	out := copyOf(o)
	out.Fields["metadata"] = structpb.NewStructValue(&structpb.Struct{Fields: meta})
	return out
}

// copyOf an object that may be none, whose fields can be written to.
func copyOf(o *structpb.Struct) *structpb.Struct {
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(o.GetFields()))}
	maps.Copy(out.Fields, o.GetFields())
	return out
}
