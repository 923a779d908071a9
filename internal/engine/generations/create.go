package generations

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/composite"
	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// spending is the work of the generations that one request creates.
type spending struct {
	slow  int
	work  int64
	bytes int              // of the request, and for the generations that were created, or 0 if it is not known
	full  evaluate.Reasons // why no further generation is created, because of its size
}

// waitsForTurn reports whether other generations have used up the work of this request.
func (s *spending) waitsForTurn(m *plan.Generator) bool {
	return s.work >= limits.GenerationsFuel || m.Computed != nil && m.Computed.Slow && s.slow >= limits.SlowGenerations
}

// create creates the generation of a step, or returns why it is not created.
func (g *rotator) create(c *credentialState) evaluate.Reasons {
	w := c.wanted
	if c.step.Full {
		return evaluate.WaitingFor("one of its %d generations to be deleted (no more are kept at once): "+
			"wait for the end of a gracePeriod, or delete a previous one", len(c.step.Keep))
	}
	if c.step.Make == nil || w.place == nil || w.manifest == nil && w.Computed == nil {
		return w.why
	}
	switch slot, o := g.slotOf(w); slot.Decide() {
	case lifecycle.Create:
	case lifecycle.Stale:
		g.stale = staleBefore(o)
		return evaluate.Reasons{}
	default:
		return g.occupied(w, o)
	}
	if why := g.blocked(w); !why.Empty() {
		return why
	}
	k, o, err := g.newGeneration(c)
	if err != nil {
		return evaluate.Because("", err)
	}
	if why := g.pay(o); !why.Empty() {
		return why
	}
	g.compose(k, o, c.step.Current != "")
	first, said := outcome.Creating(g.in.Owner.Object, g.in.Now, k.String())
	g.created[w.Name] = first
	g.out.Fresh = g.out.Fresh || w.Computed != nil && !said && !g.in.Owner.Lists(w.target())
	if said {
		g.schedule(g.in.Now.Add(outcome.CreationTime))
	}
	return evaluate.Reasons{}
}

func (w *wantedGeneration) target() lifecycle.Place {
	return lifecycle.PlaceOf(w.place.APIVersion, w.place.Kind, w.place.Namespace, w.place.Name)
}

// slotOf returns the slot of the next generation, and the object at its place.
func (g *rotator) slotOf(w *wantedGeneration) (slot lifecycle.Slot, found wire.Struct) {
	t := w.target()
	slot = lifecycle.Slot{
		Name: plan.GenerationName(w.Name, w.number), Want: lifecycle.Yes, Place: t, Sealed: true,
		Found: lifecycle.Lookup{Read: true}, // otherwise the generator waits
	}
	objects := g.in.Answers.To(*w.place).Objects
	if len(objects) == 0 {
		return slot, wire.Struct{}
	}
	o := objects[0]
	at := &lifecycle.Object{Place: t, Name: object.CompositionResourceName(o), Listing: lifecycle.Unlisted}
	switch {
	case !g.in.Owner.Controls(o) || composite.IsDeleted(o) || plan.IsAuthors(at.Name):
		at.Owner = lifecycle.Foreign
	case g.shown[t] || g.in.Owner.Lists(t):
		at.Listing = lifecycle.Listed
	case recentlyCreated(o, g.in.Now):
		at.Listing = lifecycle.Recent
	}
	slot.Found.At = at
	return slot, o
}

// occupied says which object is at the place of the next generation.
func (g *rotator) occupied(w *wantedGeneration, o wire.Struct) evaluate.Reasons {
	own, at := g.in.Owner.Controls(o), w.Path.Child("name")
	if w.Manifest.Names() {
		at = w.Path.Child(w.Kind, "set")
	}
	switch {
	case own && plan.IsAuthors(object.CompositionResourceName(o)):
		g.write(o, w) // so that the author's object is deleted
		return evaluate.WaitingFor("%s, which a composite author requests, to be deleted", w.place)
	case composite.IsDeleted(o):
		return evaluate.WaitingFor("%s to be deleted", w.place)
	case own && (g.shown[w.target()] || g.in.Owner.Lists(w.target())):
		return evaluate.Failing("%s: %s is another generation: use generation.number or generation.id, and the "+
			"generator's own name", at, w.place)
	case own, !composite.IsControlled(o) && g.in.isStated(o): // a backup does not restore the controller
		return evaluate.Failing("%s: %s", at, unlistedText(o))
	}
	return evaluate.Failing("%s: %s exists and is not one of its generations: delete it, or give the generator "+
		"another name", at, w.place)
}

// recentlyCreated reports whether the composite may list an object once Crossplane reads it again.
func recentlyCreated(o wire.Struct, now time.Time) bool {
	created := createdAt(o)
	return created.IsZero() || now.Before(created.Add(limits.UnlistedFor))
}

