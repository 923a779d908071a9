package reconcile

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

func (g *stepper) hold(t *trusted) {
	for _, k := range t.generations {
		if !k.listed {
			continue
		}
		desired := object.Held(k.object)
		if desired == nil {
			desired = withState(g.manifestAsMade(k), k.object)
		}
		g.compose(k, desired, false)
	}
}

// withState returns a manifest with the state that Crossplane applied to its generation, which would otherwise be
// removed.
func withState(manifest *structpb.Struct, observed wire.Struct) *structpb.Struct {
	more, meta := map[string]*structpb.Value{}, wire.OfValue(object.HeldMetadata(observed)).Struct()
	for _, field := range []string{"labels", "annotations"} {
		texts := plan.Texts(wire.OfValue(madeMetadata(manifest)[field]))
		for name, text := range plan.Texts(meta.Get(field)) {
			if strings.HasPrefix(name, object.StatePrefix) {
				texts[name] = text
			}
		}
		more[field] = textsValue(texts)
	}
	return withMetadata(manifest, more)
}

// manifestAsMade returns the manifest of a resource. The annotations of the resource can be changed.
// Therefore the manifest comes from the input if the input did not change, and otherwise has the
// observed values.
func (g *stepper) manifestAsMade(k *generation) *structpb.Struct {
	apiVersion, kind, ns, name := object.Identity(k.object)
	made := &structpb.Struct{}
	if made.UnmarshalJSON(k.Resource) != nil {
		made = &structpb.Struct{}
	}
	m := g.plan.Generator(k.Generator)
	if r := resourceOf(m); r != nil && r.APIVersion == apiVersion && r.Kind == kind {
		fresh, why := g.manifestOf(m, r, k.Number, name)
		if why.empty() && k.madeFrom != "" && k.madeFrom == g.wanted[k.Generator].specHash {
			return withName(fresh, ns, name)
		}
		if len(made.GetFields()) > 0 {
			made = union(made, r.Base, fresh)
		}
	}
	out := made
	if plan.UIDOf(k.object) != "" || len(made.GetFields()) == 0 { // a file may omit fields
		out = observedOf(made, k.object)
		delete(out.GetFields(), "status")
		out.Fields["metadata"] = object.HeldMetadata(k.object)
	}
	out.Fields["apiVersion"], out.Fields["kind"] = structpb.NewStringValue(apiVersion), structpb.NewStringValue(kind)
	return withName(out, ns, name)
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

func (g *stepper) compose(k *generation, desired *structpb.Struct, ready bool) {
	g.write(targetOf(object.Identity(k.object)), k.composed)
	own := g.ownName(k.Generator, k.Number)
	g.composed = append(g.composed, Composed{own: own, Name: k.composed, Hides: k.hides, Desired: desired, Ready: ready})
}

// ownName returns the composition resource name that a generation has unless another client changed it, or the name of
// the export whose object has that name.
func (g *stepper) ownName(name string, number int) string {
	own := plan.GenerationName(name, number)
	return cmp.Or(g.renamed[own], own)
}

func (g *stepper) write(t target, composed string) {
	g.writers[t] = append(slices.Clip(g.writers[t]), writer{generation: composed})
}

// targetOf returns the target of an object of any kind. Secrets and ConfigMaps have the same targets as exports.
func targetOf(apiVersion, kind, namespace, name string) target {
	if apiVersion != "v1" {
		kind = apiVersion + "/" + kind
	}
	return target{object.Kind(kind), namespace, name}
}

// nameComposed sets the names of the composed resources. If two have the same composition resource name because one was
// changed, that one is composed under its own name again. If the object of an export has the name of a generation, that
// generation gets the name of the export, because Crossplane writes to the object that has a name.
func (g *stepper) nameComposed() {
	taken := map[string]bool{}
	for i := range g.composed {
		c := &g.composed[i]
		c.Name = cmp.Or(g.renamed[c.Name], c.Name)
		taken[c.Name] = taken[c.Name] || c.Name == c.own
	}
	for i := range g.composed {
		c := &g.composed[i]
		if c.Name != c.own && taken[c.Name] {
			c.Name = c.own
		}
		taken[c.Name] = true
	}
	slices.SortFunc(g.composed, func(a, b Composed) int { return strings.Compare(a.Name, b.Name) })
}

// keep desires the generations that a step keeps. A composite with a generation in use is ready even if
// the next generation is not.
func (g *stepper) keep(t *trusted, step generator.Step) {
	kept := keptAt(step)
	for _, k := range t.generations {
		if i, ok := kept[k.Number]; ok {
			now := *k
			now.Generation = step.Keep[i]
			if k.changed && !k.Unproven { // otherwise nothing would prove it, once no export does
				now.Follows = g.follows(t, k.Number, codedData(k), isV1Secret(k.object))
			}
			if now.Adopted { // while it is unknown whether it was in use, its state stays lost
				now.Made = cmp.Or(now.Made, createdAt(k.object), g.req.Now)
			}
			g.compose(&now, g.desire(&now), k.Ready || step.Current > 0)
		}
	}
}

// keptAt returns the indices into step.Keep by number: there may be thousands.
func keptAt(step generator.Step) map[int]int {
	at := make(map[int]int, len(step.Keep))
	for i, k := range step.Keep {
		at[k.Number] = i
	}
	return at
}

// desire returns a generation with its state. Its manifest stays as it was.
func (g *stepper) desire(k *generation) *structpb.Struct {
	apiVersion, kind, _, _ := object.Identity(k.object)
	if k.Kind == plan.KindResource || !plan.HasData(apiVersion, kind) {
		return marked(g.manifestAsMade(k), k.Record, nil)
	}
	return marked(object.Held(k.object), k.Record, k.data())
}

// marked returns an object with the labels and annotations of a generation. They are sealed with data,
// if there is data.
func marked(o *structpb.Struct, rec generator.Record, data generator.Outputs) *structpb.Struct {
	meta := madeMetadata(o)
	labels := plan.Texts(wire.OfValue(meta["labels"]))
	maps.Copy(labels, rec.Labels())
	annotations := plan.Texts(wire.OfValue(meta["annotations"]))
	maps.DeleteFunc(annotations, func(k, _ string) bool { return strings.HasPrefix(k, object.StatePrefix) })
	annotations[generator.AnnotationState] = rec.Annotation(data)
	more := map[string]*structpb.Value{"labels": textsValue(labels), "annotations": textsValue(annotations)}
	return withMetadata(o, more)
}
