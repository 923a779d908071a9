package generations

import (
	"cmp"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/environment"
	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A wantedGeneration is the input of a generator in this request, and the next generation that it may need.
type wantedGeneration struct {
	*plan.Generator

	rotation rotation.Wanted
	why      evaluate.Reasons   // why a part of it is not known
	source   *credential.Source // of a derived generator, if it is known

	number   int                 // of the next generation
	place    *lookup.Requirement // of the next generation, if there may be one
	manifest *structpb.Struct    // of the next generation of a composed resource, if it is known
}

// want returns the wanted generation of a generator. A new request asks for another one.
func (in *Request) want(c *credentialState, m *plan.Generator, request string) *wantedGeneration {
	if m.Unknown {
		return &wantedGeneration{Generator: m, rotation: rotation.Wanted{Input: rotation.Unknown}}
	}
	m, why := in.withParameters(m)
	w := &wantedGeneration{Generator: m, number: c.taken + 1, rotation: rotation.Wanted{
		Origin: rotation.Origin{Kind: m.Kind}, Request: request, Policy: m.Policy, Interval: m.Interval, Grace: m.Grace,
		AbandonAfter: m.AbandonAfter, Window: m.Window, PausedAt: in.Owner.PausedAt(), Taken: c.taken,
	}}
	if w.waitFor(why); why.Empty() {
		w.hash(in)
	}
	maybe := w.rotation
	maybe.Input = rotation.Present
	have := c.generations()
	for i, k := range c.have {
		have[i].Renew, have[i].Ends = w.validity(k, nil, in.Now)
	}
	if m.LooksAhead || rotation.Next(maybe, have, c.records(), in.Now).Make != nil {
		w.placeNext(in)
	}
	return w
}

// withParameters returns a generator with the values of its parameters. If they are not known, it returns the generator
// without them, and the reason.
func (in *Request) withParameters(m *plan.Generator) (*plan.Generator, evaluate.Reasons) {
	var why evaluate.Reasons
	one, values := in.Session.ForItem(m.Item), make([]*structpb.Value, len(m.Parameters))
	for i, p := range m.Parameters {
		v, err := one.JSON(p.Value, one.Scope(""))
		if err == nil && v == nil {
			err = expression.NewWaiting(p.Value.Source().Path)
		}
		why.Add("", err)
		values[i] = v
	}
	if len(values) == 0 || !why.Empty() {
		return m, why
	}
	out, diagnostics := m.With(values)
	for _, d := range diagnostics {
		why.Add("", evaluate.Failed(d.Path, "%s", d.Message))
	}
	return cmp.Or(out, m), why
}

// hash computes the hashes of the input.
func (w *wantedGeneration) hash(in *Request) {
	hash := func(what string) string { return seal.Hash(in.Owner.Salt(), w.Name, what) }
	var spec []byte
	if w.Computed != nil {
		spec = w.Computed.Spec
	} else {
		common, why := in.manifestOf(w.Generator, 0, in.defaultName(w.Name, 0))
		w.why, spec = why, plan.AppendStruct(nil, wire.Of(common))
	}
	w.rotation.Origin.Spec = hash(w.Kind + string(spec))
	if w.Keepers != nil {
		one := in.Session.ForItem(w.Item)
		value, err := one.JSON(w.Keepers, one.Scope(""))
		w.why.Add(w.Keepers.Source().Path, err)
		w.rotation.Origin.Keepers = hash(string(plan.AppendValue(nil, wire.OfValue(value))))
	}
	w.waitFor(w.why)
}

// waitFor sets why the input is not known, if there is a reason.
func (w *wantedGeneration) waitFor(why evaluate.Reasons) {
	if w.why = why; !why.Empty() {
		w.rotation.Input = rotation.Unknown
	}
}

// placeNext finds the place of the next generation.
func (w *wantedGeneration) placeNext(in *Request) {
	name := in.defaultName(w.Name, w.number)
	if w.Manifest != nil {
		m, why := in.manifestOf(w.Generator, w.number, name)
		if !why.Empty() {
			if w.waitFor(why); w.Manifest.Names() {
				return
			}
		} else {
			w.manifest = m
			_, _, _, name = object.Identity(wire.Of(m))
		}
	}
	if err := object.ValidateName(name); err != nil {
		w.waitFor(evaluate.Failing("%s: %s", w.Path.Child("name"), err.Error()))
		return
	}
	at := in.requirement(w.Generator, name)
	w.place = &at
}

// readSource reads the source of a derived generator. While it is not known, nothing changes.
func (w *wantedGeneration) readSource(s *evaluate.Session) {
	if w.Unknown {
		return
	}
	one, x := s.ForItem(w.Item), w.Generator.Source
	var source credential.Source
	var ok bool
	var err error
	if x.Source().Want == expression.WantTextMap {
		source.Map, ok, err = evaluate.Value(one, x, one.Scope(""), x.TextMap)
	} else {
		source.Text, ok, err = evaluate.Value(one, x, one.Scope(""), x.Text)
	}
	if err == nil && !ok {
		err = expression.NewWaiting(x.Source().Path)
	}
	if err != nil {
		w.waitFor(evaluate.Because("", err))
		return
	}
	source = source.Only(w.Computed.Kind)
	w.source = &source
}

// fit compares the source of a generation with the present one. One of another kind never fits.
func (w *wantedGeneration) fit(k *generation) rotation.Fit {
	switch {
	case w.Generator.Source == nil || k.withheld != nil || len(k.details) == 0:
		return rotation.Fits
	case w.source == nil:
		return rotation.Unsure
	}
	if seal.Equal(k.State.Origin.Source, seal.SourceCode(k.data, *w.source)) {
		return rotation.Fits
	}
	return rotation.Other
}

// validity returns until when a certificate can be used: it must be renewed before it expires, or once the input or
// its CA changes. The CA is the generation in use of its generator, or nil.
func (w *wantedGeneration) validity(k, ca *generation, now time.Time) (renew, ends time.Time) {
	c := w.Certificate
	if c == nil {
		return renew, ends
	}
	renew, ends = c.RenewAt(k.data)
	if is, was := w.rotation.Origin.Spec, k.State.Origin.Spec; is != "" && was != "" && is != was {
		renew = now // with other names
	}
	if ca == nil {
		return renew, ends
	}
	if issuer, err := credential.ParseIssuer(ca.data); err == nil && !c.IssuedBy(k.data, issuer) {
		return now, now
	}
	return renew, ends
}

// manifestOf returns the manifest of a generation by its number. The manifest of number 0 is common to all
// generations, and changes if the input changes.
func (in *Request) manifestOf(m *plan.Generator, number int, name string) (*structpb.Struct, evaluate.Reasons) {
	s := in.Session.ForItem(m.Item)
	out, why := m.Manifest.Base, evaluate.Reasons{}
	scope := s.GenerationScope(&observation.Generation{Generation: in.generationVariable(m, number)})
	for _, f := range m.Manifest.Set {
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
		name = v.GetStringValue()
	}
	if err := object.ValidateName(name); err != nil {
		return nil, evaluate.Failing("%s: %s", m.Path, err.Error())
	}
	return object.WithName(out, in.requirement(m, name).Namespace, name), why
}

// refuseMetadata returns the errors of labels and annotations whose values are not strings.
func refuseMetadata(m *plan.Generator, o *structpb.Struct) (out []string) {
	for _, name := range []string{"labels", "annotations"} {
		fields := object.Metadata(o)[name].GetStructValue().GetFields()
		if len(plan.Texts(wire.OfValue(object.Metadata(o)[name]))) != len(fields) {
			out = append(out, fmt.Sprintf("%s: returns metadata.%s that are not strings: wrap them in string(...)",
				m.Path.Child(plan.KindResource, "set"), name))
		}
	}
	return out
}

// manifestAsCreated returns the manifest of a composed resource whose annotations can be changed. If the input has not
// changed, the manifest comes from the input. Otherwise it has the observed values.
func (g *rotator) manifestAsCreated(k *generation) *structpb.Struct {
	m := g.in.Generators.Named(k.generator)
	if m != nil && m.Manifest != nil && m.Object() == (plan.Kind{APIVersion: k.APIVersion, Kind: k.Kind}) {
		fresh, why := g.in.manifestOf(m, k.Number, k.Name)
		is := g.found[k.generator].wanted.rotation.Origin.Spec
		if why.Empty() && is != "" && k.State.Origin.Spec == is {
			return object.WithName(fresh, k.Namespace, k.Name)
		}
	}
	created := &structpb.Struct{}
	if created.UnmarshalJSON(k.resource) != nil {
		created = &structpb.Struct{}
	}
	out := object.Observed(created, k.object)
	delete(out.GetFields(), "status")
	out.Fields["metadata"] = object.HeldMetadata(k.object)
	out.Fields["apiVersion"] = structpb.NewStringValue(k.APIVersion)
	out.Fields["kind"] = structpb.NewStringValue(k.Kind)
	return object.WithName(out, k.Namespace, k.Name)
}
