package reconcile

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// spending is the work of the generations that one request creates.
type spending struct {
	slow  int
	work  int64
	bytes int     // of the request, and for the generations that were created, or 0 if it is not known
	full  reasons // why no further generation is created, because of its size
}

// waitsForTurn reports whether other generations have used up the work of this request.
func (s *spending) waitsForTurn(m *plan.Generator) bool {
	c, ok := m.Makes.(*plan.Computed)
	return s.work >= limits.GenerationsFuel || ok && c.Slow && s.slow >= limits.SlowGenerations
}

// create creates the generation of a step, or returns why it is not created.
func (g *rotator) create(c *credentialState) (reasons, error) {
	w := c.wanted
	if c.step.Full {
		return waitingFor("one of its %d generations to be deleted (no more are kept at once): "+
			"wait for the end of a gracePeriod, or delete a previous one", len(c.step.Keep)), nil
	}
	if c.step.Make == nil || w.place == nil || w.manifest == nil && !w.IsComputed() {
		return w.why, nil
	}
	switch slot, o := g.slotOf(w); slot.Decide() {
	case lifecycle.Create:
	case lifecycle.Stale:
		return reasons{}, staleBefore(o)
	default:
		return g.occupied(w, o), nil
	}
	if why := g.blocked(w); !why.empty() {
		return why, nil
	}
	k, o, err := g.newGeneration(c)
	if err != nil {
		return because("", err), nil
	}
	if why := g.pay(o); !why.empty() {
		return why, nil
	}
	g.compose(k, o, c.step.Current != "")
	outcome, said := g.session.creating(fmt.Sprintf("its generation %d", k.Number), w.String()+": ",
		w.Spelled(expression.Generated)+" (", w.Spelled(expression.Candidate)+" (")
	g.created[w.Name] = outcome
	g.out.Fresh = g.out.Fresh || w.IsComputed() && !said && !lists(g.session.object, w.target())
	if said {
		g.schedule(g.req.Now.Add(creationTime))
	}
	return reasons{}, nil
}

func (w *wantedGeneration) target() target {
	return targetOf(w.place.APIVersion, w.place.Kind, w.place.Namespace, w.place.Name)
}

// slotOf returns the slot of the next generation, and the object at its place.
func (g *rotator) slotOf(w *wantedGeneration) (slot lifecycle.Slot, found wire.Struct) {
	t := w.target()
	slot = lifecycle.Slot{
		Name: plan.GenerationName(w.Name, w.number), Want: lifecycle.Yes, Place: t.place(), Sealed: true,
		Found: lifecycle.Lookup{Read: true}, // otherwise the generator waits
	}
	objects := g.req.answer(*w.place).objects
	if len(objects) == 0 {
		return slot, wire.Struct{}
	}
	o := objects[0]
	at := &lifecycle.Object{Place: t.place(), Name: object.CompositionResourceName(o), Listing: lifecycle.Unlisted}
	switch {
	case !g.session.controls(o) || isDeleted(o) || plan.IsAuthors(at.Name):
		at.Owner = lifecycle.Foreign
	case g.isGeneration(o) || lists(g.session.object, t):
		at.Listing = lifecycle.Listed
	case recentlyCreated(o, g.req.Now):
		at.Listing = lifecycle.Recent
	}
	slot.Found.At = at
	return slot, o
}

// occupied says which object is at the place of the next generation.
func (g *rotator) occupied(w *wantedGeneration, o wire.Struct) reasons {
	composed, own := object.CompositionResourceName(o), g.session.controls(o)
	at := w.Path.Child("name")
	if w.Makes.Names() {
		at = w.Path.Child(w.Kind, "set")
	}
	switch {
	case own && plan.IsAuthors(composed):
		g.write(w.target(), plan.GenerationName(w.Name, w.number)) // so that the author's object is deleted
		return waitingFor("%s, which a composite author requests, to be deleted", w.place)
	case isDeleted(o):
		return waitingFor("%s to be deleted", w.place)
	case own && (g.isGeneration(o) || lists(g.session.object, w.target())):
		return failing("%s: returns the name that generation %s has: use generation.number or generation.id, "+
			"and the generator's own name", at, strings.TrimPrefix(composed, plan.GenerationPrefix))
	case own, !isControlled(o) && g.session.isStated(g.plan, o): // a backup does not restore the controller
		return failing("%s: %s", at, unlistedText(o))
	}
	return failing("%s: %s exists and is not one of its generations: delete it, or give the generator another name",
		at, w.place)
}

// isGeneration reports whether an object is an existing generation.
func (g *rotator) isGeneration(o wire.Struct) bool {
	for _, c := range g.found {
		if c.find(idOf(o)) != nil {
			return true
		}
	}
	return false
}

// recentlyCreated reports whether the composite may list an object once Crossplane reads it again.
func recentlyCreated(o wire.Struct, now time.Time) bool {
	created := createdAt(o)
	return created.IsZero() || now.Before(created.Add(limits.UnlistedFor))
}

// staleBefore returns the error for an object that the composite may list once Crossplane reads it again.
func staleBefore(o wire.Struct) *Stale {
	_, kind, ns, name := object.Identity(o)
	return &Stale{fmt.Sprintf("%s %s/%s is controlled by the composite, and the composite does not list it. "+
		"If it was just created, the next reconcile sees that. Otherwise delete it", kind, ns, name)}
}

