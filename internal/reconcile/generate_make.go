package reconcile

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// make creates the generation of a step, or returns why it is not created.
func (g *stepper) make(w *wantedGeneration, of *trusted, step generator.Step) reasons {
	if step.Make == 0 {
		return w.why
	}
	c, why := g.choose(w, step)
	if c == nil {
		return why
	}
	if why := g.blocked(w, c, step); !why.empty() {
		return why
	}
	o, err := g.made(w, of, c)
	if err != nil {
		return because("", err)
	}
	if why := g.pay(o); !why.empty() {
		return why
	}
	composed := g.ownName(w.Name, c.number)
	g.write(c.target(), plan.GenerationName(w.Name, c.number))
	g.changing[w.Name] = true
	g.composed = append(g.composed, Composed{own: composed, Name: composed, Desired: o, Ready: step.Current > 0})
	made, said := g.creating(fmt.Sprintf("its generation %d", c.number), w.String()+": ",
		w.Spelled(expression.Generated)+" (", w.Spelled(expression.Candidate)+" (")
	g.creations[w.Name] = made
	g.fresh = g.fresh || w.IsComputed() && !said && !g.refs[resourceRef{c.at.Kind, c.at.Name}]
	if said {
		g.schedule(g.req.Now.Add(creationTime))
	}
	return reasons{}
}

// choose returns the first free name for the next generation. Objects that have the names before it are not
// touched, with a warning.
func (g *stepper) choose(w *wantedGeneration, step generator.Step) (*candidate, reasons) {
	var why reasons
	for i := range w.candidates {
		c := &w.candidates[i]
		if c.number < step.Make || c.object == nil && !w.IsComputed() {
			continue
		}
		objects := g.req.answer(c.at).objects
		if len(objects) == 0 {
			for _, text := range why.failed {
				g.report(Outcome{Message: text, Warn: true})
			}
			return c, reasons{}
		}
		taken := g.nameConflict(w, c, objects[0])
		if len(taken.missing) > 0 || g.isGeneration(objects[0]) { // the name will be free, or the input is wrong
			return nil, taken
		}
		why.failed = append(why.failed, taken.failed...)
	}
	if why.empty() {
		why = waitingFor("the composite to list all generations")
	}
	return nil, why
}

// nameConflict says which object has the name of a candidate.
func (g *stepper) nameConflict(w *wantedGeneration, c *candidate, o wire.Struct) reasons {
	composed, own := object.CompositionResourceName(o), g.controls(o)
	at := w.Path.Child("name")
	if w.Makes.Names() {
		at = w.Path.Child(w.Kind, "set")
	}
	switch uid := plan.UIDOf(o); {
	case own && plan.IsAuthors(composed):
		g.write(c.target(), plan.GenerationName(w.Name, c.number)) // so that the author's object is deleted
		return waitingFor("%s, which a composite author requests, to be deleted", c.at)
	case own && g.isGeneration(o):
		return failing("%s: returns the name that generation %s has: use generation.number or generation.id, "+
			"and the generator's own name", at, strings.TrimPrefix(composed, plan.GenerationPrefix))
	case isDeleted(o):
		return failing("%s: %s is being deleted, so the next generation has another name", at, c.at)
	case own || statedGenerator(o) == w.Name:
		return failing("%s: %s looks like a generation, but the composite does not list it, so it is left unchanged. "+
			"If it was restored from a backup, set the annotation %s: %s on the composite to use it. Otherwise delete it",
			at, c.at, acceptAnnotation, uid)
	}
	return failing("%s: %s exists and is not one of its generations: delete it, or give the generator another name",
		at, c.at)
}

func (c *candidate) target() target {
	return targetOf(c.at.APIVersion, c.at.Kind, c.at.Namespace, c.at.Name)
}

// isGeneration reports whether an object is an existing generation.
func (g *stepper) isGeneration(o wire.Struct) bool {
	uid := plan.UIDOf(o)
	for _, t := range g.trusted {
		if slices.ContainsFunc(t.proven, func(k *generation) bool { return k.id() == uid }) {
			return true
		}
	}
	return false
}

