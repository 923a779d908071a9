package reconcile

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// authorsExports are the exports of the composite author.
type authorsExports struct {
	reply

	objects objects // after those of the input
	session *session
}

// A mention is where the Composition refers to the name of an object of the composite author.
type mention struct {
	where   string // which resource, and which field
	sure    bool   // the field refers to a Secret, or a ConfigMap, of that name
	desired bool   // the resource is composed in this reconcile
}

// An authorsExporter makes the objects of the composite author's exports.
type authorsExporter struct {
	exporter

	plan     *plan.Plan
	req      *request
	observed map[string]observation.Resource // the author's objects
	unclear  map[object.Kind]bool            // kinds whose list cannot be read
	writers  writers
	mentions map[target]mention // where the Composition refers to the author's objects
	created  int                // objects so far
}

// exportForAuthor makes the exports of the composite author after the exports of the input, which it does
// not change.
func exportForAuthor(
	s *session, p *plan.Plan, req *request, authored *plan.Authored, before composition,
) authorsExports {
	out := authorsExports{objects: before.objects}
	if p.Authors == nil {
		return out
	}
	if len(authored.Faults) > 0 {
		out.report(Outcome{State: Held, Message: plan.Shorten(authored.Faults, "; "), Warn: true, Author: true})
	}
	left := &quota{limits.AuthorBytes, limits.AuthorKeys}
	for composed, res := range before.seen.authors {
		if authored.Keeps(composed) {
			left.bytes -= sizeOf(res.Object) // until the object is made again
		}
	}
	out.session = s.forAuthor(p.Authors.Sees, left)
	x := authorsExporter{
		exporter: exporter{session: out.session, desired: req.Desired}, plan: p, req: req, observed: before.seen.authors,
		unclear: authored.Unclear, writers: before.made.writers, mentions: before.mentions(s, req, authored.Exports),
	}
	byName := func(a, b plan.Export) int { return strings.Compare(a.Name, b.Name) }
	exports := slices.SortedFunc(slices.Values(authored.Exports), byName)
	why := checkNamespace(s, len(exports) > 0)
	for _, e := range exports {
		at := x.place(e)
		if at.lookUp != nil && at.namespace != "" { // requirements do not depend on the claim
			out.require(*at.lookUp)
		}
		if why == nil {
			o := x.export(e, at)
			o.Author = true
			out.objects = out.objects.add(o)
		}
	}
	if why != nil {
		why.Message, why.Author = fmt.Sprintf("%s: nothing is exported: %s", p.Authors.At, why.Message), true
		out.report(*why)
		x.unclear = map[object.Kind]bool{object.Secret: true, object.ConfigMap: true}
		authored = &plan.Authored{}
	}
	for _, o := range x.keepUnclear(authored) {
		out.objects = out.objects.add(o)
	}
	return out
}

// sizeOf returns the number of bytes of the data, labels and annotations of an object, without labels and annotations
// that only Crossplane, kubectl or this function sets.
func sizeOf(o wire.Struct) int {
	n := 0
	add := func(m wire.Value, encoded bool) {
		for k, v := range m.Struct().All() {
			text := v.Text()
			switch {
			case object.IsReserved(k):
			case encoded:
				n += len(k) + base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(text, "=")))
			default:
				n += len(k) + len(text)
			}
		}
	}
	_, kind, _, _ := object.Identity(o)
	add(o.Get("data"), kind == string(object.Secret))
	add(o.Get("binaryData"), true)
	add(o.At("metadata", "labels"), false)
	add(o.At("metadata", "annotations"), false)
	return n
}

// forAuthor returns the session of the composite author's exports, with a budget of its own.
func (s *session) forAuthor(sees *observation.Author, own *quota) *session {
	return &session{
		composite: s.composite, observed: s.observed, author: sees, missing: s.missing,
		inputs: s.inputs, budget: budget.NewAuthor(s.budget.Context()), quota: own,
	}
}

