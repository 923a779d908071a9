package plan

import (
	"fmt"
	"slices"
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
	c, why := g.choose(s, step)
	if c == nil {
		return why
	}
	t := targetOf(c.at.APIVersion, c.at.Kind, c.at.Namespace, c.at.Name)
	if why := g.crowded(s, c, step, t); !why.empty() {
		return why
	}
	o, err := g.made(s, c)
	if err != nil {
		why.add("", err)
		return why
	}
	composed := generationName(s.name, c.number)
	g.writers[t] = append(g.writers[t], writer{generation: composed})
	g.coming[s.name] = true
	g.compose(Composed{own: composed, Name: composed, Desired: o, Ready: s.manifest == nil || step.Current > 0})
	if !rulesWriteAhead {
		g.early = g.readGeneration(s.name, c.number, observation.Resource{Object: wire.Of(o)}, true)
		g.early.unstored = true
	}
	g.out.Fresh = g.out.Fresh || s.manifest == nil && !g.isListed(c.at.Kind, c.at.Name)
	return reasons{}
}

// choose a name for the next generation: the first that is free. What has another one is
// left alone, and people are told.
func (g *generating) choose(s *stepping, step generator.Step) (*candidate, reasons) {
	var why reasons
	for i := range s.candidates {
		c := &s.candidates[i]
		if c.number < step.Make || s.manifest != nil && c.object == nil {
			continue
		}
		taken := g.taken(s, c)
		if taken.empty() {
			for _, text := range why.failed {
				g.out.Others = append(g.out.Others, Outcome{Message: text, Warn: true})
			}
			return c, reasons{}
		}
		if objects, _ := g.answer(c.at); len(taken.waiting) > 0 || g.isGeneration(objects[0]) { // it will be free, or the input is wrong
			return nil, taken
		}
		why.failed = append(why.failed, taken.failed...)
	}
	if why.empty() {
		why.waiting = []string{"the composite to list all generations"}
	}
	return nil, why
}

// taken says who has the name of a candidate.
func (g *generating) taken(s *stepping, c *candidate) (why reasons) {
	objects, _ := g.answer(c.at)
	if len(objects) == 0 {
		return why
	}
	t := targetOf(c.at.APIVersion, c.at.Kind, c.at.Namespace, c.at.Name)
	composed, own := g.owned(objects[0])
	at := s.path.Child("name")
	if s.manifest != nil && s.manifest.named() {
		at = s.path.Child(s.kind, "set")
	}
	switch uid := metadataOf(objects[0]).Get("uid").Text(); {
	case own && isTenants(composed):
		g.writers[t] = append(g.writers[t], writer{generation: generationName(s.name, c.number)}) // so that it gives way
		why.waiting = []string{fmt.Sprintf("%s, which the composite's author asked for, to be deleted", c.at)}
	case own && g.isGeneration(objects[0]):
		why.failed = []string{fmt.Sprintf("%s: gives a name that generation %s has: use generation.number or generation.id, and the generator's own name", at, strings.TrimPrefix(composed, generationPrefix))}
	case own || metadataOf(objects[0]).At("labels", generator.LabelGenerator).Is(s.name):
		why.failed = []string{fmt.Sprintf("%s: %s looks like a generation, but the composite does not list it, so that it is left alone. "+
			"If it was restored from a backup, set the annotation %s: %s on the composite to use it. Otherwise delete it", at, c.at, acceptAnnotation, uid)}
	default:
		why.failed = []string{fmt.Sprintf("%s: %s exists, and is no generation of it: delete it, or give the generator another name", at, c.at)}
	}
	return why
}

// isGeneration reports whether an object is one of the generations that are there.
func (g *generating) isGeneration(o wire.Struct) bool {
	uid := metadataOf(o).Get("uid").Text()
	for _, all := range g.proven {
		if slices.ContainsFunc(all, func(k *kept) bool { return k.id() == uid }) {
			return true
		}
	}
	return false
}

// crowded says what else is in the way of a generation.
func (g *generating) crowded(s *stepping, c *candidate, step generator.Step, t target) (why reasons) {
	switch who := g.writers[t]; {
	case len(who) > 0:
		why.failed = []string{fmt.Sprintf("%s: %s would be composed by %s, too: give one of them another name", s.path.Child("name"), c.at, writersText(who))}
	case len(step.Keep) >= limits.Generations:
		why.waiting = []string{fmt.Sprintf("one of its %d generations to be dropped, the most that are kept at once: shorten gracePeriod, or delete a former one", len(step.Keep))}
	case s.slow && g.slow >= limits.SlowGenerations:
		why.waiting = []string{"its turn, for a key of that type takes long to make"}
	}
	return why
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

// made is a generation that is made now.
func (g *generating) made(s *stepping, c *candidate) (*structpb.Struct, error) {
	rec := generator.Record{Generator: s.name, Resource: s.spec, Generation: generator.Generation{
		Number: c.number, Kind: s.kind, Made: g.Now, GracePeriod: s.grace,
		SpecHash: s.want.SpecHash, KeepersHash: s.want.KeepersHash, Rotation: s.want.Rotation,
	}}
	if s.manifest != nil {
		return g.madeResource(s, c, rec)
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
	o := &object.Object{Kind: object.Secret, Namespace: c.at.Namespace, Name: c.at.Name, Type: s.secretType, Immutable: &immutable, Data: outputs}
	if errs := o.Validate(); len(errs) > 0 {
		return nil, failed(s.path.String(), "%s", errs[0].Error())
	}
	rec.Follows = g.follows(s.name, c.number, outputs, true)
	return g.marked(o.Struct(), rec, outputs), nil
}

// madeResource is a generation that another controller makes.
func (g *generating) madeResource(s *stepping, c *candidate, rec generator.Record) (*structpb.Struct, error) {
	raw, err := c.object.MarshalJSON()
	rec.Resource = compact(raw)
	if err != nil || len(rec.Resource) > limits.ManifestBytes {
		return nil, failed(s.path.Child(kindResource, "set").String(), "makes a manifest over the limit of %d bytes", limits.ManifestBytes)
	}
	rec.Follows = g.follows(s.name, c.number, nil, c.at.APIVersion == "v1" && c.at.Kind == string(object.Secret))
	o := g.marked(c.object, rec, nil)
	if n := sizeOfTexts(madeMetadata(o)["annotations"]); n > limits.StateBytes {
		return nil, failed(s.path.Child(kindResource, "manifest").String(), "makes %d bytes of annotations, over the limit of %d: its annotations and all of it are among them", n, limits.StateBytes)
	}
	return o, nil
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
