package reconcile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/collect"
	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/generations"
	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/mention"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// authorsExports are the exports of the composite author.
type authorsExports struct {
	outcome.Reply

	objects objects // after those of the input
	session *evaluate.Session
}

// An authorPhase makes the exports of the composite author after the exports of the input, which it does
// not change. Places are looked up in any case: requirements must not depend on what the Composition composes.
type authorPhase struct {
	placer      placer   // of the input
	exporter    exporter // of the input
	allowed     *plan.Authors
	authored    *plan.Authored
	observed    map[string]observation.Resource // the author's objects
	generations map[string]generations.Identified
	sources     []lookup.Requirement
	writers     lifecycle.Writers

	mentions map[string]mention.Mention // where the Composition refers to the author's objects
	created  int                        // objects so far
}

// run adds the author's objects to those of the input.
func (x *authorPhase) run(before objects, composed []generations.Composed) authorsExports {
	out := authorsExports{objects: before}
	if x.allowed == nil {
		return out
	}
	if len(x.authored.Faults) > 0 {
		out.Report(Outcome{State: Held, Message: plan.Shorten(x.authored.Faults, "; "), Warn: true, Author: true})
	}
	if len(x.authored.Exports) > 0 && x.placer.composite.Namespace == "" {
		out.Report(Outcome{State: Held, Warn: true, Author: true, Message: fmt.Sprintf(
			"%s: nothing is exported: the composite has no namespace of its own", x.allowed.At)})
		x.authored = &plan.Authored{Unclear: map[object.Kind]bool{object.Secret: true, object.ConfigMap: true}}
	}
	x.mentions = x.findMentions(composes(before, composed))
	out.session = x.exporter.reader.Session.ForAuthor(x.allowed.Sees)
	x.placer.session, x.placer.resources, x.placer.identified = out.session, x.observed, nil
	x.exporter.reader.Session, x.exporter.reader.Quota, x.exporter.credentials = out.session, collect.NewQuota(), nil
	exports, unsure := x.exports()
	placed := x.placer.place(exports, unsure, x.placer.shown(exports))
	for _, at := range placed {
		if at.lookUp != nil {
			out.Require(*at.lookUp)
		}
	}
	out.objects = x.add(out.objects, placed)
	return out
}

// findMentions returns where the Composition refers to the names of exports.
func (x *authorPhase) findMentions(composes mention.Resources) map[string]mention.Mention {
	names := map[string]bool{}
	for _, e := range x.authored.Exports {
		names[e.Metadata.Name] = true
	}
	if len(names) == 0 {
		return nil
	}
	observed := mention.Resources{}
	for name, res := range x.exporter.reader.Session.Sees.Resources {
		observed[name] = res.Object
	}
	for name, id := range x.generations {
		observed[name] = id.Object
	}
	out := mention.Of(x.placer.composite.Namespace, names, observed, x.exporter.reader.Desired, composes)
	for _, src := range x.sources {
		if src.Namespace == x.placer.composite.Namespace && names[src.Name] && out[src.Name].Reads == "" {
			out[src.Name] = mention.Mention{Where: "a source of the Composition refers to it"}
		}
	}
	return out
}

// add makes the objects. Existing ones use the quota until they are made again: then, what is desired uses it.
func (x *authorPhase) add(to objects, placed []*placement) objects {
	exists := make([]int, len(placed))
	for i, at := range placed {
		if at.slot.Shown != nil {
			exists[i] = sizeOf(at.Observed)
		}
		x.exporter.reader.Quota.Bytes -= exists[i]
	}
	for i, at := range placed {
		x.exporter.reader.Quota.Bytes += exists[i]
		o := x.export(at)
		if o.Author = true; o.isKept() {
			x.exporter.reader.Quota.Bytes -= exists[i]
		}
		to = to.add(o)
	}
	return to
}