// checkNamespace returns why the composite author cannot have objects in the composite's namespace.
func checkNamespace(s *session, needed bool) *Outcome {
	if needed && s.namespace == "" {
		return &Outcome{State: Held, Message: "the composite has no namespace of its own", Warn: true}
	}
	return nil
}

func (x *authorsExporter) place(e plan.Export) placement {
	return placeExport(x.session, x.plan, x.req, e, x.observed[e.Name].Object, nil)
}

// export makes one object, unless the Composition composes or refers to an object of that name. Its
// place is looked up in any case: requirements must not depend on what the Composition composes.
func (x *authorsExporter) export(e plan.Export, at placement) Object {
	if why := x.conflict(e, &at); why != "" {
		at.conflict = fmt.Sprintf("%s: choose another name in %s", why, e.NamePath())
	}
	if !at.observed.Exists() && at.conflict == "" {
		x.created++
	}
	// Otherwise the number of objects could grow without limit.
	if len(x.unclear) > 0 && !at.observed.Exists() && len(x.observed)+x.created > limits.AuthorEntries {
		return Object{Name: e.Name, Kind: e.Kind, Outcome: Outcome{State: Held, Message: fmt.Sprintf(
			"%s is not created: there are %d objects, and it is unknown which of them are still requested",
			e, len(x.observed))}}
	}
	x.quota.bytes += sizeOf(x.observed[e.Name].Object) // which exportForAuthor counts
	o := x.exporter.export(e, at)
	x.quota.bytes -= sizeOf(wire.Of(o.Desired)) // if it is kept
	return o
}

// conflict returns which part of the Composition uses the name of an author's object. If the Composition
// composes the object itself, or certainly refers to it, the author's object is no longer desired, so
// that the Composition can have it.
func (x *authorsExporter) conflict(e plan.Export, at *placement) string {
	if _, earlier := x.desired[e.Name]; earlier {
		at.observed = wire.Struct{} // that step desires it
		return "an earlier step of the pipeline also composes it"
	}
	if len(x.writers[at.target]) > 0 {
		at.observed = wire.Struct{}
		return fmt.Sprintf("the Composition itself composes %s %s", e.Kind, at)
	}
	m := x.mentions[at.target]
	if m.givesWay() {
		at.observed = wire.Struct{}
	}
	return m.where
}

// isOfAuthor reports whether an object has the record of an author's entry, or no UID, as in a file. Any client can change the
// composition resource name of an object of a later step, but only who knows its data can seal a record.
func isOfAuthor(e plan.Export, o wire.Struct) bool {
	rec, _ := readRecord(o)
	return rec.Export == e.Name || plan.UIDOf(o) == ""
}

// ofAnother returns why the observed object of an author's entry may be that of a later step, or nothing. An object
// whose data stay as they are can be the author's: its record was removed.
func ofAnother(e plan.Export, at placement, o *object.Object) string {
	if !e.Author || !at.observed.Exists() || isOfAuthor(e, at.observed) || !changesOwn(e, at, o.Data) {
		return ""
	}
	return fmt.Sprintf("%s %s is not proven to be the object of this entry, and has other data: delete it, or, if "+
		"another step composes it, correct its annotation crossplane.io/composition-resource-name", e.Kind, at)
}

// keepUnclear keeps the objects that may still be listed in a list that cannot be read.
func (x *authorsExporter) keepUnclear(wanted *plan.Authored) (out []Object) {
	for _, composed := range plan.SortedKeys(x.observed) {
		_, earlier := x.desired[composed]
		kind, name := plan.AuthorsKind(composed)
		if earlier || wanted.AsksFor(composed) || !x.unclear[kind] {
			continue
		}
		out = append(out, Object{
			Name: composed, Kind: kind, Desired: object.Held(x.observed[composed].Object),
			Outcome: Outcome{State: Held, Author: true, Message: fmt.Sprintf(
				"%s %q is kept unchanged, because it is unknown whether it is still requested", kind, name)},
		})
	}
	return out
}