// staleBefore returns the error for an object that the composite may list once Crossplane reads it again.
func staleBefore(o wire.Struct) error {
	_, kind, ns, name := object.Identity(o)
	return &outcome.Fatal{State: outcome.Waiting, Message: fmt.Sprintf("%s %s/%s is controlled by the composite, and the "+
		"composite does not list it. If it was just created, the next reconcile sees that. If it was restored from a "+
		"backup, set the annotation %s on the composite to the UID of its generation. Otherwise delete it",
		kind, ns, name, acceptAnnotation)}
}

// blocked returns why a generation cannot be created now.
func (g *rotator) blocked(w *wantedGeneration) evaluate.Reasons {
	switch {
	case len(g.out.Writers[w.target()]) > 0:
		return evaluate.Failing("%s: %s would also be composed by %s: give one of them another name",
			w.Path.Child("name"), w.place, g.out.Writers.At(w.target()))
	case g.spent.waitsForTurn(w.Generator):
		g.schedule(g.in.Now)
		return evaluate.WaitingFor("its turn, because one reconcile creates only some generations, " +
			"and only one with an RSA key, a hash or a keystore")
	}
	return g.spent.full
}

// pay spends the work of a generation that was created, or returns why there is no place for its object.
func (g *rotator) pay(o *structpb.Struct) evaluate.Reasons {
	s, size := &g.spent, proto.Size(o)
	s.work += int64(size)
	g.in.Session.Budget.Take(int64(size))
	if s.bytes == 0 && g.in.Size != nil {
		s.bytes = g.in.Size() // which includes all objects that exist
	}
	if s.bytes += limits.GenerationSpace * size; s.bytes > limits.ResponseBytes {
		s.full = evaluate.WaitingFor("a smaller request: this one is too large to create further generations, because "+
			"Crossplane accepts %d bytes: use several composites, or generate less", limits.ResponseBytes)
	}
	return s.full
}

// newGeneration creates the next generation, and its object.
func (g *rotator) newGeneration(c *credentialState) (*generation, *structpb.Struct, error) {
	w := c.wanted
	k := &generation{Generation: *c.step.Make, generator: w.Name}
	kind := w.Computed
	if kind == nil {
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
		return nil, nil, evaluate.Failed(w.Path.String(), "%s", errs[0].Error())
	}
	k.setOutputs(outputs)
	k.codes = c.codes(k)
	k.object = wire.Of(o.Struct())
	return k, k.marked(o.Struct()), nil
}

func (g *rotator) outputsOfNew(w *wantedGeneration, kind *plan.Computed, k *generation) (credential.Outputs, error) {
	issuer, err := g.issuer(w)
	if err != nil {
		return nil, err
	}
	from := credential.From{Random: g.in.Random, Now: g.in.Now, Issuer: issuer}
	if w.source != nil {
		from.Source = *w.source
	}
	outputs, err := kind.Make(from)
	if err == nil && w.source != nil {
		outputs[credential.SaltKey], err = seal.NewSalt(g.in.Random)
	}
	if err != nil {
		return nil, evaluate.Failed(w.Path.Child(w.Kind).String(), "%s", err.Error())
	}
	if kind.Slow { // one that fails must not take the turn of the others in each reconcile
		g.spent.slow++
	}
	if w.source != nil {
		k.State.Origin.Source = seal.SourceCode(outputs, from.Source)
	}
	return outputs, nil
}

// newResource creates a generation whose outputs another controller creates.
func (g *rotator) newResource(w *wantedGeneration, k *generation) (*generation, *structpb.Struct, error) {
	raw, err := w.manifest.MarshalJSON()
	k.resource = plan.Compact(raw)
	if err != nil || len(k.resource) > limits.ManifestBytes {
		return nil, nil, evaluate.Failed(w.Path.Child(plan.KindResource, "set").String(),
			"creates a manifest over the limit of %d bytes", limits.ManifestBytes)
	}
	k.object = wire.Of(w.manifest)
	return k, k.marked(w.manifest), nil
}

// codes returns the codes that link a generation with those that it follows and that count.
func (c *credentialState) codes(k *generation) (out []string) {
	for _, former := range c.step.Keep {
		if was := c.byUID[former.UID]; k.Coded && former.Counts && former.Number < k.Number && was != nil {
			out = append(out, seal.NextCode(was.data, k.Number, k.data))
		}
	}
	return out
}

// issuer returns the issuer of a certificate that another generator signs.
func (g *rotator) issuer(w *wantedGeneration) (*credential.Issuer, error) {
	name := w.SignedBy
	if name == "" {
		return nil, nil
	}
	c := g.found[name]
	ca := c.current()
	// Its next generation would require another certificate at once.
	if ca == nil || c.step.Pending != "" || c.step.Make != nil {
		return nil, expression.NewWaiting("the next generation of " + expression.PathText(expression.Generated, name))
	}
	issuer, err := credential.ParseIssuer(ca.data)
	if err != nil {
		return nil, evaluate.Failed(w.Path.Child(plan.KindCertificate, "ca").String(),
			"generation %d of %q cannot sign: its %s: rotate it", ca.Number, name, err.Error())
	}
	return issuer, nil
}