// exports returns what the author asks for, and what may still be in a list that cannot be read, in this order.
func (x *authorPhase) exports() (out []plan.Export, unsure map[string]bool) {
	byName := func(a, b plan.Export) int { return strings.Compare(a.Name, b.Name) }
	out, unsure = slices.SortedFunc(slices.Values(x.authored.Exports), byName), map[string]bool{}
	for _, composed := range plan.SortedKeys(x.observed) {
		_, earlier := x.exporter.reader.Desired[composed]
		kind, _ := plan.AuthorsKind(composed)
		if !earlier && !x.authored.AsksFor(composed) && x.authored.Unclear[kind] {
			out, unsure[composed] = append(out, plan.Export{Name: composed, Kind: kind, Author: true}), true
		}
	}
	return out, unsure
}

// sizeOf returns the number of bytes of the data, and of the labels and annotations that an author can set.
func sizeOf(o wire.Struct) (n int) {
	data, _ := object.DataOf(o) // an API server returns no invalid object
	for key, value := range data {
		n += len(key) + value.Len()
	}
	for _, name := range []string{"labels", "annotations"} {
		for k, v := range plan.MetadataOf(o).Get(name).Struct().All() {
			if !object.IsReserved(k) {
				n += len(k) + len(v.Text())
			}
		}
	}
	return n
}

// export makes one object, unless the Composition composes or refers to an object of that name.
func (x *authorPhase) export(at *placement) Object {
	if why, yields := x.claim(at); why != "" {
		at.slot.Claimed, at.slot.Yields = []string{why}, yields
		at.conflict = fmt.Sprintf("%s: choose another name in %s", why, at.NamePath())
	}
	if !at.Observed.Exists() && at.conflict == "" {
		x.created++
	}
	out := Object{Name: at.Name, Kind: at.Kind, Outcome: Outcome{State: Held}}
	switch {
	case at.slot.Want == lifecycle.Unsure:
		out = keep(at)
		_, name := plan.AuthorsKind(at.Name)
		out.State, out.Message = Held, fmt.Sprintf(
			"%s %q is kept unchanged, because it is unknown whether it is still requested", at.Kind, name)
	case len(x.authored.Unclear) > 0 && !at.Observed.Exists() && len(x.observed)+x.created > limits.AuthorEntries:
		// Otherwise the number of objects could grow without limit.
		out.Message = fmt.Sprintf("%s is not created: there are %d objects, and it is unknown which of them are still "+
			"requested", at, len(x.observed))
	default:
		out = x.exporter.export(at)
	}
	return out
}

// claim returns which part of the Composition uses the name of an author's object. The object yields if the Composition
// composes it itself, or reads it, so that the Composition can have it.
func (x *authorPhase) claim(at *placement) (why string, yields bool) {
	if at.slot.Want == lifecycle.Unsure {
		return "", false
	}
	if _, earlier := x.exporter.reader.Desired[at.Name]; earlier {
		return "an earlier step of the pipeline also composes it", true
	}
	if len(x.writers[at.Place]) > 0 {
		return fmt.Sprintf("the Composition itself composes %s %s", at.Kind, at.Place), true
	}
	m := x.mentions[at.Place.Name]
	return m.Where, m.Reads == at.Kind
}

// ofAnother returns why the object of an author's entry may be that of a later step, or nothing. Any client can change
// the composition resource name of an object, but only who knows its data can seal a record. An object whose data stay
// as they are can be the author's: its record was removed. One without a UID is in a file.
func ofAnother(at *placement, o *object.Object) string {
	if !at.Author || o == nil || !at.Observed.Exists() || plan.UIDOf(at.Observed) == "" || !changesOwn(at, o.Data) {
		return ""
	}
	if rec, _ := seal.ReadRecord(at.Observed); rec.Export == at.Name {
		return ""
	}
	return fmt.Sprintf("%s %s is not proven to be the object of this entry, and has other data: delete it, or, if "+
		"another step composes it, correct its annotation crossplane.io/composition-resource-name", at.Kind, at.Place)
}