// blocked returns why a generation cannot be created now.
func (g *stepper) blocked(w *wantedGeneration, c *candidate, step generator.Step) reasons {
	switch who := g.writers[c.target()]; {
	case len(who) > 0:
		return failing("%s: %s would also be composed by %s: give one of them another name",
			w.Path.Child("name"), c.at, writersText(who))
	case len(step.Keep) >= limits.Generations:
		return waitingFor("one of its %d generations to be deleted (no more are kept at once): "+
			"wait for the end of a gracePeriod, or delete a previous one", len(step.Keep))
	case g.waitsForTurn(w):
		g.schedule(g.req.Now)
		return waitingFor("its turn, because one reconcile creates only some generations, " +
			"and only one with an RSA key, a hash or a keystore")
	case !g.full.empty():
		return g.full
	}
	return reasons{}
}

// waitsForTurn reports whether other generations have used up the work of this request.
func (g *stepper) waitsForTurn(w *wantedGeneration) bool {
	return g.work >= limits.GenerationsFuel || isSlow(w.Makes) && g.slow >= limits.SlowGenerations
}

// pay spends the work of a generation that was created, or returns why there is no place for its object.
func (g *stepper) pay(o *structpb.Struct) reasons {
	size := proto.Size(o)
	g.work += int64(size)
	g.budget.Take(int64(size))
	if g.bytes == 0 && g.req.Size != nil {
		g.bytes = g.req.Size() // which includes all objects that exist
	}
	if g.bytes += limits.GenerationSpace * size; g.bytes > limits.ResponseBytes {
		g.full = waitingFor("a smaller request: this one is too large to create further generations, because Crossplane accepts "+
			"%d bytes: use several composites, or generate less", limits.ResponseBytes)
	}
	return g.full
}

func isSlow(k plan.GeneratorKind) bool {
	c, ok := k.(*plan.Computed)
	return ok && c.Slow
}

// made creates a generation.
func (g *stepper) made(w *wantedGeneration, of *trusted, c *candidate) (*structpb.Struct, error) {
	rec := generator.Record{Generator: w.Name, Generation: generator.Generation{
		Number: c.number, Kind: w.Kind, Made: g.req.Now, GracePeriod: w.Grace,
		SpecHash: w.want.SpecHash, KeepersHash: w.want.KeepersHash, Rotation: w.want.Rotation,
	}}
	kind, ok := w.Makes.(*plan.Computed)
	if !ok {
		return g.madeResource(w, of, c, rec)
	}
	rec.Resource = kind.Spec
	issuer, err := g.issuer(w)
	if err != nil {
		return nil, err
	}
	from := generator.From{Random: g.req.Random, Now: g.req.Now, Issuer: issuer, Context: g.budget.Context()}
	if w.source != nil {
		from.Source = *w.source
	}
	outputs, err := kind.Make(from)
	if err != nil {
		return nil, failed(w.Path.Child(w.Kind).String(), "%s", err.Error())
	}
	if kind.Slow { // one that fails must not take the turn of the others in each reconcile
		g.slow++
	}
	if w.source != nil {
		if outputs[generator.SaltKey], err = generator.NewSalt(g.req.Random); err != nil {
			return nil, failed(w.Path.Child(w.Kind).String(), "%s", err.Error())
		}
		rec.SourceHash = generator.SourceHash(outputs, from.Source)
	}
	immutable := true
	o := &object.Object{
		Kind: object.Secret, Namespace: c.at.Namespace, Name: c.at.Name, Type: kind.SecretType, Immutable: &immutable,
		Data: outputs,
	}
	if errs := o.Validate(); len(errs) > 0 {
		return nil, failed(w.Path.String(), "%s", errs[0].Error())
	}
	rec.Follows = g.follows(of, c.number, outputs, true)
	return marked(o.Struct(), rec, outputs), nil
}

// madeResource creates a generation whose outputs another controller creates.
func (g *stepper) madeResource(
	w *wantedGeneration, of *trusted, c *candidate, rec generator.Record,
) (*structpb.Struct, error) {
	raw, err := c.object.MarshalJSON()
	rec.Resource = plan.Compact(raw)
	if err != nil || len(rec.Resource) > limits.ManifestBytes {
		return nil, failed(w.Path.Child(plan.KindResource, "set").String(), "creates a manifest over the limit of %d bytes",
			limits.ManifestBytes)
	}
	rec.Follows = g.follows(of, c.number, nil, c.at.APIVersion == "v1" && c.at.Kind == string(object.Secret))
	o := marked(c.object, rec, nil)
	if n := sizeOfTexts(plan.Texts(wire.OfValue(madeMetadata(o)["annotations"]))); n > limits.StateBytes {
		return nil, failed(w.Path.Child(plan.KindResource, "manifest").String(),
			"produces %d bytes of annotations, over the limit of %d, because they include a copy of the manifest: "+
				"make the manifest smaller",
			n, limits.StateBytes)
	}
	return o, nil
}

