package generations

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/environment"
	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// manifestOf returns the manifest of a generation by its number. The manifest of number 0 is common to all
// generations, and changes if the input changes.
func (in *Request) manifestOf(
	m *plan.Generator, r *plan.Manifest, number int, name string,
) (*structpb.Struct, evaluate.Reasons) {
	s := in.Session.ForItem(m.Item)
	out, why := r.Base, evaluate.Reasons{}
	scope := s.GenerationScope(&observation.Generation{Generation: in.Owner.generationVariable(m, number)})
	for _, f := range r.Set {
		value, err := s.JSON(f.Value, scope)
		if err == nil && value != nil { // nil for optional.none()
			var set *structpb.Struct
			if set, err = environment.Set(out, f.At, value); err == nil {
				out = set
			} else {
				err = evaluate.Failed(f.Path+".fieldPath", "%s", err.Error())
			}
		}
		why.Add(f.Value.Source().Path, err)
	}
	why.Failed = append(why.Failed, refuseMetadata(m, out)...)
	if !why.Empty() {
		return nil, why
	}
	if v := object.Metadata(out)["name"]; v != nil {
		text, ok := v.GetKind().(*structpb.Value_StringValue)
		if !ok {
			return nil, evaluate.Failing("%s: returns a metadata.name that is not a string",
				m.Path.Child(plan.KindResource, "set"))
		}
		name = text.StringValue
	}
	if err := object.ValidateName(name); err != nil {
		return nil, evaluate.Failing("%s: %s", m.Path, err.Error())
	}
	return object.WithName(out, in.Owner.requirement(m, name).Namespace, name), why
}

// refuseMetadata returns the errors of labels and annotations: values that are not strings, and the errors
// of the API server.
func refuseMetadata(m *plan.Generator, o *structpb.Struct) (out []string) {
	at := m.Path.Child(plan.KindResource, "set").String()
	texts := map[string]map[string]string{}
	for _, name := range []string{"labels", "annotations"} {
		v := object.Metadata(o)[name]
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

// withState returns a manifest with the state that Crossplane applied to its generation, which would otherwise be
// removed.
func withState(manifest *structpb.Struct, observed wire.Struct) *structpb.Struct {
	more, meta := map[string]*structpb.Value{}, wire.OfValue(object.HeldMetadata(observed)).Struct()
	for _, field := range []string{"labels", "annotations"} {
		texts := plan.Texts(wire.OfValue(object.Metadata(manifest)[field]))
		for name, text := range plan.Texts(meta.Get(field)) {
			if strings.HasPrefix(name, object.StatePrefix) {
				texts[name] = text
			}
		}
		more[field] = object.Texts(texts)
	}
	return object.WithMetadata(manifest, more)
}

// resourceOf returns the manifest of a generator whose outputs another controller makes, or nil.
func resourceOf(m *plan.Generator) *plan.Manifest {
	if m == nil {
		return nil
	}
	r, _ := m.Makes.(*plan.Manifest)
	return r
}

// manifestAsCreated returns the manifest of a composed resource whose annotations can be changed. If the input has not
// changed, the manifest comes from the input. Otherwise it has the observed values.
func (g *rotator) manifestAsCreated(k *generation) *structpb.Struct {
	apiVersion, kind, ns, name := object.Identity(k.object)
	created := &structpb.Struct{}
	if created.UnmarshalJSON(k.resource) != nil {
		created = &structpb.Struct{}
	}
	m := g.in.Generators.Named(k.generator)
	if r := resourceOf(m); r != nil && r.APIVersion == apiVersion && r.Kind == kind {
		fresh, why := g.in.manifestOf(m, r, k.Number, name)
		is := g.found[k.generator].wanted.rotation.Origin.Spec
		if why.Empty() && is != "" && g.found[k.generator].originOf(k).Spec == is {
			return object.WithName(fresh, ns, name)
		}
		if len(created.GetFields()) > 0 {
			created = object.Union(created, r.Base, fresh)
		}
	}
	out := created
	if plan.UIDOf(k.object) != "" || len(created.GetFields()) == 0 { // a file may omit fields
		out = object.Observed(created, k.object)
		delete(out.GetFields(), "status")
		out.Fields["metadata"] = object.HeldMetadata(k.object)
	}
	out.Fields["apiVersion"], out.Fields["kind"] = structpb.NewStringValue(apiVersion), structpb.NewStringValue(kind)
	return object.WithName(out, ns, name)
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
