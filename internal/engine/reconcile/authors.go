package reconcile

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// authorsExports are the exports of the composite author.
type authorsExports struct {
	reply

	objects objects // after those of the input
	session *session
}

// An authorsExporter makes the objects of the composite author's exports.
type authorsExporter struct {
	exporter exporter
	observed map[string]observation.Resource // the author's objects
	unclear  map[object.Kind]bool            // kinds whose list cannot be read
	writers  writers
	mentions map[target]mention // where the Composition refers to the author's objects
	left     *quota             // of all objects together
	created  int                // objects so far
}

// exportForAuthor makes the exports of the composite author after the exports of the input, which it does
// not change. Places are looked up in any case: requirements must not depend on what the Composition composes.
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
	if len(authored.Exports) > 0 && s.namespace == "" {
		out.report(Outcome{State: Held, Warn: true, Author: true, Message: fmt.Sprintf(
			"%s: nothing is exported: the composite has no namespace of its own", p.Authors.At)})
		authored = &plan.Authored{Unclear: map[object.Kind]bool{object.Secret: true, object.ConfigMap: true}}
	}
	left := &quota{limits.AuthorBytes, limits.AuthorKeys}
	out.session = s.forAuthor(p.Authors.Sees, left)
	x := authorsExporter{
		exporter: exporter{session: out.session, desired: req.Desired, generated: &generations{}}, observed: before.composed.authors, left: left,
		unclear: authored.Unclear, writers: before.generated.writers, mentions: before.mentions(s, req, authored.Exports),
	}
	exports, unsure := x.exports(authored)
	b := placer{out.session, p, req, x.observed, nil}
	placed := b.place(exports, unsure, b.shown(exports))
	for _, at := range placed {
		if at.lookUp != nil {
			out.require(*at.lookUp)
		}
	}
	out.objects = x.add(out.objects, exports, placed)
	return out
}

// add makes the objects. Existing ones use the quota until they are made again: then, what is desired uses it.
func (x *authorsExporter) add(to objects, exports []plan.Export, placed []placement) objects {
	exists := make([]int, len(placed))
	for i, at := range placed {
		if at.slot.Shown != nil {
			exists[i] = sizeOf(at.observed)
		}
		x.left.bytes -= exists[i]
	}
	for i, e := range exports {
		x.left.bytes += exists[i]
		o := x.export(e, placed[i])
		if o.Author = true; o.Desired != nil { // it is kept
			x.left.bytes -= exists[i]
		}
		to = to.add(o)
	}
	return to
}

// exports returns what the author asks for, and what may still be in a list that cannot be read, in this order.
func (x *authorsExporter) exports(authored *plan.Authored) (out []plan.Export, unsure map[string]bool) {
	byName := func(a, b plan.Export) int { return strings.Compare(a.Name, b.Name) }
	out, unsure = slices.SortedFunc(slices.Values(authored.Exports), byName), map[string]bool{}
	for _, composed := range plan.SortedKeys(x.observed) {
		_, earlier := x.exporter.desired[composed]
		kind, _ := plan.AuthorsKind(composed)
		if !earlier && !authored.AsksFor(composed) && x.unclear[kind] {
			out, unsure[composed] = append(out, plan.Export{Name: composed, Kind: kind, Author: true}), true
		}
	}
	return out, unsure
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

// export makes one object, unless the Composition composes or refers to an object of that name.
func (x *authorsExporter) export(e plan.Export, at placement) Object {
	if why, yields := x.claim(e, at); why != "" {
		at.slot.Claimed, at.slot.Yields = []string{why}, yields
		at.conflict = fmt.Sprintf("%s: choose another name in %s", why, e.NamePath())
	}
	if !at.observed.Exists() && at.conflict == "" {
		x.created++
	}
	out := Object{Name: e.Name, Kind: e.Kind, Outcome: Outcome{State: Held}}
	switch {
	case at.slot.Want == lifecycle.Unsure:
		out = keep(e, at)
		_, name := plan.AuthorsKind(e.Name)
		out.State, out.Message = Held, fmt.Sprintf(
			"%s %q is kept unchanged, because it is unknown whether it is still requested", e.Kind, name)
	case len(x.unclear) > 0 && !at.observed.Exists() && len(x.observed)+x.created > limits.AuthorEntries:
		// Otherwise the number of objects could grow without limit.
		out.Message = fmt.Sprintf("%s is not created: there are %d objects, and it is unknown which of them are still "+
			"requested", e, len(x.observed))
	default:
		out = x.exporter.export(e, at)
	}
	return out
}

// claim returns which part of the Composition uses the name of an author's object. The object yields if the Composition
// composes it itself, or certainly refers to it, so that the Composition can have it.
func (x *authorsExporter) claim(e plan.Export, at placement) (why string, yields bool) {
	if at.slot.Want == lifecycle.Unsure {
		return "", false
	}
	if _, earlier := x.exporter.desired[e.Name]; earlier {
		return "an earlier step of the pipeline also composes it", true
	}
	if len(x.writers[at.target]) > 0 {
		return fmt.Sprintf("the Composition itself composes %s %s", e.Kind, at), true
	}
	m := x.mentions[at.target]
	return m.where, m.sure && m.desired
}

// ofAnother returns why the object of an author's entry may be that of a later step, or nothing. Any client can change
// the composition resource name of an object, but only who knows its data can seal a record. An object whose data stay
// as they are can be the author's: its record was removed. One without a UID is in a file.
func ofAnother(e plan.Export, at placement, o *object.Object) string {
	if !e.Author || o == nil || !at.observed.Exists() || plan.UIDOf(at.observed) == "" || !changesOwn(e, at, o.Data) {
		return ""
	}
	if rec, _ := readRecord(at.observed); rec.Export == e.Name {
		return ""
	}
	return fmt.Sprintf("%s %s is not proven to be the object of this entry, and has other data: delete it, or, if "+
		"another step composes it, correct its annotation crossplane.io/composition-resource-name", e.Kind, at)
}