// follows returns the generations that the one with a number follows, each with its codes.
func (g *stepper) follows(t *trusted, number int, data generator.Outputs, coded bool) []generator.Followed {
	var out []generator.Followed
	add := func(ref generator.Reference) {
		f := generator.Followed{Reference: ref}
		for _, key := range slices.Concat(t.keysOf(ref.UID), t.recordedKeys(ref.UID)) {
			if code := generator.Code(key, number, data); coded && !slices.Contains(f.Codes, code) {
				f.Codes = append(f.Codes, code)
			}
		}
		out = append(out, f)
	}
	for _, k := range t.proven {
		if k.Number < number {
			add(k.reference())
		}
	}
	if len(t.proven) == 0 {
		if ref := g.lastKnown(t); ref.Name != "" && ref.UID == "" { // only its name is known
			out = append(out, generator.Followed{Reference: ref})
		}
	}
	ref := t.record.highest()
	if ref.UID != "" && !slices.ContainsFunc(t.proven, func(k *generation) bool { return k.id() == ref.UID }) {
		add(ref)
	}
	return out
}

// lastKnown returns the generation that was last in use, while none is in use. It is the generation
// that exports recorded, that lost its state, that a later generation follows, or that the composite
// still lists. A renamed generator has the generation of the generator that it replaces.
func (g *stepper) lastKnown(t *trusted) generator.Reference {
	if ref := t.record.highest(); ref.Name != "" {
		return ref
	}
	var out generator.Reference
	later := func(ref generator.Reference) {
		if ref.Generation > out.Generation {
			out = ref
		}
	}
	for _, k := range t.proven {
		if k.lost || k.Adopted {
			later(k.reference())
		}
		for _, f := range k.Follows {
			later(f.Reference)
		}
	}
	if t.generator != nil && out.Name == "" {
		later(g.listedReference(t))
	}
	if replaced := g.replacedBy(t.name); out.Name == "" && replaced != nil {
		return replaced.reference()
	}
	return out
}

// listedReference returns the generation with the highest number that the composite lists and that was
// not found.
func (g *stepper) listedReference(t *trusted) (out generator.Reference) {
	for number, name := range g.listedNumbers(t.generator, g.refs) {
		if at := g.requirement(t.generator, name); number > out.Generation && !t.numbers[number] {
			out = generator.Reference{
				Generation: number, APIVersion: at.APIVersion, Kind: at.Kind, Namespace: at.Namespace, Name: name,
			}
		}
	}
	return out
}

// replacedBy returns the generation in use of the generator that this one replaces: the only generator
// that left the input, if this is the only new generator. That generation is kept in the meantime. An item never
// replaces another one, which may be another person.
func (g *stepper) replacedBy(name string) *generation {
	if isItem(name) {
		return nil
	}
	var left, added []string
	for other, t := range g.trusted {
		if t.generator == nil && len(t.proven) > 0 {
			left = append(left, other)
		}
	}
	for other := range g.wanted {
		if g.current[other] == nil {
			added = append(added, other)
		}
	}
	left, added = slices.DeleteFunc(left, isItem), slices.DeleteFunc(added, isItem)
	if len(left) != 1 || len(added) != 1 || added[0] != name {
		return nil
	}
	var out *generation
	for _, k := range g.trusted[left[0]].proven {
		if k.Adopted && (out == nil || k.Number > out.Number) {
			out = k
		}
	}
	return out
}

func isItem(name string) bool {
	_, _, ok := plan.SplitItem(name)
	return ok
}

func sizeOfTexts(m map[string]string) int {
	n := 0
	for k, v := range m {
		n += len(k) + len(v)
	}
	return n
}

// issuer returns the issuer of a certificate that another generator signs.
func (g *stepper) issuer(w *wantedGeneration) (*generator.Issuer, error) {
	name := w.Makes.SignedBy()
	if name == "" {
		return nil, nil
	}
	ca := g.current[name]
	if ca == nil || g.changing[name] { // its next generation would require another certificate at once
		return nil, expression.NewWaiting("the next generation of " + expression.PathText(expression.Generated, name))
	}
	issuer, err := generator.ParseIssuer(ca.data())
	if err != nil {
		return nil, failed(w.Path.Child(plan.KindCertificate, "ca").String(),
			"generation %d of %q cannot sign: its %s: rotate it", ca.Number, name, err.Error())
	}
	return issuer, nil
}
