package reconcile

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/environment"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// idDigits of generation.id: 40 bits.
const idDigits = 10

// manifestOf returns the manifest of a generation by its number. The manifest of number 0 is common to all
// generations, and changes if the input changes.
func (s *session) manifestOf(m *plan.Generator, r *plan.Manifest, number int, name string) (*structpb.Struct, reasons) {
	s = s.forItem(m.Item)
	out, why := r.Base, reasons{}
	scope := s.generationScope(&observation.Generation{Generation: s.generationVariable(m, number)})
	for _, f := range r.Set {
		value, err := s.json(f.Value, scope)
		if err == nil && value != nil { // nil for optional.none()
			var set *structpb.Struct
			if set, err = environment.Set(out, f.At, value); err == nil {
				out = set
			} else {
				err = failed(f.Path+".fieldPath", "%s", err.Error())
			}
		}
		why.add(f.Value.Source().Path, err)
	}
	why.failed = append(why.failed, refuseMetadata(m, out)...)
	if !why.empty() {
		return nil, why
	}
	if v := metadataFields(out)["name"]; v != nil {
		text, ok := v.GetKind().(*structpb.Value_StringValue)
		if !ok {
			return nil, failing("%s: returns a metadata.name that is not a string", m.Path.Child(plan.KindResource, "set"))
		}
		name = text.StringValue
	}
	if err := object.ValidateName(name); err != nil {
		return nil, failing("%s: %s", m.Path, err.Error())
	}
	return withName(out, s.requirement(m, name).Namespace, name), why
}

// generationVariable returns the variable generation.
func (s *session) generationVariable(m *plan.Generator, number int) wire.Struct {
	return wire.Of(&structpb.Struct{Fields: map[string]*structpb.Value{
		"number": structpb.NewNumberValue(float64(max(number, 1))),
		"id":     structpb.NewStringValue(s.generationID(m, number)),
	}})
}

// generationScope returns the variables of the expressions of a generation.
func (s *session) generationScope(m *observation.Generation) *observation.Scope {
	return s.observed.GenerationScope(m, s.variables.Val).Item(s.item)
}

// generationID returns generation.id. It is the same on each call, and unique to each generation of each
// generator of each composite, even if another composite had the same name before.
func (s *session) generationID(m *plan.Generator, number int) string {
	if number == 0 {
		return strings.Repeat("0", idDigits)
	}
	return seal.Hash(s.uid, m.Name, strconv.Itoa(number))[:idDigits]
}

// refuseMetadata returns the errors of labels and annotations: values that are not strings, and the errors
// of the API server.
func refuseMetadata(m *plan.Generator, o *structpb.Struct) (out []string) {
	at := m.Path.Child(plan.KindResource, "set").String()
	texts := map[string]map[string]string{}
	for _, name := range []string{"labels", "annotations"} {
		v := metadataFields(o)[name]
		texts[name] = plan.Texts(wire.OfValue(v))
		if len(texts[name]) != len(v.GetStructValue().GetFields()) || v != nil && v.GetStructValue() == nil {
			out = append(out, fmt.Sprintf("%s: returns metadata.%s that are not strings: wrap them in string(...)", at, name))
		}
	}
	errs := append(object.ValidateLabels(texts["labels"]), object.ValidateAnnotations(texts["annotations"])...)
	for _, err := range errs {
		out = append(out, at+": "+err.Error())
	}
	return out
}

func metadataFields(o *structpb.Struct) map[string]*structpb.Value {
	return o.GetFields()["metadata"].GetStructValue().GetFields()
}

// withMetadata returns a copy of an object with more metadata.
func withMetadata(o *structpb.Struct, more map[string]*structpb.Value) *structpb.Struct {
	meta := map[string]*structpb.Value{}
	maps.Copy(meta, metadataFields(o))
	maps.Copy(meta, more)
	out := copyOf(o)
	out.Fields["metadata"] = structpb.NewStructValue(&structpb.Struct{Fields: meta})
	return out
}

// copyOf returns a shallow copy of an object, which may be nil.
func copyOf(o *structpb.Struct) *structpb.Struct {
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(o.GetFields()))}
	maps.Copy(out.GetFields(), o.GetFields())
	return out
}

func withName(o *structpb.Struct, namespace, name string) *structpb.Struct {
	meta := map[string]*structpb.Value{"name": structpb.NewStringValue(name)}
	if namespace != "" {
		meta["namespace"] = structpb.NewStringValue(namespace)
	}
	return withMetadata(o, meta)
}

func textsValue(m map[string]string) *structpb.Value {
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(m))}
	for k, v := range m {
		out.Fields[k] = structpb.NewStringValue(v)
	}
	return structpb.NewStructValue(out)
}