// blocked returns why a generation cannot be created now.
func (g *rotator) blocked(w *wantedGeneration) reasons {
	switch who := g.out.writers[w.target()]; {
	case len(who) > 0:
		return failing("%s: %s would also be composed by %s: give one of them another name",
			w.Path.Child("name"), w.place, writersText(who))
	case g.spent.waitsForTurn(w.Generator):
		g.schedule(g.req.Now)
		return waitingFor("its turn, because one reconcile creates only some generations, " +
			"and only one with an RSA key, a hash or a keystore")
	}
	return g.spent.full
}

// pay spends the work of a generation that was created, or returns why there is no place for its object.
func (g *rotator) pay(o *structpb.Struct) reasons {
	s, size := &g.spent, proto.Size(o)
	s.work += int64(size)
	g.session.budget.Take(int64(size))
	if s.bytes == 0 && g.req.Size != nil {
		s.bytes = g.req.Size() // which includes all objects that exist
	}
	if s.bytes += limits.GenerationSpace * size; s.bytes > limits.ResponseBytes {
		s.full = waitingFor("a smaller request: this one is too large to create further generations, because Crossplane accepts "+
			"%d bytes: use several composites, or generate less", limits.ResponseBytes)
	}
	return s.full
}

// newGeneration creates the next generation, and its object.
func (g *rotator) newGeneration(c *credentialState) (*generation, *structpb.Struct, error) {
	w := c.wanted
	k := &generation{Generation: *c.step.Make, generator: w.Name}
	kind, ok := w.Makes.(*plan.Computed)
	if !ok {
		return g.newResource(w, k)
	}
	k.resource, k.Coded = kind.Spec, true
	outputs, err := g.outputsOfNew(w, kind, k)
	if err != nil {
		return nil, nil, err
	}
	immutable := true
	o := &object.Object{
		Kind: object.Secret, Namespace: w.place.Namespace, Name: w.place.Name, Type: kind.SecretType, Labels: w.Labels,
		Immutable: &immutable,
		Data:      outputs,
	}
	if errs := o.Validate(); len(errs) > 0 {
		return nil, nil, failed(w.Path.String(), "%s", errs[0].Error())
	}
	k.details = revealed(outputs)
	if salt, ok := k.details[credential.SaltKey]; ok {
		k.salt = salt
		delete(k.details, credential.SaltKey)
	}
	k.codes = c.codes(k)
	k.object = wire.Of(o.Struct())
	return k, marked(o.Struct(), k), nil
}

func (g *rotator) outputsOfNew(w *wantedGeneration, kind *plan.Computed, k *generation) (credential.Outputs, error) {
	issuer, err := g.issuer(w)
	if err != nil {
		return nil, err
	}
	from := credential.From{Random: g.req.Random, Now: g.req.Now, Issuer: issuer}
	if w.source != nil {
		from.Source = *w.source
	}
	outputs, err := kind.Make(from)
	if err != nil {
		return nil, failed(w.Path.Child(w.Kind).String(), "%s", err.Error())
	}
	if kind.Slow { // one that fails must not take the turn of the others in each reconcile
		g.spent.slow++
	}
	if w.source != nil {
		if outputs[credential.SaltKey], err = seal.NewSalt(g.req.Random); err != nil {
			return nil, failed(w.Path.Child(w.Kind).String(), "%s", err.Error())
		}
		k.State.Origin.Source = seal.SourceCode(outputs, from.Source)
	}
	return outputs, nil
}

// newResource creates a generation whose outputs another controller creates.
func (g *rotator) newResource(w *wantedGeneration, k *generation) (*generation, *structpb.Struct, error) {
	raw, err := w.manifest.MarshalJSON()
	k.resource = plan.Compact(raw)
	if err != nil || len(k.resource) > limits.ManifestBytes {
		return nil, nil, failed(w.Path.Child(plan.KindResource, "set").String(), "creates a manifest over the limit of %d bytes",
			limits.ManifestBytes)
	}
	k.object = wire.Of(w.manifest)
	o := marked(w.manifest, k)
	if n := sizeOfTexts(plan.Texts(wire.OfValue(metadataFields(o)["annotations"]))); n > limits.StateBytes {
		return nil, nil, failed(w.Path.Child(plan.KindResource, "manifest").String(),
			"produces %d bytes of annotations, over the limit of %d, because they include a copy of the manifest: "+
				"make the manifest smaller",
			n, limits.StateBytes)
	}
	return k, o, nil
}

// codes returns the codes that link a generation with those that it follows and that count.
func (c *credentialState) codes(k *generation) (out []string) {
	for _, former := range c.step.Keep {
		if was := c.find(former.UID); k.Coded && former.Counts() && former.Number < k.Number && was != nil {
			out = append(out, seal.NextCode(was.data(), k.Number, k.data()))
		}
	}
	return out
}

func sizeOfTexts(m map[string]string) int {
	n := 0
	for k, v := range m {
		n += len(k) + len(v)
	}
	return n
}

// issuer returns the issuer of a certificate that another generator signs.
func (g *rotator) issuer(w *wantedGeneration) (*credential.Issuer, error) {
	name := w.Makes.SignedBy()
	if name == "" {
		return nil, nil
	}
	c := g.found[name]
	ca := c.current()
	if ca == nil || c.step.Pending != "" || c.step.Make != nil { // its next generation would require another certificate at once
		return nil, expression.NewWaiting("the next generation of " + expression.PathText(expression.Generated, name))
	}
	issuer, err := credential.ParseIssuer(ca.data())
	if err != nil {
		return nil, failed(w.Path.Child(plan.KindCertificate, "ca").String(),
			"generation %d of %q cannot sign: its %s: rotate it", ca.Number, name, err.Error())
	}
	return issuer, nil
}
