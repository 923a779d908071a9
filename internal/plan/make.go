package plan

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// make the generation that a step makes. It returns why it is not made.
func (g *generating) make(s *stepping, step generator.Step) reasons {
	if step.Make == 0 {
		return s.why
	}
	if s.next == nil || step.Make != s.number {
		return reasons{waiting: []string{"the composite to list all generations"}}
	}
	t := targetOf(s.next.APIVersion, s.next.Kind, s.next.Namespace, s.next.Name)
	why := g.taken(s, t)
	if why.empty() {
		why = g.crowded(s, step, t)
	}
	if !why.empty() {
		return why
	}
	o, err := g.made(s)
	if err != nil {
		why.add("", err)
		return why
	}
	composed := generationName(s.name, step.Make)
	g.writers[t] = append(g.writers[t], writer{generation: composed})
	g.coming[s.name] = true
	g.out.Generations = append(g.out.Generations, Composed{Name: composed, Desired: o, Ready: s.manifest == nil || step.Current > 0})
	if !rulesWriteAhead {
		g.early = g.readGeneration(s.name, step.Make, observation.Resource{Object: wire.Of(o)}, false)
	}
	g.out.Fresh = g.out.Fresh || s.manifest == nil && !g.refused(*s.next)
	return why
}

// taken says who has the name of the generation that would be made.
func (g *generating) taken(s *stepping, t target) (why reasons) {
	objects, _ := g.answer(*s.next)
	if len(objects) == 0 {
		return why
	}
	composed, own := g.owned(objects[0])
	switch {
	case isDeleted(objects[0]):
		why.waiting = []string{"the deletion of " + s.next.String()}
	case own && isTenants(composed):
		g.writers[t] = append(g.writers[t], writer{generation: generationName(s.name, s.number)}) // so that it gives way
		why.waiting = []string{fmt.Sprintf("%s, which the composite's author asked for, to be deleted", s.next)}
	case own && strings.HasPrefix(composed, generationPrefix):
		why.failed = []string{fmt.Sprintf("%s: gives a name that generation %s has: use generation.number or generation.id, and the generator's own name",
			s.path.Child(s.kind, "set"), strings.TrimPrefix(composed, generationPrefix))}
	case metadataOf(objects[0]).At("labels", generator.LabelGenerator).Is(s.name) && !controlled(objects[0]):
		why.failed = []string{fmt.Sprintf("%s: %s looks like a generation of it, and has no controller, as after a restore without spec.crossplane.resourceRefs: "+
			"make the composite the controller in its ownerReferences to keep the credential, or delete it to have another one", s.path.Child("name"), s.next)}
	default:
		why.failed = []string{fmt.Sprintf("%s: %s exists, and is no generation of it: delete it, or give the generator another name", s.path.Child("name"), s.next)}
	}
	return why
}

func controlled(o wire.Struct) bool {
	_, _, _, ok := object.ControllerOf(o)
	return ok
}

// crowded says what else is in the way of a generation.
func (g *generating) crowded(s *stepping, step generator.Step, t target) (why reasons) {
	switch who := g.writers[t]; {
	case len(who) > 0:
		why.failed = []string{fmt.Sprintf("%s: %s would be composed by %s, too: give one of them another name", s.path.Child("name"), s.next, writersText(who))}
	case len(step.Keep) >= limits.Generations:
		why.waiting = []string{fmt.Sprintf("one of its %d generations to be dropped, the most that are kept at once: shorten gracePeriod, or delete a former one", len(step.Keep))}
	case s.slow && g.slow >= limits.SlowGenerations:
		why.waiting = []string{"its turn, for a key of that type takes long to make"}
	}
	return why
}

// refused reports whether a generation was made before under that name, and the API server
// did not take it: the composite lists it, and it is not there.
func (g *generating) refused(next Requirement) bool {
	spec := g.Observation.Composite.Object.Get("spec").Struct()
	if own := spec.Get("crossplane"); own.Exists() {
		spec = own.Struct()
	}
	for _, v := range spec.Get("resourceRefs").List().All() {
		if ref := v.Struct(); ref.Get("kind").Is(next.Kind) && ref.Get("name").Is(next.Name) {
			return true
		}
	}
	return false
}

// targetOf an object of any kind: those of a Secret and a ConfigMap are the exports', too.
func targetOf(apiVersion, kind, namespace, name string) target {
	if apiVersion != "v1" {
		kind = apiVersion + "/" + kind
	}
	return target{object.Kind(kind), namespace, name}
}

func sizeOfTexts(v *structpb.Value) int {
	n := 0
	for k, e := range v.GetStructValue().GetFields() {
		n += len(k) + len(e.GetStringValue())
	}
	return n
}

// made is a generation that is made by now.
func (g *generating) made(s *stepping) (*structpb.Struct, error) {
	rec := generator.Record{Generator: s.name, Resource: s.spec, Generation: generator.Generation{
		Number: s.number, Kind: s.kind, Made: g.Now, GracePeriod: s.grace,
		SpecHash: s.want.SpecHash, KeepersHash: s.want.KeepersHash, Rotation: s.want.Rotation,
	}}
	if s.manifest != nil {
		raw, err := s.object.MarshalJSON()
		rec.Resource = compact(raw)
		if err != nil || len(rec.Resource) > limits.ManifestBytes {
			return nil, failed(s.path.Child(kindResource, "set").String(), "makes a manifest over the limit of %d bytes", limits.ManifestBytes)
		}
		o := g.marked(s.object, rec)
		if n := sizeOfTexts(madeMetadata(o)["annotations"]); n > limits.StateBytes {
			return nil, failed(s.path.Child(kindResource, "manifest").String(), "makes %d bytes of annotations, over the limit of %d: its annotations and all of it are among them", n, limits.StateBytes)
		}
		return o, nil
	}
	issuer, err := g.issuer(s)
	if err != nil {
		return nil, err
	}
	if s.slow {
		g.slow++
	}
	outputs, err := s.compute(g.Random, g.Now, issuer)
	if err != nil {
		return nil, failed(s.path.Child(s.kind).String(), "%s", err.Error())
	}
	immutable := true
	o := &object.Object{Kind: object.Secret, Namespace: s.next.Namespace, Name: s.next.Name, Type: s.secretType, Immutable: &immutable, Data: outputs}
	if errs := o.Validate(); len(errs) > 0 {
		return nil, failed(s.path.String(), "%s", errs[0].Error())
	}
	return g.marked(o.Struct(), rec), nil
}

// issuer of a certificate that another generator signs.
func (g *generating) issuer(s *stepping) (*generator.Issuer, error) {
	if s.certificate == nil || s.certificate.CA() == "" {
		return nil, nil
	}
	ca := g.current[s.certificate.CA()]
	if ca == nil || g.coming[s.certificate.CA()] { // another one would have to follow at once
		return nil, expression.NewWaiting("the next generation of " + expression.PathText(expression.Generated, s.certificate.CA()))
	}
	issuer, err := generator.ParseIssuer(ca.outputs())
	if err != nil {
		return nil, failed(s.path.Child(kindCertificate, "ca").String(), "generation %d of %q cannot sign: its %s: rotate it", ca.Number, s.certificate.CA(), err.Error())
	}
	return issuer, nil
}