// withState returns a manifest with the state that Crossplane applied to its generation, which would otherwise be
// removed.
func withState(manifest *structpb.Struct, observed wire.Struct) *structpb.Struct {
	more, meta := map[string]*structpb.Value{}, wire.OfValue(object.HeldMetadata(observed)).Struct()
	for _, field := range []string{"labels", "annotations"} {
		texts := plan.Texts(wire.OfValue(metadataFields(manifest)[field]))
		for name, text := range plan.Texts(meta.Get(field)) {
			if strings.HasPrefix(name, object.StatePrefix) {
				texts[name] = text
			}
		}
		more[field] = textsValue(texts)
	}
	return withMetadata(manifest, more)
}

// resourceOf returns the manifest of a generator whose outputs another controller makes, or nil.
func resourceOf(m *plan.Generator) *plan.Manifest {
	if m == nil {
		return nil
	}
	r, _ := m.Makes.(*plan.Manifest)
	return r
}

// union returns the fields of all objects. Of two values the first one counts, unless both are objects.
func union(all ...*structpb.Struct) *structpb.Struct {
	out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for _, s := range all {
		for name, v := range s.GetFields() {
			was, ok := out.GetFields()[name]
			switch {
			case !ok:
				out.Fields[name] = v
			case was.GetStructValue() != nil:
				out.Fields[name] = structpb.NewStructValue(union(was.GetStructValue(), v.GetStructValue()))
			}
		}
	}
	return out
}

// observedOf returns the fields of a manifest with the observed values, or without a manifest all fields.
func observedOf(manifest *structpb.Struct, observed wire.Struct) *structpb.Struct {
	if len(manifest.GetFields()) == 0 {
		return copyOf(observed.Proto())
	}
	out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for name, v := range manifest.GetFields() {
		switch is := observed.Get(name); {
		case !is.Exists():
		case is.Kind() == wire.Object:
			out.Fields[name] = structpb.NewStructValue(observedOf(v.GetStructValue(), is.Struct()))
		default:
			out.Fields[name] = is.Proto()
		}
	}
	return out
}

// manifestAsCreated returns the manifest of a composed resource whose annotations can be changed. If the input has not
// changed, the manifest comes from the input. Otherwise it has the observed values.
func (g *rotator) manifestAsCreated(k *generation) *structpb.Struct {
	apiVersion, kind, ns, name := object.Identity(k.object)
	created := &structpb.Struct{}
	if created.UnmarshalJSON(k.resource) != nil {
		created = &structpb.Struct{}
	}
	m := g.plan.Generator(k.generator)
	if r := resourceOf(m); r != nil && r.APIVersion == apiVersion && r.Kind == kind {
		fresh, why := g.session.manifestOf(m, r, k.Number, name)
		is := g.found[k.generator].wanted.rotation.Origin.Spec
		if why.empty() && is != "" && g.found[k.generator].originOf(k).Spec == is {
			return withName(fresh, ns, name)
		}
		if len(created.GetFields()) > 0 {
			created = union(created, r.Base, fresh)
		}
	}
	out := created
	if plan.UIDOf(k.object) != "" || len(created.GetFields()) == 0 { // a file may omit fields
		out = observedOf(created, k.object)
		delete(out.GetFields(), "status")
		out.Fields["metadata"] = object.HeldMetadata(k.object)
	}
	out.Fields["apiVersion"], out.Fields["kind"] = structpb.NewStringValue(apiVersion), structpb.NewStringValue(kind)
	return withName(out, ns, name)
}

// originOf returns what a generation was made from, as it says itself or as an export recorded it.
func (c *credentialState) originOf(k *generation) rotation.Origin {
	if k.Intact {
		return k.State.Origin
	}
	for _, v := range c.exports {
		if known, ok := v.Known[k.UID]; ok && known.Origin.Kind != "" {
			return known.Origin
		}
	}
	return rotation.Origin{}
}

// marked returns an object with the labels and the state of a generation.
func marked(o *structpb.Struct, k *generation) *structpb.Struct {
	meta := metadataFields(o)
	labels := plan.Texts(wire.OfValue(meta["labels"]))
	maps.Copy(labels, k.labels())
	annotations := plan.Texts(wire.OfValue(meta["annotations"]))
	maps.DeleteFunc(annotations, func(k, _ string) bool { return strings.HasPrefix(k, object.StatePrefix) })
	annotations[rotation.AnnotationState] = k.annotation()
	return withMetadata(o, map[string]*structpb.Value{"labels": textsValue(labels), "annotations": textsValue(annotations)})
}
